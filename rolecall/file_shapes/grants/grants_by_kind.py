"""Recognize grants to users and groups by the column with the kind of each holder, if no header names access."""

from collections.abc import Sequence
from typing import Any

from rolecall.applications.field_words import ACTIVE
from rolecall.applications.model import Content
from rolecall.core.text import fold
from rolecall.file_shapes.accounts.holders import about_people, depends_on
from rolecall.file_shapes.accounts.kinds import KIND, Kinds, holder_beside, kind_column, share_column
from rolecall.file_shapes.cells.numbered_pairs import LEVELS
from rolecall.file_shapes.choices import SEPARATOR, SKIP_ROWS
from rolecall.file_shapes.columns.header_names import is_about_person, is_flag, is_inverted, words_of
from rolecall.file_shapes.columns.meanings import Meaning
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.grants.denials import read_access
from rolecall.file_shapes.grants.held import ACCOUNTS, with_users
from rolecall.file_shapes.grants.objects import tell_apart
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.shapes import ProposedChoice

_SURE = 0.5
_MOST_ASKED = 8


def find_grants_by_kind(view: View) -> list[Part]:
    """Recognize rows that each give a user or a group something, such as a desktop pool."""
    kind = kind_column(view)
    if kind is None or not kind.users or (holder := _holder(view, kind)) is None:
        return []
    if holder.is_unique and (holder_beside(view, kind) is None or about_people(view) - {"Active"}):
        return []
    others = [each for each in view.profiles if each.header not in (kind.header, holder.header)]
    levels = [each for each in others if words_of(each.header) & LEVELS and not _is_state(each) and each.is_filled]
    places = [each for each in others if each not in levels[:1] and _may_be_place(each)]
    places = [each for each in places if holder.is_unique or not depends_on(each, holder)]
    return _grants(view, kind, holder, levels, places) if levels or places else []


def _grants(
    view: View, kind: Kinds, holder: Profile, levels: Sequence[Profile], places: Sequence[Profile]
) -> list[Part]:
    level = next(iter(levels), None)
    named = level or places[0]
    fields = {
        "Username": Meaning(holder.header, "Username", 0.7, f"it names users and groups, as {kind.header} says"),
        "Permission": Meaning(named.header, "Permission", 0.6, "it says what the holders have"),
    }
    if level and places:
        fields["Section"] = Meaning(places[0].header, "Section", 0.6, "it says where the permission applies")
    shape: dict[str, Any] = {}
    evidence = [f"{named.header} says what the users and groups in {holder.header} have"]
    share_column(view, fields, shape, evidence)
    read_access(view, fields, shape, evidence)
    tell_apart(view, fields, shape, evidence)
    part = Part(Content.PERMISSIONS, fields, shape, 0.7, evidence)
    unread = [each for each in places if each.header not in part.columns]
    if unread:
        _ask_for_granted(part, [named, *unread])
    states = _states(view, kind, holder)
    _ask_for_states(part, states)
    parts = with_users(view.without([each.header for each in states]), part)
    for each in parts:
        if each.content == Content.USERS:
            each.ignore(column.header for column in states)
    return parts


def _holder(view: View, kind: Kinds) -> Profile | None:
    """Return the column of holders: `User` beside `User Type`, or a column of logins, or a column next to the kinds."""
    about = words_of(kind.header) - KIND
    same = [each for each in view.profiles if about and words_of(each.header) == about]
    login = view.fields(Content.PERMISSIONS, [kind.header]).get("Username")
    named = [view.by_header[login.header]] if login and login.score > _SURE else []
    beside = [each for step in (-1, 1) for each in view.profiles if each.position == kind.position + step]
    fits = [each for each in (*same, *named, *beside) if each.header != kind.header and _may_be_holder(each, kind)]
    return next(iter(fits), None)


def _may_be_holder(column: Profile, kind: Kinds) -> bool:
    """Return whether a column may name holders: each value has one kind, and some kinds have several values."""
    is_other = _is_state(column) or not column.is_filled
    return not is_other and depends_on(kind, column) and not depends_on(column, kind)


def _may_be_place(column: Profile) -> bool:
    words = words_of(column.header)
    is_other = is_flag(column.header) or is_about_person(column.header) or column.numbers == 1 or words <= KIND
    return not is_other and not _is_state(column) and column.is_filled


def _is_state(column: Profile) -> bool:
    return column.ticks or column.is_dated or column.statuses == 1


def _states(view: View, kind: Kinds, holder: Profile) -> list[Profile]:
    """Return the column with a state, such as Enabled, unless its header says that it is the state of the account."""
    state = view.fields(Content.USERS, [kind.header, holder.header]).get("Active")
    is_plain = state is not None and state.score > _SURE and not words_of(state.header) & ACCOUNTS
    return [view.by_header[state.header]] if state and is_plain else []


def _ask_for_states(part: Part, states: Sequence[Profile]) -> None:
    for column in states:
        part.evidence.append(f"{column.header} is not read as the state of accounts")
        is_opposite = is_inverted(column.header)
        ended = [word for word in column.distinct if ACTIVE.get(fold(word), is_opposite) == is_opposite]
        if ended:
            words = ", ".join(ended)
            text = f"{column.header} is not read as the state of accounts. Do rows with {words} give access?"
            leave_out = SEPARATOR.join((column.header, "is", *ended))
            choices = [
                ProposedChoice("Yes, read all rows", SKIP_ROWS, column.header),
                ProposedChoice("No, leave them out", SKIP_ROWS, leave_out),
            ]
            part.ask(text, *choices)


def _ask_for_granted(part: Part, columns: Sequence[Profile]) -> None:
    """Ask which of several columns names what is granted."""
    headers = [each.header for each in columns][:_MOST_ASKED]
    text = f"Which column names what the users and groups have? Proposed: {headers[0]}."
    choices = [ProposedChoice(header, "Permission", header) for header in headers]
    part.ask(text, *choices)
