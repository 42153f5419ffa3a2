"""Score which field each column contains: by the words of its header, then by its values."""

import re
from collections.abc import Iterable, Sequence
from weakref import WeakKeyDictionary

import msgspec

from rolecall.applications.field_words import ACCESS, ACTIVE, RISKS, YES_NO
from rolecall.applications.model import Content, same_header
from rolecall.core.text import fold
from rolecall.file_shapes.columns.header_languages import TRANSLATED
from rolecall.file_shapes.columns.header_names import (
    ends_feature,
    is_flag,
    is_link,
    is_name_of_person,
    is_origin,
    known_for,
    known_for_others,
    names_of,
    own_part,
    words_of,
)
from rolecall.file_shapes.columns.header_words import FEATURES, HELD, KNOWN, LOCKS, OTHER_PEOPLE, TOKENS, WHEN, WORDS
from rolecall.file_shapes.columns.profiles import Profile

_CERTAIN = 0.9
_MOST_CODES = 10
_MOST_STATES = 8
_MOSTLY = 0.5
# Words for a state, without yes, no and numbers, which may mean anything, and without words such as owner and open,
# which may be roles or something else.
_STATE_WORDS = {word for word in ACTIVE.keys() - YES_NO.keys() if not word.isdigit()} - {
    "member", "admin", "owner", "primaryowner", "bot", "guest", "open", "closed", "live", "current",
}  # fmt: skip
_STATUSES = ("Active", "Status", "Locked")
# Headers of IDs that are not always IDs of employees.
_ANY_ID = {"externalid", "badge"}
# Headers that mean a username or, if the values are yes and no, whether an account can log in.
_CAN_LOGIN = {"login"}
_NO_LOGIN = {
    "days", "count", "review", "reviewed", "certification", "certified", "modified", "updated", "changed", "change",
    "edited", "synced", "trained", "set", "password",
}  # fmt: skip
_OF_LOGINS = {"unsuccessful", "failed", "failures", "attempts", "retries", "time", "date", "type", "kind", "method"}
# Words in headers of decisions of reviews, such as Revoke Status: they are not states of accounts.
_OF_REVIEWS = {"review", "reviews", "reviewer", "revoke", "revocation", "recertification", "attestation"}
_OF_ONE_PERSON = {"Username", "Email", "Name", "First Name", "Last Name", "Employee ID"}
_STATUS = {"status", "state"}
_HAS_DIGIT = re.compile(r"\d")
# Words that levels of access consist of, such as Read Only.
_LEVELS = {
    "r", "w", "x", "rw", "ro", "rwx", "read", "write", "readonly", "readwrite", "full", "edit", "editor", "view",
    "viewer", "modify", "control", "access", "admin", "administrator", "owner", "contribute", "contributor", "manage",
    "manager", "approve", "limited", "only", "update", "create", "delete", "execute", "standard", "basic", "partial",
    "restricted", "complete", "all", "and", "user", "member", "guest", "level", "none", "no", "remote", "local", "vpn",
    "internal", "external", "public", "private", "privileged", "elevated", "normal", "lesen", "schreiben", "voll",
    "lecture", "ecriture", "consulta", "lectura", "escritura",
}  # fmt: skip
_WORD = re.compile(r"[^\W_]+")
_MOST_WORDS = 5
_OF_GRANTS = 0.75
# The later a known header is in the list of its field, the lower its score. This is the minimum before adjustments.
_LEAST_KNOWN = 0.55


class Meaning(msgspec.Struct, frozen=True):
    """A field that a column may contain, with a score and evidence."""

    header: str
    field: str
    score: float
    evidence: str


def by_header(header: str, field: str) -> str:
    """Return the evidence that a header is the name of a field, or another word for it."""
    return f"its header {'is' if same_header(header) == same_header(field) else 'means'} {field}"


def meanings(content: Content, profiles: Sequence[Profile]) -> list[Meaning]:
    """Return the fields that each column may contain, best score first."""
    found = [meaning for profile in profiles for meaning in _known_meanings(content, profile)]
    return sorted(found, key=lambda meaning: -meaning.score)


def _known_meanings(content: Content, profile: Profile) -> Sequence[Meaning]:
    """Return the fields that a column may contain. The result is cached, because many rules need it."""
    known = _KNOWN_MEANINGS.setdefault(profile, {})
    if content not in known:
        known[content] = tuple(_meanings(content, profile))
    return known[content]


_KNOWN_MEANINGS: WeakKeyDictionary[Profile, dict[Content, tuple[Meaning, ...]]] = WeakKeyDictionary()


def _meanings(content: Content, profile: Profile) -> Iterable[Meaning]:
    if profile.is_secret or profile.is_useless or profile.is_object or is_link(profile.header):
        return
    # Skip a path such as groups[].name, because it gives several values for each account.
    if content in (Content.USERS, Content.IDENTITIES) and "[]" in profile.header:
        return
    if profile.is_keyed and content not in (Content.MEMBERSHIPS, Content.PERMISSIONS):
        return
    names = names_of(profile.header)
    for field, words in WORDS[content].items():
        if profile.is_of_address and field in _STATUSES:
            continue
        known = words.split(",")
        for at, name in enumerate(names):
            if name in known and not (field == "Group" and is_name_of_person(profile.header)):
                score = max(1 - known.index(name) * 0.008, _LEAST_KNOWN) - at * 0.05
                yield _judged(Meaning(profile.header, field, score, by_header(profile.header, field)), profile)
                break
        else:
            if TRANSLATED.get(field, frozenset()).intersection(names):
                yield _judged(Meaning(profile.header, field, 0.9, by_header(profile.header, field)), profile)
            else:
                yield from _by_tokens(field, profile)
    if content == Content.PERMISSIONS and names_grants(profile):
        why = "its values name what is granted"
        yield Meaning(profile.header, "Permission", _OF_GRANTS, f"{by_header(profile.header, 'Access')}, and {why}")
    yield from _by_values(content, profile)


def names_grants(profile: Profile) -> bool:
    """Return whether a column called Access has names, such as CRM-Sales, rather than levels or yes and no."""
    if names_of(profile.header)[:1] != ["access"] or not profile.values:
        return False
    is_state = profile.ticks or profile.statuses == 1 or profile.is_dated or profile.numbers == 1 or profile.emails > 0
    named = [value for value in profile.distinct if not _is_level(value)]
    is_text = any(len(value.split()) > _MOST_WORDS for value in profile.distinct)
    return not (is_state or is_text) and len(named) > _MOSTLY * len(profile.distinct)


def _is_level(value: str) -> bool:
    """Return whether a value is a word for access, no access or a risk, or consists of words for levels."""
    words = {word.lower() for word in _WORD.findall(value)}
    return fold(value) in ACCESS or fold(value) in RISKS or words <= _LEVELS


def _by_tokens(field: str, profile: Profile) -> Iterable[Meaning]:
    words = words_of(own_part(profile.header) if field in ("Group", "Permission") else profile.header)
    if field in ("Active", "Locked") and (words & (FEATURES | WHEN | _OF_REVIEWS) or ends_feature(profile.header)):
        return
    # The name or address of another person, such as the owner or manager, is not that of the account.
    if field in _OF_ONE_PERSON and words & OTHER_PEOPLE:
        return
    # Neither the number of days since a login nor the date of a review is the date of a login.
    if field == "Last Login" and words & _NO_LOGIN:
        return
    # A header such as Failed Logins or Login Time does not mean a username.
    if field == "Username" and words & (_NO_LOGIN | _OF_LOGINS):
        return
    if field in ("Username", "Group", "Permission") and is_origin(profile.header):
        return
    # Do not judge a header by single words if the whole header is known to mean another field.
    known = names_of(profile.header)[:1]
    if field in ("Username", "Group", "Permission", "Locked") and known_for_others(field).intersection(known):
        return
    # A column such as IsGroup contains yes or no, not a name.
    if field in ("Username", "Group", "Permission") and profile.ticks and is_flag(profile.header):
        return
    for at, tokens in enumerate(TOKENS.get(field, "").split(",")):
        if tokens and set(tokens.split()) <= words:
            score = 0.75 - at * 0.005 - 0.05 * (len(words) - len(tokens.split()))
            yield _judged(Meaning(profile.header, field, score, f"its header contains {tokens}"), profile)
            return


def _by_values(content: Content, profile: Profile) -> Iterable[Meaning]:
    """Yield the fields that the values alone indicate, with low scores."""
    fields = WORDS[content]
    if "Email" in fields and profile.emails > 0.9 and not words_of(profile.header) & OTHER_PEOPLE:
        yield Meaning(profile.header, "Email", 0.5, "its values are e-mail addresses")
    is_status = (profile.statuses == 1 or _has_both_states(profile)) and not profile.ticks
    is_status = is_status and 1 < len(profile.distinct) <= _MOST_STATES
    # Owner and member are states in some exports and roles in others. Skip a column whose header can mean a group.
    is_status = is_status and not profile.is_of_address
    is_status = is_status and not known_for("Group").intersection(names_of(profile.header))
    if "Active" in fields and is_status and not words_of(profile.header) & FEATURES:
        yield Meaning(profile.header, "Active", 0.45, f"its values are {', '.join(profile.distinct[:3])}")
    words = words_of(profile.header)
    is_known = any(name in KNOWN for name in names_of(profile.header)) or words & (OTHER_PEOPLE | HELD | LOCKS)
    if "Name" in fields and not is_known and profile.names > 0.9 and len(profile.distinct) > len(profile.values) / 2:
        yield Meaning(profile.header, "Name", 0.4, "its values look like names")


def _has_both_states(profile: Profile) -> bool:
    """Return whether most values are words for a state, and both states occur, as in ACTIF and DÉSACTIVÉ."""
    known = {ACTIVE[word] for value in profile.distinct if (word := fold(value)) in _STATE_WORDS}
    return known == {True, False} and profile.statuses > _MOSTLY


def _judged(meaning: Meaning, profile: Profile) -> Meaning:
    """Return a meaning with its score adjusted to the values of the column."""
    score, evidence = meaning.score, meaning.evidence
    if not profile.values:
        blank = f"{evidence}; the column is blank in the sample"
        return msgspec.structs.replace(meaning, score=score * 0.6, evidence=blank)
    match meaning.field:
        case "Group" | "Permission" | "Header" | "Section" if profile.is_dated and not _has_ids(profile):
            score *= 0.1
        case "Group" | "Permission" if _has_states(meaning.field, profile):
            score *= 0.1
        case "Group" if profile.numbers == 1:
            # Of two columns with equally good headers, read the names and not the codes.
            score *= 0.995
        case "Permission" if all(fold(value) in RISKS for value in profile.distinct) or _says_access(profile):
            # High and Low are ratings, and Allow and Deny say whether a permission is granted: they do not name it.
            score *= 0.1
        case "Username":
            score *= _share_of_username(profile)
        case "Email":
            score *= 0.3 + 0.7 * profile.emails
        case "Employee ID" if not _may_be_employees(profile):
            score *= 0.1
        case "Active" | "Status":
            score *= _share_of_status(score, profile)
            if profile.statuses == 1 and not profile.is_place:
                evidence += f", and its values are words for active and inactive: {', '.join(profile.distinct[:3])}"
        case "Last Login" | "Password Changed" | "Created" | "Updated" if not profile.date_formats:
            score *= 0.6
        case "Name":
            score *= 0.3 if profile.emails > 0.5 else 0.6 + 0.4 * profile.names
            # Names of people seldom repeat.
            score *= 0.3 if 2 * len(profile.distinct) <= len(profile.values) else 1
        case "Locked" if not profile.is_lock:
            score *= 0.2
        case "Access" if not profile.ticks:
            score *= 0.4
    return msgspec.structs.replace(meaning, score=score, evidence=evidence)


def _share_of_username(profile: Profile) -> float:
    """Return how well the values of a column fit usernames, from 0 to 1."""
    # Full names are usernames only if no other column fits.
    share = 0.45 if profile.names > 0.5 else 1
    # GUIDs and paths are unlikely to be usernames.
    share *= 0.5 if profile.is_opaque and profile.numbers < 1 else 1
    # Words for yes, no or a status are rarely usernames.
    return share * (0.1 if profile.ticks or profile.statuses == 1 else 1)


def _has_states(field: str, profile: Profile) -> bool:
    """Return whether a column such as Entitlement Status says whether access is held, instead of naming the access."""
    is_status = profile.statuses == 1 and bool(words_of(profile.header) & _STATUS)
    return is_status or (field == "Group" and profile.ticks)


def _says_access(profile: Profile) -> bool:
    """Return whether every value says that something is granted or denied, such as ALLOW and DENY."""
    return all(ACCESS.get(fold(value)) in ("Grant", "Deny", "None") for value in profile.distinct)


def _has_ids(profile: Profile) -> bool:
    """Return whether a column such as group_id has only numbers. Long ones may look like timestamps."""
    return "id" in words_of(profile.header) and profile.numbers == 1


def _may_be_employees(profile: Profile) -> bool:
    """Return whether values may be employee IDs: most are not names and, below a header like Badge, all have digits."""
    is_any = names_of(profile.header)[0] in _ANY_ID
    return profile.names <= _MOSTLY and (not is_any or all(map(_HAS_DIGIT.search, profile.distinct)))


def _share_of_status(score: float, profile: Profile) -> float:
    """Return how well the values of a column fit a status, from 0 to 1."""
    if _CAN_LOGIN.intersection(names_of(profile.header)) and not profile.ticks:
        return 0.1
    if profile.is_place and names_of(profile.header)[:1] == ["state"]:
        return 0.1
    if profile.numbers == 1 and profile.statuses < 1:
        # Numbers are probably not a status. If the header certainly means a status, ask about a few numeric codes.
        return 0.6 if score > _CERTAIN and len(profile.distinct) <= _MOST_CODES else 0.2
    # A column with few different words is more likely a status if at least one of them is known.
    least = 0.35 if len(profile.distinct) > 12 else 0.85 if profile.statuses else 0.8
    return max(least, 0.35 + 0.65 * profile.statuses)


def assigned(found: Sequence[Meaning], taken: Iterable[str] = ()) -> dict[str, Meaning]:
    """Assign to each field its best column with a score above 0.2. Use each column once, and no column in `taken`."""
    fields: dict[str, Meaning] = {}
    columns = set(taken)
    for meaning in found:
        if meaning.field not in fields and meaning.header not in columns and meaning.score > 0.2:
            fields[meaning.field] = meaning
            columns.add(meaning.header)
    return fields
