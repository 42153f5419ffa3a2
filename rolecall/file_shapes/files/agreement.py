"""Make several files use the same usernames and names of groups, and drop contents that another file also has."""

from collections.abc import Collection, Sequence

import msgspec

from rolecall.applications.file_shape import JSON
from rolecall.applications.model import Content
from rolecall.file_shapes.accounts.directory import people_in
from rolecall.file_shapes.accounts.held_by_users import read_roles_as_permissions
from rolecall.file_shapes.accounts.holders import OVERLAP, agree_on_username, overlap
from rolecall.file_shapes.cells.groups_held import values_of
from rolecall.file_shapes.cells.row_keys import is_counted
from rolecall.file_shapes.columns.meanings import Meaning
from rolecall.file_shapes.files.read_files import ReadFile
from rolecall.file_shapes.files.references import ask_for_ids
from rolecall.file_shapes.parts import Part

_HOLDERS = (Content.MEMBERSHIPS, Content.PERMISSIONS)
_PAIR = ("Username", "Permission")
_STATUSES = ("Active", "Locked")


def leave_out_listed_users(files: Sequence[ReadFile]) -> None:
    """Do not read users from a file of grants if another file is the list of these accounts.

    That file has at least half of the accounts, each in one row, and each status (active, locked) that the grants have.
    """
    lists = [file for file in files if _names_users(file, is_once=True)]
    for file in files:
        if len(file.parts) > 1 and _names_users(file, is_once=False) and any(_lists(each, file) for each in lists):
            file.parts = file.parts[1:]


def _names_users(file: ReadFile, *, is_once: bool) -> bool:
    """Return whether the first content has users, each in one row (`is_once`) or some in several rows."""
    first = file.parts[0] if file.parts else None
    if first is None or first.content != Content.USERS or file.view is None:
        return False
    # The header may be missing, because a person may have chosen settings that change the headers.
    holder = file.view.by_header.get(first.holder or "")
    return holder is not None and holder.is_unique is is_once


def _lists(users: ReadFile, grants: ReadFile) -> bool:
    """Return whether a list of users has at least half of the accounts of these grants, and each of their statuses."""
    listed, described = users.parts[0], grants.parts[0]
    assert users.view
    assert grants.view
    if any(described.origin(field) and not listed.origin(field) for field in _STATUSES):
        return False
    named = {*grants.view.by_header[described.holder or ""].distinct}
    return any(overlap(each, named) >= OVERLAP for each in people_in(users.view)[0].profiles)


def read_grants_as_memberships(files: Sequence[ReadFile], chosen: Collection[str]) -> None:
    """Read the permissions of accounts as memberships if another file gives permissions to groups with these names.

    `chosen` has the names of the files whose content a person chose.
    """
    for file in files:
        groups = [_groups_with_permissions(each) for each in files if each is not file]
        for part in file.parts if file.view and file.sample.name not in chosen else []:
            if part.content != Content.PERMISSIONS or {*part.fields} != {*_PAIR} or "join" in part.shape:
                continue
            assert file.view
            held = part.fields["Permission"]
            named = {*file.view.by_header[held.header].distinct}
            if any(len(named & each) > OVERLAP * len(named) for each in groups):
                del part.fields["Permission"]
                part.content = Content.MEMBERSHIPS
                part.fields["Group"] = Meaning(held.header, "Group", held.score, "another file gives them permissions")
                part.evidence = [f"{held.header} names the groups to which another file gives permissions"]


def _groups_with_permissions(file: ReadFile) -> set[str]:
    part = file.parts[0] if file.parts else None
    if not part or not file.view or part.content != Content.PERMISSIONS or "Group" not in part.fields:
        return set()
    return {*file.view.by_header[part.fields["Group"].header].distinct}


def agree_on_usernames(files: Sequence[ReadFile]) -> None:
    """Read usernames from the column that memberships and permissions refer to."""
    named = {
        value for file in files for part in file.parts if part.content in _HOLDERS for value in _usernames(file, part)
    }
    for file in files:
        for part in file.parts:
            if part.content != Content.USERS or file.view is None or not named:
                continue
            if agree_on_username(people_in(file.view)[0], part, named):
                for other in file.parts:
                    if other is not part and other.content in _HOLDERS:
                        _follow_username(part, other)


def _usernames(file: ReadFile, part: Part) -> set[str]:
    """Return the usernames that a content refers to, without prefixes.

    Return an empty set if the file itself lists the users, or if no single column contains the whole username.
    """
    assert file.view
    origin, header = part.origin("Username"), part.holder
    profile = file.view.by_header.get(header or "")
    # A login that is joined with a host or domain is not the whole username, so do not look for it in other files.
    is_joined = "}@{" in (origin or "")
    if profile is None or is_joined or any(other.content == Content.USERS for other in file.parts):
        return set()
    separator = part.shape.get("split", {}).get(header)
    is_text = separator not in (None, JSON)
    values = [each for value in profile.distinct for each in (value.split(separator) if is_text else [value])]
    if "|rdn" in (origin or ""):
        # Members without a distinguished name keep their whole name, as in the import.
        return {value.partition("=")[2].partition(",")[0] or value for value in values}
    return {value.partition(":")[2] if "after(:)" in (origin or "") else value.strip() for value in values}


def agree_on_groups(files: Sequence[ReadFile]) -> None:
    """Read the names of groups from the column that memberships refer to, for example a path.

    If no memberships name groups, use the permissions of groups.
    """
    memberships = _named_groups(files, Content.MEMBERSHIPS)
    named = memberships or _named_groups(files, Content.PERMISSIONS)
    for file in files:
        for part in file.parts:
            if part.content != Content.GROUPS or file.view is None or not named or "Group" not in part.fields:
                continue
            group = part.fields["Group"]
            fits = [each for each in file.view.profiles if each.is_unique and named.intersection(each.distinct)]
            fits.sort(key=lambda each: -len(named.intersection(each.distinct)))
            if fits and not named.intersection(file.view.by_header[group.header].distinct):
                source = "memberships" if memberships else "permissions"
                why = f"the {source} refer to its values"
                part.fields = {field: each for field, each in part.fields.items() if each.header != fits[0].header}
                part.fields["Group"] = msgspec.structs.replace(group, header=fits[0].header, evidence=why)
                if is_counted(fits[0]):
                    ask_for_ids(part, fits[0].header, group.header, source)


def _named_groups(files: Sequence[ReadFile], content: Content) -> set[str]:
    """Return the groups that a content of these files names."""
    return {
        value
        for file in files
        for part in file.parts
        if part.content == content and file.view
        for header in part.columns_of_groups
        if header in file.view.by_header
        for value in values_of(file.view.by_header[header], part.shape.get("split", {}).get(header))
    } - {""}


def _follow_username(users: Part, other: Part) -> None:
    other.fields.pop("Username", None)
    other.shape.get("join", {}).pop("Username", None)
    if "Username" in users.fields:
        other.fields["Username"] = users.fields["Username"]
    else:
        other.shape.setdefault("join", {})["Username"] = users.shape["join"]["Username"]


def leave_out_repeats(files: Sequence[ReadFile]) -> None:
    """Keep the first content of each file; drop its other contents that are the first content of another file.

    If no file has permissions, do not drop the first roles of accounts, but read them as permissions. Derive users only
    if no content lists them, and from one content only.
    """
    own = {file.parts[0].content for file in files if file.parts}
    has_permissions = any(part.content == Content.PERMISSIONS for file in files for part in file.parts)
    for file in files:
        if Content.MEMBERSHIPS in own and not has_permissions:
            has_permissions = any(map(read_roles_as_permissions, file.parts[1:]))
        for part in [each for each in file.parts[1:] if each.content in own & {*_HOLDERS}]:
            named = ", ".join(part.columns)
            file.parts[0].evidence.append(f"Another file has the {part.content}; they are not read from {named}")
        file.parts = [part for i, part in enumerate(file.parts) if i == 0 or part.content not in own]
    if any(part.content == Content.USERS for file in files for part in file.parts):
        for file in files:
            for part in file.parts:
                part.shape.pop("deriveUsers", None)
    _derive_once(files)


def _derive_once(files: Sequence[ReadFile]) -> None:
    """Derive users from only one of the contents that could give them, preferably from memberships."""
    deriving = [part for file in files for part in file.parts if part.shape.get("deriveUsers")]
    deriving.sort(key=lambda part: part.content != Content.MEMBERSHIPS)
    for part in deriving[1:]:
        part.shape.pop("deriveUsers")
