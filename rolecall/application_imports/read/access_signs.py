"""Recognize columns that may contain access, although they are not read as groups or permissions."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from enum import StrEnum

import msgspec

from rolecall.application_imports.read.keyed_signs import is_keyed
from rolecall.application_imports.read.keyed_values import ACCESS_WORDS, FLAG_WORDS, object_in
from rolecall.applications.field_words import ACCESS, GIVES_NOTHING, NO_ACCESS, YES_NO
from rolecall.core.nested_json import decode_nested
from rolecall.core.secret_names import looks_secret
from rolecall.core.text import fold, without_accents

# The maximum number of cells of a column that are examined.
MOST_CELLS = 1_000


class Sign(StrEnum):
    """Why a column may contain access."""

    LIST = "lists of values"
    RECORDS = "lists of records"
    TICKS = "yes and no"
    LEVELS = "levels, with a word for none"
    NAMES = "values that repeat"


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_a-zA-Z]+")
_NUMBER = re.compile(r"[-+]?\d+(?:[.,:]\d+)*%?")
_DATE = re.compile(
    r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}.*|\d{8,14}(?:\.\d+)?Z?|(?>.*?\d:\d\d)(?=.{4}).*+(?<=\d{4})"
    r"|[^\W\d]+ \d{1,2},? \d{4}.*"
)
# A number. A comma in it is a decimal comma or separates thousands, not the entries of a list.
_DECIMAL = re.compile(r"[-+]?(?:\d+(?:[,.]\d{1,2})?|\d{1,3}(?:,\d{3})+(?:\.\d+)?)")
_GUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_CODE = re.compile(r"[A-Za-z]{0,8}[-_]?\d{2,}")
_DISTINGUISHED = re.compile(r"(?:cn|uid|ou)=", re.IGNORECASE)
_ADDRESS = re.compile(r"[^@\s]+@[^@\s]+|(?:https?|ldap|file)://\S+|/\S*")
# Header words about access. Names in such a column count as access even if no name repeats.
_ACCESS_IN_HEADERS = ACCESS_WORDS | {
    "perm", "priv", "grp", "grps", "profile", "authority", "authorization", "scope", "licence", "admin",
    "administrator", "superuser", "capability", "grant", "policy", "responsibility", "clearance", "rolle", "gruppe",
    "berechtigung", "recht", "droit", "permiso", "rol", "grupo", "grupos", "groupe", "groupes", "ruolo", "gruppo",
    "groname", "template", "templates", "course", "courses", "cohort", "cohorts", "product", "products", "addon",
    "accprofile", "subtemplate", "subtemplates", "oprclass", "rowsecclass", "prcsprflcls",
}  # fmt: skip
# Two header words that mean access only together.
_SECURITY_CLASS = {"security", "class"}
# Header words about a person, an organization or the record itself. A column whose header has such a word, but no word
# about access, contains no access.
_OTHER_WORDS = {
    "department", "dept", "division", "company", "employer", "office", "location", "city", "town", "country", "state",
    "province", "region", "site", "building", "floor", "room", "desk", "street", "address", "zip", "postal", "post",
    "title", "job", "position", "occupation", "manager", "supervisor", "boss", "language", "lang", "locale", "zone",
    "timezone", "currency", "gender", "sex", "phone", "telephone", "mobile", "fax", "cost", "center", "centre",
    "employee", "employment", "worker", "contract", "name", "names", "first", "last", "surname", "initials", "mail",
    "email", "created", "modified", "updated", "changed", "date", "day", "time", "timestamp", "birthday", "source",
    "shell", "home", "gid", "dn", "class", "objectclass", "schemas", "schema", "meta", "version", "description",
    "comment", "comments", "note", "notes", "remarks", "url", "uri", "href", "link", "photo", "picture", "avatar",
    "status", "sts", "salary", "grade", "band", "org", "organization", "organisation", "unit", "branch", "vendor",
    "provider", "tenant", "domain", "server", "host", "creator", "author", "reason", "count", "number", "no", "index",
    "abteilung", "standort", "ort", "land", "firma", "kostenstelle", "sprache", "titel", "vorgesetzter", "departamento",
    "puesto", "ciudad", "pais", "ville", "pays", "poste", "sede", "reparto", "afdeling", "functie", "nationality",
    "l", "st", "education", "degree", "school", "marital", "race", "ethnicity", "age", "brand", "model", "browser",
    "subsidiary", "kind",
}  # fmt: skip
# Header words for people other than the holder. In such a column, names are not access, but yes and no can be.
_PEOPLE = {
    "owner", "grantor", "by", "requester", "requestor", "approver", "reviewer", "responsable", "gestor", "gestore",
    "jefe", "vorgesetzte", "leidinggevende",
}  # fmt: skip
# Header words for a kind of record. If all rows have the same value in such a column, it is not access.
_KINDS = {"kind", "type", "api", "ref", "version"}
# Header words for limits, such as the maximum amount that an account may approve.
_LIMITS = {"limit", "limits", "ceiling", "threshold", "betragsgrenze", "plafond"}
_NOTHING = GIVES_NOTHING | NO_ACCESS
# Words for no access in a column of levels. *NONE is left out, because systems write it in place of a name.
_NO_LEVEL = {word for word in _NOTHING if not word.startswith("*")}
_BLANK = {"", "[]", "{}"}
_SEPARATORS = (";", "|", "~", "#", "\n", ",")
_MOST_LEVELS, _MOST_WORDS, _LONGEST = 6, 5, 60


def sign_of_access(header: str, cells: Iterable[str]) -> Sign | None:
    """Return why a column may contain access, or None if nothing suggests it."""
    stripped = [cell.strip() for cell in cells]
    rows, values = len(stripped), [cell for cell in stripped if cell not in _BLANK]
    words = {word.lower() for word in _WORD.findall(without_accents(header))}
    if not values or looks_secret(header):
        return None
    is_named = bool(words & _ACCESS_IN_HEADERS) or words >= _SECURITY_CLASS
    is_other = bool(words & _OTHER_WORDS)
    if is_other and not is_named:
        return None
    if _are_ids(words, values) or (len(set(values)) == 1 and words & _KINDS):
        return None
    plain = {fold(value) for value in values}
    if plain <= ACCESS.keys() | NO_ACCESS | YES_NO.keys():
        return Sign.TICKS if not words & FLAG_WORDS and not plain <= _NOTHING else None
    if words & _PEOPLE and not is_named:
        return None
    if words & _LIMITS and all(map(_NUMBER.fullmatch, values)):
        return Sign.LEVELS
    if objects := [each for each in map(object_in, values) if each]:
        return Sign.LIST if is_keyed(header, objects) else Sign.RECORDS if is_named else None
    if found := _listed(values):
        return found
    if all(_is_plain(each[:_LONGEST]) for each in values):
        return Sign.NAMES if is_named and _repeats(values) else None
    counts = Counter(values)
    is_short = all(len(each) <= _LONGEST and (len(each.split()) <= _MOST_WORDS or counts[each] > 1) for each in values)
    if plain & _NO_LEVEL and 1 < len(plain) <= _MOST_LEVELS and is_short:
        return Sign.LEVELS
    # If all rows have the same value, it does not tell who has access.
    is_repeated = _repeats(values) and (len(plain) > 1 or len(values) < rows)
    return Sign.NAMES if is_named or (is_short and is_repeated and not words & FLAG_WORDS) else None


def _is_plain(value: str) -> bool:
    """Return whether a value is a number, a date or an address."""
    return any(pattern.fullmatch(value) for pattern in (_NUMBER, _DATE, _ADDRESS))


def _are_ids(words: Set[str], values: Sequence[str]) -> bool:
    """Return whether values are IDs of something other than access.

    IDs of roles and groups repeat, so unique IDs are not access. GUIDs below a header without a word for access are
    not access either.
    """
    is_unique = 1 < len(set(values)) == len(values)
    is_code = is_unique and "id" in words and all(map(_CODE.fullmatch, values))
    return is_code or (all(map(_GUID.fullmatch, values)) and (is_unique or not words & _ACCESS_IN_HEADERS))


def _repeats(values: Sequence[str]) -> bool:
    """Return whether values occur at least twice on average."""
    return 2 * len(set(values)) <= len(values)


def _listed(values: Sequence[str]) -> Sign | None:
    """Return RECORDS if cells are lists of objects, LIST if they are lists that share a value, and otherwise None."""
    arrays = [_array(value) for value in values if value.startswith("[") and value.endswith("]")]
    entries = [entry for array in arrays for entry in array]
    if any(isinstance(entry, dict) for entry in entries):
        return Sign.RECORDS
    if entries:
        return Sign.LIST if _is_shared([[str(entry) for entry in array] for array in arrays]) else None
    inside = [value[1:-1] if value[0] + value[-1] in ("[]", "{}") else value for value in values]
    for separator in _SEPARATORS:
        lists = [[part.strip() for part in value.split(separator) if part.strip()] for value in inside]
        # A part with many words that occurs only once is a piece of a sentence, not a name: long names repeat.
        once = {part for part, count in Counter(part for each in lists for part in each).items() if count == 1}
        is_text = separator == "," and (
            any(len(part.split()) > _MOST_WORDS for part in once)
            or all(_DECIMAL.fullmatch(value) or _DISTINGUISHED.match(value) for value in inside)
        )
        if _is_shared(lists) and any(len(each) > 1 for each in lists) and not is_text:
            return Sign.LIST
    # The values may be lists of codes that are padded with spaces to equal width.
    is_padded = any("  " in value for value in values) and all(value == value.upper() for value in values)
    return Sign.LIST if is_padded and _is_shared([value.split() for value in values]) else None


def _is_shared(lists: Sequence[Sequence[str]]) -> bool:
    """Return whether a value in a list of several values also occurs in another row."""
    counts = Counter(value for each in lists for value in set(each))
    return any(counts[value] > 1 for each in lists if len(each) > 1 for value in each)


def _array(cell: str) -> list[object]:
    try:
        entries: list[object] = decode_nested(cell, list[object])
    except msgspec.DecodeError:
        return []
    return entries
