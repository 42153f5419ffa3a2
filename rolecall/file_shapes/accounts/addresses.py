"""Recognize columns such as `state` that are part of an address, and not the status of an account."""

import re
from collections.abc import Iterable

from rolecall.core.text import fold
from rolecall.file_shapes.cells.values import proposed_meaning
from rolecall.file_shapes.choices import AS_PROPOSED
from rolecall.file_shapes.columns.header_names import path_of, words_of
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.parts import Part, View, view_of
from rolecall.file_shapes.shapes import ProposedChoice

_STATE = {"state", "estado", "stato", "etat", "province"}
# Words in headers of parts of an address.
_PARTS = {"city", "town", "zip", "zipcode", "postal", "postcode", "postalcode", "street", "county", "country", "plz",
          "ciudad", "ville", "strasse", "ort", "suburb", "region"}  # fmt: skip
# Words in headers of addresses. A state with such a word is part of an address, unless a value is a word for a status.
_KINDS = {"address", "addr", "billing", "shipping", "mailing", "postal", "home", "residence"}
# Words in headers of addresses that are not postal addresses.
_OTHER_ADDRESSES = {"mail", "email", "ip", "mac", "web", "url"}
# Words in headers of statuses.
_OF_ACCOUNTS = {"user", "account", "login", "employee", "employment", "worker", "lifecycle", "member"}
_STATES = (
    "Alabama,Alaska,Arizona,Arkansas,California,Colorado,Connecticut,Delaware,Florida,Georgia,Hawaii,Idaho,Illinois"
    ",Indiana,Iowa,Kansas,Kentucky,Louisiana,Maine,Maryland,Massachusetts,Michigan,Minnesota,Mississippi,Missouri"
    ",Montana,Nebraska,Nevada,New Hampshire,New Jersey,New Mexico,New York,North Carolina,North Dakota,Ohio"
    ",Oklahoma,Oregon,Pennsylvania,Rhode Island,South Carolina,South Dakota,Tennessee,Texas,Utah,Vermont,Virginia"
    ",Washington,West Virginia,Wisconsin,Wyoming,District of Columbia,Puerto Rico,Alberta,British Columbia,Manitoba"
    ",New Brunswick,Newfoundland and Labrador,Nova Scotia,Ontario,Prince Edward Island,Quebec,Québec,Saskatchewan"
    ",New South Wales,Queensland,South Australia,Tasmania,Victoria,Western Australia,NSW,QLD,VIC,TAS"
    ",Baden-Württemberg,Bavaria,Bayern,Berlin,Brandenburg,Bremen,Hamburg,Hesse,Hessen,Lower Saxony,Niedersachsen"
    ",North Rhine-Westphalia,Nordrhein-Westfalen,Rheinland-Pfalz,Saarland,Sachsen,Saxony,Schleswig-Holstein"
    ",Thüringen,Thuringia,England,Scotland,Wales"
)
_NAMES = {fold(name) for name in _STATES.split(",")}
_NOT_IN_NAMES = re.compile(r"[\d_]")


def with_addresses(view: View) -> View:
    """Mark each state that is part of an address, so that no rule reads it as a status; return the new view."""
    states = [each for each in view.profiles if words_of(each.header.rpartition(".")[2]) & _STATE]
    found = [each.header for each in states if _is_of_address(each, view.profiles)]
    if not found:
        return view
    view.table.addresses = found
    return view_of(view.table)


def ask_for_addresses(view: View, part: Part, field: str) -> None:
    """Ask about each state that is probably, but not certainly, part of an address.

    Call this only if no other column says who is active.
    """
    for column in [each for each in view.profiles if each.is_of_address and each.values and not _is_certain(each)]:
        text = (
            f"{column.header} is read as part of an address, because of the columns beside it. "
            "Does it say who is active? No other column does."
        )
        choices = [
            ProposedChoice("No, all of them are active", field, AS_PROPOSED),
            ProposedChoice(f"Yes, {column.header} says who is active", field, column.header),
        ]
        part.ask(text, *choices)


def _is_of_address(state: Profile, columns: Iterable[Profile]) -> bool:
    """Return whether a state is part of an address: its header or its values say so, or the columns beside it.

    The columns beside it do not suffice if the header is about accounts, or if a value may be a status, or has a digit
    or an underscore.
    """
    if _is_certain(state):
        return True
    if words_of(state.header) & _OF_ACCOUNTS:
        return False
    is_beside = any(_is_part(each) and _owner(each) == _owner(state) for each in columns if each is not state)
    may_be_status = state.statuses or any(map(proposed_meaning, state.distinct))
    return is_beside and not may_be_status and not any(map(_NOT_IN_NAMES.search, state.distinct))


def _is_certain(state: Profile) -> bool:
    """Return whether the header or the values of a state say that it is part of an address."""
    words = words_of(state.header)
    if words & _KINDS and not state.statuses:
        return True
    are_names = state.is_place or (bool(state.values) and all(fold(each) in _NAMES for each in state.distinct))
    return are_names and not words & _OF_ACCOUNTS


def _is_part(column: Profile) -> bool:
    words = words_of(column.header.rpartition(".")[2])
    return bool(words & (_PARTS | _KINDS)) and not words & _OTHER_ADDRESSES


def _owner(column: Profile) -> str:
    path = path_of(column.header)
    return path[0] if path else ""
