"""Read people without logins as the holders of grants: by employee ID, e-mail address or name."""

from collections.abc import Sequence

from rolecall.applications.model import Content
from rolecall.file_shapes.cells.row_keys import names_grant
from rolecall.file_shapes.choices import AS_PROPOSED
from rolecall.file_shapes.columns.header_names import known_for, names_level, names_of, words_of
from rolecall.file_shapes.columns.header_words import OTHER_PEOPLE
from rolecall.file_shapes.columns.meanings import Meaning
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.grants.held import says_granted
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.shapes import ProposedChoice

_SURE = 0.5


def use_repeated_people(view: View, fields: dict[str, Meaning], held: str) -> bool:
    """If no column names the holders, read an employee ID or e-mail address as the username.

    Do so only if it repeats, or if a column such as Granted Date shows that the rows are grants, and if no other column
    identifies each row. Return whether the username was found.
    """
    holders = {"Username", "Group"} - {held}
    if holders & fields.keys() or held not in fields:
        return False
    people, are_grants = view.fields(Content.USERS, [fields[held].header]), says_granted(view)
    for field in ("Employee ID", "Email"):
        found = people.get(field)
        column = view.by_header[found.header] if found and found.score > _SURE else None
        known = [fields[held].header, *([column.header] if column and are_grants else [])]
        is_other = column is None or _names_rows(view, known)
        if found and column and column.is_filled and (not column.is_unique or are_grants) and not is_other:
            why = "the rows are grants" if column.is_unique else f"several rows have the same {found.header}"
            fields["Username"] = Meaning(found.header, "Username", 0.6, why)
            return True
    if (named := _repeated_name(view, fields[held].header)) and not _names_rows(view, [fields[held].header]):
        fields["Username"] = Meaning(named.header, "Username", 0.55, f"several rows have the same {named.header}")
        return True
    return False


def _repeated_name(view: View, held: str) -> Profile | None:
    """Return a column of names of people, some of which have several rows."""
    known = [each for each in view.profiles if known_for("Name").intersection(names_of(each.header)[:1])]
    fits = [each for each in known if each.header != held and each.is_filled and not each.is_unique]
    return next((each for each in fits if each.names > _SURE), None)


def ask_if_names(view: View, part: Part, *, is_repeated: bool) -> None:
    """Ask whether names of people name the accounts, because no column has logins."""
    held = part.fields.get("Username")
    column = view.by_header[held.header] if held and is_repeated else None
    if column and column.names > _SURE and known_for("Name").intersection(names_of(column.header)[:1]):
        text = (
            f"No column has logins. Does {column.header} name the accounts, such as {column.distinct[0]}? People with "
            "the same name would be one account."
        )
        part.ask(text, ProposedChoice(f"Yes, {column.header} names the accounts", "Username", AS_PROPOSED))


def _names_rows(view: View, known: Sequence[str]) -> bool:
    """Return whether a column other than those in `known` identifies each row by a login, an ID or an address."""
    others = [each for each in view.profiles if each.header not in known and each.is_unique and each.is_filled]
    others = [each for each in others if not (names_grant(each) or names_level(each.header))]
    others = [each for each in others if not words_of(each.header) & OTHER_PEOPLE]
    return any(each.is_login or each.is_opaque or each.emails == 1 for each in others)
