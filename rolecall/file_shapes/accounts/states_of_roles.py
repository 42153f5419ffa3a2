"""Read `member (deactivated)` in a column of roles as the role `member` and the state of the account."""

from collections.abc import Mapping, Sequence

from rolecall.applications.field_words import ACTIVE, parted_state
from rolecall.applications.file_shape import BETWEEN_WORDS, columns_in
from rolecall.applications.model import Content
from rolecall.core.text import fold, some_of
from rolecall.file_shapes.accounts.holders import depends_on
from rolecall.file_shapes.accounts.statuses import inactive_rows
from rolecall.file_shapes.cells.groups_held import values_of
from rolecall.file_shapes.cells.values import question_about
from rolecall.file_shapes.choices import AS_PROPOSED, SEPARATOR, SKIP_ROWS
from rolecall.file_shapes.columns.header_names import words_of
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.shapes import ProposedChoice

_HELD = {Content.MEMBERSHIPS: "Group", Content.PERMISSIONS: "Permission"}
# Words in headers of columns whose values describe what an account is, unlike those of groups and teams.
_ROLES = {
    "role", "roles", "rolle", "rollen", "rol", "ruolo", "rôle", "level", "access", "type", "membership",
    "permission", "permissions", "privilege", "profile", "license", "licence", "seat",
}  # fmt: skip
# States that are not certain to mean active or not active.
_DOUBTFUL = (
    "pending", "pending invite", "pending invitation", "invite pending", "invitation pending", "pending activation",
    "pending approval", "invited", "invite sent", "invitation sent", "not accepted", "unconfirmed", "not confirmed",
    "unverified", "not verified", "awaiting activation", "locked", "frozen", "banned", "paused",
    "on leave", "offboarded", "deactivation pending", "deactivating", "unlicensed",
)  # fmt: skip
_YES_NO = {"Yes": "Yes", "No": "No"}
_MOST_SHOWN = 3


def read_states_of_roles(view: View, parts: list[Part]) -> list[Part]:
    """Return the contents of a file, in which states in parentheses behind roles are no part of the roles."""
    for part in [each for each in parts if each.content in _HELD]:
        for column in _columns_held(view, part):
            parts = _without_states(view, parts, part, column)
    return parts


def _columns_held(view: View, part: Part) -> list[Profile]:
    field = _HELD[part.content]
    unpivot = part.shape.get("unpivot", {})
    across = unpivot.get("columns", []) if unpivot.get("headers") == unpivot.get("cells") == field else []
    named = [part.fields[field].header] if field in part.fields else across
    return [view.by_header[header] for header in named if field not in part.shape.get("join", {})]


def _without_states(view: View, parts: list[Part], part: Part, column: Profile) -> list[Part]:
    values = values_of(column, part.shape.get("split", {}).get(column.header))
    is_role = bool(words_of(column.header) & _ROLES)
    parted = {value: found for value in values if (found := parted_state(value, _DOUBTFUL if is_role else ()))[1]}
    shown = some_of([*parted], _MOST_SHOWN)
    if not is_role:
        _ask_for_groups(part, column, parted, shown)
    if not is_role or not parted:
        return parts
    states = list(dict.fromkeys(state for _, state in parted.values()))
    more = BETWEEN_WORDS.join(state for state in states if not parted_state(f"x ({state})")[1])
    field = _HELD[part.content]
    name = part.fields.pop(field).header if field in part.fields else field
    part.shape.setdefault("join", {})[field] = f"{{{name}|stateless({more})}}"
    part.evidence.append(f"States in parentheses are not part of the names in {column.header}, as in {shown}")
    holder = view.by_header.get(part.holder or "")
    is_single = column.header not in part.shape.get("split", {}) and "unpivot" not in part.shape
    if holder is None or not is_single or not _is_of_account(holder, column):
        _ask_for_rows(part, column, parted, shown)
        return parts
    users = next((each for each in parts if each.content == Content.USERS), None)
    if users is None:
        users = _new_users(view, part)
        parts = [users, *parts]
    _read_state(view, users, column, states, more)
    return parts


def _is_of_account(holder: Profile, column: Profile) -> bool:
    """Return whether all rows of an account have the same state."""
    states = [parted_state(cell.strip(), _DOUBTFUL)[1] for cell in column.cells]
    return depends_on(Profile(column.header, column.position, states), holder)


def _new_users(view: View, part: Part) -> Part:
    """Return the users of a content that would otherwise derive them from the usernames."""
    part.shape.pop("deriveUsers", None)
    users = Part(Content.USERS, {}, {}, 0.7, ["The rows name accounts and their states"])
    if "Username" in part.fields:
        users.fields["Username"] = part.fields["Username"]
    else:
        users.shape["join"] = {"Username": part.shape["join"]["Username"]}
    users.ignore(view.table.headers)
    return users


def _read_state(view: View, users: Part, column: Profile, states: Sequence[str], more: str) -> None:
    """Read the state of accounts from the parentheses. If another column has it, ask about rows that disagree."""
    if origin := users.origin("Active"):
        _ask_if_contradicted(view, users, column, origin)
        return
    users.shape.setdefault("join", {})["Active"] = f"{{{column.header}|state({more})}}"
    users.evidence.append(
        f"{column.header} has the state of the account in parentheses: {some_of(states, _MOST_SHOWN)}"
    )
    for state in [each for each in states if each in more.split(BETWEEN_WORDS)]:
        users.shape.setdefault("values", {}).setdefault("Active", {})[state] = "No"
        asked = question_about(column.header, state, "Active", _YES_NO, "No")
        users.ask(asked.text, *asked.choices)


def _ask_if_contradicted(view: View, users: Part, column: Profile, origin: str) -> None:
    ended = {n for n, cell in enumerate(column.cells) if _is_ended(parted_state(cell.strip(), _DOUBTFUL)[1])}
    known = [view.by_header[header] for header in columns_in(origin) if header in view.by_header]
    rest = sorted(ended - set[int]().union(*map(inactive_rows, known)))
    if not rest:
        return
    cells = some_of(list(dict.fromkeys(column.cells[n].strip() for n in rest)), _MOST_SHOWN)
    named = " and ".join(each.header for each in known)
    text = (
        f"{column.header} has {cells}, but {named} does not say that these accounts are inactive. Does {named} count?"
    )
    users.ask(text, ProposedChoice(f"Yes, {named} alone counts", "Active", AS_PROPOSED))


def _is_ended(state: str) -> bool:
    return bool(state) and ACTIVE.get(fold(state)) is not True


def _ask_for_rows(part: Part, column: Profile, parted: Mapping[str, tuple[str, str]], shown: str) -> None:
    ended = list(
        dict.fromkeys(value[len(name) :].strip() for value, (name, state) in parted.items() if _is_ended(state))
    )
    if not ended:
        return
    text = f"{column.header} has states in parentheses, such as {shown}. Do rows with {', '.join(ended)} give access?"
    leave_out = ProposedChoice("No, leave them out", SKIP_ROWS, SEPARATOR.join((column.header, "endsWith", *ended)))
    part.ask(text, ProposedChoice("Yes, read all rows", SKIP_ROWS, column.header), leave_out)


def _ask_for_groups(part: Part, column: Profile, parted: Mapping[str, tuple[str, str]], shown: str) -> None:
    text = f"{column.header} has names with a state in parentheses: {shown}. Have these groups ended?"
    whole = SEPARATOR.join((column.header, "is", *parted))
    choices = [
        ProposedChoice("Yes, leave them out", SKIP_ROWS, whole),
        ProposedChoice("No, it is part of the name", SKIP_ROWS, column.header),
    ]
    if any(_is_ended(state) for _, state in parted.values()):
        part.ask(text, *choices)
