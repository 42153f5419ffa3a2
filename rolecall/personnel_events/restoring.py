"""Plan the end of a leave: restore what was suspended, as far as the person is still allowed to have it."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.access_models.model import RANK
from rolecall.access_requests.access_fits_action import last_import_before
from rolecall.access_requests.model import NewPrivilege, NewRequest
from rolecall.access_requests.shapes import AccessRequestDetail, Privilege
from rolecall.accounts import queries as accounts
from rolecall.accounts.model import Access
from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.identities.model import IdentityStatus
from rolecall.personnel_events.model import FINISHED, LockedEvent
from rolecall.settings.policy import RequestAction
from rolecall.tokens.queries import owner_of
from rolecall.work_items.model import WorkStatus

_SUSPENDED = frozenset({WorkStatus.RESOLVED, WorkStatus.COMPLETED})
_UNPROVED = "only files of the person, or of the reporter of the leave, have shown the active account with this access"


class _Limit(msgspec.Struct, frozen=True):
    """The highest access that may be restored for a privilege, with the reason."""

    access: Access
    why: str


# The key is application, account (empty for all accounts), header, section and permission.
_Limits = dict[tuple[UUID, str, str, str, str], _Limit]
# Why accounts are not restored, by application and account.
_WhyNot = dict[tuple[UUID, str], str]


class RestorePlan(msgspec.Struct, frozen=True):
    requests: list[NewRequest]
    unneeded: list[UUID]
    differences: list[str]


async def plan_of(db: Db, event: LockedEvent, suspensions: Sequence[AccessRequestDetail]) -> RestorePlan:
    unneeded = [request.id for request in suspensions if request.status not in FINISHED | _SUSPENDED]
    suspended = [request for request in suspensions if request.status in _SUSPENDED]
    plan = RestorePlan([], unneeded, [])
    if not suspended:
        return plan
    status = await fetch_value(db, "SELECT status FROM identities WHERE id = %(id)s", id=event.identity_id)
    if status != IdentityStatus.ACTIVE:
        return RestorePlan([], unneeded, [f"Nothing is restored: the identity is {status}"])
    if other := await _other_leave(db, event):
        why = f"Nothing is restored: leave {other} of the same person has not ended; request the restore when it ends"
        return RestorePlan([], unneeded, [why])
    present = {(held.application_id, held.username) for held in await accounts.of_identity(db, event.identity_id)}
    inactive, at_start = await _limits_at_start(db, suspended)
    taken = inactive | await _taken_accounts(db, event, suspended)
    limits = [at_start, await _limits(db, event, suspended)]
    doubted = await _shown_by_parties_only(db, event, suspended)
    for request in suspended:
        application, name = request.target.application, request.target.name
        if application.is_archived:
            plan.differences.append(f"{name} is not restored: {application.name} is archived")
        elif (application.id, name) not in present:
            plan.differences.append(f"{name} is not restored: {application.name} no longer has this account")
        elif reason := taken.get((application.id, name)):
            plan.differences.append(f"{name} is not restored: {reason}")
        else:
            _plan_restore(plan, request, event.identity_id, limits, is_doubted=request.id in doubted)
    return plan


def _plan_restore(
    plan: RestorePlan,
    request: AccessRequestDetail,
    identity_id: UUID,
    limits: Sequence[_Limits],
    *,
    is_doubted: bool,
) -> None:
    application, name = request.target.application, request.target.name
    privileges = []
    for privilege in request.target.privileges:
        what, had = privilege.permission, Access(privilege.initial_access)
        words = " ".join(word for word in (what.header, what.section, what.permission) if word)
        subject = f"{words} of {name} in {application.name}"
        key = what.header, what.section, what.permission
        places = [(application.id, account, *key) for account in ("", name)]
        found = [each[place] for each in limits for place in places if place in each]
        limit = min(found, key=lambda each: RANK[each.access], default=None)
        if limit is None or RANK[limit.access] >= RANK[had]:
            privileges.append(_restored(privilege, had))
        elif limit.access in (Access.NONE, Access.DENY):
            plan.differences.append(f"{subject} is not restored: {limit.why}")
        else:
            plan.differences.append(f"{subject} is restored as {limit.access}, not as {had}: {limit.why}")
            privileges.append(_restored(privilege, limit.access))
    # A suspension without privileges suspended only the account itself, which must become active again.
    if privileges or not request.target.privileges:
        plan.requests.append(
            NewRequest(
                action=RequestAction.RESTORE,
                application_id=application.id,
                identity_id=identity_id,
                target_name=name,
                privileges=privileges,
                is_doubted=is_doubted,
            )
        )
        if is_doubted:
            plan.differences.append(f"The restore of {name} in {application.name} must be approved: {_UNPROVED}")


def _restored(privilege: Privilege, access: Access) -> NewPrivilege:
    what = privilege.permission
    return NewPrivilege(
        header=what.header,
        section=what.section,
        permission=what.permission,
        description=what.description,
        risk_rating=what.risk_rating,
        value=what.value,
        metadata=what.metadata,
        requested_access=access,
        sources=privilege.sources,
        origins=privilege.origins,
    )


async def _other_leave(db: Db, event: LockedEvent) -> int | None:
    """Return the number of another leave of the person that has started and not ended, or None.

    The leave of the event itself is not found, because its Removal stage is already open.
    """
    number: int | None = await fetch_value(
        db,
        """SELECT e.number FROM personnel_events e
           JOIN stages p ON p.event_id = e.id AND p.name = 'Provision' AND p.status <> 'Scheduled'
           JOIN stages r ON r.event_id = e.id AND r.name = 'Removal' AND r.status IN ('Scheduled', 'Snoozed')
           WHERE e.identity_id = %(identity)s ORDER BY e.number LIMIT 1""",
        identity=event.identity_id,
    )
    return number


_SINCE_SUSPENSION = f"""r.identity_id = %(identity)s AND r.status <> 'Canceled'
    AND (r.resolved_on IS NULL OR r.resolved_on > {last_import_before("r.application_id", "%(since)s")})"""


def _suspended_on(suspended: Sequence[AccessRequestDetail]) -> datetime:
    # All suspensions of a leave are created at the same time, so take the time from the first one.
    return suspended[0].activity[0].created_date


def _by_hand(request: str) -> str:
    # A Suspend or Restore of a personnel event belongs to a leave, so it was not made by hand. `_other_leave` decides
    # about other leaves.
    of_event = f"l.request_id = {request}.id AND l.kind = 'Personnel Event'"
    return f"NOT EXISTS (SELECT FROM related_items l WHERE {of_event})"


# A provisioned Restore, made by hand, of what suspension `r` took. The Restore of a leave does not count, because it
# leaves out what is suspended by hand.
_LIFTED = f"""
    FROM access_requests s
    WHERE s.application_id = r.application_id AND s.target_name = r.target_name AND s.identity_id = r.identity_id
      AND s.action = 'Restore' AND s.status IN ('Resolved', 'Completed') AND s.resolved_on > r.resolved_on
      AND {_by_hand("s")}"""
_SUSPENDS = f"r.action = 'Suspend' AND {_by_hand('r')}"


async def _taken_accounts(db: Db, event: LockedEvent, suspended: Sequence[AccessRequestDetail]) -> _WhyNot:
    """Return accounts that other requests remove or suspend as a whole, by application and account, with the reason.

    Such a request took away the suspended access too, although it lists only the access at the time of the request.
    """
    rows = await fetch_rows(
        db,
        f"""SELECT DISTINCT ON (r.application_id, r.target_name) r.application_id, r.target_name,
                   'access request ' || r.number || CASE r.action
                       WHEN 'Remove' THEN ' removes the account' ELSE ' suspends the account' END
            FROM access_requests r
            WHERE r.is_whole AND (r.action = 'Remove' OR {_SUSPENDS} AND NOT EXISTS (SELECT {_LIFTED}))
              AND {_SINCE_SUSPENSION} ORDER BY r.application_id, r.target_name, r.action, r.number""",
        identity=event.identity_id,
        since=_suspended_on(suspended),
    )
    return {(application_id, name): why for application_id, name, why in rows}


async def _limits_at_start(db: Db, suspended: Sequence[AccessRequestDetail]) -> tuple[_WhyNot, _Limits]:
    """Return the accounts that were not active when the leave began, and limits from the access that was held then.

    A suspension lists the access that was held when it was requested, days before the leave. The last import between
    the request and the start of the suspension shows what was left to suspend. Without such an import, there are no
    limits.
    """
    rows = await fetch_rows(
        db,
        f"""SELECT r.application_id, r.target_name, p.header, p.section, p.permission, last.number,
                  EXISTS (SELECT FROM account_versions v WHERE v.account_number = a.number AND v.is_active AND {_THEN}),
                  coalesce(({_HELD_THEN}), 'None')
           FROM access_requests r CROSS JOIN LATERAL (
               SELECT max(i.number)::int FROM application_imports i WHERE i.application_id = r.application_id
               AND i.build_end > r.created_at AND i.build_end <= r.started_on AND shows_requests(i)) AS last (number)
           JOIN accounts a ON a.application_id = r.application_id AND a.username = r.target_name COLLATE "C"
           LEFT JOIN privileges p ON p.request_id = r.id
           WHERE r.id = ANY(%(suspensions)s) AND last.number IS NOT NULL""",
        suspensions=[request.id for request in suspended],
    )
    inactive: _WhyNot = {}
    limits: _Limits = {}
    for application_id, name, header, section, permission, number, is_active, access in rows:
        if not is_active:
            inactive[application_id, name] = f"import {number} did not show it as active before the leave began"
        elif header is not None:
            why = f"import {number} showed it as {access} before the leave began"
            limits[application_id, name, header, section, permission] = _Limit(Access(access), why)
    return inactive, limits


_THEN = "v.from_import <= last.number AND (v.until_import IS NULL OR v.until_import > last.number)"
# The nomenclature of a group, and so the header of its membership, may have changed since, so compare with every header
# that it has had.
_HELD_THEN = f"""
    SELECT held.access FROM (
        SELECT 'Grant' FROM groups g JOIN memberships v ON v.group_number = g.number AND v.account_number = a.number
        WHERE g.application_id = r.application_id AND g.name = p.permission AND p.section = '' AND {_THEN}
          AND p.header IN (SELECT group_header(w.nomenclature) FROM group_versions w WHERE w.group_number = g.number)
        UNION ALL
        SELECT v.access::text FROM permissions q JOIN assignments v ON v.permission_number = q.number
        WHERE q.application_id = r.application_id AND v.holder_number = a.number AND {_THEN}
          AND (q.header, q.section, q.permission) = (p.header, p.section, p.permission)) AS held (access)
    ORDER BY access_rank(held.access) DESC LIMIT 1"""


# SQL that is true if one of %(parties)s, in person or with a token, supplied import `i`.
_OF_PARTY = """coalesce(coalesce((SELECT t.owner_id FROM tokens t WHERE t.id = i.supplied_by), i.supplied_by)
    = ANY(%(parties)s), false)"""
# SQL for the last import before suspension `r` began that has a file of a content and that no party supplied.
_BY_OTHERS = f"""SELECT max(i.number)::int FROM application_imports i
    WHERE i.application_id = r.application_id AND i.build_end <= r.started_on AND shows_requests(i) AND NOT {_OF_PARTY}
      AND EXISTS (SELECT FROM import_files f JOIN file_groups g ON g.id = f.file_group_id
                  WHERE f.import_id = i.id AND {{content}} = ANY(contents_of(g)))"""


async def _shown_by_parties_only(db: Db, event: LockedEvent, suspended: Sequence[AccessRequestDetail]) -> set[UUID]:
    """Return the suspensions that list access, or an active account, which only data of the parties has shown.

    Suspensions list what imports show. A person who uploads files could otherwise invent access, report a leave, and
    let its end give the access without an approval.
    """
    rows = await fetch_rows(
        db,
        f"""SELECT DISTINCT r.id FROM access_requests r
            JOIN accounts a ON a.application_id = r.application_id AND a.username = r.target_name COLLATE "C"
            LEFT JOIN privileges p ON p.request_id = r.id
            CROSS JOIN LATERAL ({_BY_OTHERS.format(content="'users'")}) AS users (number)
            CROSS JOIN LATERAL ({_BY_OTHERS.format(content="content_of(p, r)")}) AS last (number)
            WHERE r.id = ANY(%(suspensions)s)
              AND EXISTS (SELECT FROM application_imports i WHERE i.application_id = r.application_id AND {_OF_PARTY})
              AND (NOT EXISTS (SELECT FROM account_versions v WHERE v.account_number = a.number AND v.is_active
                               AND {_THEN.replace("last.", "users.")})
                   OR access_rank(coalesce(({_HELD_THEN}), 'None')) < access_rank(p.initial_access))""",
        suspensions=[request.id for request in suspended],
        parties=await _parties(db, event),
    )
    return {id for (id,) in rows}


async def _parties(db: Db, event: LockedEvent) -> list[UUID]:
    """Return the person on leave, and the person who reported the leave, also with a token."""
    reporter = await owner_of(db, event.reporter.id) or event.reporter.id
    # A token without an owner is no person: a program may upload files and report leaves.
    sql = "SELECT id FROM identities WHERE id = ANY(%(ids)s)"
    return [id for (id,) in await fetch_rows(db, sql, ids=[event.identity_id, reporter])]


async def _limits(db: Db, event: LockedEvent, suspended: Sequence[AccessRequestDetail]) -> _Limits:
    """Return limits for access that other requests remove, lower or suspend, and for groups that no longer exist.

    A group that no file ever listed is known only by its members. Without members it may still exist, so it sets no
    limit.
    """
    rows = await fetch_rows(
        db,
        f"""SELECT r.application_id, r.target_name, p.header, p.section, p.permission,
                  coalesce(p.lowered_access, p.requested_access),
                  'access request ' || r.number || CASE
                      WHEN coalesce(p.lowered_access, p.requested_access) <> 'None' THEN ' lowers it'
                      WHEN r.action = 'Suspend' THEN ' suspends it' ELSE ' removes it' END
           FROM access_requests r JOIN privileges p ON p.request_id = r.id
           WHERE {_SINCE_SUSPENSION} AND (r.action IN ('Change', 'Remove') OR {_SUSPENDS} AND NOT EXISTS (
               SELECT {_LIFTED} AND EXISTS (
                   SELECT FROM privileges q WHERE q.request_id = s.id
                   AND (q.header, q.section, q.permission) = (p.header, p.section, p.permission))))
           UNION ALL
           SELECT g.application_id, '', group_header(v.nomenclature), '', g.name, 'None', 'the group no longer exists'
           FROM groups g JOIN group_versions v ON v.group_number = g.number
           WHERE g.application_id = ANY(%(applications)s) AND g.name = ANY(%(names)s)
             AND EXISTS (SELECT FROM group_listings listed WHERE listed.group_number = g.number)
             AND NOT EXISTS (SELECT FROM group_versions now WHERE now.group_number = g.number
                             AND now.until_import IS NULL)""",
        identity=event.identity_id,
        since=_suspended_on(suspended),
        applications=list({request.target.application.id for request in suspended}),
        names=[privilege.permission.permission for request in suspended for privilege in request.target.privileges],
    )
    limits: _Limits = {}
    for *place, access, why in rows:
        key, limit = tuple(place), _Limit(Access(access), why)
        limits[key] = min(limits.get(key, limit), limit, key=lambda each: RANK[each.access])
    return limits
