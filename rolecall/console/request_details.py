"""Collect the data for the page of a request: its steps, its pending reviewers, and what the person may do."""

from datetime import datetime
from typing import Any
from uuid import UUID

from rolecall.access_requests import actions, model, permitted, queries
from rolecall.access_requests.closed_loop import BY_IMPORT, import_that_shows
from rolecall.access_requests.shapes import AccessRequestDetail
from rolecall.carriers import queries as carriers
from rolecall.carriers.model import CarriedState
from rolecall.carriers.shapes import CarrierProgress
from rolecall.console import record_access
from rolecall.console.model import Person
from rolecall.core.caller import SYSTEM, Scope
from rolecall.core.db import Db
from rolecall.core.text import and_list
from rolecall.identities.authority import RecordType
from rolecall.settings.policy import RequirementType
from rolecall.webhooks import queries as webhooks
from rolecall.work_items.model import WorkStatus
from rolecall.work_items.shapes import PersonReference

AWAITED: dict[WorkStatus | None, RequirementType] = {status: type for type, status in model.AWAITED.items()}
TO_DO = {
    RequirementType.APPROVE: "approve it",
    RequirementType.RESOLVE: "provision it",
    RequirementType.VERIFY: "verify it",
}
DONE_BY = {
    RequirementType.APPROVE: "approved it",
    RequirementType.RESOLVE: "provisioned it",
    RequirementType.VERIFY: "verified it",
}
BY_CARRIER, HELD_BY_BRAKE = "the carrier", "a person who releases it from the brake, and the carrier"
PROVING = "an import of the live source"
_WITHOUT_PEOPLE = (RequirementType.RESOLVE, RequirementType.VERIFY)
# The verbs of a request that need no form fields, each with its action and change of status.
VERBS = {
    "resolve": (actions.resolve, model.RESOLVE),
    "verify": (actions.verify, model.VERIFY),
    "reopen": (actions.reopen, model.REOPEN),
    "resume": (actions.resume, model.RESUME),
    "cancel": (actions.cancel, model.CANCEL),
}


async def shown_request(db: Db, request: AccessRequestDetail, person: Person) -> dict[str, Any]:
    status = WorkStatus(request.status)
    awaited = AWAITED.get(status)
    sees_hooks = Scope.WEBHOOKS_MANAGE in person.caller().scopes
    deliveries = await webhooks.newest_first(db, 1, access_request_id=request.id) if sees_hooks else None
    carrying = await carriers.progress(db, request)
    waits_for = pending_reviewers(request, awaited)
    target = request.target.affected_identity
    standing = await permitted.standing_of(db, person.id, request.id)
    verbs = {name: _why_not(move, status, standing) for name, (_, move) in VERBS.items()}
    mine = reviewer_for(person, awaited, waits_for, standing)
    may_respond = awaited and mine and not permitted.response_refusal(standing, person.caller(), awaited, mine)
    return {
        "request": request,
        "sees_person": target is None or await record_access.sees(db, person.caller(), RecordType.PERSON, target.id),
        "duty_conflicts": await queries.conflicts_of(db, request.id),
        "milestones": _milestones(request, awaited, carrying),
        "carrying": carrying,
        "followed": await _followed(db, request, carrying, awaited),
        "proof": _proof(request) if carrying else None,
        **await _verified_by_hand(db, request),
        "by_import": BY_IMPORT,
        "to_do": TO_DO,
        "done_by": DONE_BY,
        "verbs": verbs,
        "awaited": awaited,
        "asked": awaited if may_respond else None,
        "is_alone": standing.is_alone and not standing.is_independent(mine),
        "stands_in_for": waits_for.get(mine) if mine and (mine, awaited) in person.caller().stands_in_for else None,
        "own_reason": own_reason(standing),
        "waits_for": and_list(_waits_for(request, awaited, carrying)),
        "may_snooze": not _why_not(model.SNOOZE, status, standing),
        "may_assign": may_take(standing) and not _why_not(model.ASSIGN, status, standing),
        "refused": _refused(status, standing),
        "is_over": status in (WorkStatus.COMPLETED, WorkStatus.CANCELED),
        "rejecting": False,
        "deliveries": deliveries.items if deliveries else [],
    }


def may_take(standing: permitted.Standing) -> bool:
    """Return whether the request can be assigned to the person: they did not make it, and it is not about them.

    The only person who can decide (`Standing.is_alone`) can take any request.
    """
    return standing.is_alone or not (standing.is_reporter or standing.is_affected)


def own_reason(standing: permitted.Standing) -> str:
    """Return why the request counts as the person's own; empty if it does not."""
    if standing.is_reporter:
        return "You made this request, which affects you" if standing.is_affected else "You made this request"
    return "This request affects you" if standing.is_affected else ""


def reviewer_for(
    person: Person, awaited: RequirementType | None, asked: dict[UUID, str], standing: permitted.Standing
) -> UUID | None:
    """Return the reviewer in `asked` for whom the person responds, preferably the person; None if there is none.

    Skip reviewers for whom the person is not allowed to respond. If that leaves none, return the first one anyway, so
    that the response is refused with a reason.
    """
    if awaited is None:
        return None
    mine = [id for id in person.answers_as(awaited) if id in asked]
    allowed = [id for id in mine if not permitted.response_refusal(standing, person.caller(), awaited, id)]
    return next(iter(allowed or mine), None)


def _waits_for(
    request: AccessRequestDetail, type: RequirementType | None, carrying: CarrierProgress | None
) -> list[str]:
    """Return what the request is waiting for: people, the carrier, or the import that verifies the change."""
    if type is RequirementType.RESOLVE and carrying and carrying.is_expected:
        return [HELD_BY_BRAKE if carrying.state is CarriedState.HELD else BY_CARRIER]
    return pending_rules(request, type)


async def next_step(db: Db, request: AccessRequestDetail) -> str:
    """Return who must act next as the end of a sentence, `waits for Ada to verify it`; if nobody, the status."""
    awaited = AWAITED.get(WorkStatus(request.status))
    if awaited and (named := _waits_for(request, awaited, await carriers.progress(db, request))):
        return f"waits for {and_list(named)} to {TO_DO[awaited]}"
    return f"is {request.status}"


async def _followed(
    db: Db, request: AccessRequestDetail, carrying: CarrierProgress | None, awaited: RequirementType | None
) -> str | None:
    """Return a mark that changes with each step of the carrier or verifying import; None if neither is working."""
    if carrying is None or carrying.state is CarriedState.HELD or awaited not in _WITHOUT_PEOPLE:
        return None
    by_carrier = _waits_for(request, awaited, carrying) == [BY_CARRIER]
    is_at_work = by_carrier or SYSTEM.id in pending_reviewers(request, awaited)
    return await carriers.progress_mark(db, request.id) if is_at_work else None


def _proof(request: AccessRequestDetail) -> str | None:
    """Return the text of the activity entry in which an import verified the request, or None."""
    entries = (entry for entry in request.activity if entry.author == SYSTEM.name and entry.action == model.VERIFY.name)
    return next((entry.content for entry in entries), None)


async def _verified_by_hand(db: Db, request: AccessRequestDetail) -> dict[str, Any]:
    """Return who verified the request, and an import that shows the same; nothing if an import verified it."""
    entries = [entry for entry in request.activity if entry.action == model.VERIFY.name]
    if not entries or entries[-1].author == SYSTEM.name:
        return {"verified_by": None}
    return {"verified_by": entries[-1].author, "shown_by": await import_that_shows(db, request)}


def _milestones(
    request: AccessRequestDetail, awaited: RequirementType | None, carrying: CarrierProgress | None
) -> list[tuple[str, datetime | None, str, bool]]:
    """List the steps of a request: name, when the step was reached, what it is waiting for, whether it is current."""
    is_over = request.canceled_on is not None
    steps = {
        RequirementType.APPROVE: ("Approved" if request.approved_on else "Approval", request.approved_on),
        RequirementType.RESOLVE: ("Provisioned" if request.resolved_on else "Provisioning", request.resolved_on),
        RequirementType.VERIFY: ("Verified" if request.verified_on else "Verification", request.verified_on),
    }
    named = {type: and_list(_waits_for(request, type, carrying)) for type in steps}
    # The API detail has no creation date, but the activity begins when the request is created.
    asked = min((entry.created_date for entry in request.activity), default=None)
    return [
        ("Requested", asked, "", False),
        *(
            (name, moment, "" if is_over else named[type] or "not required", type == awaited)
            for type, (name, moment) in steps.items()
        ),
        ("Completed", request.completed_on, "" if is_over else "not yet", False),
    ]


def _why_not(move: model.Move, status: WorkStatus, standing: permitted.Standing) -> str | None:
    if status in move.allowed:
        return permitted.refusal(standing, move)
    return f"Available while the request is {' or '.join(s.lower() for s in WorkStatus if s in move.allowed)}"


def _refused(status: WorkStatus, standing: permitted.Standing) -> dict[str, list[str]]:
    """Return the actions that the status allows but this person must not take, grouped by reason."""
    reasons: dict[str, list[str]] = {}
    for name, (_, move) in VERBS.items():
        if status in move.allowed and (reason := permitted.refusal(standing, move)):
            reasons.setdefault(reason, []).append(name)
    return reasons


def pending_rules(request: AccessRequestDetail, awaited: RequirementType | None) -> list[str]:
    """Return the pending reviewers of each unmet rule as text (`Ada or Ben`): one of them must respond."""
    found = [
        " or ".join(PROVING if reviewer.id == SYSTEM.id else reviewer.name for reviewer in reviewers)
        for reviewers in _pending(request, awaited)
    ]
    return [names for names in dict.fromkeys(found) if names]


def pending_reviewers(request: AccessRequestDetail, awaited: RequirementType | None) -> dict[UUID, str]:
    """Return the pending reviewers of all rules that require the awaited type of response and are not met yet."""
    return {reviewer.id: reviewer.name for reviewers in _pending(request, awaited) for reviewer in reviewers}


def _pending(request: AccessRequestDetail, awaited: RequirementType | None) -> list[list[PersonReference]]:
    """Return the pending reviewers of each rule that requires the awaited type of response and is not met yet."""
    return [
        [answer.reviewer for answer in rule.responses if answer.response == model.Response.PENDING]
        for requirement in request.requirements
        if requirement.type == awaited
        for rule in requirement.rules
        if all(answer.response != model.Response.APPROVED for answer in rule.responses)
    ]
