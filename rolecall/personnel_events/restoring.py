"""The end of a leave: what was suspended comes back, minus what no longer applies."""

from collections.abc import Sequence
from uuid import UUID

import msgspec

from rolecall.access_requests.model import NewPrivilege, NewRequest
from rolecall.access_requests.shapes import AccessRequestDetail, Privilege
from rolecall.accounts import queries as accounts
from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.identities.model import IdentityStatus
from rolecall.personnel_events.model import OVER, Event
from rolecall.settings.policy import RequestAction
from rolecall.work_items.model import WorkStatus

_SUSPENDED = frozenset({WorkStatus.RESOLVED, WorkStatus.COMPLETED})

# Why something is not given back, by application, header, section and permission.
Gone = dict[tuple[UUID, str, str, str], str]


class Plan(msgspec.Struct, frozen=True):
    requests: list[NewRequest]
    unneeded: list[UUID]
    differences: list[str]


async def plan_of(db: Db, event: Event, suspensions: Sequence[AccessRequestDetail]) -> Plan:
    unneeded = [request.id for request in suspensions if request.status not in OVER | _SUSPENDED]
    suspended = [request for request in suspensions if request.status in _SUSPENDED]
    status = await fetch_value(db, "SELECT status FROM identities WHERE id = %(id)s", id=event.identity_id)
    if suspended and status != IdentityStatus.ACTIVE:
        return Plan([], unneeded, [f"Nothing is restored: the identity is {status}"])
    present = {(held.application_id, held.username) for held in await accounts.of_identity(db, event.identity_id)}
    gone = await _gone(db, event, suspended)
    plan = Plan([], unneeded, [])
    for request in suspended:
        application, name = request.target.application, request.target.name
        if application.is_archived:
            plan.differences.append(f"{name} is not restored: {application.name} is archived")
        elif (application.id, name) not in present:
            plan.differences.append(f"{name} is not restored: {application.name} no longer has this account")
        else:
            _restore(plan, request, event.identity_id, gone)
    return plan


def _restore(
    plan: Plan, request: AccessRequestDetail, identity_id: UUID, gone: dict[tuple[UUID, str, str, str], str]
) -> None:
    application, name = request.target.application, request.target.name
    privileges = []
    for privilege in request.target.privileges:
        what = privilege.permission
        if why := gone.get((application.id, what.header, what.section, what.permission)):
            words = " ".join(word for word in (what.header, what.section, what.permission) if word)
            plan.differences.append(f"{words} of {name} in {application.name} is not restored: {why}")
        else:
            privileges.append(_back(privilege))
    if privileges or not request.target.privileges:
        plan.requests.append(
            NewRequest(
                action=RequestAction.RESTORE,
                application_id=application.id,
                identity_id=identity_id,
                target_name=name,
                privileges=privileges,
            )
        )


def _back(privilege: Privilege) -> NewPrivilege:
    """Ask for what it was before the leave."""
    what = privilege.permission
    return NewPrivilege(
        header=what.header,
        section=what.section,
        permission=what.permission,
        description=what.description,
        risk_rating=what.risk_rating,
        value=what.value,
        metadata=what.metadata,
        requested_access=privilege.initial_access,
        sources=privilege.sources,
        origins=privilege.origins,
    )


async def _gone(db: Db, event: Event, suspended: Sequence[AccessRequestDetail]) -> Gone:
    """What another request took away since, and groups that the application no longer lists; each with why."""
    rows = await fetch_rows(
        db,
        """SELECT r.application_id, p.header, p.section, p.permission, 'access request ' || r.number || ' takes it away'
           FROM access_requests r JOIN privileges p ON p.request_id = r.id
           WHERE r.identity_id = %(identity)s AND r.action IN ('Change', 'Remove') AND r.status <> 'Canceled'
             AND r.created_at > %(since)s AND p.requested_access = 'None'
           UNION ALL
           SELECT g.application_id, group_header(v.nomenclature), '', g.name, 'the group is gone'
           FROM groups g JOIN group_versions v ON v.group_number = g.number
           WHERE g.application_id = ANY(%(applications)s) AND g.name = ANY(%(names)s)
             AND EXISTS (SELECT FROM group_listings listed WHERE listed.group_number = g.number)
             AND NOT EXISTS (SELECT FROM group_versions now WHERE now.group_number = g.number
                             AND now.until_import IS NULL)""",
        identity=event.identity_id,
        since=min((request.activity[0].created_date for request in suspended), default=event.needed_on),
        applications=list({request.target.application.id for request in suspended}),
        names=[privilege.permission.permission for request in suspended for privilege in request.target.privileges],
    )
    return {(application, header, section, permission): why for application, header, section, permission, why in rows}
