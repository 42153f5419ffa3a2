"""Define connectors: the names and contents of an application's files, and optionally how to read them.

A package adds a connector through an entry point in the group `rolecall.connectors` that names a `Connector`. Its
`read` parses the files of applications whose connector has the same name. `docs/connectors.md` has an example.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import resources
from importlib.metadata import entry_points
from typing import Any

import msgspec
import yaml

from rolecall.applications.model import Content

GROUP = "rolecall.connectors"

# Reads the bytes of a file into rows, each a map from field or header to text. Raises `BrokenFile` for a bad file.
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
    # None if the service reads the files and recognizes their format.
    read: Reader | None = None


def installed() -> dict[str, Connector]:
    """Return the connectors of all entry points, including the built-in ones, as a map from their names."""
    found = (point.load() for point in entry_points(group=GROUP))
    return {connector.name: connector for connector in found if isinstance(connector, Connector)}


class ConnectorTemplate(msgspec.Struct, frozen=True):
    """A complete connector for the export of a well-known product; `files` are file groups as in the API."""

    name: str
    vendor: str
    description: str
    files: list[dict[str, Any]]


@cache
def templates() -> tuple[ConnectorTemplate, ...]:
    """Return the connector templates that ship with the service, sorted by name."""
    folder = resources.files(__name__) / "templates"
    texts = [path.read_text() for path in folder.iterdir() if path.name.endswith(".yaml")]
    found = [msgspec.convert(yaml.safe_load(text), ConnectorTemplate) for text in texts]
    return tuple(sorted(found, key=lambda template: template.name.casefold()))
