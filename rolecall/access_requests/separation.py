"""Check new requests, together with other open requests, against the rules of separation of duties."""

from collections.abc import Iterable, Sequence
from itertools import compress
from typing import Any
from uuid import UUID

import msgspec

from rolecall.access_requests import duty_changes, open_access
from rolecall.access_requests.duty_changes import LAST, CheckedRequest, OtherRequest
from rolecall.access_requests.enrichment import enrich
from rolecall.access_requests.model import NewRequest
from rolecall.access_requests.requirements import RuleReviewers
from rolecall.accounts.model import Access
from rolecall.core.db import Db
from rolecall.core.errors import Problem
from rolecall.duties import prevention
from rolecall.duties.model import RuleResponse
from rolecall.duties.prevention import AccessProposal, FoundConflict, PotentialConflict, ProposedAccess
from rolecall.settings.policy import RequestAction


async def conflicts_created(db: Db, news: Sequence[NewRequest]) -> list[list[FoundConflict]]:
    """Return the conflicts that each of these enriched requests would create.

    A request about a group is checked for its members and for people with an open request to become members.
    """
    of_groups = await open_access.take_turns_of_nesting(db, of_groups=any(not new.identity_id for new in news))
    if of_groups is None:
        return [[] for _ in news]
    requests = await duty_changes.checked(db, news, [LAST] * len(news), of_groups=of_groups)
    people = await duty_changes.people_concerned(db, requests)
    everyone = {id for each in people for id in each}
    if not everyone:
        return [[] for _ in news]
    others = await duty_changes.others_of(db, everyone, of_groups=of_groups)
    proposals = [
        (place, _proposal(requests, place, id, others.of(id))) for place, each in enumerate(people) for id in each
    ]
    found: list[list[FoundConflict]] = [[] for _ in news]
    conflicts = await prevention.conflicts_of(db, [proposal for _, proposal in proposals])
    for (place, _), made in zip(proposals, conflicts, strict=True):
        own = requests[place].changes.losses.keys()
        # Leave out conflicts that only other requests would create.
        found[place] += [each for each in made if each.gains or each.losses & own]
    return [duty_changes.joined(each) for each in found]


def _proposal(
    requests: Sequence[CheckedRequest], place: int, id: UUID, others: Sequence[OtherRequest]
) -> AccessProposal:
    """Combine a request's changes for a person with those of open requests and of requests made together with it.

    Of the requests made together, only those for the same person count. If one of them starts at another time, the
    access that it removes is `leaving`, because the person holds this access until then.
    """
    mine = requests[place]
    who, start = mine.new.identity_id, mine.new.scheduled_start or 0
    same = [each for each in requests if who and each is not mine and each.new.identity_id == who]
    at_once = [each for each in same if (each.new.scheduled_start or 0) == start]
    later = [each for each in same if each not in at_once]
    return AccessProposal(
        id,
        mine.changes.gains,
        duty_changes.merged([*(each.changes.given for each in others), *(each.changes.given for each in same)]),
        duty_changes.merged(each.changes.losses for each in (mine, *at_once)),
        duty_changes.merged([*(each.changes.losses for each in others), *(each.changes.losses for each in later)]),
        duty_changes.merged(each.changes.certain for each in at_once if each.new.action is RequestAction.RESTORE),
        mine.changes.repeated,
        duty_changes.controlling(mine.changes, others, LAST),
    )


def refusals(new: NewRequest, found: Sequence[FoundConflict]) -> list[Problem]:
    """Return a problem for each rule that blocks the request, at the privilege that would create the conflict.

    A request is not refused for removing a control duty, because the rule's owner must approve that.
    """
    return [
        Problem(
            f"privileges.{min(_places(new, each.gains))}.permission",
            f"The rule {each.conflict} blocks this access: one person must not hold these duties together."
            " Leave this access out, or ask the owner of the rule to change it",
        )
        for each in found
        if each.conflict.response is RuleResponse.BLOCK and each.gains
    ]


def _places(new: NewRequest, gains: frozenset[ProposedAccess]) -> list[int]:
    return [place for place, each in enumerate(new.privileges) if duty_changes.change_of(new, each).after in gains]


def without_refused(new: NewRequest, found: Sequence[FoundConflict]) -> tuple[NewRequest | None, list[str]]:
    """Return the request without the privileges that rules block, and why each of these is blocked.

    If rules block all of its privileges, return None instead of the request.
    """
    blocking = [each for each in found if each.conflict.response is RuleResponse.BLOCK]
    refused = {place: each.conflict for each in blocking for place in _places(new, each.gains)}
    kept = [each for place, each in enumerate(new.privileges) if place not in refused]
    said = [
        f"{new.privileges[place].permission} of {new.target_name} is not requested: the rule {conflict} blocks it"
        for place, conflict in refused.items()
    ]
    return (msgspec.structs.replace(new, privileges=kept) if kept or not refused else None), said


async def split(db: Db, news: Sequence[NewRequest]) -> list[NewRequest]:
    """If several requests of one event both give and remove duties, split each of them.

    The parts that remove access can be provisioned at once. Without the split, the requests would wait for each other.
    """
    # The requests of an event are about its person, never about a group.
    of_groups = await open_access.take_turns_of_nesting(db, of_groups=False)
    if of_groups is None:
        return list(news)
    requests = await duty_changes.checked(db, news, [LAST] * len(news), of_groups=of_groups)
    mixed = [each for each in requests if each.changes.given and each.changes.losses]
    if len(mixed) < 2:
        return list(news)
    return [part for each in requests for part in (_parts(each) if each in mixed else [each.new])]


def _parts(request: CheckedRequest) -> list[NewRequest]:
    """Split a request into one that removes access and one for the other privileges; omit an empty one."""
    new, lost = request.new, request.changes.losses
    removes = [
        each.requested_access in (Access.NONE, Access.DENY) or duty_changes.change_of(new, each).before in lost
        for each in new.privileges
    ]
    return [
        msgspec.structs.replace(new, privileges=list(compress(new.privileges, chosen)))
        for chosen in (removes, [not each for each in removes])
        if any(chosen)
    ]


class AllowedRequests(msgspec.Struct, frozen=True):
    """Requests without the privileges that rules block, the conflicts that remain, and what was left out and why."""

    requests: list[NewRequest]
    conflicts: list[list[FoundConflict]]
    left_out: list[str]


async def allowed_of_event(db: Db, planned: Sequence[NewRequest]) -> AllowedRequests:
    """Return the requests that an event creates from its plan, without the access that rules block.

    Check again until nothing more is blocked, because a privilege that was left out may have given a control duty.
    """
    news = await split(db, await enrich(db, planned))
    said: list[str] = []
    while True:
        # Each round but the last leaves out at least one privilege, so the loop ends.
        found = await conflicts_created(db, news)
        allowed = [without_refused(new, conflicts) for new, conflicts in zip(news, found, strict=True)]
        refusals = [each for _, refused in allowed for each in refused]
        if not refusals:
            return AllowedRequests(news, found, said)
        said += refusals
        news = [new for new, _ in allowed if new]


def shown(found: Sequence[FoundConflict]) -> list[PotentialConflict]:
    return [each.conflict for each in found]


def in_conflict(found: Iterable[FoundConflict]) -> frozenset[UUID]:
    return frozenset(person for each in found for person in each.people)


def people_rows(
    id: UUID, found: Sequence[FoundConflict], asked: Sequence[RuleReviewers], first: int = 0
) -> list[dict[str, Any]]:
    """Return the rows for `request_conflict_people`; the requirements in `asked` are numbered from `first`."""
    numbers = {rule.duty_rule_id: number for number, rule in enumerate(asked, first)}
    return [
        {
            "request_id": id,
            "rule_id": each.conflict.rule_id,
            "identity_id": person,
            "duty_ids": sorted(duties),
            "response": each.conflict.response,
            "owner_id": each.conflict.owner_id,
            "requirement": numbers.get(each.conflict.rule_id),
        }
        for each in found
        for person, duties in each.people.items()
    ]


def conflict_rows(id: UUID, conflicts: Sequence[PotentialConflict]) -> list[dict[str, Any]]:
    return [
        {
            "request_id": id,
            "rule_id": each.rule_id,
            "rule": each.rule,
            "risk": each.risk,
            "response": each.response,
            "duties": each.duties,
        }
        for each in conflicts
    ]
