"""From the approval policy to the people who are asked: a request never waits for no one."""

from collections.abc import Sequence
from uuid import UUID

import msgspec

from rolecall.access_requests.model import NewRequest
from rolecall.core.db import Db, fetch_rows
from rolecall.settings.policy import ApprovalRule, RequirementType, Responder
from rolecall.work_items.shapes import PersonReference

# Who responds while the console has no administrator.
ADMINISTRATORS = PersonReference(UUID(int=1), "Administrators")

_NOBODY = {
    Responder.SUPERVISOR: "no supervisor can",
    Responder.OWNER: "no application owner can",
    Responder.PROVISIONER: "no application provisioner can",
    Responder.IDENTITY: "the identity named for it cannot",
}

_NO_RULE = "The administrators respond because no rule says who makes the change"


class Asked(msgspec.Struct, frozen=True):
    type: RequirementType
    reason: str
    reviewers: list[PersonReference]


class ApplicationPeople(msgspec.Struct, frozen=True):
    priority: str
    owner_id: UUID | None
    provisioner_ids: list[UUID]


class People(msgspec.Struct, frozen=True):
    """Who can be asked: `active` has the name of everyone who may still act."""

    applications: dict[UUID, ApplicationPeople]
    supervisors: dict[UUID, UUID | None]
    active: dict[UUID, str]
    administrators: list[UUID]

    def candidates(self, rule: ApprovalRule, new: NewRequest) -> Sequence[UUID | None]:
        application = self.applications[new.application_id]
        match rule.responder:
            case Responder.SUPERVISOR:
                # The caller chose the identity of an unmatched account, and with it the supervisor.
                return [self.supervisors[new.identity_id]] if new.identity_id and not new.is_unmatched else []
            case Responder.OWNER:
                return [application.owner_id]
            case Responder.PROVISIONER:
                return application.provisioner_ids
            case Responder.IDENTITY:
                return [rule.identity_id]

    def able(self, candidates: Sequence[UUID | None], excluded: set[UUID | None]) -> list[PersonReference]:
        return [PersonReference(id, self.active[id]) for id in candidates if id in self.active and id not in excluded]


def who_is_asked(policy: Sequence[ApprovalRule], new: NewRequest, reporter_id: UUID, people: People) -> list[Asked]:
    """Apply the policy's rules. Never ask the reporter of the request or the affected identity."""
    raises, risk = new.raises_access(), new.risk()
    own = {new.identity_id, reporter_id}
    asked = []
    for rule in policy:
        if rule.applies(
            action=new.action,
            raises=raises,
            event_type=new.related.event_type if new.related else None,
            priority=people.applications[new.application_id].priority,
            risk=risk,
        ):
            reviewers, reason = people.able(people.candidates(rule, new), own), rule.reason
            if not reviewers:
                reviewers = people.able(people.administrators, own) or [ADMINISTRATORS]
                reason = f"{rule.reason}; the administrators respond because {_NOBODY[rule.responder]}"
            asked.append(Asked(rule.type, reason, reviewers))
    if all(rule.type != RequirementType.RESOLVE for rule in asked):
        administrators = people.able(people.administrators, own) or [ADMINISTRATORS]
        asked.append(Asked(RequirementType.RESOLVE, _NO_RULE, administrators))
    return asked


async def people_for(db: Db, policy: Sequence[ApprovalRule], news: Sequence[NewRequest]) -> People:
    applications = await fetch_rows(
        db,
        "SELECT id, priority, owner_id, provisioner_ids FROM applications WHERE id = ANY(%(ids)s)",
        ids=list({new.application_id for new in news}),
    )
    supervisors = await fetch_rows(
        db,
        "SELECT id, supervisor_id FROM identities WHERE id = ANY(%(ids)s)",
        ids=list({new.identity_id for new in news if new.identity_id}),
    )
    administrators = await fetch_rows(
        db, "SELECT identity_id FROM console_roles WHERE role = 'Administrator' ORDER BY identity_id"
    )
    mentioned = {id for _, _, owner_id, provisioner_ids in applications for id in (owner_id, *provisioner_ids)}
    mentioned |= {supervisor_id for _, supervisor_id in supervisors} | {id for (id,) in administrators}
    mentioned |= {rule.identity_id for rule in policy}
    active = await fetch_rows(
        db,
        "SELECT id, first_name || ' ' || last_name FROM identities WHERE id = ANY(%(ids)s) AND status = 'Active'",
        ids=list(mentioned - {None}),
    )
    return People(
        {id: ApplicationPeople(*rest) for id, *rest in applications},
        dict(supervisors),
        dict(active),
        [id for (id,) in administrators],
    )
