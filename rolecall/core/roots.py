"""Check that file locations are inside the roots that the operator allows: folders or URLs."""

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote


def is_plain(url: str) -> bool:
    """Return whether a URL, fully decoded, contains no `..`, backslash or unprintable character."""
    while (decoded := unquote(url)) != url:
        url = decoded
    return ".." not in url and "\\" not in url and url.isprintable()


def is_below(roots: Sequence[Path], path: Path) -> bool:
    """Return whether the path, with `..` and links resolved, is below a root. The roots must be resolved already."""
    try:
        resolved = path.resolve()
    except (OSError, RuntimeError):  # The links form a cycle.
        return False
    return any(resolved.is_relative_to(root) for root in roots)


def root_of(roots: Sequence[str], url: str) -> str | None:
    """Return the root that contains the URL; return None if there is none, or if the URL could leave the root."""
    below = (f"{root.rstrip('/')}/" for root in roots if "://" in root)
    found = next((root for root in below if url.startswith(root)), None)
    # fsspec chains file systems with `::`, which would bypass the root.
    return None if "::" in url or not is_plain(url) else found
