"""Connectors: what an application's files are called, what they hold, and how a file becomes rows.

A package adds one with an entry point of the group `rolecall.connectors` that names a `Connector`. An application
whose connector has its name is read by it. `docs/connectors.md` shows one.
"""

from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import entry_points

import msgspec

from rolecall.applications.model import Content

GROUP = "rolecall.connectors"

# A file's content, and what its group holds, to rows: field or header to text. Raise `BrokenFile` to say what is wrong.
Reader = Callable[[bytes, Content], Iterable[Mapping[str, str]]]


class FileTemplate(msgspec.Struct, frozen=True):
    name: str
    content: Content
    is_optional: bool = False
    is_multiple: bool = False


class Connector(msgspec.Struct, frozen=True):
    name: str
    vendor: str
    files: tuple[FileTemplate, ...]
    # None: CSV, XLSX, JSON lines or Parquet, told apart by content.
    read: Reader | None = None


def installed() -> dict[str, Connector]:
    """By name; the built-in ones come the same way as any other."""
    found = (point.load() for point in entry_points(group=GROUP))
    return {connector.name: connector for connector in found if isinstance(connector, Connector)}
