"""Convert the patterns of a duty to lines of a form and back, without loss.

A line is `Application: group Name` or `Application: permission Header / Section / Permission = Access`. A name that
contains a separator is written as a JSON string, in quotation marks.
"""

import re

import msgspec

from rolecall.accounts.model import Access, PermissionName
from rolecall.console.forms import permission_in
from rolecall.console.picking import line_of
from rolecall.core.checking import Json
from rolecall.duties.model import Pattern

# Separators that would end a name in a line; a name that contains one is quoted.
_SEPARATOR = re.compile(r'"|:(?:\s|$)|(?:^|\s)[=/](?:\s|$)')
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_PLACE = re.compile(r'"(\d+)"')
_LINE = re.compile(r"(?:(?P<application>.*?):\s+)?(?P<kind>group|permission)\s+(?P<rest>.*)", re.IGNORECASE)
_PERMISSION = re.compile(r"(?P<names>.*?)(?:\s=\s(?P<access>.*))?")


def line_of_pattern(pattern: Pattern) -> str:
    if pattern.group:
        return f"{_quoted(pattern.application)}: group {_quoted(pattern.group)}"
    parts = (pattern.header, pattern.section, pattern.permission)
    names = line_of(PermissionName(*(_quoted(part or "") for part in parts)))
    # Leave out Grant, because a line without an access means Grant.
    access = "" if pattern.access is Access.GRANT else f" = {pattern.access}"
    return f"{_quoted(pattern.application)}: permission {names.strip()}{access}"


def _quoted(name: str) -> str:
    return msgspec.json.encode(name).decode() if _SEPARATOR.search(name) else name


def pattern_in(line: str) -> Json:
    """Parse a line into a pattern. Without `group` it is for permissions; without an application, for all of them."""
    names: list[str] = []

    def put_aside(quoted: re.Match[str]) -> str:
        names.append(quoted[0])
        return f'"{len(names) - 1}"'

    def name(part: str) -> str:
        return _PLACE.sub(lambda found: _unquoted(names[int(found[1])]), part.strip())

    # Replace quoted names with numbers, so that separators inside them are not parsed.
    text = _QUOTED.sub(put_aside, line.strip())
    found = _LINE.fullmatch(text)
    if found:
        application, is_group, rest = found["application"], found["kind"].lower() == "group", found["rest"]
    else:
        application, _, rest = text.rpartition(": ")
        is_group = False
    there = {"application": name(application)} if application else {}
    if is_group:
        return {**there, "group": name(rest)}
    parts = _PERMISSION.fullmatch(rest)
    assert parts
    named = {field: name(part) for field, part in permission_in(parts["names"]).items() if part}
    return {**there, **named, **({"access": parts["access"].strip()} if parts["access"] else {})}


def _unquoted(text: str) -> str:
    try:
        return msgspec.json.decode(text, type=str)
    except msgspec.DecodeError:
        return text
