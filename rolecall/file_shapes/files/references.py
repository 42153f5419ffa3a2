"""Ask about groups that need a decision: group numbers, such as the GID in passwd, nested and deleted groups."""

from collections.abc import Iterable, Iterator, Sequence, Set

from rolecall.application_imports.read.ldif import name_in
from rolecall.applications.file_shape import columns_in
from rolecall.applications.model import Content, same_header
from rolecall.core.text import some_of
from rolecall.file_shapes.accounts.directory import groups_in
from rolecall.file_shapes.accounts.statuses import inactive_rows
from rolecall.file_shapes.cells.groups_held import values_of
from rolecall.file_shapes.cells.values import read_rows
from rolecall.file_shapes.choices import AS_PROPOSED, SEPARATOR, SKIP_ROWS
from rolecall.file_shapes.columns.header_names import names_access
from rolecall.file_shapes.columns.meanings import Meaning, meanings
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.shapes import ProposedChoice

_MOSTLY = 0.8
_MOST_NAMED = 4
_SURE = 0.5


def ask_for_references(files: Iterable[tuple[View, list[Part]]]) -> None:
    """Ask whether to import accounts without the groups in a column of numbers: a shape cannot look up their names."""
    known = list(files)
    numbers = [each for view, parts in known for each in _numbers_of_groups(view, parts)]
    for view, parts in known:
        for part in [each for each in parts if each.content == Content.USERS]:
            for column in view.profiles:
                found = [(number, names) for number, names in numbers if _refers(column, number)]
                if found:
                    named = _memberships(view, part, column, *found[0])
                    text = (
                        f"{column.header} has the number of a group for each account{named}. An import cannot look up "
                        "the names in the list of groups, so these memberships are not imported. Import without them? "
                        "If not, add the accounts to the members of these groups in the file."
                    )
                    choice = ProposedChoice("Yes, without them", "Username", AS_PROPOSED)
                    part.ask(text, choice)


def _memberships(view: View, users: Part, column: Profile, number: Profile, names: Profile) -> str:
    """Describe some accounts and their groups. Skip groups named like their account, such as private groups in Unix."""
    accounts = view.by_header.get(users.holder or "")
    group_of = dict(zip(number.cells, names.cells, strict=True))
    pairs = zip(accounts.cells, column.cells, strict=True) if accounts else ()
    found = [f"{name} in {group}" for name, id in pairs if (group := group_of.get(id, "")) and group != name]
    return f", such as {some_of(found, _MOST_NAMED)}" if found else ""


def _numbers_of_groups(view: View, parts: Iterable[Part]) -> Iterator[tuple[Profile, Profile]]:
    """Yield the columns that may contain group IDs, each with the column of their names.

    These are columns of unique numbers in files that also name groups.
    """
    for part in parts:
        if part.content in (Content.GROUPS, Content.MEMBERSHIPS) and "Group" in part.fields:
            naming = part.fields["Group"].header
            fits = [each for each in view.profiles if each.is_unique and each.is_filled and each.numbers == 1]
            yield from ((each, view.by_header[naming]) for each in fits if each.header != naming)


def _refers(column: Profile, number: Profile) -> bool:
    if same_header(column.header) != same_header(number.header) or column is number or not column.distinct:
        return False
    return len(set(column.distinct) & set(number.distinct)) >= _MOSTLY * len(column.distinct)


def ask_for_ids(groups: Part, id: str, name: str, source: str) -> None:
    """Keep the names of groups as descriptions, and ask whether to name the groups by their IDs, as `source` does."""
    groups.fields["Description"] = Meaning(name, "Description", 0.8, f"it names the groups, and {id} identifies them")
    text = f"The {source} name groups by {id}, not by {name}. Name the groups by {id}, with {name} as description?"
    choice = ProposedChoice(f"Yes, by {id}", "Username", AS_PROPOSED)
    groups.ask(text, choice)


def ask_for_names(view: View, parts: Iterable[Part], unread: Sequence[tuple[str, View]]) -> None:
    """Ask about groups that are named by IDs, if a list that is not read has the names for these IDs.

    `unread` contains all lists that are not read, each with its name.
    """
    for part in parts:
        column = view.by_header[part.fields["Group"].header] if "Group" in part.fields else None
        if part.content not in (Content.MEMBERSHIPS, Content.PERMISSIONS) or column is None or not column.is_opaque:
            continue
        found = next((each for each in unread if _name_of(column, each[1])), None)
        if found:
            text = (
                f"{column.header} names groups by their IDs. Their names are in the {found[0]} "
                f"(column {_name_of(column, found[1])}), which is not read. Import with the IDs as names?"
            )
            choice = ProposedChoice("Yes, with the IDs", "Username", AS_PROPOSED)
            part.ask(text, choice)


def ask_for_unread_lists(view: View, parts: Sequence[Part], unread: Sequence[tuple[str, View]]) -> None:
    """Ask about lists and sheets that name the accounts of a file and may contain their access, but are not read."""
    users = next((part for part in parts if part.content == Content.USERS), None)
    column = view.by_header.get(users.holder or "") if users else None
    accounts = {name.casefold() for name in column.distinct} if column else set()
    for name, other in unread:
        naming = next((each for each in other.profiles if accounts and _names_accounts(each, accounts)), None)
        if users and naming and any(map(names_access, (name, *other.table.headers))):
            text = f"The {name} names accounts (column {naming.header}) and may contain their access, but is not read"
            choice = ProposedChoice("Yes, without it", "Username", AS_PROPOSED)
            users.ask(f"{text}. Import without it?", choice)


def _names_accounts(column: Profile, accounts: Set[str]) -> bool:
    """Return whether most values of a column are usernames."""
    named = {value.casefold() for value in column.distinct}
    return bool(named) and len(named & accounts) >= _MOSTLY * len(named)


def _name_of(ids: Profile, view: View) -> str:
    """Return the column with the names of the records that have these IDs, or an empty string."""
    if not any(each.is_unique and set(ids.distinct).intersection(each.distinct) for each in view.profiles):
        return ""
    named = view.named(["name", "displayname", "title", "label"])
    return named.header if named and named.values else ""


def ask_for_inner_groups(files: Iterable[tuple[View, list[Part]]]) -> None:
    """Ask about members that have the name of a group and are not among the accounts that the files list."""
    parts = [(view, part) for view, parts in files for part in parts]
    accounts = {
        name for view, part in parts if part.content == Content.USERS for name in _values(view, part, "Username")
    }
    groups = {name for view, part in parts if part.content == Content.GROUPS for name in _values(view, part, "Group")}
    for view, part in parts:
        if part.content != Content.MEMBERSHIPS or "Username" not in part.fields or "Group" not in part.fields:
            continue
        named = groups.union(_values(view, part, "Group"))
        inner = [name for name in _values(view, part, "Username") if name in named and name not in accounts]
        # If each of these groups has a member of the same name, they are private groups of Unix users, not nested.
        if not inner or _is_of_persons(view, part, inner):
            continue
        shown = ", ".join(inner[:_MOST_NAMED])
        text = f"Members with the names of groups: {shown}. Nested groups are not read. Leave out these rows?"
        header = part.fields["Username"].header
        leave_out = ProposedChoice("Yes, leave them out", SKIP_ROWS, SEPARATOR.join((header, "is", *inner)))
        keep = ProposedChoice("No, they are accounts", SKIP_ROWS, header)
        part.ask(text, leave_out, keep)


def ask_for_same_names(files: Iterable[tuple[View, list[Part]]]) -> None:
    """Ask whether groups with the same name in different containers of a directory are one group."""
    parts = [(view, part) for view, parts in files for part in parts]
    has_groups = any(part.content == Content.GROUPS for _, part in parts)
    for view, part in parts:
        origin = part.origin("Group") or ""
        several = _same_names(view, part) if part.content == Content.MEMBERSHIPS and "|rdn" in origin else []
        if several:
            text = (
                f"Several groups have the same name: {some_of(several, _MOST_NAMED)}. "
                "Are groups with the same name one group?"
            )
            one = ProposedChoice("Yes, use the names", "Username", AS_PROPOSED)
            whole = ProposedChoice("No, use the distinguished names", "join.Group", origin.replace("|rdn", ""))
            # Do not offer distinguished names if there is a list of groups: if it has other names, the groups would be
            # added twice.
            part.ask(text, *([one] if has_groups else [one, whole]))


def _same_names(view: View, part: Part) -> list[str]:
    """Return the distinguished names of groups that have a name in common with another group."""
    headers = [*columns_in(part.origin("Group") or ""), *part.shape.get("unpivot", {}).get("columns", [])]
    found: dict[str, dict[str, str]] = {}
    for header in [each for each in headers if each in view.by_header]:
        column = read_rows(view, part, header)
        for value in values_of(column, part.shape.get("split", {}).get(header)):
            if "=" in value:
                found.setdefault(name_in(value).lower(), {}).setdefault(value.lower(), value)
    return [value for values in found.values() if len(values) > 1 for value in values.values()]


def ask_for_ended_groups(files: Iterable[tuple[View, list[Part]]]) -> None:
    """Ask whether to leave out groups with an inactive status, such as deleted groups, and their memberships."""
    known = list(files)
    for view, part in [(view, part) for view, parts in known for part in parts if part.content == Content.GROUPS]:
        found = [each for each in meanings(Content.USERS, view.profiles) if each.field == "Active"]
        column = view.by_header[found[0].header] if found and found[0].score > _SURE else None
        # Skip the entries of a directory that are not groups, such as people.
        kept = {id(row) for row in groups_in(view)[0].table.rows}
        rows = [n for n in sorted(inactive_rows(column)) if id(view.table.rows[n]) in kept] if column else []
        naming = view.by_header[part.fields["Group"].header] if "Group" in part.fields else None
        # Skip a status that is not in the same object as the name of the group: it may be that of the members.
        if column is None or naming is None or not rows or _place(column) != _place(naming):
            continue
        names = [naming.cells[n] for n in rows]
        named = some_of(names, _MOST_NAMED)
        words = list(dict.fromkeys(column.cells[n].strip() for n in rows))
        said = f"{column.header} is {', '.join(words)}"
        _ask_to_leave_out(part, column.header, words, f"{said} for {named}. Leave out these groups?")
        for other in [each for _, parts in known for each in parts if each.content == Content.MEMBERSHIPS]:
            group = other.fields.get("Group")
            if group and other is not part and group.header not in other.shape.get("split", {}):
                text = f"Memberships in {named} may have ended, because {said}. Leave them out?"
                _ask_to_leave_out(other, group.header, names, text)


def _place(column: Profile) -> str:
    return column.header.rpartition(".")[0]


def _ask_to_leave_out(part: Part, header: str, words: list[str], text: str) -> None:
    leave_out = ProposedChoice("Yes, leave them out", SKIP_ROWS, SEPARATOR.join((header, "is", *words)))
    keep = ProposedChoice("No, read them", SKIP_ROWS, header)
    part.ask(text, leave_out, keep)


def _values(view: View, part: Part, field: str) -> list[str]:
    """Return the different values of a field that is read from one column; none if it is built from a pattern."""
    if field not in part.fields:
        return []
    column = read_rows(view, part, part.fields[field].header)
    return [each for each in dict.fromkeys(values_of(column, part.shape.get("split", {}).get(column.header))) if each]


def _is_of_persons(view: View, part: Part, inner: list[str]) -> bool:
    """Return whether each of these groups has a member of the same name, like the private group of a Unix user."""
    members, groups = (view.by_header[part.fields[field].header] for field in ("Username", "Group"))
    separator = part.shape.get("split", {}).get(members.header)
    pairs = {
        (group, name)
        for group, cell in zip(groups.cells, members.cells, strict=True)
        for name in ([each.strip() for each in cell.split(separator)] if separator and separator != "json" else [cell])
    }
    return all((name, name) in pairs for name in inner)
