"""Define the sample request of a test delivery, with every field of the contract and invented people."""

from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.access_requests.model import Response, TargetType
from rolecall.access_requests.shapes import (
    AccessRequestDetail,
    DetailTarget,
    Permission,
    Privilege,
    Requirement,
    ReviewerResponse,
    Rule,
)
from rolecall.accounts.model import Access, Pair
from rolecall.applications.shapes import ApplicationSummary
from rolecall.core.caller import SYSTEM
from rolecall.identities.model import IdentityStatus, IdentityType
from rolecall.identities.shapes import IdentityDetail
from rolecall.settings.policy import Level, RequestAction, RequirementType
from rolecall.work_items.model import WorkStatus
from rolecall.work_items.shapes import ActivityEntry, PersonReference

# No record has this id, so a receiver cannot confuse the sample with a real request.
_NOBODY = UUID(int=0)


def sample_request(now: datetime) -> bytes:
    return msgspec.json.encode(
        AccessRequestDetail(
            id=_NOBODY,
            kind="Access Request",
            number=0,
            action=RequestAction.ADD,
            status=WorkStatus.PENDING,
            reporter=PersonReference(SYSTEM.id, SYSTEM.name),
            assignee=None,
            target=_target(now),
            scheduled_start=None,
            started_on=None,
            approved_on=None,
            resolved_on=None,
            verified_on=None,
            completed_on=None,
            canceled_on=None,
            activity=[ActivityEntry(now, SYSTEM.name, "Created", "Access request created")],
            comments=[],
            related_items=[],
            requirements=[_requirement()],
            access_models=[],
        )
    )


def _target(now: datetime) -> DetailTarget:
    return DetailTarget(
        type=TargetType.USER,
        name="sample.person",
        nomenclature=msgspec.UNSET,
        affected_identity=_identity(now),
        application=ApplicationSummary(_NOBODY, "Application", "Sample application", Level.NONE, False, now),
        privileges=[_privilege()],
        metadata=[Pair("Sample", "Yes")],
    )


def _identity(now: datetime) -> IdentityDetail:
    return IdentityDetail(
        id=_NOBODY,
        kind="Identity",
        first_name="Sample",
        last_name="Person",
        email_address="sample.person@example.com",
        type=IdentityType.EMPLOYEE,
        title="",
        company="",
        division="",
        department="",
        office="",
        supervisor_name="",
        created_date=now,
        updated_date=now,
        first_seen_date=now,
        inactivated_date=None,
        status=IdentityStatus.ACTIVE,
    )


def _privilege() -> Privilege:
    return Privilege(
        initial_access=Access.NONE,
        requested_access=Access.GRANT,
        approved_access=Access.NONE,
        permission=Permission("Sample", "", "Sample permission", "", Level.NONE, [], ""),
        sources=[],
        origins=[],
    )


def _requirement() -> Requirement:
    asked = [ReviewerResponse(PersonReference(SYSTEM.id, SYSTEM.name), Response.PENDING)]
    return Requirement(RequirementType.APPROVE, "Sample requirement", [Rule("Sample reason", asked)])
