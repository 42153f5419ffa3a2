"""Find groups and permissions to choose in a form: by a part of their names, or held by another person.

The form sends the search and is shown again with the results, so that it works without JavaScript.
"""

from collections.abc import Iterable
from uuid import UUID

import msgspec

from rolecall.accounts.model import Access, PermissionName
from rolecall.accounts.naming import look_up_permissions
from rolecall.console import finding
from rolecall.console.forms import first
from rolecall.console.inputs import Form
from rolecall.core.caller import Caller
from rolecall.core.db import Db
from rolecall.effective_access.queries import access_of
from rolecall.entitlements import queries
from rolecall.entitlements.model import EntitlementKind
from rolecall.settings.policy import Level


class AccessChoice(msgspec.Struct, frozen=True):
    """A group or permission to choose in a form.

    The form adds `line` to a text field. If it has a separate field for groups, it adds the `name` of a group there.
    """

    line: str
    name: str
    label: str
    is_group: bool
    risk: Level
    is_chosen: bool = False
    # How the person in the form holds the access already: "held", or "held through" a group; empty if they do not.
    held: str = ""


class FoundAccess(msgspec.Struct, frozen=True):
    """The results of a search for `words`; `message` gives advice if there are none.

    If `is_cut`, more groups and permissions match than the form shows.
    """

    choices: list[AccessChoice]
    message: str
    words: str = ""
    is_cut: bool = False


def is_searched(form: Form, place: str = "") -> bool:
    """Return whether the form requests a search: it contains words whose results are not shown yet."""
    words = first(form, f"find{place}")
    return bool(words) and words != first(form, f"searched{place}")


def line_of(name: PermissionName) -> str:
    """Return a permission as a line of text that `permission_in` can parse."""
    # Before a section, write even an empty header: `permission_in` reads the first of two parts as the header.
    parts = name if name.section else (name.header, name.permission) if name.header else (name.permission,)
    return " / ".join(parts)


def with_lines(text: str, lines: Iterable[str]) -> str:
    """Return the text of a field with lines appended, without duplicates."""
    return "\n".join(dict.fromkeys(line.strip() for line in (*text.splitlines(), *lines) if line.strip()))


async def access_like(db: Db, application_id: UUID | None, words: str) -> FoundAccess:
    """Find groups and permissions of an application by a part of their names; if none match, suggest similar ones.

    Without words, return the first ones of the catalogue.
    """
    if application_id is None:
        return FoundAccess([], "Choose the application first")
    found = await queries.suggested(db, [application_id], words)
    choices = [
        AccessChoice(
            line_of(PermissionName(one.header, one.section, one.name)),
            one.name,
            one.display_name or one.name or one.section,
            one.kind == EntitlementKind.GROUP,
            one.risk_rating,
        )
        for one in found
    ]
    if choices:
        return FoundAccess(choices, "", words, is_cut=len(choices) == queries.MOST_SUGGESTED)
    if not words:
        return FoundAccess([], "No import has shown groups or permissions of this application yet")
    (lookup,) = await look_up_permissions(db, [(application_id, PermissionName("", "", words))])
    return FoundAccess(
        [],
        lookup.complaint
        or "No group or permission of the application has this text in its name."
        " If you know the full name, enter it on a line of its own",
        words,
    )


async def with_held(db: Db, found: FoundAccess, application_id: UUID | None, person_id: UUID) -> FoundAccess:
    """Mark the choices that the person already holds in the application, directly or through a group."""
    held = dict[str, str]()
    for there in (await access_of(db, person_id, None)).applications:
        for account in there.accounts if there.application.id == application_id else ():
            for entry in account.access:
                line = line_of(PermissionName(entry.header, entry.section, entry.permission))
                # Direct access takes precedence over access through groups.
                if entry.access is not Access.NONE and (line not in held or not entry.path):
                    held[line] = f"held through {entry.group}" if entry.path else "held"
    choices = [msgspec.structs.replace(one, held=held.get(one.line, "")) for one in found.choices]
    return msgspec.structs.replace(found, choices=choices)


async def access_as(db: Db, application_id: UUID | None, field: str, words: str, caller: Caller) -> FoundAccess:
    """Find the groups and direct permissions of another person in an application."""
    id = UUID(await finding.the_person(db, field, words, caller))
    if application_id is None:
        return FoundAccess([], "Choose the application first")
    held = await access_of(db, id, None)
    # Leave out access through a group, because the list contains the group itself.
    entries = {
        PermissionName(entry.header, entry.section, entry.permission): entry.risk_rating
        for there in held.applications
        if there.application.id == application_id
        for account in there.accounts
        for entry in account.access
        if not entry.path
    }
    choices = [
        AccessChoice(line_of(name), name.permission, name.permission or name.section, False, risk, is_chosen=True)
        for name, risk in entries.items()
    ]
    return FoundAccess(choices, "" if choices else "This person has no access in the application")
