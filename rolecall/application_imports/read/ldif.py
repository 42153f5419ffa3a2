"""Read LDIF (RFC 2849): records of attributes, with folded lines, base64 values and several values of an attribute."""

import base64
import binascii
import re
from collections.abc import Iterator, Sequence

from rolecall.application_imports.read.broken_file import BrokenFile

_NOTHING = rb"[ \t]*(?:#[^\n]*)?\r?\n"
# Use a possessive quantifier: a line of spaces fits two alternatives, and backtracking would take exponential time.
_BEGINS = re.compile(rb"(?:" + _NOTHING + rb"| [^\n]*\n|version:[^\n]*\n)*+dn::? ?[^\n]", re.IGNORECASE)
# An entry below other text: a distinguished name, followed by a line with another attribute.
_ENTRY = re.compile(
    rb"^dn:(?:: *[\w+/=]+| ?\w+ ?=[^\n]*?)\r?\n(?: [^\n]*\n){0,9}[a-z][\w;.-]*::?(?: |\r?$)",
    re.IGNORECASE | re.MULTILINE,
)
# An indented list of attributes below a name, as some programs print it. In LDIF, such a line would continue the name.
_INDENTED = re.compile(rb"^dn:[^\n]*\n {2,}[a-z]\w*: ", re.IGNORECASE | re.MULTILINE)
_LOOKED_AT = 4096
# An opening or closing fence of a Markdown code block.
_FENCE = re.compile(r"(?:`{3,}|~{3,}) *\w*")

# Names in the lines that ldapsearch prints after the entries.
_TRAILER = {"search", "result", "control", "pagedresults"}


def is_ldif(text: bytes) -> bool:
    """Return whether a text contains LDIF entries, even if other text is above them: `read_ldif` reports that text."""
    if _INDENTED.search(text[:_LOOKED_AT]):
        return False
    return _BEGINS.match(text) is not None or _ENTRY.search(text[:_LOOKED_AT]) is not None


# The attribute in which an entry names its groups, and those in which groups name their members.
_HELD, _MEMBERS = "memberof", ("member", "uniquemember")
_FIRST = re.compile(r"[^=,]+=((?:\\.|[^,\\])*)")

Entry = dict[str, object]


def read_ldif(text: str) -> Iterator[tuple[int, Entry]]:
    """Yield the line number and the attributes of each entry. Several values become a list.

    The case of attribute names is ignored. If any entry has memberOf, the memberOf of each entry is completed with the
    groups that list the entry as a member.
    """
    entries = list(_entries(text))
    _complete_groups([entry for _, entry in entries])
    yield from entries


def _complete_groups(entries: Sequence[Entry]) -> None:
    """Complete `memberOf` of each entry with the groups that list the entry, if any entry has `memberOf`.

    Name a group in one way: by its plain name if all entries do, otherwise by its distinguished name.
    """
    spelling = {name.lower(): name for entry in entries for name in entry}
    if _HELD not in spelling or "dn" not in spelling:
        return
    held, dn = spelling[_HELD], spelling["dn"]
    members = {
        str(entry.get(dn)): [
            member for name in _MEMBERS if name in spelling for member in _values(entry.get(spelling[name]))
        ]
        for entry in entries
    }
    own_names = _own_names([group for group, listed in members.items() if listed])
    is_plain = not any("=" in name for entry in entries for name in _values(entry.get(held)))
    for entry in [] if is_plain else entries:
        if known := _values(entry.get(held)):
            whole = list(dict.fromkeys(own_names.get(name.lower(), name) for name in known))
            entry[held] = whole if len(whole) > 1 else whole[0]
    named = {str(entry.get(dn)).lower(): entry for entry in entries}
    plain = {group: name_in(group) for group in own_names.values()} if is_plain else {}
    for group, listed in members.items():
        for member in listed:
            if (person := named.get(member.lower())) is not None:
                _add_group(person, held, plain.get(group, group))


def _own_names(groups: Sequence[str]) -> dict[str, str]:
    """Map group names in lower case to distinguished names. Leave out names that several groups share."""
    found: dict[str, list[str]] = {}
    for group in groups:
        found.setdefault(name_in(group).lower(), []).append(group)
    return {name: several[0] for name, several in found.items() if len(several) == 1}


def name_in(distinguished_name: str) -> str:
    """Return the first value of a distinguished name: `staff` in `cn=staff,ou=groups`; other text unchanged."""
    match = _FIRST.match(distinguished_name)
    return re.sub(r"\\(.)", r"\1", match[1]) if match else distinguished_name


def _add_group(entry: Entry, held: str, group: str) -> None:
    known = _values(entry.get(held))
    if group.lower() not in map(str.lower, known):
        entry[held] = [*known, group] if known else group


def _values(value: object) -> list[str]:
    return [] if value is None else [str(each) for each in value] if isinstance(value, list) else [str(value)]


def _entries(text: str) -> Iterator[tuple[int, Entry]]:
    spelling: dict[str, str] = {}
    entry: Entry = {}
    begins, is_first = 0, True
    for number, line in _unfolded(text):
        if not line:
            if entry.keys() - _TRAILER:
                yield begins, entry
            entry = {}
            continue
        if is_first and re.match(r"(?!dn:|version:)", line, re.IGNORECASE):
            advice = "remove the text above the first line that begins with dn:"
            raise BrokenFile(f"this line is above the first entry of the LDIF file; {advice}", line=number)
        name, value = _attribute(line, number)
        if name.lower() == "version" and not entry:
            continue
        is_first = False
        if not entry:
            begins = number
        name = spelling.setdefault(name.lower(), name)
        known = entry.get(name)
        if isinstance(known, list):
            known.append(value)
        else:
            entry[name] = value if known is None else [known, value]
    if entry.keys() - _TRAILER:
        yield begins, entry


def _unfolded(text: str) -> Iterator[tuple[int, str]]:
    """Yield logical lines without comments; a line that begins with a space continues the one before it.

    The fences of a Markdown code block count as blank lines.
    """
    held, begins = "", 0
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.rstrip("\r")
        line = "" if _FENCE.fullmatch(line.rstrip()) else line
        if line.startswith(" ") and held:
            held += line[1:]
            continue
        if held and not held.startswith("#"):
            yield begins, held
        held, begins = line, number
        if not line.strip():
            yield number, ""
            held = ""
    if held and not held.startswith("#"):
        yield begins, held


def _attribute(line: str, number: int) -> tuple[str, str]:
    name, colon, rest = line.partition(":")
    if not colon or not name.strip():
        advice = "remove it if it is not part of the export"
        raise BrokenFile(f"this line of the LDIF file does not have the form name: value; {advice}", line=number)
    # Options, such as `lang-de` in `cn;lang-de`, belong to the attribute's name.
    if not rest.startswith(":"):
        return name.strip(), rest.removeprefix("<").strip()
    try:
        decoded = base64.b64decode(rest[1:].strip(), validate=True)
    except (binascii.Error, ValueError):
        raise BrokenFile(f"the value of {name} is not base64", line=number) from None
    try:
        text = decoded.decode()
    except UnicodeDecodeError:
        return name.strip(), rest[1:].strip()
    return name.strip(), text if "\x00" not in text else rest[1:].strip()
