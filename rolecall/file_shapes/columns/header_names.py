"""Analyze a header: the names and words in it, and whether it is about the account itself."""

import re
from functools import cache, lru_cache
from itertools import pairwise

from rolecall.applications.model import same_header
from rolecall.core.text import without_accents
from rolecall.file_shapes.columns.header_languages import TRANSLATED
from rolecall.file_shapes.columns.header_words import (
    ABOUT_PERSON,
    CARES,
    ENDED,
    FEATURES,
    FLAGS,
    GIVEN,
    GIVEN_BY,
    HELD,
    KNOWN,
    NOT_ACTIVE,
    OF_ACCOUNTS,
    OF_KIND,
    ORIGINS,
    STATES,
    TOKENS,
    WHEN,
    WORDS,
)

# A colon and a data type after a header, such as `:String(32)`.
_TYPED = re.compile(r":(?:string|boolean|integer|int|long|date|number|text|varchar|char)\b.*", re.IGNORECASE)
_NUMBER_SIGN = re.compile(r"\b[Nn][º°]\s*|№\s*")
_NOISE = {"required", "readonly", "optional", "yesno", "truefalse", "ldap"}
_LONGEST_HEADER = 500
_BRACKETED = re.compile(r"[\[(]([^\[\]()]*)[\])]")
# A name inside one of these objects is not the name of a person.
_THING = re.compile(r"(?:profile|role|group|team|department|permissionset|organi[sz]ation|company|definition|license)$")
_NAMES_OF_THINGS = {"name", "displayname", "label"}
# Members that name an object, best first.
NAMING_OBJECTS = (
    "name",
    "displayname",
    "fullname",
    "label",
    "title",
    "display",
    "displayvalue",
    "value",
    "slug",
    "key",
    "code",
)
# Members that contain the entries of a list, such as `data` in {"groups": {"data": [...], "total": 2}}.
_WRAPPING = {"data", "items", "values", "list", "results", "records", "entries", "nodes", "edges", "all"}
# Members that identify an object.
IDENTIFYING = ("id", "uuid", "guid", "number", "no")
_SHOWN = {"displayvalue", "display"}
# Objects with attributes of a person. A title or a label in them does not name a profile.
_PROFILES = re.compile(r"(?:user)?profiles?$")
_NAMES_OF_PROFILES = {"name", "displayname", "id", "key", "code", "value"}
_PATH = re.compile(r"[\w$@-]+(?:\.[\w$@-]+)+")
# Prefixes of columns in Brazilian databases: a name, a description, a code, an indicator. Prefixes of dates, amounts
# and kinds are not in the list: DT_USUARIO is a date, and not a user.
_PREFIXED = re.compile(
    r"(?:(?:nm|ds|cd|ie|ic|fl)_|(?:in|st|sn|ind|flg)_(?=ativo$|situacao$|bloqueado$))", re.IGNORECASE
)
_PEOPLE = {"user", "usr", "person", "employee", "operator", "account", "login", "logon"}
_CARETAKERS = {"group", "team"}
_LINKS = {"link", "href", "self", "$ref"}
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@lru_cache(maxsize=65_536)
def names_of(header: str) -> list[str]:
    """Return the normalized names in a header: the header, the texts in brackets in it, and names from its path.

    For example, the names in `Block sign in (Yes/No) [accountEnabled]` include `blocksignin` and `accountenabled`.
    """
    header = _NUMBER_SIGN.sub("no ", _TYPED.sub("", header.replace("(s)", "s")))
    plain = _BRACKETED.sub(" ", header)
    words = " ".join(word for word in plain.split() if same_header(word) not in _NOISE)
    parts = [words, header, *_BRACKETED.findall(header)]
    if "." in header or ":" in header:
        parts += _names_of_path(header)
    if header.startswith("@"):
        parts.append(header[1:])
    if prefix := _PREFIXED.match(header):
        parts.append(_named_by(prefix[0].lower(), header[prefix.end() :]))
    names = [re.sub(r"[^\w.]", "", without_accents(same_header(part))) for part in parts]
    return [name for name in dict.fromkeys(names) if name and name not in _NOISE]


def _named_by(prefix: str, name: str) -> str:
    """Return what a column with a prefix contains: DS_USUARIO describes a user, and NM_USUARIO names an account."""
    return "nomecompleto" if prefix == "ds_" and name.lower() in ("usuario", "pessoa") else name


def _names_of_path(header: str) -> list[str]:
    """Return the names in a path: user.user_name is a username, but role.name is the name of a role."""
    steps = re.split(r"[.:]", re.sub(r"\[[^\[\]]*\]", "", header))
    if len(steps) == 1:
        return []
    owner, last = same_header(steps[-2]), same_header(steps[-1])
    # In a path such as groups[].name, use the name of the list, not that of the member.
    is_of_thing = last in _NAMES_OF_THINGS and _THING.search(owner) and (owner, last) != ("profile", "displayname")
    names = ["" if "[]" in header or is_of_thing else steps[-1], "".join(steps[-2:])]
    # The text of a reference has the meaning of the field that contains it: {"department": {"display_value": "Sales"}}.
    if last in _SHOWN:
        names.insert(0, steps[-2])
        names += ["displayname"] if owner in _PEOPLE else []
    elif last == "value":
        names.append(steps[-2])
    if is_of_thing:
        names.append(f"{steps[-2]}name")
    # Multivalue databases write a dot instead of a space: SIGN.ON.NAME.
    return [*names, re.sub(r"\[[^\[\]]*\](?:\.\w+)*", "", header), "".join(steps)]


def path_of(header: str) -> tuple[str, str] | None:
    """Return the path of an object and the name of its member, such as `user.role` and `name`; None for other headers.

    Return None also for a header with a list, such as roles[].name.
    """
    if not _PATH.fullmatch(header):
        return None
    owner, _, member = header.rpartition(".")
    return owner, member


def own_part(header: str) -> str:
    """Return the part of a path that says what a column contains: `department` in profile.department.

    It includes the name of the object if the member names or identifies the object, or contains its entries:
    `role.name`, but only `description` in role.description.
    """
    if (path := path_of(header)) is None:
        return header
    object, member = path[0].rpartition(".")[2], same_header(path[1])
    names = _NAMES_OF_PROFILES if _PROFILES.search(same_header(object)) else {*NAMING_OBJECTS, *IDENTIFYING, *_WRAPPING}
    return f"{object}.{path[1]}" if member in names else path[1]


@lru_cache(maxsize=65_536)
def words_of(header: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(without_accents(_BRACKETED.sub(" ", header)))}


def is_link(header: str) -> bool:
    """Return whether a header means the URL of another record, such as manager.$ref."""
    return "." in header and same_header(header.rpartition(".")[2]) in _LINKS


def is_name_of_person(header: str) -> bool:
    """Return whether a header means the name of a user, such as user.name, and therefore not the name of a group."""
    words = words_of(header)
    return "name" in words and bool(words & _PEOPLE) and not words & HELD


_TOKENS = [frozenset(tokens.split()) for each in TOKENS.values() for tokens in each.split(",")]


@lru_cache(maxsize=65_536)
def is_known_header(cell: str) -> bool:
    """Return whether a text is a known header of a field, or contains all the words that indicate a field."""
    if len(cell) > _LONGEST_HEADER or "=" in cell:
        return False
    words = words_of(cell)
    return any(name in KNOWN for name in names_of(cell)) or any(tokens <= words for tokens in _TOKENS)


def is_flag(header: str) -> bool:
    """Return whether the header of a yes/no column describes an account or a grant, rather than naming a permission."""
    # A header such as can_access_payroll names what the account may do, whatever it is about.
    return bool(words_of(header) & (FLAGS if names_ability(header) else FLAGS | FEATURES))


def names_ability(header: str) -> bool:
    """Return whether a header says what a role or an account may do, such as can_approve_orders or Can Edit.

    Return False for Can Login, which is the state of the account.
    """
    words = [word.lower() for word in _WORD.findall(own_part(header))]
    return len(words) > 1 and words[0] == "can" and names_of(header)[0] not in KNOWN


def is_about_person(header: str) -> bool:
    """Return whether a header names an attribute that a person has only once, such as a login or a name."""
    return any(name in ABOUT_PERSON for name in names_of(header))


def is_name_or_address(header: str) -> bool:
    """Return whether a header means the name of a person, a part of it, or their e-mail address."""
    fields = ("Name", "First Name", "Last Name", "Email")
    return any(name in known_for(field) for field in fields for name in names_of(header)[:1])


def names_access(header: str) -> bool:
    """Return whether a header names groups or permissions."""
    known = known_for("Group") | known_for("Permission")
    return bool(known.intersection(names_of(header))) or bool(words_of(header) & HELD)


def names_level(header: str) -> bool:
    """Return whether a header means a level of access, such as Access Level or Permission Level."""
    words = words_of(header)
    return "level" in words and bool(words & {"access", "permission", "privilege", "authorization", "right"})


def is_feature(header: str) -> bool:
    """Return whether a header is about a password, a key or another feature, rather than the account itself."""
    return bool(words_of(header) & FEATURES)


def is_origin(header: str) -> bool:
    """Return whether a header says where access comes from, such as Privilege Source or Inherited From Role.

    Return False for Inherited Roles and Source Group, which name what is held.
    """
    words = [word.lower() for word in _WORD.findall(without_accents(_BRACKETED.sub(" ", header)))]
    is_given = any(one in GIVEN and other in GIVEN_BY for one, other in pairwise(words))
    return is_given or (len(words) > 1 and (words[-1] in ORIGINS or words[0] in GIVEN_BY))


def names_caretaker(header: str) -> bool:
    """Return whether a header says which group looks after something, such as Review Group or Owner Team Name.

    A plural, such as Approval Groups, may name the groups of the account.
    """
    words = [word.lower() for word in _WORD.findall(without_accents(_BRACKETED.sub(" ", own_part(header))))]
    words = [word for word in words if word not in (*NAMING_OBJECTS, *IDENTIFYING, "by", "access", "account", "user")]
    return len(words) > 1 and words[-1] in _CARETAKERS and {*words[:-1]} <= CARES


def is_kind_of(header: str, other: str) -> bool:
    """Return whether a header names the kind of what another column names, such as Role Type beside Role Name."""
    words, others = ({word.removesuffix("s") for word in words_of(each)} for each in (header, other))
    others -= {*NAMING_OBJECTS, *IDENTIFYING}
    return bool(others) and bool(words - others) and words - others <= OF_KIND and others <= words


def is_state(header: str) -> bool:
    """Return whether the header of a yes/no column names a state of the account."""
    return bool(words_of(header) & STATES)


def is_inverted(header: str) -> bool:
    """Return whether a header means the opposite of active, such as `IIQDisabled` or `Block sign in`."""
    words = words_of(header)
    # Look for a date only in the last part of a path: customData.disabled contains `data`, Italian for date.
    is_date = bool(words_of(header.rpartition(".")[2]) & WHEN)
    is_about_account = bool(words & ENDED) and not words & FEATURES and not is_date and not ends_feature(header)
    return is_about_account or any(name in NOT_ACTIVE for name in names_of(header)[:1])


def ends_feature(header: str) -> bool:
    """Return whether a header says that a feature, not the account, is disabled, such as `Disabled Multifactor`."""
    words = [word.lower() for word in _WORD.findall(without_accents(_BRACKETED.sub(" ", header)))]
    behind = [after for word, after in pairwise(words) if word in ENDED]
    return any(not after.isdecimal() and after not in OF_ACCOUNTS for after in behind)


@cache
def known_for(field: str) -> frozenset[str]:
    known = (word for words in WORDS.values() for word in words.get(field, "").split(","))
    return TRANSLATED.get(field, frozenset()).union(known)


@cache
def known_for_others(field: str) -> frozenset[str]:
    return frozenset(KNOWN - known_for(field))
