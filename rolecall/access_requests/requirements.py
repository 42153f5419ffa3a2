"""Apply the approval policy to new requests and find the reviewers.

If no reviewer of a rule is available, the administrators respond, so that no request waits forever.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec

from rolecall.access_requests.model import NewRequest, PriorApproval
from rolecall.core.db import Db, fetch_rows
from rolecall.duties.model import RuleResponse
from rolecall.duties.prevention import PotentialConflict
from rolecall.settings.policy import ApprovalRule, Level, RequirementType, Responder
from rolecall.work_items.shapes import PersonReference

# The reviewer of last resort, if no administrator is available.
ADMINISTRATORS = PersonReference(UUID(int=1), "Administrators")

_UNAVAILABLE = {
    Responder.SUPERVISOR: "no supervisor is available",
    Responder.OWNER: "no application owner is available",
    Responder.PROVISIONER: "no application provisioner is available",
    Responder.IDENTITY: "the identity named in the rule is not available",
}
# Name roles instead of people: rechecks compare reasons, and the names of people may change.
_NAMED = {
    Responder.SUPERVISOR: "the supervisor",
    Responder.OWNER: "the application owner",
    Responder.PROVISIONER: "the application provisioner",
    Responder.IDENTITY: "the identity named in the rule",
}
# Why people must not review a request; `{}` is the person.
_AFFECTED, _SUBJECT, _REPORTER = "the request affects {}", "the request is about {}", "{} made the request"
_MEMBER = "{} is in the group"

_NO_RULE = "The administrators respond because the approval policy names no provisioner for this request"


class RuleReviewers(msgspec.Struct, frozen=True):
    type: RequirementType
    reason: str
    reviewers: list[PersonReference]
    # Whether the approval was given before the request was made.
    is_met: bool = False
    # The duty rule whose owner must approve.
    duty_rule_id: UUID | None = None


class ApplicationPeople(msgspec.Struct, frozen=True):
    priority: str
    owner_id: UUID | None
    provisioner_ids: list[UUID]


class People(msgspec.Struct, frozen=True):
    """The people who can be asked to respond. `active` maps the ids of people who may decide to their names."""

    applications: dict[UUID, ApplicationPeople]
    supervisors: dict[UUID, UUID | None]
    active: dict[UUID, str]
    administrators: list[UUID]

    def candidates(self, rule: ApprovalRule, new: NewRequest) -> Sequence[UUID | None]:
        application = self.applications[new.application_id]
        match rule.responder:
            case Responder.SUPERVISOR:
                # Ask no supervisor about an unmatched account: the caller chose its identity, and so the supervisor.
                return [self.supervisors[new.identity_id]] if new.identity_id and not new.is_unmatched else []
            case Responder.OWNER:
                return [application.owner_id]
            case Responder.PROVISIONER:
                return application.provisioner_ids
            case Responder.IDENTITY:
                return [rule.identity_id]

    def available(self, candidates: Sequence[UUID | None], excluded: Container[UUID | None]) -> list[PersonReference]:
        return [PersonReference(id, self.active[id]) for id in candidates if id in self.active and id not in excluded]

    def exclusion(self, candidates: Sequence[UUID | None], excluded: Mapping[UUID | None, str], who: str) -> str | None:
        """Return why the first active candidate is excluded; None if all candidates are inactive."""
        return next((excluded[id].format(who) for id in candidates if id in self.active and id in excluded), None)


def reviewers_of(
    policy: Sequence[ApprovalRule],
    new: NewRequest,
    reporter_id: UUID,
    people: People,
    conflicts: Sequence[PotentialConflict] = (),
    in_conflict: Iterable[UUID | None] = (),
    members: Iterable[UUID | None] = (),
) -> list[RuleReviewers]:
    """Return the required reviewers, without the reporter, the affected identity and people in conflict.

    `members` are the members of the requested group who must not approve.

    A request that would create conflicts has at least the risk of their rules, and must be approved by the owners of
    the rules that do more than warn. Prior approvals replace the approvals that the policy requires.
    """
    raises = new.raises_access()
    risk = max((new.risk(), *(each.risk for each in conflicts)), key=list(Level).index)
    own = dict.fromkeys(in_conflict, _AFFECTED) | {new.identity_id: _SUBJECT, reporter_id: _REPORTER}
    barred = dict.fromkeys(members, _MEMBER) | own
    asked = [
        _reviewers_of(rule, new, people, barred if rule.type is RequirementType.APPROVE else own)
        for rule in policy
        if rule.applies(
            action=new.action,
            raises=raises,
            event_type=new.related.event_type if new.related else None,
            priority=people.applications[new.application_id].priority,
            risk=risk,
        )
    ]
    if new.approvals:
        asked = [*map(_met, new.approvals), *(rule for rule in asked if rule.type is not RequirementType.APPROVE)]
    # Access that a rule blocks was refused before, so a conflict with a blocking rule comes from losing a control duty.
    asked += [rule_owner(each, barred, people) for each in conflicts if each.response is not RuleResponse.WARN]
    if all(rule.type != RequirementType.RESOLVE for rule in asked):
        administrators = people.available(people.administrators, own) or [ADMINISTRATORS]
        asked.append(RuleReviewers(RequirementType.RESOLVE, _NO_RULE, administrators))
    return asked


def _reviewers_of(
    rule: ApprovalRule, new: NewRequest, people: People, excluded: Mapping[UUID | None, str]
) -> RuleReviewers:
    """Return the reviewers whom a rule names or, if none of them is available, the administrators."""
    candidates = people.candidates(rule, new)
    if reviewers := people.available(candidates, excluded):
        return RuleReviewers(rule.type, rule.reason, reviewers)
    instead = people.available(people.administrators, excluded) or [ADMINISTRATORS]
    why = people.exclusion(candidates, excluded, _NAMED[rule.responder]) or _UNAVAILABLE[rule.responder]
    return RuleReviewers(rule.type, f"{rule.reason}; the administrators respond because {why}", instead)


def _met(approval: PriorApproval) -> RuleReviewers:
    reviewer = PersonReference(approval.reviewer_id, approval.reviewer_name)
    return RuleReviewers(RequirementType.APPROVE, approval.reason, [reviewer], is_met=True)


def rule_owner(conflict: PotentialConflict, own: Mapping[UUID | None, str], people: People) -> RuleReviewers:
    """Return the owner of a duty rule as reviewer or, if the owner is not available, the administrators."""
    reason = f"The owner of the rule {conflict.rule} approves access that would combine {' and '.join(conflict.duties)}"
    if owner := people.available([conflict.owner_id], own):
        return RuleReviewers(RequirementType.APPROVE, reason, owner, duty_rule_id=conflict.rule_id)
    instead = people.available(people.administrators, own) or [ADMINISTRATORS]
    why = people.exclusion([conflict.owner_id], own, "the owner") or "the owner is not available"
    reason = f"{reason}; the administrators respond because {why}"
    return RuleReviewers(RequirementType.APPROVE, reason, instead, duty_rule_id=conflict.rule_id)


def response_rows(id: UUID, asked: Sequence[RuleReviewers], first: int = 0) -> list[dict[str, Any]]:
    """Return a row of `responses` for each reviewer of these rules; the rules are numbered from `first`."""
    return [
        {
            "request_id": id,
            "type": rule.type,
            "rule": number,
            "position": position,
            "reason": rule.reason,
            "reviewer_id": reviewer.id,
            "reviewer_name": reviewer.name,
            "response": "Approved" if rule.is_met else "Pending",
        }
        for number, rule in enumerate(asked, first)
        for position, reviewer in enumerate(rule.reviewers)
    ]


async def barred_members(db: Db, news: Sequence[NewRequest], reporter_ids: Sequence[UUID]) -> list[list[UUID]]:
    """Return, for each request, the members of the group that it is about who must not approve it."""
    about_groups = [n for n, new in enumerate(news) if not new.identity_id]
    rows = (
        await fetch_rows(
            db,
            """SELECT n.place, members_who_must_not_approve(n.application_id, n.name, ARRAY[n.reporter_id])
           FROM unnest(%(places)s::int[], %(applications)s::uuid[], %(names)s::text[], %(reporters)s::uuid[])
               AS n (place, application_id, name, reporter_id)""",
            places=about_groups,
            applications=[news[n].application_id for n in about_groups],
            names=[news[n].target_name for n in about_groups],
            reporters=[reporter_ids[n] for n in about_groups],
        )
        if about_groups
        else []
    )
    found: dict[int, list[UUID]] = dict(rows)
    return [found.get(n, []) for n in range(len(news))]


async def people_for(
    db: Db, policy: Sequence[ApprovalRule], news: Sequence[NewRequest], others: Iterable[UUID | None] = ()
) -> People:
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
    mentioned |= {rule.identity_id for rule in policy} | set(others)
    active = await fetch_rows(
        db,
        "SELECT id, first_name || ' ' || last_name FROM identities WHERE id = ANY(%(ids)s) AND may_decide(id)",
        ids=list(mentioned - {None}),
    )
    return People(
        {id: ApplicationPeople(*rest) for id, *rest in applications},
        dict(supervisors),
        dict(active),
        [id for (id,) in administrators],
    )
