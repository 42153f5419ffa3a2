"""Recognize files about the accounts of a system."""

import re
from collections.abc import Sequence
from typing import Any

import polars as pl

from rolecall.application_imports.read.dates import are_past
from rolecall.applications.model import Content
from rolecall.core.text import counted, without_accents
from rolecall.file_shapes.accounts.directory import people_in
from rolecall.file_shapes.accounts.held_by_users import held_by
from rolecall.file_shapes.accounts.job_titles import ask_for_jobs
from rolecall.file_shapes.accounts.kinds import looks_like_group, people_among, skip_groups
from rolecall.file_shapes.accounts.realms import name_with_realm
from rolecall.file_shapes.accounts.refusals import MONEY
from rolecall.file_shapes.accounts.statuses import decide_active, removed_on
from rolecall.file_shapes.cells.links import has_urls, login_beside_urls
from rolecall.file_shapes.cells.numbered_pairs import numbered_columns, numbered_pairs
from rolecall.file_shapes.cells.row_keys import names_grant
from rolecall.file_shapes.choices import AS_PROPOSED, CONTENT, SEPARATOR, SKIP_ROWS
from rolecall.file_shapes.columns.header_names import is_link, names_level, names_of, words_of
from rolecall.file_shapes.columns.header_words import OTHER_PEOPLE
from rolecall.file_shapes.columns.meanings import Meaning, assigned, meanings
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.parts import DOUBTFUL, Part, View
from rolecall.file_shapes.shapes import OpenQuestion, ProposedChoice

# The highest score of a field that only values indicate, and the highest share of usernames that look like full names.
_WEAK = 0.5
# With at least the first score, a header certainly means the username; above the second, it probably does.
_CERTAIN, _LIKELY = 0.9, 0.6
# The names of columns that identify records.
_IDS = (["id"], ["objectguid"], ["objectid"], ["internalid"], ["recordid"])
# A login with or without a domain, but not a path or an address.
_LOGIN = re.compile(r"[\w.$-]{1,64}(?:\\[\w.$-]{1,64})?")
# Headers of usernames that also name other things: the subject of a ticket, the key of a record.
_NAMING_OTHERS = {"subject", "key", "assignedto", "actor", "identity", "handle"}
_IN_LEDGERS = {"account", "accountname", "accountid"}
# Words in headers that identify things, which may be assigned to people.
_THINGS = {"serial", "device", "asset", "imei", "hostname"}
# The security identifiers of groups that Windows has on each computer.
_BUILT_IN = re.compile(r"S-1-5-32-\d+")
# The fields that tell people apart.
_OF_ONE = {"Name", "First Name", "Last Name", "Email", "Employee ID"}
# The fields of a person from which a login may be built.
_NAMED = ("Name", "First Name", "Last Name", "Email")
# A login is built from a name if it contains this many letters from the beginning of the name.
_BEGINNING = 3
# A column contains logins if at least this many rows name a person, and in at least this share of these rows its value
# is built from the name.
_LEAST_PEOPLE, _NEARLY_ALL = 2, 0.8
PERSON = {"Name", "First Name", "Last Name", "Email", "Employee ID", "Active", "Last Login", "Password Changed"}


def find_users(view: View) -> list[Part]:
    entries = len(view.table.rows)
    view, conditions = people_in(view)
    left_out = entries - len(view.table.rows)
    numbered = numbered_columns(view)
    everything, view = view.without(numbered.headers), people_among(view).without(numbered.headers)
    fields = view.fields(Content.USERS)
    shape: dict[str, Any] = {}
    evidence = [f"Entries that are not people are left out: {left_out:,} in the sample"] if left_out else []
    _prefer_login(view, fields)
    _prefer_address(view, fields)
    called = fields.get("Username")
    named = login_beside_urls(view, fields)
    key = named or name_with_realm(view, fields, shape, evidence) or choose_username(view, fields, shape, evidence)
    named = named if key else _repeated_username(view, fields, shape, evidence)
    key = key or named
    _use_as_name(view, fields, called)
    _cut_names(view, fields, shape, evidence)
    _complete_name(view, fields, shape)
    part = Part(Content.USERS, fields, shape, 0.85 if key else DOUBTFUL, evidence)
    part.questions = [*_ask_for_username(view, fields, key), *_ask_for_blank(view, named), *_ask_if_groups(view, key)]
    if key and _ask_for_accounts(key) in part.questions:
        part.confidence = DOUBTFUL
    if key and {"Name", "First Name", "Email"} & fields.keys():
        evidence.append(f"Columns of accounts: {', '.join(sorted(PERSON & fields.keys()))}")
    decide_active(view, part)
    parts = [part, *(held_by(view, everything, part, numbered) if key else [])]
    for each in parts:
        each.skip_rows(*conditions)
        skip_groups(everything, each)
    ask_for_jobs(view, parts)
    return parts


def _use_as_name(view: View, fields: dict[str, Meaning], called: Meaning | None) -> None:
    """Read a column such as `username` as the name if its values are full names and another column is the username."""
    taken = {meaning.header for meaning in fields.values()}
    if called is None or called.header in taken or {"Name", "First Name"} & fields.keys():
        return
    if "Username" in fields or "Email" in fields:
        column = view.by_header[called.header]
        if column.names > _WEAK:
            fields["Name"] = Meaning(called.header, "Name", 0.5, "its values look like names")


def find_users_with_pairs(view: View) -> list[Part]:
    """Recognize accounts with numbered pairs of columns, such as course1 and role1."""
    pairs = numbered_pairs(view)
    others = view.without(pairs.headers) if pairs else view
    return find_users(view) if pairs and (about_people(others) or "Username" in others.fields(Content.USERS)) else []


def _repeated_username(
    view: View, fields: dict[str, Meaning], shape: dict[str, Any], evidence: list[str]
) -> str | None:
    """Return the column whose header certainly means the username, if the rows with the same username are one account.

    These rows agree in all columns that are read, one of which identifies a person, and there are fewer than two rows
    for each username on average. Leave out the other columns in which the rows differ.
    """
    username = fields.get("Username")
    if username is None or username.score < _CERTAIN:
        return None
    key = view.by_header[username.header]
    differing = [] if key.is_unique else [each.header for each in view.profiles if not depends_on(each, key)]
    read = {field for field, meaning in fields.items() if meaning.header not in differing}
    is_repeated = read == fields.keys() and bool(read & _OF_ONE) and 2 * len(key.distinct) > len(key.cells)
    if not is_repeated or not key.is_login or key.is_opaque:
        return None
    if differing:
        shape["ignore"] = differing
        left = ", ".join(differing)
        evidence.append(f"Rows with the same {key.header} are one account. Left out, because they differ: {left}")
    return key.header


def _ask_for_blank(view: View, key: str | None) -> list[OpenQuestion]:
    """Ask about rows without a username, if the header alone says which column has the usernames."""
    blank = sum(not cell.strip() for cell in view.by_header[key].cells) if key else 0
    if key is None or not blank:
        return []
    text = f"{key} is blank in {counted(blank, 'row')}. Leave out such rows, because they have no account?"
    return [OpenQuestion(text, [ProposedChoice("Yes, leave them out", SKIP_ROWS, SEPARATOR.join((key, "is", "")))])]


def _ask_for_username(view: View, fields: dict[str, Meaning], key: str | None) -> list[OpenQuestion]:
    """Ask about the usernames, unless a unique column has them and a header shows that the rows are accounts."""
    if key is not None and view.by_header[key].names <= _WEAK:
        if not _is_about_accounts(view, key):
            return [_ask_for_accounts(key)]
        return _ask_without_header(view, fields, view.by_header[key])
    named = fields["Username"].header if "Username" in fields and key is None else key
    text = "No column certainly names the account. Which column names the account?"
    if key is not None:
        text = f"{key} is different in every row, but its values look like names of people. Does it name the account?"
    # Names come before numbers and other opaque values.
    fitting = sorted(filter(_may_name_accounts, view.profiles), key=lambda each: each.is_opaque)
    headers = dict.fromkeys([*([named] if named else []), *(each.header for each in fitting or view.profiles)])
    choices = [ProposedChoice(header, "Username", header) for header in list(headers)[:8]]
    return [OpenQuestion(text, choices)]


def _ask_without_header(view: View, fields: dict[str, Meaning], key: Profile) -> list[OpenQuestion]:
    """Ask about the usernames of a file without a header, if several columns may have them and no name confirms one."""
    others = [each for each in view.profiles if each.is_unique and each.is_filled and _may_name_accounts(each)]
    fitting = [each for each in others if each.names <= _WEAK and each.is_login | each.is_opaque]
    by_header = [each for each in meanings(Content.USERS, [key]) if each.field == "Username" and each.score > _WEAK]
    without = {field: meaning for field, meaning in fields.items() if field != "Username"}
    is_headless = view.table.header_line is None and view.table.delimiter is not None
    if not is_headless or by_header or key.emails or not {*fitting} - {key} or _login_of_people(view, without):
        return []
    text = f"The file has no header. Does {key.header} name the accounts, such as {', '.join(key.distinct[:3])}?"
    columns = dict.fromkeys([key, *fitting])
    choices = [ProposedChoice(f"{each.header}: {each.distinct[0]}", "Username", each.header) for each in columns]
    return [OpenQuestion(text, choices[:8])]


def _ask_if_groups(view: View, key: str | None) -> list[OpenQuestion]:
    """Ask whether the rows are groups, if the names or security identifiers of most are those of groups."""
    if key is None:
        return []
    rows = zip(*(each.cells for each in view.profiles), strict=True)
    built_in = sum(any(map(_BUILT_IN.fullmatch, row)) for row in rows)
    names = view.by_header[key].distinct
    named = sum(looks_like_group(name.rpartition("\\")[2]) for name in names)
    if 2 * max(built_in, named) <= len(names) or len(names) < _LEAST_PEOPLE:
        return []
    text = f"Most names in {key} look like groups, such as {', '.join(names[:3])}. Are the rows accounts or groups?"
    choices = [ProposedChoice("Accounts", "Username", AS_PROPOSED), ProposedChoice("Groups", CONTENT, Content.GROUPS)]
    return [OpenQuestion(text, choices)]


def _may_name_accounts(profile: Profile) -> bool:
    """Return whether a column may have usernames: it has values, but not yes and no, statuses, dates or secrets."""
    is_state = profile.ticks or profile.statuses == 1 or profile.is_dated
    return bool(profile.values) and not (is_state or profile.is_secret or profile.is_useless)


def _is_about_accounts(view: View, key: str) -> bool:
    """Return whether a header or the name of a JSON list shows that the rows are accounts.

    A status alone does not show it: tasks and orders have one too. Return True also if the file may have no header.
    """
    # A file with prices or amounts usually lists products or ledger entries, and their names are not names of people.
    has_money = any(map(MONEY.search, view.table.headers))
    if words_of(key) & _THINGS:
        return False
    # Names beside a column `key` may be those of spaces or projects.
    is_named = names_of(key)[0] == "key"
    about = about_people(view) - ({"Active", "Name"} if has_money or is_named else {"Active"})
    may_lack_header = view.table.header_line is None and not view.table.format.startswith("JSON")
    if may_lack_header or view.table.is_doubtful or view.is_list_of_accounts or about:
        return True
    # In JSON, look for a login in all columns: the key may be an ID that a database gave the record.
    columns = view.profiles if view.table.format.startswith("JSON") else [view.by_header[key]]
    found = [each for each in meanings(Content.USERS, columns) if each.field == "Username" and each.score > _WEAK]
    others = _NAMING_OTHERS | (_IN_LEDGERS if has_money else set())
    return any(names_of(each.header)[0] not in others for each in found)


def _ask_for_accounts(key: str) -> OpenQuestion:
    text = f"No header says that the rows are accounts. Does the column {key} name accounts?"
    return OpenQuestion(text, [ProposedChoice(f"Yes, {key} names accounts", "Username", key)])


def _prefer_login(view: View, fields: dict[str, Meaning]) -> None:
    """Read a column of logins as the username, instead of a column of numbers or GUIDs."""
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
    # A UID is the login in directories, but a number in Unix systems.
    is_certain = number.score > _CERTAIN and names_of(number.header)[:1] != ["uid"]
    if name is None or is_certain or view.by_header[number.header].numbers < 1:
        return
    if view.by_header[name.header].is_login and view.by_header[name.header].is_unique:
        del fields["Name"]
        fields["Username"] = Meaning(
            name.header, "Username", 0.8, f"its values are logins, but the values of {number.header} are numbers"
        )


def _prefer_address(view: View, fields: dict[str, Meaning]) -> None:
    """Read the e-mail address as the username, instead of a badge number."""
    username, email = fields.get("Username"), fields.get("Email")
    if username and email and words_of(username.header) & {"badge", "card"}:
        column = view.by_header[email.header]
        if column.is_unique and column.is_filled:
            del fields["Username"]


def choose_username(
    view: View, fields: dict[str, Meaning], shape: dict[str, Any], evidence: list[str], known: str | None = None
) -> str | None:
    """Choose the column of usernames and return its header: `known`, or else the best unique column without blanks."""
    login = _login_of_people(view, fields) if "Username" not in fields else None
    tried = [fields[field].header for field in ("Username", "Email", "Employee ID") if field in fields]
    tried = [login, *tried] if login else tried
    ids = [each.header for each in view.profiles if names_of(each.header)[-1:] in _IDS]
    names = [fields["Name"].header] if "Name" in fields else []
    known_as = {meaning.header for field, meaning in fields.items() if field != "Username"}
    logins = [each.header for each in view.profiles if each.is_login and not is_link(each.header)]
    logins = [header for header in logins if header not in known_as and not _is_of_others(header)]
    # Without headers, prefer a column of single words to a column of names.
    is_headless = view.table.header_line is None and view.table.delimiter is not None
    is_named = "Name" in fields and fields["Name"].score > _WEAK
    rest = [*names, *logins] if is_named else [*logins, *names]
    others = [*logins, *tried, *names] if is_headless else [*tried, *ids, *rest]
    if _repeats_users(view, fields):
        others = tried
    left_out = _keys_of_grants(view, fields) + _urls_beside_logins(view, fields)
    for header in [known] if known else [header for header in others if header not in left_out]:
        profile = view.by_header[header]
        # Skip a path such as accounts[].username: it gives a list, so it names several accounts.
        if not known and (not (profile.is_unique and profile.is_filled) or "[]" in header):
            continue
        other = next((field for field, meaning in fields.items() if meaning.header == header), None)
        named = fields.pop("Username", None)
        because = f"{named.evidence}, and " if named and named.header == header else ""
        because = "its values are made of the names or addresses in the same rows, and " if header == login else because
        if other not in (None, "Username"):
            shape.setdefault("join", {})["Username"] = f"{{{header}}}"
            evidence.append(f"{header} is also read as the username")
        else:
            fields["Username"] = Meaning(header, "Username", 0.9, f"{because}it is filled and different in every row")
            if profile.emails == 1 and "Email" not in fields:
                shape.setdefault("join", {})["Email"] = f"{{{header}}}"
                evidence.append(f"The usernames in {header} are e-mail addresses")
        return header
    return None


def _is_of_others(header: str) -> bool:
    """Return whether a header means other people, or levels of access, whose values such as Read look like logins."""
    return bool(words_of(header) & OTHER_PEOPLE) or names_level(header)


def _keys_of_grants(view: View, fields: dict[str, Meaning]) -> list[str]:
    """Return the columns with keys of grants, such as Assignment ID, if a person has several rows."""
    people = [view.by_header[each.header] for field, each in fields.items() if field in _OF_ONE and each.score > _WEAK]
    repeats = any(not each.is_unique for each in people)
    return [each.header for each in view.profiles if names_grant(each)] if repeats else []


def _urls_beside_logins(view: View, fields: dict[str, Meaning]) -> list[str]:
    """Return the columns of URLs if the header of another column means the username."""
    username = fields["Username"].header if "Username" in fields else None
    return [each.header for each in view.profiles if has_urls(each) and username not in (None, each.header)]


def _login_of_people(view: View, fields: dict[str, Meaning]) -> str | None:
    """Return the header of an unread column whose logins are made of the names or e-mail addresses in the same rows."""
    people = [view.by_header[fields[field].header] for field in _NAMED if field in fields]
    taken = {meaning.header for meaning in fields.values()}
    for profile in view.profiles:
        is_login = profile.is_unique and profile.is_filled and all(map(_LOGIN.fullmatch, profile.distinct))
        is_other = profile.header in taken or "[]" in profile.header or not profile.is_login
        if is_other or not is_login or _names_person(profile):
            continue
        rows = zip(profile.cells, *(each.cells for each in people), strict=True)
        related = [_is_made_of(login, texts) for login, *texts in rows if any(text.strip() for text in texts)]
        if len(related) >= _LEAST_PEOPLE and sum(related) >= _NEARLY_ALL * len(related):
            return profile.header
    return None


def _names_person(profile: Profile) -> bool:
    """Return whether the header or the capital letters of a column show names of people, such as preferred names."""
    words = words_of(profile.header)
    is_part = "name" in words and len(words) > 1 and not words & {"user", "login", "logon", "account"}
    return is_part or all(value.istitle() for value in profile.distinct)


def _is_made_of(login: str, texts: Sequence[str]) -> bool:
    """Return whether a login contains the beginning of a word in these texts; ignore the domains of addresses."""
    plain = _plain(login)
    words = [word for text in texts for word in re.split(r"[^a-z]+", _plain(text.partition("@")[0]))]
    return any(word[:_BEGINNING] in plain for word in words if len(word) >= _BEGINNING)


def _plain(text: str) -> str:
    return without_accents(text).lower()


def _repeats_users(view: View, fields: dict[str, Meaning]) -> bool:
    """Return whether a header certainly means the username, but some usernames occur in several rows."""
    username = fields.get("Username")
    if username is None or username.score < _CERTAIN:
        return False
    profile = view.by_header[username.header]
    return profile.is_filled and not profile.is_unique


def _complete_name(view: View, fields: dict[str, Meaning], shape: dict[str, Any]) -> None:
    """Fill blank names from another column of names, because directories may have several such columns."""
    if (name := fields.get("Name")) is None or view.by_header[name.header].is_filled:
        return
    blank = [n for n, cell in enumerate(view.by_header[name.header].cells) if not cell.strip()]
    taken = {meaning.header for meaning in fields.values()}
    for other in meanings(Content.USERS, view.profiles):
        cells = view.by_header[other.header].cells
        if other.field == "Name" and other.score > _WEAK and other.header not in taken and any(cells[n] for n in blank):
            del fields["Name"]
            shape.setdefault("join", {})["Name"] = f"{{{name.header}|or({other.header})}}"
            return


def _cut_names(view: View, fields: dict[str, Meaning], shape: dict[str, Any], evidence: list[str]) -> None:
    """Cut names at the first comma if other fields follow, as in passwd files."""
    if (name := fields.get("Name")) is None:
        return
    is_gecos = names_of(name.header)[:1] == ["gecos"]
    if any(each.endswith(",") or (is_gecos and "," in each) for each in view.by_header[name.header].distinct):
        del fields["Name"]
        shape.setdefault("join", {})["Name"] = f"{{{name.header}|before(,)}}"
        evidence.append(f"{name.header} has commas after the name: the name ends at the first comma")


def depends_on(profile: Profile, key: Profile) -> bool:
    """Return whether a column has the same value in all rows with the same key."""
    found: dict[str, str] = {}
    pairs = zip(key.cells, profile.cells, strict=True)
    return all(found.setdefault(name, cell) == cell for name, cell in pairs if name.strip())


# A column is read as the username if it has at least this share of the usernames that other files name.
OVERLAP = 0.5


def agree_on_username(view: View, users: Part, named: set[str]) -> bool:
    """Read usernames from the column that memberships or permissions refer to; return whether the column changed."""
    shares = {each.header: overlap(each, named) for each in view.profiles}
    best = max(shares, key=lambda header: shares[header], default=None)
    if best is None or shares[best] < OVERLAP:
        best = _named_again(view, users, named)
    if best is None or users.origin("Username") == f"{{{best}}}":
        return False
    joins = {field: each for field, each in users.shape.pop("join", {}).items() if field in ("Active", "Locked")}
    found = [each for each in meanings(Content.USERS, view.profiles) if each.field not in ("Username", *joins)]
    active = users.fields.get("Active")
    users.fields = {**assigned(found), **({"Active": active} if active and "Active" not in joins else {})}
    if joins:
        users.shape["join"] = joins
    users.evidence = [each for each in users.evidence if "username" not in each]
    choose_username(view, users.fields, users.shape, users.evidence, known=best)
    users.evidence.append(f"{best} has the usernames that the memberships or permissions name")
    return True


def _named_again(view: View, users: Part, named: set[str]) -> str | None:
    """Return a column that has all usernames in `named` and is unique among accounts that are not deleted.

    Leave out the deleted accounts: systems that keep them may assign their usernames to other people.
    """
    if (removed := removed_on(view)) is None:
        return None
    column, format = removed
    ended = are_past(pl.Series(column.cells), format).to_list()
    for profile in view.profiles:
        kept = [cell for cell, is_past in zip(profile.cells, ended, strict=True) if not is_past]
        if profile.is_filled and named.issubset(profile.distinct) and len(set(kept)) == len(kept):
            users.skip_rows({"column": column.header, "isPast": format})
            users.evidence.append(
                f"{profile.header} repeats values after a deletion: rows with a past {column.header} are left out"
            )
            return profile.header
    return None


def overlap(profile: Profile, named: set[str]) -> float:
    """Return how much a column and `named` overlap, from 0 to 1; 0 if the column is not unique."""
    # Compare with the smaller set, because a sample may lack some users or some holders.
    least = min(len(named), len(profile.distinct))
    return len(named.intersection(profile.distinct)) / least if least and profile.is_unique else 0.0


def is_about_users(view: View) -> bool:
    """Return whether each row describes a different person, by at least three fields of people and a unique column."""
    fields = view.fields(Content.USERS)
    if view.table.fill_down or _repeats_users(view, fields):
        return False
    found = [fields[field] for field in ("Username", "Email", "Employee ID") if field in fields]
    naming = [view.by_header[each.header] for each in found if each.score > _WEAK]
    if (filled := [each for each in naming if each.is_filled]) and not any(each.is_unique for each in filled):
        return False
    return len(about_people(view)) >= 3 and any(each.is_unique and each.is_filled for each in view.profiles)


def about_people(view: View) -> set[str]:
    """Return the fields of people that headers indicate."""
    return PERSON & {field for field, meaning in view.fields(Content.USERS).items() if meaning.score > 0.5}
