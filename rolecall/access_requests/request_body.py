"""Read the body of a new access request and find everything that is wrong with it.

Rules that need the database are checked on the fields that are valid by themselves, so that one response reports all
problems.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from rolecall.access_requests.access_fits_action import TWICE, not_lowered, restored
from rolecall.access_requests.enrichment import enrich
from rolecall.access_requests.model import NewPrivilege, NewRequest, gives_access
from rolecall.access_requests.shapes import MOST_PRIVILEGES, NewRequestBody, PrivilegeBody
from rolecall.accounts.model import Access, PermissionName
from rolecall.accounts.naming import look_up_groups, look_up_permissions
from rolecall.applications.queries import with_mentioned_applications
from rolecall.core.checking import Facts, Json, check, valid_entries, valid_fields
from rolecall.core.db import Db, fetch_rows
from rolecall.core.errors import Invalid, Problem
from rolecall.core.text import is_blank, name_key, skeletons
from rolecall.identities import queries as identities
from rolecall.identities.model import IdentityStatus
from rolecall.settings.policy import RequestAction

# The default access of a privilege, by action.
_DEFAULT_ACCESS = {
    RequestAction.ADD: Access.GRANT,
    RequestAction.CHANGE: Access.GRANT,
    RequestAction.REMOVE: Access.NONE,
    RequestAction.SUSPEND: Access.NONE,
}
_UNMATCHED = "matches no identity: match it first. Until then it can only be suspended or removed"
_ONE_TARGET = Problem("identityId", "Either identity ID or group is required, not both")


class _RequestTarget(msgspec.Struct, frozen=True):
    """The account or group that a request is about, in the application's spelling."""

    identity_id: UUID | None
    name: str | None
    problems: Sequence[Problem] = ()
    is_unmatched: bool = False


async def read_request(db: Db, raw: Json, facts: Facts) -> tuple[NewRequest | None, list[Problem]]:
    """Return the request, enriched with imported data, and its problems.

    The request is None if its action or application is missing or invalid, if it does not have exactly one target, or
    if the name of its target or of a privilege has a problem, for example because it is unknown.
    """
    fields = valid_fields(NewRequestBody, raw, facts)
    entries = valid_entries(PrivilegeBody, raw.get("privileges"), facts, most=MOST_PRIVILEGES)
    problems = [] if _is_given(raw, "identityId") != _is_given(raw, "group") else [_ONE_TARGET]
    application_id, action = fields.get("application_id"), fields.get("action")
    if application_id is None:
        return None, problems
    target = await _find_target(db, application_id, fields)
    problems += target.problems
    # A Restore is checked against suspensions instead: the catalogue may no longer contain their privileges.
    sought = {} if action is RequestAction.RESTORE else entries
    names, unknown = await _names(db, application_id, sought)
    problems += unknown
    if action is None or problems or (target.identity_id is None and target.name is None):
        return None, problems
    new = NewRequest(
        action=action,
        application_id=application_id,
        identity_id=target.identity_id,
        target_name=target.name,
        is_unmatched=target.is_unmatched,
        privileges=[
            _privilege(name, entry.access or _DEFAULT_ACCESS[action])
            for entry, name in zip(sought.values(), names, strict=True)
        ],
    )
    if action is RequestAction.RESTORE:
        new, unfit = await restored(db, new, entries)
    else:
        (new,) = await enrich(db, [new])
        unfit = not_lowered(new, entries)
    return new, [*unfit, *await _check_identity(db, new)]


async def problems_without_target(db: Db, raw: Json, facts: Facts) -> list[Problem]:
    """Return the problems of a body without an identity or group; do not report that both are missing."""
    facts = await with_mentioned_applications(db, facts, raw)
    _, problems = await read_request(db, raw, facts)
    try:
        check(NewRequestBody, raw, facts, problems)
    except Invalid as error:
        problems = list(error.problems)
    return [each for each in problems if each.field != "identityId"]


def _is_given(raw: Json, field: str) -> bool:
    """Return whether the body has a value for a field; as in validation, a blank string is no value."""
    value = raw.get(field)
    return value is not None and not (isinstance(value, str) and is_blank(value))


def _privilege(name: PermissionName, access: Access) -> NewPrivilege:
    return NewPrivilege(header=name.header, section=name.section, permission=name.permission, requested_access=access)


async def _names(
    db: Db, application_id: UUID, entries: Mapping[int, PrivilegeBody]
) -> tuple[list[PermissionName], list[Problem]]:
    """Return names in the application's spelling, and a problem for each unknown name and for repeated names."""
    found = await look_up_permissions(db, [(application_id, entry.key) for entry in entries.values()])
    names = [lookup.name for lookup in found]
    problems = [
        Problem(f"privileges.{place}.permission", lookup.complaint)
        for place, lookup in zip(entries, found, strict=True)
        if lookup.complaint
    ]
    # Validation of the body already reports names that are spelled identically.
    written = {entry.key for entry in entries.values()}
    if len(set(names)) < len(names) and len(written) == len(entries):
        problems.append(TWICE)
    return names, problems


async def _find_target(db: Db, application_id: UUID, fields: Mapping[str, Any]) -> _RequestTarget:
    identity_id, group, name = fields.get("identity_id"), fields.get("group"), fields.get("target_name")
    if identity_id is None:
        if group is None:
            return _RequestTarget(None, None)
        (found,) = await look_up_groups(db, [(application_id, group)])
        problems = [Problem("group", found.complaint)] if found.complaint else []
        return _RequestTarget(None, found.name.permission, problems)
    if name is None:
        return _RequestTarget(identity_id, None)
    return await _find_account(db, application_id, identity_id, name, fields.get("action"))


async def _find_account(
    db: Db, application_id: UUID, identity_id: UUID, name: str, action: RequestAction | None
) -> _RequestTarget:
    """Return the named account; refuse names that would show reviewers the wrong person or account."""
    rows = await fetch_rows(
        db,
        """SELECT a.username, a.identity_id FROM accounts a
           JOIN account_versions v ON v.account_number = a.number AND v.until_import IS NULL
           WHERE a.application_id = %(application)s
             AND username_skeleton(a.username) = ANY(%(skeletons)s::text[] || username_skeleton(%(name)s))
           ORDER BY a.username = %(name)s DESC, a.identity_id = %(identity)s DESC NULLS LAST, a.username""",
        application=application_id,
        identity=identity_id,
        name=name,
        skeletons=list(skeletons(name)),
    )
    same = [(username, owner) for username, owner in rows if name_key(username) == name_key(name)]
    if not same:
        complaint = f"Target name looks like account {rows[0][0]}: name that account exactly" if rows else None
        return _RequestTarget(identity_id, name, [Problem("targetName", complaint)] if complaint else ())
    username, owner = same[0]
    # If the spelling is exact, use only this account, even if the name of another one differs only in case.
    meant = same[:1] if username == name else same
    others = [username for username, owner in meant if owner not in (None, identity_id)]
    if others:
        complaint = f"Account {others[0]} belongs to another identity; name an account of this identity"
        return _RequestTarget(identity_id, name, [Problem("targetName", complaint)])
    # `check` reports a missing action.
    if owner is None and action not in (None, RequestAction.REMOVE, RequestAction.SUSPEND):
        return _RequestTarget(identity_id, name, [Problem("targetName", f"Account {username} {_UNMATCHED}")])
    return _RequestTarget(identity_id, username, is_unmatched=owner is None)


async def _check_identity(db: Db, new: NewRequest) -> list[Problem]:
    """Return a problem if the request would give access to an inactive identity. Access may still be removed."""
    if new.identity_id is None or not gives_access(new.action, [each.requested_access for each in new.privileges]):
        return []
    identity = await identities.get(db, str(new.identity_id))
    if identity.status == IdentityStatus.ACTIVE:
        return []
    return [Problem("identityId", f"Identity is {identity.status}; only active identities can be given access")]
