"""Complete the contents of a file of grants: add the accounts in its rows, and leave out rows that no longer apply."""

from collections.abc import Set
from typing import Any

import msgspec

from rolecall.applications.field_words import ACTIVE, NO_ACCESS
from rolecall.applications.file_shape import columns_in
from rolecall.applications.model import Content
from rolecall.core.text import fold, some_of
from rolecall.file_shapes.accounts.ending import ask_for_ended, end_after, ended_beside, last_day_of_grants
from rolecall.file_shapes.accounts.holders import PERSON, choose_username, depends_on
from rolecall.file_shapes.accounts.kinds import kind_column, skip_groups
from rolecall.file_shapes.accounts.statuses import read_statuses
from rolecall.file_shapes.cells.numbered_pairs import ask_for_others
from rolecall.file_shapes.cells.row_keys import names_grant
from rolecall.file_shapes.choices import AS_PROPOSED, SEPARATOR, SKIP_ROWS
from rolecall.file_shapes.columns.header_names import is_inverted, names_of, words_of
from rolecall.file_shapes.columns.header_words import OTHER_PEOPLE, WHEN
from rolecall.file_shapes.columns.meanings import Meaning, assigned, meanings
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.grants.denials import access_column
from rolecall.file_shapes.grants.ended_grants import ask_for_ended_grants, ask_if_held
from rolecall.file_shapes.grants.places import tell_places
from rolecall.file_shapes.parts import Part, View, view_of
from rolecall.file_shapes.shapes import ProposedChoice

_SURE, _LIKELY = 0.5, 0.2
_MOST_BLANK_SHOWN = 3
_STATUS = {"status", "state", "sts"}
# Columns with the ID of a holder. The ID is used if the name is blank, as it may be for an application.
_IDS = {"principalid", "objectid", "userid", "memberid", "granteeid", "assigneeid"}

# Columns with another name of the holder, used if there is no ID.
_NAMES = {"displayname", "principalname", "principaldisplayname", "membername"}

# States that a grant can have, but an account cannot, as `fold` returns them.
_ONLY_GRANTS = {"eligible", "requested", "granted"}
# Words in headers that name an account.
ACCOUNTS = {"account", "user", "login", "principal", "assignee", "member"}
_GROUPS = {"group", "groups", "role", "roles", "team", "teams"}
_GRANTED = {"granted", "grant", "assigned", "assignment"}
_OF_ACCOUNTS = ACCOUNTS | {"enabled", "disabled", "locked", "suspended", "blocked"}
_OF_STATES = _OF_ACCOUNTS | _STATUS | {"active"}


def with_users(view: View, part: Part, *, is_narrowed: bool = False) -> list[Part]:
    """Leave out grants that have ended, or ask about them, and add the users if the rows describe them.

    Add the users also if rows are left out (`is_narrowed`), because the accounts in these rows must be kept. Otherwise
    derive the users from the usernames, if the file has usernames.
    """
    tell_places(view, part)
    ask_for_others(view, part)
    ask_for_ended(view, part)
    _use_ids(view, part)
    _ask_for_blank(view, part)
    _ask_for_several_names(view, part)
    is_narrowed |= part.content == Content.PERMISSIONS and bool(part.shape.get("skipRowsWhere"))
    is_narrowed |= _leave_out_ended(view, part) or _is_denied(view, part)
    if part.origin("Username") is None:
        return [part]
    if users := repeated_users(view, part, is_narrowed=is_narrowed):
        return [users, part]
    part.shape["deriveUsers"] = True
    return [part]


def _is_denied(view: View, part: Part) -> bool:
    """Return whether a column marks denied memberships. These are left out, but their accounts must be kept."""
    taken = [meaning.header for meaning in part.fields.values()]
    return part.content == Content.MEMBERSHIPS and access_column(view, taken) is not None


def _use_ids(view: View, part: Part) -> None:
    """Use the ID, or else another name, as the username of holders whose username is blank."""
    name = part.holder
    pattern = part.origin("Username") or ""
    if name is None or f"{{{name}" not in pattern or "starting(" in pattern:
        return
    kind = kind_column(view)
    groups = kind.groups if kind and kind.users else []
    users = [n for n in range(len(view.table.rows)) if not (kind and kind.cells[n].strip() in groups)]
    blank = [n for n in users if not view.by_header[name].cells[n].strip()]
    place = name.rpartition(".")[0]
    fits = [each for each in view.profiles if all(each.cells[n].strip() for n in blank)]
    own = f"{place}.id" if place else None
    ids = [each for each in fits if _IDS.intersection(names_of(each.header)) or each.header == own]
    named = [each for each in fits if _NAMES.intersection(names_of(each.header))]
    if not blank or 2 * len(blank) > len(users) or not (found := [*ids, *named]):
        return
    id = found[0].header
    part.fields.pop("Username", None)
    part.shape.setdefault("join", {})["Username"] = pattern.replace(f"{{{name}", f"{{{name}|or({id})")
    part.evidence.append(f"In rows without a {name}, {id} is used as the username")


def _ask_for_blank(view: View, part: Part) -> None:
    """Ask about rows without a holder, such as those of groups without members."""
    held = part.fields.get("Username")
    column = view.by_header[held.header] if held else None
    if column is None or column.is_filled or "Group" in part.shape.get("join", {}):
        return
    count = sum(not cell.strip() for cell in column.cells)
    rows = "1 row, such as that of a group" if count == 1 else f"{count:,} rows, such as those of groups"
    # Show these rows, because they may name a group inside a group, or a member that was deleted.
    part.evidence.append(f"Rows without a {column.header}: {_rows_without(view, column)}")
    text = f"{column.header} is blank in {rows} without members. Leave out such rows?"
    leave_out = ProposedChoice("Yes, leave them out", SKIP_ROWS, SEPARATOR.join((column.header, "is", "")))
    part.ask(text, leave_out)


def _rows_without(view: View, column: Profile) -> str:
    """Return the texts of the first rows in which a column is blank, without columns that may have secrets."""
    open = [each for each in view.profiles if not each.is_secret]
    rows = [n for n, cell in enumerate(column.cells) if not cell.strip()][:_MOST_BLANK_SHOWN]
    return "; ".join(", ".join(each.cells[n].strip() for each in open if each.cells[n].strip()) for n in rows)[:160]


def _leave_out_ended(view: View, part: Part) -> bool:
    """Leave out rows that are marked as excluded, and grants with an inactive status.

    Ask about unknown words, and about other columns that may say that a grant is not held. Return whether the status
    leaves out rows.
    """
    state = _state_of_grants(view, part)
    _leave_out_excluded(view, part)
    if state is None:
        _ask_for_state(view, part)
        ask_for_ended_grants(view, part)
        return False
    is_opposite = is_inverted(state.header)
    known = {word: ACTIVE.get(fold(word)) for word in state.distinct}
    ended = [word for word, active in known.items() if active is not None and bool(active) is is_opposite]
    if ended and words_of(state.header) & _GROUPS and _is_of_held(view, part, state.header):
        # In some systems, members keep the rights of a group that is not active.
        ask_if_held(part, state.header, ended)
        ended = []
    if ended:
        part.skip_rows({"column": state.header, "is": ended})
        part.evidence.append(f"Rows whose {state.header} is {', '.join(ended)} are left out: such access is not held")
    for word in [word for word, active in known.items() if active is None][:5]:
        ask_if_held(part, state.header, [word])
    ask_for_ended_grants(view, part, [state.header])
    return bool(ended)


def _leave_out_excluded(view: View, part: Part) -> None:
    """Leave out rows that are marked as excluded, as in SAP."""
    if (column := view.named(["exclude", "excluded"])) and column.ticks:
        words = [word for word in column.distinct if fold(word) not in NO_ACCESS]
        if words:
            part.skip_rows({"column": column.header, "is": words})
            part.evidence.append(
                f"Rows whose {column.header} is {', '.join(words)} are left out: such access is not held"
            )


def _ask_for_state(view: View, part: Part) -> None:
    """Ask whether grants with an inactive status are held, because the status may be that of the account."""
    state = view.fields(Content.USERS, [each.header for each in part.fields.values()]).get("Active")
    is_opposite = state is not None and is_inverted(state.header)
    # A column such as Disabled beside an account is about the account, not the grant.
    is_of_account = state is not None and (_is_of_account(state.header) or (is_opposite and part.holder is not None))
    is_of_held = state is not None and _is_of_held(view, part, state.header)
    if state is None or not _is_sure(state) or (is_of_account and not is_of_held):
        return
    ended = [word for word in view.by_header[state.header].distinct if ACTIVE.get(fold(word)) is is_opposite]
    if ended:
        is_around = is_of_held or (
            part.holder is not None
            and (
                state.header in _around(view, part.holder)
                or not depends_on(view.by_header[state.header], view.by_header[part.holder])
            )
        )
        what = "not about the account" if is_around else "read as the state of the account"
        text = (
            f"{state.header} is {what if part.holder else 'not about accounts'}. "
            f"Do rows with {', '.join(ended)} give access?"
        )
        choices = [
            ProposedChoice("Yes, read all rows", SKIP_ROWS, state.header),
            ProposedChoice("No, leave them out", SKIP_ROWS, SEPARATOR.join((state.header, "is", *ended))),
        ]
        part.ask(text, *choices)


def _state_of_grants(view: View, part: Part) -> Profile | None:
    """Find the status of grants by the header or the values, or because it differs between the rows of an account."""
    taken = {meaning.header for meaning in part.fields.values()}
    named = next((each for each in view.profiles if _is_of_grant(each.header) and each.header not in taken), None)
    if named is not None and named.values and len(named.distinct) <= 12 and not named.is_dated:
        return named
    state = view.fields(Content.USERS, taken).get("Active")
    if state is not None and _is_of_account(state.header):
        if differing := _state_in_system(view, part, taken):
            return differing
        state = _state_beside(view, {*taken, state.header})
    if state is None or state.score <= _SURE or _is_of_account(state.header) or part.holder is None:
        return None
    column = view.by_header[state.header]
    is_of_grants = not _ONLY_GRANTS.isdisjoint(map(fold, column.distinct))
    return column if is_of_grants or not depends_on(column, view.by_header[part.holder]) else None


def _state_in_system(view: View, part: Part, taken: Set[str]) -> Profile | None:
    """Return the only status column that differs between the rows of a person, if there are other status columns.

    In an inventory of several systems, this column has the state of the person's account in the system of the row.
    """
    if part.holder is None:
        return None
    found = {each.header for each in meanings(Content.USERS, view.profiles) if each.field == "Active"} - taken
    states = [each for each in view.profiles if each.header in found and each.statuses == 1]
    differing = [each for each in states if not depends_on(each, view.by_header[part.holder])]
    return differing[0] if len(differing) == 1 < len(states) else None


def _state_beside(view: View, taken: Set[str]) -> Meaning | None:
    """Return a second column, named `state` or `status`, with a known word; it may be the state of the grant."""
    found = view.fields(Content.USERS, taken).get("Active")
    is_state = found is not None and bool(_STATUS & words_of(found.header)) and not is_inverted(found.header)
    return found if found and is_state and view.by_header[found.header].statuses else None


def _around(view: View, holder: str) -> list[str]:
    """Return the columns outside the inner list of holders, such as the state of a workspace that lists its users."""
    inner = (view.table.records or "").rpartition("[].")[2].removesuffix("[]")
    is_inner = "[]." in (view.table.records or "") and holder.startswith(f"{inner}.")
    return [each.header for each in view.profiles if is_inner and not each.header.startswith(f"{inner}.")]


def repeated_users(view: View, held: Part, *, is_narrowed: bool) -> Part | None:
    """Return the users of a file that has one row for each grant.

    Return None if no column is certain to describe users, unless rows are left out (`is_narrowed`), or accounts and
    grants each have a last day. Read a column that is certainly the state of the account even if it differs between the
    rows of the account; the import then rejects the later rows.
    """
    if held.holder is None:
        return None
    key, taken = view.by_header[held.holder], [meaning.header for meaning in held.fields.values()]
    patterns = [held.origin(field) for field in ("Group", "Header", "Section", "Permission")]
    taken += [column for pattern in patterns if pattern for column in columns_in(pattern)]
    state = _state_of_grants(view, held)
    taken += [state.header] if state else []
    taken += [each.header for each in view.profiles if _is_of_held(view, held, each.header)]
    known = _known_of_person(view, key, [held.holder, *taken, *_around(view, held.holder)])
    fixed = {each.header for each in view.profiles if depends_on(each, key)}
    active = known.get("Active")
    contradicts = active is not None and active.header not in fixed and _is_of_account(active.header)
    fields = {field: each for field, each in known.items() if each.header in fixed or contradicts}
    is_once = key.is_unique and not {"Active", "Locked", "Name", "First Name"} & fields.keys()
    if (not fields or is_once) and not is_narrowed and last_day_of_grants(view) is None:
        return None
    part = _account(view, held, key, fields)
    about = [each for each in view.profiles if (each.header in fixed or contradicts) and each is not state]
    read_statuses(_view_of(view, about), part)
    if active := part.fields.get("Active"):
        ended_beside(_view_of(view, about), part, "Active", active.header)
    if part.origin("Active") is None and (last := last_day_of_grants(view)):
        end_after(_view_of(view, [each for each in about if each is not last]), part, "Active")
    used = {each.header for each in part.fields.values()}
    # If each account has one row, ignore unused columns: they may describe the grant, and in a later file the rows of
    # one account may differ in them.
    kept = used if key.is_unique else {*fixed} - ({*taken} - used)
    part.ignore(each.header for each in view.profiles if each.header not in kept)
    return part


def _known_of_person(view: View, key: Profile, taken: list[str]) -> dict[str, Meaning]:
    """Return the fields of the person in a file of grants whose columns are certain; leave out `taken` columns."""
    person = _once(view, key).fields(Content.USERS, taken)
    known = {field: each for field, each in person.items() if field in {*PERSON, "Locked"} and _is_sure(each)}
    if "Name" in known and key.is_unique and view.by_header[known["Name"].header].names <= _SURE:
        # If each user has one row, every column depends on the key, which proves nothing. So names must also look like
        # names of people.
        del known["Name"]
    return known


def _ask_for_several_names(view: View, part: Part) -> None:
    """Ask whether rows of one username are one account if they have several names of people."""
    key = view.by_header.get(part.holder or "")
    if key is None or key.is_unique or part.shape.get("join"):
        return
    found = _once(view, key).fields(Content.USERS, [key.header, *part.columns]).get("Name")
    if found is None or not _is_sure(found) or view.by_header[found.header].names <= _SURE:
        return
    names: dict[str, dict[str, None]] = {}
    for username, name in zip(key.cells, view.by_header[found.header].cells, strict=True):
        if username.strip() and name.strip():
            names.setdefault(username.strip(), {})[name.strip()] = None
    if several := [each for each, known in names.items() if len(known) > 1]:
        shown = some_of([*names[several[0]]], _MOST_BLANK_SHOWN)
        text = f"{several[0]} in {key.header} has several names in {found.header}: {shown}. Is it one account?"
        advice = "If not, set join.Username to two columns that tell the accounts apart."
        choice = ProposedChoice(f"Yes, each {key.header} is one account", "Username", AS_PROPOSED)
        part.ask(f"{text} {advice}", choice)


def _once(view: View, key: Profile) -> View:
    """Return a view with one row for each account, because repeated values are not recognized as names of people."""
    rows = dict(reversed(list(zip(key.cells, view.table.rows, strict=True))))
    if key.is_unique:
        return view
    once = view_of(msgspec.structs.replace(view.table, rows=[*reversed(rows.values())]))
    return once.without([header for header in once.by_header if header not in view.by_header])


def _is_sure(meaning: Meaning) -> bool:
    """Return whether the meaning of a column is certain. For a column called status, a lower score is enough."""
    return meaning.score > (_LIKELY if meaning.field == "Active" and _STATUS & words_of(meaning.header) else _SURE)


def _view_of(view: View, columns: list[Profile]) -> View:
    return View(view.table, columns, {each.header: each for each in columns})


def _account(view: View, held: Part, key: Profile, fields: dict[str, Meaning]) -> Part:
    shape: dict[str, Any] = {}
    names = ", ".join(meaning.header for meaning in fields.values()) or key.header
    evidence = [f"Rows with the same {key.header} have the same {names}: each {key.header} is one account"]
    part = Part(Content.USERS, fields, shape, 0.75, evidence)
    if pattern := held.shape.get("join", {}).get("Username"):
        shape["join"] = {"Username": pattern}
    else:
        choose_username(view, fields, shape, evidence, known=key.header)
        if "Employee ID" in assigned(meanings(Content.USERS, [key])) and "Employee ID" not in fields:
            shape.setdefault("join", {})["Employee ID"] = f"{{{key.header}}}"
        if not key.is_filled:
            part.skip_rows({"column": key.header, "is": [""]})
    skip_groups(view, part)
    return part


def _is_of_account(header: str) -> bool:
    """Return whether a header names the state of an account, rather than of a grant."""
    return bool(words_of(header) & _OF_ACCOUNTS)


def _is_of_held(view: View, part: Part, header: str) -> bool:
    """Return whether a column such as Enabled is the state of the group or permission that is held.

    This is so if rows of one account differ in it, but all rows of a group or permission have the same state.
    """
    columns = [part.fields[each].header for each in ("Group", "Permission") if each in part.fields]
    if words_of(header) & ACCOUNTS or part.holder is None or not columns:
        return False
    column, holder, held = view.by_header[header], view.by_header[part.holder], view.by_header[columns[0]]
    is_state = column.statuses == 1 and len(column.distinct) > 1 and bool(words_of(header) & _OF_STATES)
    return is_state and not held.is_unique and depends_on(column, held) and not depends_on(column, holder)


def without_grants(view: View) -> View:
    """Return the view without the columns that have the state of a grant, such as is_active_assignment."""
    return view.without([each.header for each in view.profiles if _is_of_grant(each.header)])


def has_keys_of_grants(view: View) -> bool:
    """Return whether each row is a grant, because a column such as Assignment ID has its key."""
    return any(map(names_grant, view.profiles))


def says_granted(view: View) -> bool:
    """Return whether a column such as Granted Date or Assigned By says when or by whom access was granted."""
    words = [words_of(each.header) for each in view.profiles if each.values]
    return any(each & _GRANTED and each & (WHEN | OTHER_PEOPLE) for each in words)


def _is_of_grant(header: str) -> bool:
    words = words_of(header)
    is_about_grant = bool(words & {"assignment", "membership", "grant", "entitlement"})
    return is_about_grant and bool(words & {"status", "state", "active"})
