"""Back up the service into one archive: a database snapshot, the files of its imports and, on request, the secret key.

Stored files never change and exist before a row references them, so the files of the snapshot can be copied while the
service runs.
"""

import gzip
import hashlib
import io
import os
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import IO, Any, cast

import msgspec
import psycopg

from rolecall import __version__
from rolecall.core import migrate
from rolecall.core.config import Config
from rolecall.core.errors import CannotRun
from rolecall.core.faults import fault
from rolecall.core.files import Store, StoreUnreachable
from rolecall.core.ids import new_id
from rolecall.core.sealing import KEY_FILE
from rolecall.operate.programs import run

_MANIFEST, _DUMP, _FILES = "manifest.json", "database.dump", "files/"
_PIECE = 1024 * 1024
# Temporary files in the data folder during a restore.
_RESTORED_DUMP, _RESTORED_KEY = ".restored.dump", f"{KEY_FILE}.restored"


class Manifest(msgspec.Struct, rename="camel"):
    version: str
    created_date: datetime
    migrations: list[str]
    dump_sha256: str
    file_count: int
    has_key: bool
    # The version of the program that applied the schema files.
    schema_version: list[int] = []


class KeptFile(msgspec.Struct, frozen=True):
    location: str
    size: int
    sha256: str


def back_up(config: Config, target: Path, now: datetime, *, with_key: bool) -> Manifest:
    """Write a backup and return its manifest; `target` appears only when it is complete."""
    url = config.database_url or ""
    partial, dump = (target.with_name(f".{target.name}.{new_id()}.{part}") for part in ("partial", "dump"))
    try:
        with _explained(f"{target} cannot be written"), psycopg.connect(url) as db:
            # pg_dump and the list of files use one snapshot, so that the archive has each file that the dump refers to.
            db.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            if not _value(db, "SELECT to_regclass('migrations') IS NOT NULL"):
                raise CannotRun("The database is empty; there is nothing to back up")
            snapshot = _value(db, "SELECT pg_export_snapshot()")
            files = _named_files(db)
            applied = migrate.read_applied(db)
            # Create the file here: with the usual umask, pg_dump would create a file that other users can read.
            os.close(os.open(dump, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            # The exported snapshot is valid only while this transaction is open, so pg_dump runs inside it.
            run(url, "pg_dump", "--format=custom", "--no-owner", "--no-privileges", f"--snapshot={snapshot}",
                f"--file={dump}")  # fmt: skip
        has_key = with_key and (config.data_dir / KEY_FILE).exists()
        manifest = Manifest(
            __version__, now, sorted(applied.migrations), _digest(dump), len(files), has_key, applied.version
        )
        with _explained(f"{target} cannot be written"):
            _write(partial, manifest, dump, files, config)
        partial.rename(target)
    finally:
        for path in (partial, dump):
            path.unlink(missing_ok=True)
    return manifest


def _write(partial: Path, manifest: Manifest, dump: Path, files: list[KeptFile], config: Config) -> None:
    now = manifest.created_date
    with os.fdopen(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as out:
        with tarfile.open(fileobj=out, mode="w") as archive:
            _add(archive, _MANIFEST, msgspec.json.encode(manifest), now)
            archive.add(dump, _DUMP, filter=_nobodys)
            for file in files:
                _add_kept(archive, config.store, file, now)
            if manifest.has_key:
                _add(archive, KEY_FILE, (config.data_dir / KEY_FILE).read_bytes(), now)
        # Sync before the rename: after a power failure the backup could otherwise be incomplete.
        out.flush()
        os.fsync(out.fileno())


def read_manifest(source: Path) -> Manifest:
    """Read the manifest of the backup; raise if this program cannot restore it."""
    with _explained(f"{source} cannot be read"), _opened(source) as archive:
        manifest = msgspec.json.decode(_member(archive, _MANIFEST).read(), type=Manifest)
    # `ahead` compares names and versions only, so the digests may be empty.
    if ahead := migrate.Applied(dict.fromkeys(manifest.migrations, ""), {}, manifest.schema_version).ahead():
        newer = f"The backup was made by a newer program: it has {', '.join(ahead)}"
        raise CannotRun(f"{newer}; restore it with that program")
    return manifest


def is_empty(config: Config) -> bool:
    with psycopg.connect(config.database_url or "") as db:
        tables = _value(
            db, "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        )
    return int(tables) == 0


def restore(config: Config, source: Path) -> None:
    """Replace the database, and add the files of the backup; if this fails, keep the old database."""
    dump, url = config.data_dir / _RESTORED_DUMP, config.database_url or ""
    try:
        with _explained(f"{source} cannot be restored"), _opened(source) as archive:
            manifest = msgspec.json.decode(_member(archive, _MANIFEST).read(), type=Manifest)
            _take(_member(archive, _DUMP), dump)
            if _digest(dump) != manifest.dump_sha256:
                raise CannotRun(f"{source} is damaged: its database does not match its checksum; use another backup")
            with _replacing(config) as db:
                run(url, "pg_restore", "--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction",
                    str(dump))  # fmt: skip
                fault("restore.database-in-place")
                for file in _named_files(db):
                    _put_back(archive, config.store, file)
                if manifest.has_key:
                    _take(_member(archive, KEY_FILE), config.data_dir / _RESTORED_KEY)
    finally:
        dump.unlink(missing_ok=True)


def end_interrupted(config: Config) -> bool:
    """Complete an interrupted restore, or undo it if not all data had arrived; return whether it was undone."""
    key = config.data_dir / _RESTORED_KEY
    with psycopg.connect(config.database_url or "", autocommit=True) as db:
        if not migrate.is_set_aside(db) and not key.exists():
            return False
        # A restore that is running holds the lock and finishes by itself.
        migrate.lock_migrations(db)
        # Look again: the restore may have ended while this connection waited for the lock.
        undone = migrate.is_set_aside(db)
        if undone:
            key.unlink(missing_ok=True)
            _put_old_back(db)
        elif key.exists():
            key.rename(config.data_dir / KEY_FILE)
    (config.data_dir / _RESTORED_DUMP).unlink(missing_ok=True)
    return undone


@contextmanager
def _replacing(config: Config) -> Iterator[psycopg.Connection]:
    """Move the old data aside until the new data is complete.

    If the process is killed, `end_interrupted` completes or undoes the replacement.
    """
    key = config.data_dir / _RESTORED_KEY
    with psycopg.connect(config.database_url or "", autocommit=True) as db:
        migrate.lock_migrations(db)
        # Use one transaction, so that the schema `public` always exists: otherwise `_put_old_back` could not drop it.
        with db.transaction():
            db.execute(f"ALTER SCHEMA public RENAME TO {migrate.ASIDE}")
            db.execute("CREATE SCHEMA public")
        fault("restore.old-set-aside")
        try:
            yield db
        # BaseException includes KeyboardInterrupt, after which the old data must be put back too.
        except BaseException:
            key.unlink(missing_ok=True)
            _put_old_back(db)
            raise
        fault("restore.before-commit")
        # This drop commits the restore. A restore that is interrupted earlier is undone; one interrupted later is
        # completed.
        db.execute(f"DROP SCHEMA {migrate.ASIDE} CASCADE")
        fault("restore.after-commit")
        if key.exists():
            # Do not replace the key before the commit: if the old data is put back, its secrets need the old key.
            key.rename(config.data_dir / KEY_FILE)


def _put_old_back(db: psycopg.Connection) -> None:
    with db.transaction():
        db.execute("DROP SCHEMA public CASCADE")
        db.execute(f"ALTER SCHEMA {migrate.ASIDE} RENAME TO public")


def _named_files(db: psycopg.Connection) -> list[KeptFile]:
    rows = db.execute("SELECT location, size, encode(sha256, 'hex') FROM import_files ORDER BY location").fetchall()
    return [KeptFile(*row) for row in rows]


def _add(archive: tarfile.TarFile, name: str, content: bytes, now: datetime) -> None:
    archive.addfile(_info(name, len(content), now), io.BytesIO(content))


def _add_kept(archive: tarfile.TarFile, store: Store, file: KeptFile, now: datetime) -> None:
    said = f"The uploaded file {file.location} cannot be copied into the backup"
    # tarfile raises OSError too if the file is shorter than its recorded size.
    with _explained(said), store.open(file.location) as content:
        archive.addfile(_info(_FILES + file.location, file.size, now), cast(IO[bytes], content))


def _info(name: str, size: int, now: datetime) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = size, 0o600, int(now.timestamp())
    return info


def _nobodys(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info


def _put_back(archive: tarfile.TarFile, store: Store, file: KeptFile) -> None:
    """Restore a file; raise CannotRun if its checksum differs from the one in the database."""
    folder = store.folder / "incoming"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # `mkdir` gives parent folders the default mode; with the usual umask other users can read them.
    store.folder.chmod(0o700)
    path = folder / str(new_id())
    try:
        _take(_member(archive, _FILES + file.location), path)
        if _digest(path) != file.sha256:
            raise CannotRun(f"The backup is damaged: {file.location} does not match its checksum; use another backup")
        store.put(path, file.location)
    finally:
        path.unlink(missing_ok=True)


@contextmanager
def _explained(what: str) -> Iterator[None]:
    """Report errors of files and of the file store, such as a full disk, with their cause."""
    try:
        yield
    except (OSError, StoreUnreachable) as error:
        raise CannotRun(f"{what}: {error}") from error


@contextmanager
def _opened(source: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(source) as archive:
            yield archive
    # An incomplete archive may be compressed: the decompressor then raises its own errors.
    except (tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error, msgspec.MsgspecError) as error:
        raise CannotRun(f"{source} is not a complete backup: {error}") from error


def _member(archive: tarfile.TarFile, name: str) -> IO[bytes]:
    """Open a member by its expected name. To prevent path traversal, no name in the archive decides where to write."""
    with suppress(KeyError):
        if content := archive.extractfile(name):
            return content
    raise tarfile.TarError(f"it lacks {name}")


def _take(content: IO[bytes], place: Path) -> None:
    with os.fdopen(os.open(place, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb") as file:
        while piece := content.read(_PIECE):
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _value(db: psycopg.Connection, sql: str) -> Any:
    row = db.execute(sql.encode()).fetchone()
    return row and row[0]
