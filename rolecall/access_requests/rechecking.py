"""Check stored requests again against the rules that keep duties apart: at approval and start, and after a change of
rules, of duties or of what people hold, or after a removal was canceled.

A request of an event counts on what other requests of the event remove. It waits until they are provisioned.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.access_requests import open_access
from rolecall.access_requests.duty_changes import (
    CheckedRequest,
    OtherRequest,
    checked,
    joined,
    merged,
    others_of,
    people_concerned,
)
from rolecall.access_requests.enrichment import enrich
from rolecall.access_requests.model import NewPrivilege, NewRequest
from rolecall.accounts.model import Access
from rolecall.core.db import Db, fetch_rows
from rolecall.core.errors import Invalid
from rolecall.duties import prevention
from rolecall.duties.model import RuleResponse
from rolecall.duties.prevention import AccessProposal, FoundConflict, PotentialConflict
from rolecall.settings.policy import RequestAction

_STRICTNESS = list(RuleResponse).index


class StoredRequest(msgspec.Struct, frozen=True):
    """A request as it would be if it were made now, with the access that reviewers lowered it to.

    `recorded` are the conflicts that it was known to create: their response and duties, by rule.
    """

    id: UUID
    number: int
    reporter_id: UUID
    items: frozenset[UUID]
    new: NewRequest
    recorded: dict[UUID, tuple[RuleResponse, list[str]]]

    def is_known(self, conflict: PotentialConflict) -> bool:
        """Return whether the conflict was recorded with at least this response and these duties."""
        response, duties = self.recorded.get(conflict.rule_id, (RuleResponse.WARN, []))
        return _STRICTNESS(response) >= _STRICTNESS(conflict.response) and {*conflict.duties} <= {*duties}


class ConflictVerdict(msgspec.Struct, frozen=True):
    """The conflicts that a stored request would newly create, by what follows; `waits` says what it waits for."""

    request: StoredRequest
    refused: list[PotentialConflict]
    asked: list[PotentialConflict]
    warned: list[PotentialConflict]
    waits: str | None = None

    @property
    def stops(self) -> bool:
        return bool(self.refused or self.asked)


class _Case(msgspec.Struct, frozen=True):
    """A request and a person: `now`, and after what other requests of the same event remove is `removed`.

    `removing` are the numbers of those requests that are not provisioned.
    """

    request: StoredRequest
    own: CheckedRequest
    now: AccessProposal
    removed: AccessProposal
    removing: list[int]


async def recheck(db: Db, ids: Iterable[UUID]) -> dict[UUID, ConflictVerdict]:
    """Return a verdict for each stored request that would create a conflict which is not recorded, or that must wait.

    The caller must lock the requests first. The check locks the people until the transaction ends.
    """
    stored = await _stored(db, ids)
    any_group = any(not each.new.identity_id for each in stored)
    of_groups = await open_access.take_turns_of_nesting(db, of_groups=any_group) if stored else None
    if of_groups is None:
        return {}
    news = await enrich(db, [each.new for each in stored])
    requests = await checked(db, news, [each.number for each in stored], of_groups=of_groups)
    people = await people_concerned(db, requests)
    everyone = {id for each in people for id in each}
    others = await others_of(db, everyone, of_groups=of_groups) if everyone else None
    cases = [
        _case(stored[place], requests[place], id, others.of(id, stored[place].number))
        for place, each in enumerate(people)
        for id in each
        if others
    ]
    verdicts = await _verdicts(db, cases)
    return {each.request.id: each for each in verdicts if each.refused or each.asked or each.warned or each.waits}


def _case(request: StoredRequest, own: CheckedRequest, id: UUID, open_requests: Sequence[OtherRequest]) -> _Case:
    others = [each for each in open_requests if each.request.id != request.id]
    same_event = [each for each in others if each.request.items & request.items and _may_wait_for(each, own)]
    removing = [each for each in same_event if each.changes.losses and not each.request.is_provisioned]
    proposal = AccessProposal(
        id,
        own.changes.gains,
        merged(each.changes.given for each in others if each.request.turn < request.number),
        merged((own.changes.losses, *(each.changes.losses for each in same_event if each not in removing))),
        merged(each.changes.losses for each in others),
        merged(each.changes.given for each in same_event if each.request.action is RequestAction.RESTORE),
        own.changes.repeated,
    )
    losses = merged((own.changes.losses, *(each.changes.losses for each in same_event)))
    removed = msgspec.structs.replace(proposal, losses=losses)
    return _Case(request, own, proposal, removed, [each.request.number for each in removing])


def _may_wait_for(other: OtherRequest, own: CheckedRequest) -> bool:
    """Return False for the earlier of two requests that each give and remove duties: they must not wait for each other.

    Such requests of an event are split when they are made; a rule may have come later.
    """
    both = [each.given and each.losses for each in (own.changes, other.changes)]
    return not all(both) or other.request.turn < own.turn


async def _verdicts(db: Db, cases: Sequence[_Case]) -> list[ConflictVerdict]:
    proposals = [each.now for each in cases] + [each.removed for each in cases if each.removing]
    found = iter(await prevention.conflicts_of(db, proposals))
    now = [_own(each, next(found)) for each in cases]
    removed = [_own(each, next(found)) if each.removing else now[place] for place, each in enumerate(cases)]
    by_request: dict[UUID, list[int]] = {}
    for place, each in enumerate(cases):
        by_request.setdefault(each.request.id, []).append(place)
    return [
        _verdict(
            [cases[place] for place in places],
            joined(one for place in places for one in now[place]),
            joined(one for place in places for one in removed[place]),
        )
        for places in by_request.values()
    ]


def _own(case: _Case, found: Sequence[FoundConflict]) -> list[FoundConflict]:
    """Return the conflicts that are due to the request itself and not recorded with it."""
    own = case.own.changes.losses.keys()
    return [each for each in found if (each.gains or each.losses & own) and not case.request.is_known(each.conflict)]


def _verdict(cases: Sequence[_Case], now: Sequence[FoundConflict], removed: Sequence[FoundConflict]) -> ConflictVerdict:
    request = cases[0].request
    lasting = {each.conflict.rule_id for each in removed}
    warned = [each.conflict for each in removed if each.conflict.response is RuleResponse.WARN]
    # A request that removes a control duty is never refused.
    refused = [each.conflict for each in removed if each.conflict.response is RuleResponse.BLOCK and each.gains]
    asked = [each.conflict for each in removed if each.conflict not in (*warned, *refused)]
    until = [each.conflict for each in now if each.conflict.rule_id not in lasting]
    strict = [each for each in until if each.response is not RuleResponse.WARN]
    numbers = sorted({number for each in cases for number in each.removing})
    return ConflictVerdict(request, refused, asked, warned, _reason_to_wait(strict[0], numbers) if strict else None)


def _reason_to_wait(conflict: PotentialConflict, numbers: Sequence[int]) -> str:
    named = " and ".join(f"#{number}" for number in numbers)
    return f"Provisioning waits until request {named} has removed access: the rule {conflict} keeps these duties apart"


async def refuse_new_conflicts(db: Db, request_id: UUID, before: ConflictVerdict | None) -> None:
    """Refuse lowered access that would create a conflict which the request did not have, as without its control duty.

    The rule's owner was not asked about it; a rule that only warns refuses nothing.
    """
    verdict = (await recheck(db, [request_id])).get(request_id)
    known = {each.rule_id for each in (*before.refused, *before.asked)} if before else set[UUID]()
    for each in (*verdict.refused, *verdict.asked) if verdict else ():
        if each.rule_id not in known:
            raise Invalid.on(
                "approvedAccess",
                f"With this access the request would create a conflict by the rule {each}:"
                " also lower the access that creates it, or reject the request",
            )


async def _stored(db: Db, ids: Iterable[UUID]) -> list[StoredRequest]:
    rows = await fetch_rows(
        db,
        """SELECT r.id, r.number, r.reporter_id, ARRAY(SELECT item_id FROM related_items t WHERE t.request_id = r.id),
                  r.action, r.application_id, r.identity_id, r.target_name, r.scheduled_start,
                  (SELECT coalesce(jsonb_agg(ARRAY[p.header, p.section, p.permission,
                                                   coalesce(p.lowered_access, p.requested_access)]
                                             ORDER BY p.position), '[]')
                   FROM privileges p WHERE p.request_id = r.id),
                  (SELECT coalesce(jsonb_object_agg(c.rule_id, jsonb_build_array(c.response, c.duties)), '{}')
                   FROM request_conflicts c WHERE c.request_id = r.id)
           FROM access_requests r WHERE r.id = ANY(%(ids)s) ORDER BY r.number""",
        ids=list(ids),
    )
    return [
        StoredRequest(
            id,
            number,
            reporter_id,
            frozenset(items),
            _as_new(*row),
            {UUID(rule): (RuleResponse(response), duties) for rule, (response, duties) in recorded.items()},
        )
        for id, number, reporter_id, items, *row, recorded in rows
    ]


def _as_new(
    action: str,
    application_id: UUID,
    identity_id: UUID | None,
    target_name: str,
    start: datetime | None,
    privileges: Sequence[Sequence[str]],
) -> NewRequest:
    return NewRequest(
        action=RequestAction(action),
        application_id=application_id,
        identity_id=identity_id,
        target_name=target_name,
        scheduled_start=start,
        privileges=[
            NewPrivilege(header=header, section=section, permission=permission, requested_access=Access(access))
            for header, section, permission, access in privileges
        ],
    )
