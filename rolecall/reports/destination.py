"""Write files to a location inside `ROLECALL_REPORT_ROOTS`: under a temporary name first, renamed when complete."""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

import fsspec
from fsspec.implementations.local import LocalFileSystem

from rolecall.application_imports.run.fetching import source_errors
from rolecall.core.faults import fault
from rolecall.core.roots import is_below, root_of

NO_ROOTS = "No location for reports is allowed yet; ask the operator to set ROLECALL_REPORT_ROOTS"
_LOCAL_URLS = tuple(f"{protocol}://" for protocol in LocalFileSystem.protocol)
NO_FOLDER = "Location must be a folder that exists; create it first"
OUTSIDE = "Location is outside of ROLECALL_REPORT_ROOTS; choose a folder inside, or ask the operator to add this one"


def problem_of(roots: Sequence[str], location: str) -> str | None:
    if not roots:
        return NO_ROOTS
    try:
        return None if _is_inside(roots, location) else OUTSIDE
    except OSError as error:
        return f"Location cannot be used: {error.strerror or error}"
    # fsspec raises ValueError for an unknown protocol, and ImportError if the library for a protocol is not installed.
    except (ValueError, ImportError) as error:
        return f"Location cannot be used: {error}"


def missing_folder(roots: Sequence[str], location: str) -> str | None:
    """Return the problem if a local folder is missing, otherwise None.

    A missing root is not a problem: it may exist on the host of the worker.
    """
    files, path = fsspec.core.url_to_fs(location) if "://" in location else _local(location)
    is_local = isinstance(files, LocalFileSystem)
    root = is_local and next((root for root in _local_roots(roots) if is_below([root], Path(path))), None)
    return NO_FOLDER if root and root.is_dir() and not Path(path).is_dir() else None


def _is_inside(roots: Sequence[str], location: str) -> bool:
    if "://" not in location:
        return is_below([Path(root).resolve() for root in roots if "://" not in root], Path(location))
    root = root_of(roots, f"{location.rstrip('/')}/")
    if root is None:
        return False
    files, path = fsspec.core.url_to_fs(location)
    # A `file://` URL may leave the root through a symbolic link, so compare resolved paths.
    if isinstance(files, LocalFileSystem):
        return is_below([Path(files._strip_protocol(root)).resolve()], Path(path))
    return True


class Destination:
    """The folder that a report is written to. All operations block, so the calling code must run them in a thread."""

    def __init__(self, roots: Sequence[str], location: str) -> None:
        if problem := problem_of(roots, location):
            raise PermissionError(problem)
        self._files, folder = fsspec.core.url_to_fs(location) if "://" in location else _local(location)
        self._is_local = isinstance(self._files, LocalFileSystem)
        if self._is_local:
            # Resolve symbolic links once and check the result, so that a link changed later cannot redirect the file.
            folder = str(Path(folder).resolve())
            if not is_below(_local_roots(roots), Path(folder)):
                raise PermissionError(OUTSIDE)
        self._folder = str(folder).rstrip("/")

    def begin(self, name: str, run: str) -> "FileBeingWritten":
        # The folder must exist: otherwise files for an unmounted share would be written to the local disk.
        if self._is_local and not Path(self._folder).is_dir():
            raise FileNotFoundError("there is no such folder")
        return FileBeingWritten(self._files, f"{self._folder}/.{name}.{run}.partial", f"{self._folder}/{name}")


def _local(location: str) -> tuple[Any, str]:
    return LocalFileSystem(auto_mkdir=False), location


def _local_roots(roots: Sequence[str]) -> list[Path]:
    """Return the local roots with symbolic links resolved."""
    plain = [root for root in roots if "://" not in root]
    urls = [root for root in roots if root.startswith(_LOCAL_URLS)]
    return [Path(root).resolve() for root in (*plain, *(LocalFileSystem._strip_protocol(url) for url in urls))]


def _open_local(path: str) -> BinaryIO:
    """Create a new file. Delete an existing one first: another user of the folder may have put a link there."""
    Path(path).unlink(missing_ok=True)
    return cast(BinaryIO, Path(path).open("xb"))


class FileBeingWritten:
    def __init__(self, files: Any, partial: str, path: str) -> None:
        self._files, self._partial, self._path = files, partial, path
        is_local = isinstance(files, LocalFileSystem)
        self._file = _open_local(partial) if is_local else cast(BinaryIO, files.open(partial, "wb"))

    def write(self, piece: bytes) -> None:
        self._file.write(piece)

    def finish(self) -> None:
        """Close the temporary file; if it is local, fsync it first."""
        if isinstance(self._files, LocalFileSystem):
            # Without fsync, a power failure could leave an incomplete file under its final name.
            self._file.flush()
            os.fsync(self._file.fileno())
        self._file.close()

    def publish(self) -> None:
        """Rename the complete file to its final name, replacing the file of an earlier attempt."""
        fault("report.before-rename")
        if isinstance(self._files, LocalFileSystem):
            Path(self._partial).replace(self._path)
        else:
            self._files.mv(self._partial, self._path)
        fault("report.after-rename")

    def discard(self) -> None:
        """Close and delete the temporary file; ignore errors, because the location may be unavailable."""
        with suppress(*source_errors()):
            self._file.close()
        with suppress(*source_errors()):
            self._files.rm_file(self._partial)
