"""Define the table that a sample is read into, and build this table from records."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from rolecall.application_imports.read.json_pages import PageSigns
from rolecall.application_imports.read.keyed_signs import is_keyed, may_be_keyed
from rolecall.application_imports.read.table import MOST_COLUMNS
from rolecall.applications.file_shape import fits_patterns
from rolecall.core.json_paths import flattened, value_at
from rolecall.core.secret_names import HIDDEN, looks_secret, mask_json, mask_text
from rolecall.core.text import some_of
from rolecall.file_shapes.columns.header_names import is_about_person, is_name_or_address
from rolecall.file_shapes.columns.secret_values import are_hashes

MOST_ROWS = 2_000
RAW_LINES = 12
_MOST_PATHS = 200
_SEVERAL = 2
_MOST_NAMED = 4
_LONGEST_NAME = 256
LONGEST_RAW = 400


class Unreadable(Exception):
    """Raised if a file cannot be read. The message says what was found and what to do."""


class SampleTable(msgspec.Struct):
    """The rows of a sample as text, with the layout and the evidence for it."""

    format: str
    headers: list[str]
    rows: list[list[str]]
    encoding: str | None = None
    delimiter: str | None = None
    # None if no single line is the header.
    header_line: int | None = 1
    # The number of lines above the rows, if none of them can be used as the header: the shape then lists `headers`.
    skip_lines: int = 0
    # Whether columns are aligned with spaces below the header, or separated by borders, as in `| ada | Active |`.
    is_aligned: bool = False
    # Where the columns of a printed list begin; the first position is 1.
    column_starts: list[int] = []
    # The path to the records in a JSON file.
    records: str | None = None
    # Columns whose cells are JSON arrays, or objects that map names to access.
    lists: list[str] = []
    # The first lines or records of the file, each truncated. `raw_without_secrets` hides the secrets in them.
    raw: list[str] = []
    evidence: list[str] = []
    # Other lines that could be the header.
    candidates: list[int] = []
    # Whether a person must say if a line is the header or a row, because it contains no known header.
    is_doubtful: bool = False
    # The first cell of each row that contains totals.
    totals: list[str] = []
    # The titles of sections between the rows, which are not read.
    titles: list[str] = []
    # Conditions that leave out lines between and below the rows.
    left_out: list[dict[str, Any]] = []
    # Whether rows are longer than the header, because the last column contains the delimiter.
    merges: bool = False
    # Columns with cells that are merged across several rows.
    fill_down: list[str] = []
    # The sheet of a workbook that is read, if several sheets have data, and the names of all sheets with data.
    sheet: str | None = None
    sheets: list[str] = []
    # The paths of all lists of a JSON file, from which `records` may be chosen.
    choices: list[str] = []
    # The name of the table, if a file has several that are neither sheets nor lists.
    name: str = ""
    # Everything in the file outside this table, such as other sheets, with a short description of each.
    beside: dict[str, str] = {}
    # Paths into nested lists, such as emails[type=work].value, with the column that contains the list.
    paths: dict[str, str] = {}
    # Signs in a JSON file that its records are one page of a longer list.
    page: PageSigns | None = None
    # Words such as NULL that the rows had in place of blank cells.
    nulls: list[str] = []
    # The separator between section and name in the headers of a matrix with two header lines.
    section_separator: str = ""
    # Columns such as `state` that are part of an address.
    addresses: list[str] = []
    # The field that the rows of a matrix are read as, if a person decided it.
    rows_of_matrix: str | None = None


class Decided(msgspec.Struct, frozen=True):
    """The decisions of a person about how to read a file; the rest is detected."""

    # The line of the header: 0 if the file has no header, None if the person did not decide.
    header_line: int | None = None
    delimiter: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    records: str | None = None
    # What the rows of a matrix are: Username, Group or Permission.
    rows: str | None = None


def from_records(format: str, records: Sequence[dict[str, Any]], evidence: list[str]) -> SampleTable:
    keyed = _keyed_paths(records)
    flat = [dict(flattened(record, whole=keyed)) for record in records]
    paths = _paths(flat)
    for record in flat:
        record |= {path: value_at(record, path) for path in paths}
    replaced = {name for path, name in paths.items() if path == f"{name}[0]"}
    headers = [name for name in dict.fromkeys(name for record in flat for name in record) if name not in replaced]
    if len(headers) > MOST_COLUMNS:
        raise Unreadable(
            f"the records have more than {MOST_COLUMNS:,} different members; set shape.records to one list of records"
        )
    unnamed = [name for name in headers if not fits_patterns(name)]
    headers = [name for name in headers if name not in unnamed]
    if unnamed:
        named = some_of([name or "a blank name" for name in unnamed], _MOST_NAMED)
        evidence = [*evidence, f"Not read, because a shape cannot refer to members with such names: {named}"]
    lists = [name for name in headers if name in keyed or any(isinstance(each.get(name), list) for each in flat)]
    rows = [[_plain(record.get(header)) for header in headers] for record in flat]
    raw = [mask_json(msgspec.json.encode(record).decode())[:LONGEST_RAW] for record in records[:RAW_LINES]]
    return SampleTable(format, headers, rows, lists=lists, evidence=evidence, header_line=None, paths=paths, raw=raw)


def _keyed_paths(records: Iterable[dict[str, Any]]) -> set[str]:
    """Return the paths of objects that map names to access. Some records may have a list or a text in their place."""
    found: dict[str, list[Any]] = {}
    for record in records:
        for path, value in _named_for_access(record):
            found.setdefault(path, []).append(value)
    return {path for path, values in found.items() if _are_keyed(path, values)}


def _named_for_access(record: dict[str, Any], prefix: str = "", depth: int = 3) -> Iterator[tuple[str, Any]]:
    for name, value in record.items():
        if may_be_keyed(f"{prefix}{name}"):
            yield f"{prefix}{name}", value
        if isinstance(value, dict) and depth:
            yield from _named_for_access(value, f"{prefix}{name}.", depth - 1)


def _are_keyed(path: str, values: Sequence[Any]) -> bool:
    objects = [value for value in values if isinstance(value, dict)]
    others = [each for value in values if value and not isinstance(value, dict) for each in _listed(value)]
    if not objects or not all(isinstance(each, str) for each in others):
        return False
    # If other records have text here, do not flatten the objects: an import reads all cells of a column the same way.
    return bool(others) or is_keyed(path, objects)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


# Members that may name an object in a list, best first.
_TEXTS = ("title", "label", "summary")
_LOGINS = ("userprincipalname", "username", "login", "samaccountname", "email", "mail")
_NAMING = (*_LOGINS, "value", "display", "displayname", "name", "role", "rolename", "groupname", "id")
# The members to read from lists other than addresses and phone numbers, best first. `value` is near the end, because it
# is often an ID in these lists.
_SHOWN = (*_LOGINS, "display", "displayname", "name", "role", "rolename", "groupname", "value", *_TEXTS)
# Lists of people, and the members that name a person in them, best first. A role does not name its holder.
_LISTS_OF_PEOPLE = {"members", "users", "memberships", "accounts", "assignees", "owners"}
_NAMING_PEOPLE = (*_LOGINS, "display", "displayname", "name", "value", "userid", "memberid", "accountid", "id", "uuid")
_PEOPLE = ("user", "member", "account", "principal", "person")
_PLAIN = re.compile(r"[\w:-]{1,60}")


def _singles(flat: Sequence[dict[str, Any]]) -> set[str]:
    """Return the attributes whose lists are read as one value, because directories write every attribute as a list.

    These are names and addresses of people, and other attributes of people if none of their lists has several values.
    """
    names = {name for record in flat for name, value in record.items() if isinstance(value, list)}
    return {name for name in names if is_about_person(name) and _is_single(name, [each.get(name) for each in flat])}


def _is_single(name: str, values: Iterable[Any]) -> bool:
    lists = [each if isinstance(each, list) else [each] for each in values if each]
    is_plain = not any(isinstance(entry, dict) for each in lists for entry in each[:1])
    return is_plain and (is_name_or_address(name) or all(len(each) < _SEVERAL for each in lists))


def _paths(flat: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Map paths into lists, such as emails[type=work].value or groups[].name, to the column that contains the list."""
    paths: dict[str, str] = {}
    singles = _singles(flat)
    for record in flat:
        for name, value in record.items():
            if len(name) > _LONGEST_NAME:
                continue
            if name in singles:
                paths[f"{name}[0]"] = name
            elif isinstance(value, list) and value and isinstance(value[0], dict):
                paths |= dict.fromkeys(_paths_into(name, value)[: _MOST_PATHS - len(paths)], name)
    return paths


def _paths_into(name: str, entries: list[Any]) -> list[str]:
    members = {key.lower(): key for key in entries[0]}
    if name.rpartition(".")[2].lower() in _LISTS_OF_PEOPLE and (found := _path_to_person(entries[0])):
        return [f"{name}[].{found}"]
    if members.keys() == {"name", "value"}:
        # The list contains attributes, each as an object with a name and a value.
        named = [str(each.get(members["name"])) for each in entries if isinstance(each, dict)]
        return [f"{name}[{members['name']}={each}].{members['value']}" for each in named if _PLAIN.fullmatch(each)]
    inner = next((members[key] for key in _NAMING if key in members), None)
    inner = inner or next((key for key, value in entries[0].items() if isinstance(value, str) and "@" in value), None)
    if inner is None:
        return []
    if "mail" in name.lower() or "phone" in name.lower() or "address" in name.lower():
        type = members.get("type", "type")
        is_work = any(str(each.get(type)).lower() == "work" for each in entries if isinstance(each, dict))
        return [f"{name}[{type}=work].{inner}" if is_work else f"{name}[0].{inner}"]
    shown = next((members[key] for key in _SHOWN if key in members), inner)
    return [f"{name}[].{shown}"]


def _path_to_person(entry: dict[str, Any]) -> str | None:
    """Return the path to the login, the name or the ID of a person in an entry, such as `user.id`, or None."""
    members = {key.lower().replace("_", ""): key for key, value in entry.items() if isinstance(value, str | int)}
    if found := next((members[key] for key in _NAMING_PEOPLE if key in members), None):
        return found
    inner = next((key for key, value in entry.items() if key.lower() in _PEOPLE and isinstance(value, dict)), None)
    found = _path_to_person(entry[inner]) if inner else None
    return f"{inner}.{found}" if found else None


def _plain(value: Any) -> str:
    if value is None or value == {}:
        return ""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, bool | int | float) else msgspec.json.encode(value).decode()


def joined(rows: Sequence[Sequence[str]]) -> list[str]:
    return [" | ".join(row)[:LONGEST_RAW] for row in rows[:RAW_LINES]]


def raw_without_secrets(table: SampleTable) -> list[str]:
    """Return the first lines of the file. Hide columns of password hashes, and values named like secrets."""
    columns = {i: [row[i] for row in table.rows if i < len(row)] for i in range(len(table.headers))}
    at = [i for i, header in enumerate(table.headers) if looks_secret(header) or are_hashes(columns[i])]
    values = {row[i] for row in table.rows for i in at if i < len(row) and row[i].strip()}
    # CSV doubles quotes inside a cell.
    values |= {value.replace('"', '""') for value in values}
    if values:
        secret = re.compile("|".join(map(re.escape, sorted(values, key=len, reverse=True))))
        return [mask_text(_hide_end(secret.sub(HIDDEN, line), line, values)) for line in table.raw]
    return [*map(mask_text, table.raw)]


def _hide_end(line: str, original: str, values: Iterable[str]) -> str:
    """Hide the beginning of a secret at the end of a truncated line."""
    if len(original) < LONGEST_RAW:
        return line
    cut = max((n for value in values for n in range(1, len(value)) if line.endswith(value[:n])), default=0)
    return f"{line[:-cut]}{HIDDEN}" if cut else line
