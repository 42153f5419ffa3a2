"""Check that the access of a new request fits its action, and find stored requests that would now raise access.

Remove and Suspend only lower access; Restore gives back only what a Suspend of the same target took away.
"""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

import msgspec

from rolecall.access_models.model import RANK
from rolecall.access_requests.enrichment import enrich, enrich_privileges, enrich_targets
from rolecall.access_requests.model import NewPrivilege, NewRequest, TargetType, raises
from rolecall.access_requests.shapes import AccessRequestDetail, PrivilegeBody
from rolecall.accounts.model import Access, Pair, PermissionName, meant_among
from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.core.errors import Problem
from rolecall.settings.policy import Level, RequestAction

_LOWERING = frozenset({RequestAction.REMOVE, RequestAction.SUSPEND})
TWICE = Problem("privileges", "Privileges must not name a permission twice")


def not_lowered(new: NewRequest, places: Iterable[int]) -> list[Problem]:
    """Return a problem for each privilege that a Remove or Suspend would not lower.

    `places` are the indexes of the privileges in the body. A request about a whole account has no privileges there, and
    therefore no problems.
    """
    if new.action not in _LOWERING:
        return []
    return [
        Problem(f"privileges.{place}.access", complaint)
        for place, privilege in zip(places, new.privileges, strict=False)
        if (complaint := _not_lower(privilege, privilege.initial_access or Access.NONE))
    ]


def _not_lower(privilege: NewPrivilege, held: Access) -> str | None:
    asked = privilege.requested_access
    if held == Access.DENY and asked == Access.NONE:
        return "Access must stay Deny: removing a denial raises access. Request a Change instead"
    if privilege.adds_to_groups:
        return "Access comes only through groups, so it cannot be lowered here: change or remove the membership instead"
    if RANK[asked] == 0 or RANK[asked] < RANK[held]:
        return None
    return f"Access must be lower than {held}" if RANK[held] else "Access must be None"


async def restored(db: Db, new: NewRequest, asked: Mapping[int, PrivilegeBody]) -> tuple[NewRequest, list[Problem]]:
    """Return the Restore request with the suspended access that `asked` names, and the problems.

    If `asked` is empty, restore all suspended access. The keys of `asked` are indexes in the body. The risk of the
    request covers all suspended access, because enabling the account may give back all of it.
    """
    targeted = await enrich_targets(db, [new])
    (new,) = targeted.requests
    suspended = await _suspended(db, new)
    everything = msgspec.structs.replace(new, privileges=list(suspended.values()))
    (filled,) = await enrich_privileges(db, msgspec.structs.replace(targeted, requests=[everything]))
    by_name = dict(zip(suspended, filled.privileges, strict=True))
    names = meant_among(suspended, [each.key for each in asked.values()])
    privileges, problems = [by_name[name] for name in names if name in by_name], []
    for (place, each), name in zip(asked.items(), names, strict=True):
        field, taken = f"privileges.{place}.access", suspended.get(name)
        if taken is None:
            problems.append(Problem(field, f"{name.words()} of {new.target_name} is not suspended"))
        elif each.access not in (None, taken.requested_access):
            problems.append(Problem(field, f"Access must be {taken.requested_access}, the access that can be restored"))
    if len(set(names)) < len(names):
        problems.append(TWICE)
    if not asked:
        privileges = list(filled.privileges)
        if not privileges and not await _is_suspended(db, new):
            problems.append(Problem("action", f"{new.target_name} is not suspended"))
    return msgspec.structs.replace(filled, privileges=privileges, returning_risk=filled.risk()), problems


def last_import_before(application: str, moment: str) -> str:
    """Return SQL for the creation time of the import whose data was current in an application at a moment.

    Suspended access is read from this data, which already reflects the changes that were provisioned before the import
    was created. The end of an import says nothing about the age of its data, because the import may have been held. A
    rollback restores older data, so ignore rollbacks (`shows_requests`, schema/access_requests.sql) and the imports
    that they undid.
    """
    return f"""coalesce((SELECT max(i.created_at) FROM application_imports i WHERE i.application_id = {application}
        AND i.build_end <= {moment} AND shows_requests(i) AND NOT EXISTS (
            SELECT FROM application_imports b JOIN import_runs u ON u.import_id = b.id
            WHERE b.application_id = i.application_id AND b.status = 'Finished' AND b.build_end <= {moment}
              AND b.number > i.number AND u.rollback_to < i.number)), '-infinity')"""


# Provisioned suspensions of the target of a new request.
_SUSPENSIONS = """
    FROM access_requests s
    WHERE s.application_id = %(application)s AND s.target_type = %(type)s AND s.target_name = %(name)s
      AND s.identity_id IS NOT DISTINCT FROM %(identity)s::uuid
      AND s.action = 'Suspend' AND s.status IN ('Resolved', 'Completed')"""
# Requests other than suspension `s` for the same target, unless they were canceled.
_OTHERS = """
    FROM access_requests later
    WHERE later.application_id = s.application_id AND later.target_type = s.target_type
      AND later.target_name = s.target_name AND later.id <> s.id AND later.status <> 'Canceled'"""
_RESTORES = f"""{_OTHERS} AND later.action = 'Restore'
      AND (later.number > s.number OR later.resolved_on > s.resolved_on)"""
# Requests that changed the access after the import on which suspension `s` is based (`last_import_before`), or that are
# not resolved yet.
_CHANGES = f"""{_OTHERS} AND later.action IN ('Add', 'Change', 'Remove')
      AND (later.resolved_on IS NULL OR later.resolved_on > {last_import_before("s.application_id", "s.created_at")})"""


def _of_target(new: NewRequest) -> dict[str, object]:
    return {
        "application": new.application_id,
        "type": TargetType.USER if new.identity_id else TargetType.GROUP,
        "name": new.target_name,
        "identity": new.identity_id,
    }


async def _is_suspended(db: Db, new: NewRequest) -> bool:
    """Return whether a suspension of the target is in effect, even one that lists no privileges."""
    found: bool = await fetch_value(
        db,
        f"""SELECT EXISTS (SELECT {_SUSPENSIONS}
            AND NOT EXISTS (SELECT {_RESTORES}) AND NOT EXISTS (SELECT {_CHANGES} AND later.is_whole))""",
        **_of_target(new),
    )
    return found


# The access to privilege `p` after each request in `_CHANGES`. Removing the account itself also removes the privileges
# that the request does not list.
_LEFT = f"""
    -- Until its approval, a request has None as the approved access of each privilege.
    SELECT CASE WHEN later.is_whole THEN 'None'
                WHEN later.approved_on IS NULL THEN coalesce(q.lowered_access, q.requested_access)
                ELSE q.approved_access END AS access, later.number, later.approved_on IS NOT NULL AS is_approved
    FROM (SELECT later.* {_CHANGES}) AS later LEFT JOIN privileges q ON q.request_id = later.id
         AND (q.header, q.section, q.permission) = (p.header, p.section, p.permission)
    WHERE q.request_id IS NOT NULL OR later.is_whole"""


async def _suspended(db: Db, new: NewRequest) -> dict[PermissionName, NewPrivilege]:
    """Return the access that suspensions took away and that has not been restored or removed since.

    If later requests change a privilege, return the lowest of these levels: its access before the suspension, the
    access after the last approved request, and the access after each newer request that is not approved yet.
    """
    rows = await fetch_rows(
        db,
        f"""SELECT p.header, p.section, p.permission, still.access, p.description, p.risk_rating, p.value,
                   p.metadata, p.sources, p.origins
            FROM (SELECT s.* {_SUSPENSIONS}) AS s JOIN privileges p ON p.request_id = s.id
            CROSS JOIN LATERAL (
                WITH changes AS ({_LEFT})
                SELECT access FROM (
                    SELECT p.initial_access
                    UNION ALL
                    SELECT access FROM changes
                    WHERE number >= coalesce((SELECT max(number) FROM changes WHERE is_approved), 0)) AS found (access)
                ORDER BY access_rank(access) LIMIT 1) AS still
            WHERE still.access <> 'None' AND NOT EXISTS (
                SELECT {_RESTORES} AND EXISTS (
                    SELECT FROM privileges q WHERE q.request_id = later.id
                    AND (q.header, q.section, q.permission) = (p.header, p.section, p.permission)))
            ORDER BY s.number, p.position""",
        **_of_target(new),
    )
    # The rows are in number order, so the latest suspension of a privilege determines its entry.
    return {PermissionName(*row[:3]): _taken(*row) for row in rows}


def _taken(
    header: str,
    section: str,
    permission: str,
    access: str,
    description: str,
    risk: str,
    value: str,
    metadata: list[dict[str, str]],
    sources: list[str],
    origins: list[str],
) -> NewPrivilege:
    return NewPrivilege(
        header=header,
        section=section,
        permission=permission,
        requested_access=Access(access),
        description=description,
        risk_rating=Level(risk),
        value=value,
        metadata=msgspec.convert(metadata, list[Pair]),
        sources=sources,
        origins=origins,
    )


async def overtaken(db: Db, requests: Sequence[AccessRequestDetail]) -> dict[UUID, str]:
    """Return the requests that would raise access now but did not when they were made, each with the reason.

    This happens if the access of the target has been lowered since.
    """
    watched = {request.id: again for request in requests if (again := _without_raises(request)).privileges}
    enriched = await enrich(db, list(watched.values()))
    found = {}
    for id, new in zip(watched, enriched, strict=True):
        for each in new.privileges:
            held = each.initial_access or Access.NONE
            if raises(held, each.requested_access):
                name = PermissionName(each.header, each.section, each.permission).words()
                why = f"{new.target_name} has {name} as {held} now, so {each.requested_access} would raise the access"
                found[id] = f"{why}; make a new request if it is still needed"
    return found


def _without_raises(request: AccessRequestDetail) -> NewRequest:
    """Rebuild the request from the privileges that lowered or kept access when it was made, but did not remove it."""
    target = request.target
    return NewRequest(
        action=RequestAction(request.action),
        application_id=target.application.id,
        identity_id=target.affected_identity.id if target.affected_identity else None,
        target_name=target.name,
        privileges=[
            # Without an initial access, `enrich` reads the access that is held now.
            NewPrivilege(
                header=each.permission.header,
                section=each.permission.section,
                permission=each.permission.permission,
                requested_access=Access(each.approved_access),
            )
            for each in target.privileges
            if each.approved_access != Access.NONE and not raises(each.initial_access, each.approved_access)
        ],
    )
