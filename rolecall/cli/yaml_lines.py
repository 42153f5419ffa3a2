"""Load a YAML file and remember the line of every field."""

from collections.abc import Iterator
from typing import Any

import yaml

from rolecall.client.errors import Problem


class Document:
    def __init__(self, text: str) -> None:
        self.value: Any = {}
        self.mistakes: list[tuple[int, Problem]] = []
        self._root: yaml.Node | None = None
        try:
            # Parse the text twice: the composed nodes contain the line numbers, and `safe_load` returns the values.
            self._root = yaml.compose(text, Loader=yaml.SafeLoader)
            self.value = yaml.safe_load(text) or {}
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            self.mistakes.append((mark.line + 1 if mark else 1, Problem("file", error.problem or "is not YAML")))
            return
        self.mistakes += _repeated(self._root)
        if not isinstance(self.value, dict):
            self.mistakes.append((1, Problem("file", "must be a mapping of sections, such as `applications`")))

    def line_of(self, field: str) -> int:
        """Return the line of a field such as `applications.2.connector.files.0.name`, or of its nearest parent."""
        node, rest = self._root, field
        line = 1
        while node is not None:
            found = _step(node, rest)
            if found is None:
                break
            line, node, rest = found
        return line


def _step(node: yaml.Node, path: str) -> tuple[int, yaml.Node, str] | None:
    """Resolve the first part of a path; return its line, its node and the rest of the path, or None if it is missing.

    Keys may contain dots, so the longest key that fits is used.
    """
    if isinstance(node, yaml.SequenceNode):
        number, _, rest = path.partition(".")
        if number.isdecimal() and int(number) < len(node.value):
            entry = node.value[int(number)]
            return entry.start_mark.line + 1, entry, rest
    if isinstance(node, yaml.MappingNode):
        for key, value in sorted(node.value, key=lambda pair: -len(str(pair[0].value))):
            if path == key.value or path.startswith(f"{key.value}."):
                return key.start_mark.line + 1, value, path[len(key.value) + 1 :]
    return None


def _repeated(node: yaml.Node | None, path: str = "") -> Iterator[tuple[int, Problem]]:
    """Yield a problem for each duplicate key, because YAML would silently use the last one."""
    if isinstance(node, yaml.SequenceNode):
        for number, entry in enumerate(node.value):
            yield from _repeated(entry, f"{path}{number}.")
    if isinstance(node, yaml.MappingNode):
        seen = set[str]()
        for key, value in node.value:
            if key.value in seen:
                yield key.start_mark.line + 1, Problem(f"{path}{key.value}", "is a duplicate key")
            seen.add(key.value)
            yield from _repeated(value, f"{path}{key.value}.")
