"""Find the lists of records in a JSON file."""

import codecs
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.application_imports.read.json_pages import ENVELOPES, PageSigns, is_of_page, list_of_pages, signs_of
from rolecall.application_imports.read.json_records import MEMBERS, TOO_DEEP, inner_records, pairs_in, read_json
from rolecall.application_imports.read.keyed_signs import is_map
from rolecall.core.json_paths import flattened, value_at
from rolecall.core.nested_json import NestedTooDeeply, decode_nested
from rolecall.core.text import counted, fold
from rolecall.file_shapes.columns.header_names import names_access
from rolecall.file_shapes.tables.sample import MOST_WHOLE, Sample
from rolecall.file_shapes.tables.sample_table import MOST_ROWS, SampleTable, Unreadable, from_records

# The path that means the whole document: it is the only record, or an object whose members are records.
WHOLE = "$"
# The path of the accounts in a Veza OAA payload. Other lists refer only to some of them.
VEZA_ACCOUNTS = "applications[].local_users[]"
MOST_LISTS = 8
_LOOKED_AT = 100
_SEVERAL = 2
_RECORD = re.compile(r"\}\s*,\s*\{")
_LOGINS = {
    "username", "userid", "login", "loginname", "userprincipalname", "samaccountname", "email", "emailaddress", "mail",
}  # fmt: skip
# Members that an account has, but a reference to an account does not.
_DESCRIBED = {"active", "enabled", "disabled", "status", "state", "suspended", "first-name", "firstname", "first_name"}
# Names of lists inside the only entry of another list, as in responses of remote procedure calls.
_WRAPPED = set(ENVELOPES) - {"users", "members", "groups"}
# Words for the kind of an entry.
_KINDS = {"user", "group", "serviceaccount", "serviceprincipal", "app"}
_KIND = re.compile(r"(?<![^\W_])(?:user|group)(?![^\W_])", re.IGNORECASE)


def read_lists(text: str, sample: Sample, chosen: str | None = None) -> list[SampleTable]:
    """Read the lists of records in JSON or JSON lines. Of a long file, read only the beginning.

    Return the chosen list or, without a choice, the best one, followed by other lists of the file.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if text.lstrip().startswith("{") and len(lines) > 1 and lines[0].rstrip().endswith("}"):
        records = [_object(line) for line in lines[:MOST_ROWS]]
        if all(records) and list_of_pages(records) is None:
            return [_lines(records, chosen)]
    document, page = _document(text, sample)
    if chosen in (None, WHOLE) and (whole := _whole(document)):
        return [whole]
    if pairs := _pairs(document, chosen):
        return [pairs]
    lists = _sorted_lists(document)
    if not lists:
        raise Unreadable("the file is JSON without a list of objects; set shape.records to the path of the records")
    chosen = "" if chosen == WHOLE else chosen
    if chosen is not None and chosen not in lists:
        raise Unreadable(f"the file has no list {chosen}; its lists are {', '.join(lists)}")
    first = chosen if chosen is not None else _best(lists)
    # The entries of an inner list also have the members of the outer record.
    outer = first.partition("[]")[0] if "[]" in first else first
    others = [path for path in lists if path not in (first, outer) and "[]" not in path]
    paths = [first, *([] if first == VEZA_ACCOUNTS else others)]
    found = [_found(path, lists[path]) for path in paths[:MOST_LISTS]]
    found[0].choices = list(lists)
    found[0].evidence += _unread_beside(document, lists)
    found[0].beside = dict(_beside(document, {path.partition("[]")[0] for path in paths[:MOST_LISTS]}))
    if page:
        found[0].evidence = [f"The file has {page.documents:,} JSON documents; their records are read as one list"]
    # Signs of paging are known only if the whole file was read.
    if sample.is_whole or sample.size <= MOST_WHOLE:
        found[0].page = page or signs_of(document if first else None, len(lists[outer]))
    return found


def _lines(records: list[dict[str, Any]], chosen: str | None) -> SampleTable:
    """Read the records on the lines of a file, or the entries of a list inside them."""
    lists = _sorted_lists(records)
    path = chosen if chosen in lists else _best(lists)
    found = from_records("JSON lines", lists[path][:MOST_ROWS], ["One JSON object on each line"])
    found.choices = list(lists)
    if path:
        found.records = path
        found.evidence.append(f"The records are the list {path}")
    return found


def _unread_beside(document: Any, lists: Iterable[str]) -> list[str]:
    """Return evidence that names the objects and lists that are not read, because they are outside the records.

    An example is the object of a group, if the records are its members.
    """
    members = document.items() if isinstance(document, dict) else ()
    inside = {path.partition(".")[0].partition("[")[0] for path in lists}
    unread = [name for name, value in members if name not in inside and value and isinstance(value, dict | list)]
    unread = [name for name in unread if not is_of_page(name)]
    return [f"Not read (outside the records): {', '.join(unread[:5])}"] if unread else []


def _beside(value: Any, read: Collection[str], path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path and a short text for each value outside the lists that were read, except page information.

    `read` has the paths of these lists.
    """
    if path in read:
        return
    if isinstance(value, dict) and (not path or any(each.startswith((f"{path}.", f"{path}[")) for each in read)):
        for name, inner in value.items():
            if not is_of_page(name) or any(each.startswith(f"{path}.{name}".lstrip(".")) for each in read):
                yield from _beside(inner, read, f"{path}.{name}".lstrip("."))
    elif isinstance(value, list) and any(each.startswith(f"{path}[0]") for each in read):
        yield from _beside(value[0], read, f"{path}[0]")
    elif value not in (None, "", [], {}):
        # Show only the names of the members of an object, because their values may be secrets.
        if isinstance(value, dict):
            yield path, ", ".join(value)
        else:
            yield path, counted(len(value), "entry", "entries") if isinstance(value, list) else str(value)


def _found(path: str, records: list[dict[str, Any]]) -> SampleTable:
    evidence = [f"The records are the list {path}"] if path else ["A JSON array of records"]
    found = from_records("JSON", records[:MOST_ROWS], evidence)
    found.records = path or None
    return found


def _whole(document: Any) -> SampleTable | None:
    """Read a document that is the only record, or an object whose members are records."""
    if is_map(document) and len(document) > 1:
        return None
    if _is_record(document):
        found = from_records("JSON", [document], ["The file is one JSON object, which is its only record"])
    elif _is_keyed(document):
        found = from_records(
            "JSON",
            _by_key(document)[:MOST_ROWS],
            ["The members of one JSON object are the records; the column `key` contains their names"],
        )
    else:
        return None
    found.records = WHOLE
    return found


def _pairs(document: Any, chosen: str | None) -> SampleTable | None:
    """Read the members of a map from names to lists or maps: the document, or its only member, such as `roles`."""
    path = "$"
    if isinstance(document, dict) and len(document) == 1 and all(map(_fits_paths, document)):
        ((path, document),) = document.items()
    is_about_access = path == "$" or _is_about_accounts(path) or names_access(path)
    if chosen not in (None, f"{path}{MEMBERS}") or not is_about_access or not is_map(document):
        return None
    evidence = ["The members of a JSON object are the records: `key` is the name of each, `access` its value"]
    found = from_records("JSON", pairs_in(document)[:MOST_ROWS], evidence)
    found.records = f"{path}{MEMBERS}"
    return found


def _is_keyed(value: Any) -> bool:
    """Return whether an object has records as members: several objects that have a member in common."""
    members = list(value.values()) if isinstance(value, dict) else []
    if len(members) < _SEVERAL or not all(isinstance(each, dict) for each in members):
        return False
    return bool(set.intersection(*map(set, members)))


def _by_key(records: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, **each} for name, each in records.items()]


def _sorted_lists(document: Any) -> dict[str, list[dict[str, Any]]]:
    """Map the paths of lists to their records.

    Lists about accounts come first, then the other lists, both longest first, and then the lists inside their records.
    """
    outer = sorted(_lists(document), key=lambda each: (_is_about_accounts(each[0]), len(each[1])), reverse=True)
    lists = dict(outer)
    for path, records in outer[:MOST_LISTS]:
        for name in _inner_lists(records[:_LOOKED_AT])[:MOST_LISTS]:
            inner = f"{path}[].{name}[]"
            lists[inner] = [dict(record) for record in inner_records(document, inner)]
    return lists


def _inner_lists(records: Iterable[dict[str, Any]]) -> list[str]:
    """Return the names of members that are lists of objects, including members one level deeper."""
    found = {
        name
        for record in records
        for name, value in flattened(record, depth=1)
        if isinstance(value, list) and value and _fits_paths(name) and all(map(_is_entry, value))
    }
    return sorted(found)


def _is_entry(value: object) -> bool:
    """Return whether an entry of a list is an object that has several members or a name."""
    return isinstance(value, dict) and (len(value) > 1 or "name" in value)


def _best(lists: Mapping[str, list[dict[str, Any]]]) -> str:
    """Return the path of the list to read: the first one that applies.

    * the list of accounts in a Veza payload
    * a list inside the records of the first list, if all its entries have a kind such as user, all give a role to
      members, or all describe accounts and the first list does not name people
    * the first list
    """
    if VEZA_ACCOUNTS in lists:
        return VEZA_ACCOUNTS
    first = next(iter(lists))
    is_about_people = any(map(_names_person, lists[first][:_LOOKED_AT]))
    for path, records in lists.items():
        name = path.removeprefix(f"{first}[].").removesuffix("[]")
        entries = [value_at(record, name) for record in records] if path.startswith(f"{first}[].") else []
        if entries and (
            all(map(_has_kind, entries))
            or all(map(_is_binding, entries))
            or (not is_about_people and all(map(_is_described, entries)))
        ):
            return path
    return first


def _names_person(record: object) -> bool:
    """Return whether an object has the login or the address of a person; a name alone may be that of a group."""
    members = {fold(name).replace("-", "").replace("_", "") for name in record} if isinstance(record, dict) else set()
    return bool(members & _LOGINS)


def _is_described(entry: object) -> bool:
    """Return whether an entry names a person, and also has the state of the account or the person's first name."""
    return _names_person(entry) and isinstance(entry, dict) and bool(_DESCRIBED & {fold(name) for name in entry})


def _has_kind(entry: object) -> bool:
    if not isinstance(entry, dict):
        return False
    kinds = [str(value) for name, value in entry.items() if name.lower().endswith(("kind", "type"))]
    return any(fold(kind) in _KINDS or _KIND.search(kind) for kind in kinds)


def _is_binding(entry: object) -> bool:
    """Return whether an object gives a role to a list of members, as the IAM policies of cloud providers do."""
    if not isinstance(entry, dict):
        return False
    return isinstance(entry.get("role"), str) and isinstance(entry.get("members"), list)


def _object(line: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = decode_nested(line, dict)
    except NestedTooDeeply:
        raise Unreadable(TOO_DEEP) from None
    except msgspec.DecodeError:
        return {}
    return found


def _document(text: str, sample: Sample) -> tuple[Any, PageSigns | None]:
    """Return the document of a file.

    If a file has several documents, such as pages, return their records and the signs of paging. Of a long file, return
    only the records at its beginning.
    """
    if sample.is_whole or sample.size <= MOST_WHOLE:
        whole = sample.whole().removeprefix(codecs.BOM_UTF8)
        try:
            return decode_nested(whole), None
        except NestedTooDeeply:
            raise Unreadable(TOO_DEEP) from None
        except msgspec.DecodeError as error:
            return _several(whole, error)
    for end in reversed([match.start() + 1 for match in _RECORD.finditer(text)][-50:]):
        # Close the list after the last complete record, and up to two objects around the list.
        for closing in ("]", "]}", "]}}"):
            try:
                return decode_nested(text[:end] + closing), None
            except msgspec.DecodeError:
                continue
    raise Unreadable("no records were found in the first half megabyte of the JSON; export one record per line")


def _several(whole: bytes, error: msgspec.DecodeError) -> tuple[Any, PageSigns | None]:
    """Return the records of consecutive documents as an import would read them, with signs of paging."""
    try:
        found = read_json(whole, None)
    except (BrokenFile, UnicodeDecodeError):
        raise Unreadable(f"the file begins like JSON, but is not valid: {error}") from None
    return [record for _, record in found.records], found.page


def _lists(document: Any, path: str = "", depth: int = 3) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the lists of objects in a document, and the objects whose members are records, each with its path."""
    if isinstance(document, list):
        if document and all(isinstance(each, dict) for each in document):
            yield path, document
            if len(document) == 1 and path and not _is_named(document[0]):
                inner = {name: value for name, value in document[0].items() if name.lower() in _WRAPPED}
                yield from _lists(inner, f"{path}[0]", depth - 1)
    elif isinstance(document, dict) and depth:
        for name, value in document.items():
            deeper = f"{path}.{name}" if path else name
            if not _fits_paths(name):
                continue
            if _is_keyed(value):
                yield deeper, _by_key(value)
            else:
                yield from _lists(value, deeper, depth - 1)


def _fits_paths(name: str) -> bool:
    """Return False for names that a path cannot contain: blank, `$`, with brackets, or with `.*` at the end."""
    return bool(name) and not set(name) & {"[", "]"} and name != WHOLE and not name.endswith(MEMBERS)


def _is_named(record: dict[str, Any]) -> bool:
    """Return whether an object is itself a person or a group, rather than an envelope."""
    return _names_person(record) or any(fold(name) in ("name", "displayname", "id", "key") for name in record)


def _is_record(document: Any) -> bool:
    """Return whether a document is one account: it has a username and no list of accounts."""
    if not isinstance(document, dict) or any(_is_about_accounts(path) for path, _ in _lists(document)):
        return False
    plain = [name for name, value in document.items() if isinstance(value, str | bool | int)]
    return any(fold(name) in ("username", "login", "userprincipalname", "samaccountname") for name in plain)


def _is_about_accounts(path: str) -> bool:
    return re.search(r"user|member|account|person|people|employee|worker|identit", path, re.IGNORECASE) is not None
