"""Rules for files about people: the accounts of a system, or the people of an HR system."""

import re
from collections.abc import Iterable
from typing import Any

from rolecall.application_imports.read.secret_headers import looks_secret
from rolecall.applications.field_words import ACTIVE
from rolecall.applications.file_shape import ANY_OTHER
from rolecall.applications.model import Content
from rolecall.core.text import fold
from rolecall.file_shapes.directory import people_in
from rolecall.file_shapes.ending import end_after
from rolecall.file_shapes.groups_held import skip_no_groups
from rolecall.file_shapes.kinds import skip_groups
from rolecall.file_shapes.meanings import Meaning, assigned, is_inverted, is_link, meanings, names_of
from rolecall.file_shapes.parts import Part, View, add_list
from rolecall.file_shapes.profiles import Profile
from rolecall.file_shapes.shapes import OpenQuestion, ProposedChoice

_LISTED = re.compile(
    r"group|grps?$|role|team|apps?$|member|licen|entitle|orgs?$|organi[sz]ation|profile|permissionset|gruppe|rolle|grup[op]",
    re.IGNORECASE,
)
_PLURAL = {
    "gruppen", "rollen", "groupes", "grupos", "gruppi",
    "groups", "roles", "teams", "memberof", "memberships", "usergroups", "assignedroles", "assignedgroups",
}  # fmt: skip
# Names of columns with one group each, which need not repeat in a short list.
_SINGULAR = re.compile(r"(?:role|group|team|rolle|gruppe|groupprofile)(?:name)?$")
_FEW_ROWS = 20
_ENDED = re.compile(r"(?:deactivat|disabl|delet|revok|lock)\w*[ _-]*(?:date|on|at|time)\b", re.IGNORECASE)
_HAS_DIGIT = re.compile(r"\d")
# The score of a status by its values alone.
_WEAK = 0.5
# The score of a username by the usual words of its header, and by some of them.
_CERTAIN, _LIKELY = 0.9, 0.6
_CODED = re.compile(r"\w+#\S")
_PERSON = {"Name", "First Name", "Last Name", "Email", "Employee ID", "Active", "Last Login", "Password Changed"}
# Fields of people that systems do not have.
_EMPLOYED = {"Created", "Type", "Supervisor ID", "Office", "Title"}


def find_people(view: View) -> list[Part]:
    """Recognize the people of an HR system: an employee ID, a name, and facts that only employers have."""
    fields = view.fields(Content.IDENTITIES)
    login = view.fields(Content.USERS).get("Username")
    employee = fields.get("Employee ID")
    if employee is None or not view.by_header[employee.header].is_unique or (login and login.score > 0.9):
        return []
    employed = _EMPLOYED & fields.keys()
    if not {"Created", "Type", "Supervisor ID"} & employed and len(employed) < 2:
        return []
    shape: dict[str, Any] = {}
    full = _full_name(view, employee.header)
    if not {"First Name", "Last Name"} <= fields.keys():
        if full is None:
            return []
        shape["join"] = {"First Name": f"{{{full.header}|first}}", "Last Name": f"{{{full.header}|last}}"}
        fields = {field: meaning for field, meaning in fields.items() if field not in shape["join"]}
    if (above := fields.get("Supervisor ID")) and not _names_people(view, above.header, employee.header):
        del fields["Supervisor ID"]
    evidence = [f"{employee.header} is unique, and an HR system knows {', '.join(sorted(employed))}"]
    part = Part(Content.IDENTITIES, fields, shape, 0.75, evidence)
    if title := fields.get("Title"):
        values = view.by_header[title.header].distinct
        if values and all(_CODED.match(value) for value in values):
            fields.pop("Title")
            shape.setdefault("join", {})["Title"] = f"{{{title.header}|after(#)}}"
            evidence.append(f"{title.header} begins with a code: the title follows the #")
    if "Status" not in fields:
        end_after(view, part, "Status")
    return [part]


_FULL_NAMES = {
    "name", "fullname", "displayname", "employeename", "worker", "employee", "personname", "lastnamefirstname",
    "firstnamelastname", "lastfirst", "namelastfirst",
}  # fmt: skip


def _full_name(view: View, employee: str) -> Profile | None:
    """Return the column of whole names, which is not that of the employee IDs."""
    found = [each for each in view.profiles if _FULL_NAMES.intersection(names_of(each.header))]
    return next((each for each in found if each.header != employee and each.numbers < 1), None)


def _names_people(view: View, column: str, employee: str) -> bool:
    """Return whether a column names people by the IDs that they have in the same file, not by their names."""
    values = set(view.by_header[column].distinct)
    return not values or len(values.intersection(view.by_header[employee].distinct)) > len(values) / 2


def find_users(view: View) -> list[Part]:
    view, conditions = people_in(view)
    fields = view.fields(Content.USERS)
    shape: dict[str, Any] = {}
    evidence: list[str] = []
    _prefer_login(view, fields)
    key = choose_username(view, fields, shape, evidence)
    _cut_names(view, fields, shape, evidence)
    part = Part(Content.USERS, fields, shape, 0.85 if key else 0.3, evidence)
    part.questions = _ask_for_username(view, key)
    if key and {"Name", "First Name", "Email"} & fields.keys():
        evidence.append(f"Columns of accounts: {', '.join(sorted(_PERSON & fields.keys()))}")
    _find_codes(view, part)
    _use_strictest_status(view, part)
    _end_by_date(view, part)
    if "Active" not in part.fields and "Active" not in part.shape.get("join", {}):
        evidence.append("No column says who is active: all accounts are read as active")
    if (active := fields.get("Active")) and is_inverted(active.header):
        shape["invert"] = ["Active"]
        evidence.append(f"{active.header} says the opposite of active")
    lists = sorted((each for each in view.profiles if _lists_groups(each, fields)), key=_rank_of_list)
    if len(lists) > 1:
        rest = ", ".join(each.header for each in lists[1:])
        evidence.append(f"Memberships come from {lists[0].header} alone; {rest} is kept as it is")
    parts = [part, *(_listed_memberships(part, each) for each in lists[:1] if key)]
    # The memberships say it better than a text that changes with each of them.
    part.ignore(each.header for each in lists[:1] if key)
    for each in parts:
        each.skip_rows(*conditions)
        skip_groups(view, each)
    return parts


def _ask_for_username(view: View, key: str | None) -> list[OpenQuestion]:
    """Ask which column names the accounts if none is unique, or only one with names of people."""
    if key is not None and view.by_header[key].names <= _WEAK:
        return [] if _is_about_accounts(view, key) else [_ask_for_accounts(key)]
    text = "No column has a different value in every row. Which one names the account?"
    if key is not None:
        text = (
            f"Only {key} is different in every row, and its values look like names of people. Does it name the account?"
        )
    headers = dict.fromkeys([*([key] if key else []), *(each.header for each in view.profiles)])
    choices = [ProposedChoice(header, "Username", header) for header in list(headers)[:8]]
    return [OpenQuestion(text, choices)]


def _is_about_accounts(view: View, key: str) -> bool:
    """Return whether a header says that rows are accounts; a file without headers cannot."""
    if view.table.header_line is None or view.table.is_doubtful or about_people(view):
        return True
    found = meanings(Content.USERS, [view.by_header[key]])
    return any(each.field == "Username" and each.score > _WEAK for each in found)


def _ask_for_accounts(key: str) -> OpenQuestion:
    text = f"No header says that the rows are accounts. Does {key} name an account?"
    return OpenQuestion(text, [ProposedChoice(f"Yes, {key} names an account", "Username", key)])


def _prefer_login(view: View, fields: dict[str, Meaning]) -> None:
    """Read a column of logins as the username, rather than a column of numbers or GUIDs."""
    number, name = fields.get("Username"), fields.get("Name")
    if number is None or not view.by_header[number.header].is_opaque:
        return
    taken = {meaning.header for meaning in fields.values()}
    for other in meanings(Content.USERS, view.profiles):
        column = view.by_header[other.header]
        is_login = column.is_login and column.is_unique and column.is_filled and not column.is_opaque
        if other.field == "Username" and other.score > _LIKELY and other.header not in taken and is_login:
            fields["Username"] = other
            return
    if name is None or number.score > _CERTAIN or view.by_header[number.header].numbers < 1:
        return
    if view.by_header[name.header].is_login and view.by_header[name.header].is_unique:
        del fields["Name"]
        fields["Username"] = Meaning(
            name.header, "Username", 0.8, f"its values are logins, those of {number.header} numbers"
        )


def choose_username(
    view: View, fields: dict[str, Meaning], shape: dict[str, Any], evidence: list[str], known: str | None = None
) -> str | None:
    """Choose the column of usernames: `known`, the best by header, or another unique one. Return its header."""
    tried = [fields[field].header for field in ("Username", "Email", "Employee ID") if field in fields]
    ids = [
        each.header for each in view.profiles if names_of(each.header)[-1:] in (["id"], ["objectguid"], ["objectid"])
    ]
    names = [fields["Name"].header] if "Name" in fields else []
    known_as = {meaning.header for field, meaning in fields.items() if field != "Username"}
    logins = [
        each.header
        for each in view.profiles
        if each.is_login and each.header not in known_as and not is_link(each.header)
    ]
    # Without a header a column of single words is rather the login than the name is.
    is_headless = view.table.header_line is None and view.table.delimiter is not None
    is_named = "Name" in fields and fields["Name"].score > _WEAK
    rest = [*names, *logins] if is_named else [*logins, *names]
    others = [*logins, *tried, *names] if is_headless else [*tried, *ids, *rest]
    if _repeats_users(view, fields):
        others = tried
    for header in [known] if known else others:
        profile = view.by_header[header]
        if not known and not (profile.is_unique and profile.is_filled):
            continue
        other = next((field for field, meaning in fields.items() if meaning.header == header), None)
        named = fields.pop("Username", None)
        because = f"{named.evidence}, and " if named and named.header == header else ""
        if other not in (None, "Username"):
            shape.setdefault("join", {})["Username"] = f"{{{header}}}"
            evidence.append(f"{header} is unique and serves as the username too")
        else:
            fields["Username"] = Meaning(header, "Username", 0.9, f"{because}it is filled and different in every row")
            if profile.emails == 1 and "Email" not in fields:
                shape.setdefault("join", {})["Email"] = f"{{{header}}}"
                evidence.append(f"The usernames in {header} are e-mail addresses")
        return header
    return None


def _repeats_users(view: View, fields: dict[str, Meaning]) -> bool:
    """Return whether the header surely says Username, but some accounts occur in several rows."""
    username = fields.get("Username")
    if username is None or username.score < _CERTAIN:
        return False
    profile = view.by_header[username.header]
    return profile.is_filled and not profile.is_unique


_RANKS = ("group|gruppe|grup[op]|memberof", "role|rolle", "team", "profile")


def _rank_of_list(profile: Profile) -> tuple[bool, int]:
    """Order columns of groups: those with several values first, then by what their headers say."""
    name = _last_name(profile)
    return profile.separator is None, next((n for n, words in enumerate(_RANKS) if re.search(words, name)), len(_RANKS))


def _lists_groups(profile: Profile, fields: dict[str, Meaning]) -> bool:
    if profile.is_useless or not profile.values or profile.header in {meaning.header for meaning in fields.values()}:
        return False
    if profile.is_dated or looks_secret(profile.header) or not _LISTED.search(_last_name(profile)):
        return False
    is_group = bool({"Group"} & assigned(meanings(Content.MEMBERSHIPS, [profile])).keys())
    repeats = len(profile.distinct) < len(profile.values)
    is_plural = _last_name(profile) in _PLURAL
    is_few = len(profile.values) <= _FEW_ROWS and _SINGULAR.search(_last_name(profile)) is not None
    is_named = is_group and (repeats or is_plural or is_few or profile.distinguished_names > 0.5)
    return profile.separator is not None or (is_named and not profile.numbers)


def _last_name(profile: Profile) -> str:
    return (names_of(profile.header) or [""])[-1]


def _listed_memberships(users: Part, groups: Profile) -> Part:
    evidence = [f"{groups.header} names groups of the account"]
    shape: dict[str, Any] = {}
    fields: dict[str, Meaning] = {}
    if "Username" in users.fields:
        fields["Username"] = users.fields["Username"]
    else:
        shape["join"] = {"Username": users.shape["join"]["Username"]}
    fields["Group"] = Meaning(groups.header, "Group", 0.8, "its header names groups")
    add_list(groups, fields, shape, evidence)
    part = Part(Content.MEMBERSHIPS, fields, shape, 0.7, evidence)
    skip_no_groups(part, groups)
    return part


def _use_strictest_status(view: View, part: Part) -> None:
    """Choose the status column with most inactive accounts; ask if another one marks further accounts as inactive."""
    found = [each for each in meanings(Content.USERS, view.profiles) if each.field == "Active" and each.score > _WEAK]
    if len(found) < 2 or "Active" not in part.fields:
        return
    inactive = {each.header: _inactive_rows(view.by_header[each.header]) for each in found}
    best = max(found, key=lambda each: (len(inactive[each.header]), each is part.fields["Active"]))
    part.fields["Active"] = best
    others = [each.header for each in found if each is not best]
    part.evidence.append(f"{best.header} says who is active; {', '.join(others)} is kept as it is")
    rest = [header for header in others if not inactive[header] <= inactive[best.header]]
    if rest:
        count = len(set.union(*(inactive[header] for header in rest)) - inactive[best.header])
        text = f"{best.header} and {', '.join(rest)} disagree about {count:,} rows. Which column says who is active?"
        choices = [ProposedChoice(header, "Active", header) for header in (best.header, *rest)]
        part.questions = [*part.questions, OpenQuestion(text, choices)]


def _find_codes(view: View, part: Part) -> None:
    """In a list without header, ask whether a column of few codes such as A and I says who is active."""
    if view.table.header_line is not None or view.table.skip_lines or "Active" in part.fields:
        return
    taken = {meaning.header for meaning in part.fields.values()}
    for profile in view.profiles:
        codes = {value.lower() for value in profile.distinct}
        if profile.header not in taken and len(codes) > 1 and codes <= {*"aidltxse", "act", "inact", "term"}:
            part.fields["Active"] = Meaning(profile.header, "Active", 0.4, f"its values are {', '.join(sorted(codes))}")
            return


def _inactive_rows(profile: Profile) -> set[int]:
    is_opposite = is_inverted(profile.header)
    known = [ACTIVE.get(fold(cell.strip())) for cell in profile.cells]
    return {n for n, active in enumerate(known) if active is not None and bool(active) is is_opposite}


def _end_by_date(view: View, part: Part) -> None:
    """Read accounts with a date of deactivation as inactive, if no other column says who is active."""
    active = part.fields.get("Active")
    if active is not None and active.score > _WEAK:
        return
    for profile in view.profiles:
        if _ENDED.search(profile.header) and profile.values and all(map(_HAS_DIGIT.search, profile.distinct)):
            part.fields["Active"] = Meaning(profile.header, "Active", 0.6, "it says when an account was deactivated")
            part.shape["values"] = {"Active": {ANY_OTHER: "No"}}
            part.evidence.append(f"{profile.header} is filled for accounts that are not active")
            return
    if active is None:
        end_after(view, part, "Active")


def _cut_names(view: View, fields: dict[str, Meaning], shape: dict[str, Any], evidence: list[str]) -> None:
    """Cut names off at commas that separate them from blank fields, as in passwd files."""
    if (name := fields.get("Name")) and any(each.endswith(",") for each in view.by_header[name.header].distinct):
        del fields["Name"]
        shape.setdefault("join", {})["Name"] = f"{{{name.header}|before(,)}}"
        evidence.append(f"{name.header} has commas behind the name: the name ends at the first")


def repeated_users(view: View, username: str, taken: Iterable[str] = ()) -> Part | None:
    """Return the users of a file that has a row for each thing that a user holds; `taken` columns are about it."""
    key = view.by_header[username]
    person = view.fields(Content.USERS, [username, *taken])
    known = [meaning.header for field, meaning in person.items() if field in _PERSON and meaning.score > 0.5]
    is_stated = "Active" in person and person["Active"].header in known
    if (key.is_unique and not is_stated) or not key.is_filled or not known:
        return None
    fixed = {each.header for each in view.profiles if depends_on(each, key)}
    if not fixed.issuperset(known):
        return None
    fields = {field: meaning for field, meaning in person.items() if meaning.header in known}
    shape: dict[str, Any] = {}
    evidence = [f"Rows repeat {username} with the same {', '.join(known)}: each is one account"]
    choose_username(view, fields, shape, evidence, known=username)
    part = Part(Content.USERS, fields, shape, 0.75, evidence)
    part.ignore(each.header for each in view.profiles if each.header not in fixed)
    return part


def depends_on(profile: Profile, key: Profile) -> bool:
    """Return whether a column has the same value in all rows with the same key."""
    found: dict[str, str] = {}
    return all(found.setdefault(name, cell) == cell for name, cell in zip(key.cells, profile.cells, strict=True))


_OVERLAP = 0.5


def agree_on_username(view: View, users: Part, named: set[str]) -> bool:
    """Switch to the username column whose values other contents name; return whether it changed."""
    shares = {each.header: _overlap(each, named) for each in view.profiles}
    best = max(shares, key=lambda header: shares[header], default=None)
    if best is None or shares[best] < _OVERLAP or users.origin("Username") == f"{{{best}}}":
        return False
    users.shape.pop("join", None)
    found = [each for each in meanings(Content.USERS, view.profiles) if each.field != "Username"]
    users.fields = assigned(found)
    users.evidence = [each for each in users.evidence if "username" not in each]
    choose_username(view, users.fields, users.shape, users.evidence, known=best)
    users.evidence.append(f"{best} has the usernames that the memberships or permissions name")
    return True


def _overlap(profile: Profile, named: set[str]) -> float:
    # A sample of users need not have all of those that hold something, nor the other way round.
    least = min(len(named), len(profile.distinct))
    return len(named.intersection(profile.distinct)) / least if least and profile.is_unique else 0.0


def is_about_users(view: View) -> bool:
    """Return whether each row is a person: several fields of people, and a unique key."""
    return len(about_people(view)) >= 3 and any(each.is_unique and each.is_filled for each in view.profiles)


def about_people(view: View) -> set[str]:
    """Return the fields of people that headers indicate."""
    return _PERSON & {field for field, meaning in view.fields(Content.USERS).items() if meaning.score > 0.5}
