"""Check stored requests again against the rules of separation of duties.

Requests are rechecked before they move on towards provisioning, and when data changes on which the result depends. The
check of a request that belongs to an event assumes that the event's other requests remove access and restore control
duties as planned. If only that prevents a conflict, the request waits until those requests are provisioned.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.access_requests import duty_changes, open_access
from rolecall.access_requests.duty_changes import CheckedRequest, GainsAndLosses, OtherRequest
from rolecall.access_requests.enrichment import enrich
from rolecall.access_requests.model import NewPrivilege, NewRequest
from rolecall.access_requests.open_access import CANCELED
from rolecall.accounts.model import Access
from rolecall.core.db import Db, fetch_rows
from rolecall.core.errors import Invalid
from rolecall.duties import prevention
from rolecall.duties.model import RuleResponse
from rolecall.duties.prevention import AccessProposal, FoundConflict, PotentialConflict, control_duties
from rolecall.settings.policy import RequestAction

# The members of RuleResponse are in order of strictness.
_STRICTNESS = list(RuleResponse).index
# Maps each control duty to the duties that it controls.
_Controls = Mapping[UUID, set[UUID]]


class RecordedConflict(msgspec.Struct, frozen=True):
    """A conflict that the last check found for a request and a person; `owner_id` owned the rule at that time."""

    response: RuleResponse
    owner_id: UUID | None
    duties: frozenset[UUID]

    def covers(self, conflict: PotentialConflict, duties: frozenset[UUID]) -> bool:
        """Return whether this record has all of `duties`, and a response at least as strict as that of `conflict`.

        Unless `conflict` is only a warning, the owner of the rule must also be the same.
        """
        is_asked = conflict.response is RuleResponse.WARN or conflict.owner_id == self.owner_id
        return _STRICTNESS(self.response) >= _STRICTNESS(conflict.response) and duties <= self.duties and is_asked


class StoredRequest(msgspec.Struct, frozen=True):
    """A stored request as a `NewRequest`, to check it again. It has the lowered access where reviewers lowered it.

    `items` are the ids of its related items, such as its personnel event. `recorded` maps rules and people to the
    conflicts that are recorded for the request.
    """

    id: UUID
    number: int
    reporter_id: UUID
    items: frozenset[UUID]
    new: NewRequest
    recorded: dict[tuple[UUID, UUID], RecordedConflict]

    def is_known(self, found: FoundConflict) -> bool:
        """Return whether the conflict was recorded for each of its people."""
        known = {id: self.recorded.get((found.conflict.rule_id, id)) for id in found.people}
        return all(one and one.covers(found.conflict, found.people[id]) for id, one in known.items())


class ConflictVerdict(msgspec.Struct, frozen=True):
    """The new conflicts that a stored request would create, grouped by consequence; `waits` is the reason to wait."""

    request: StoredRequest
    refused: list[FoundConflict]
    asked: list[FoundConflict]
    warned: list[FoundConflict]
    waits: str | None = None

    @property
    def stops(self) -> bool:
        return bool(self.refused or self.asked)


class _Case(msgspec.Struct, frozen=True):
    """A stored request and an affected person, with what the person would gain and lose.

    `now` includes what provisioned requests of the same event take away or restore. `later` also includes the other
    requests of the event for which this one may wait. `awaited` are the numbers of those that may prevent a conflict.
    """

    request: StoredRequest
    own: CheckedRequest
    now: AccessProposal
    later: AccessProposal
    awaited: list[int]


async def recheck(db: Db, ids: Iterable[UUID]) -> dict[UUID, ConflictVerdict]:
    """Return a verdict for each stored request that must wait, or would create a conflict that is not recorded yet.

    The calling code must lock the requests first. The check locks the people until the transaction ends.
    """
    asked = list(ids)
    stored = await _stored(db, asked) if asked else []
    any_group = any(not each.new.identity_id for each in stored)
    of_groups = await open_access.take_turns_of_nesting(db, of_groups=any_group) if stored else None
    if of_groups is None:
        return {}
    news = await enrich(db, [each.new for each in stored])
    requests = await duty_changes.checked(db, news, [each.number for each in stored], of_groups=of_groups)
    people = await duty_changes.people_concerned(db, requests)
    everyone = {id for each in people for id in each}
    if not everyone:
        return {}
    others = await duty_changes.others_of(db, everyone, of_groups=of_groups)
    controls = await control_duties(db)
    current = [msgspec.structs.replace(each, new=new) for each, new in zip(stored, news, strict=True)]
    cases = [
        _case(current[place], requests[place], id, others.of(id, current[place].number), controls)
        for place, each in enumerate(people)
        for id in each
    ]
    verdicts = await _verdicts(db, cases)
    return {each.request.id: each for each in verdicts if each.refused or each.asked or each.warned or each.waits}


def _case(
    request: StoredRequest,
    own: CheckedRequest,
    id: UUID,
    open_requests: Sequence[OtherRequest],
    controls: _Controls,
) -> _Case:
    # The open requests of a person include the request that is being checked.
    others = [each for each in open_requests if each.request.id != request.id]
    # Nobody confirms what a canceled request changed, so do not rely on it, although it may have been provisioned.
    same_event = [
        each
        for each in others
        if each.request.items & request.items and each.request.turn != CANCELED and _may_wait_for(each, own, controls)
    ]
    proposal = AccessProposal(
        id,
        own.changes.gains,
        duty_changes.merged(each.changes.given for each in others if each.request.turn < request.number),
        # Other requests may be canceled, so do not rely on their removals. Only `_after` relies on those of the event.
        leaving=duty_changes.merged(each.changes.losses for each in others),
        repeated=own.changes.repeated,
        controls=duty_changes.controlling(own.changes, others, request.number),
    )
    done = [each for each in same_event if each.request.is_provisioned]
    now, later = [_after(proposal, own, each) for each in (done, same_event)]
    awaited = [
        each.request.number
        for each in same_event
        if each not in done and _helps(each.request.action, each.changes, own.changes, controls)
    ]
    return _Case(request, own, now, later, awaited)


def _after(proposal: AccessProposal, own: CheckedRequest, others: Sequence[OtherRequest]) -> AccessProposal:
    """Add to the proposal what the request and `others` take away, and what `others` restore."""
    return msgspec.structs.replace(
        proposal,
        losses=duty_changes.merged((own.changes.losses, *(each.changes.losses for each in others))),
        returning=duty_changes.merged(
            each.changes.certain for each in others if each.request.action is RequestAction.RESTORE
        ),
    )


def _helps(action: RequestAction, changes: GainsAndLosses, others: GainsAndLosses, controls: _Controls) -> bool:
    """Return whether these changes may prevent a conflict that `others` would create.

    They may if they take duties away, or restore a duty that controls a duty of `others`.
    """
    given = set[UUID]().union(*others.given.values())
    restored = set[UUID]().union(*changes.given.values()) if action is RequestAction.RESTORE else set[UUID]()
    return bool(changes.losses) or any(controls[duty] & given for duty in restored & controls.keys())


def _may_wait_for(other: OtherRequest, own: CheckedRequest, controls: _Controls) -> bool:
    """Return whether a request is allowed to wait for `other`.

    Of two requests that could wait for each other, only the later one may wait, to avoid a deadlock. They could wait
    for each other if both give duties and each helps the other (`_helps`). `separation.split` usually prevents this
    when the requests of an event are made, but a rule may have been added since.
    """
    both = (
        (own.new.action, own.changes, other.changes),
        (other.request.action, other.changes, own.changes),
    )
    may_both_wait = all(changes.given and _helps(action, changes, waits, controls) for action, changes, waits in both)
    return not may_both_wait or other.request.turn < own.turn


async def _verdicts(db: Db, cases: Sequence[_Case]) -> list[ConflictVerdict]:
    proposals = [each.now for each in cases] + [each.later for each in cases if each.awaited]
    # The results are in the order of `proposals`, so the two lists below must read them in that order.
    found = iter(await prevention.conflicts_of(db, proposals))
    now = [_own(each, next(found)) for each in cases]
    later = [_own(each, next(found)) if each.awaited else now[place] for place, each in enumerate(cases)]
    by_request: dict[UUID, list[int]] = {}
    for place, each in enumerate(cases):
        by_request.setdefault(each.request.id, []).append(place)
    return [
        _verdict(
            [cases[place] for place in places],
            duty_changes.joined(one for place in places for one in now[place]),
            duty_changes.joined(one for place in places for one in later[place]),
        )
        for places in by_request.values()
    ]


def _own(case: _Case, found: Sequence[FoundConflict]) -> list[FoundConflict]:
    """Return the conflicts that the request itself causes and that are not recorded for it."""
    own = case.own.changes.losses.keys()
    return [each for each in found if (each.gains or each.losses & own) and not case.request.is_known(each)]


def _verdict(cases: Sequence[_Case], now: Sequence[FoundConflict], later: Sequence[FoundConflict]) -> ConflictVerdict:
    request = cases[0].request
    lasting = {each.conflict.rule_id for each in later}
    warned = [each for each in later if each.conflict.response is RuleResponse.WARN]
    # A request is not refused for removing a control duty; the owner of the rule must approve the request.
    refused = [each for each in later if each.conflict.response is RuleResponse.BLOCK and each.gains]
    asked = [each for each in later if each not in (*warned, *refused)]
    # A conflict that the awaited requests will prevent is a reason to wait; the request is not refused for it.
    until = [each.conflict for each in now if each.conflict.rule_id not in lasting]
    strict = [each for each in until if each.response is not RuleResponse.WARN]
    numbers = sorted({number for each in cases for number in each.awaited})
    return ConflictVerdict(request, refused, asked, warned, _reason_to_wait(strict[0], numbers) if strict else None)


def _reason_to_wait(conflict: PotentialConflict, numbers: Sequence[int]) -> str:
    named = " and ".join(f"#{number}" for number in numbers)
    what = f"request {named} is" if len(numbers) == 1 else f"requests {named} are"
    return f"Provisioning waits until {what} provisioned: the rule {conflict} keeps these duties apart"


async def refuse_new_conflicts(db: Db, request_id: UUID, before: ConflictVerdict | None) -> None:
    """Refuse lowered access that creates a new conflict, for example because a control duty is no longer given.

    The owner of the rule was not asked to approve such a conflict. Conflicts of rules that only warn are allowed.
    """
    verdict = (await recheck(db, [request_id])).get(request_id)
    known = {each.conflict.rule_id for each in (*before.refused, *before.asked)} if before else set[UUID]()
    for each in (*verdict.refused, *verdict.asked) if verdict else ():
        if each.conflict.rule_id not in known:
            raise Invalid.on(
                "approvedAccess",
                f"With this access the request would create a conflict under the rule {each}:"
                " also lower the access that creates it, or reject the request",
            )


async def _stored(db: Db, ids: Sequence[UUID]) -> list[StoredRequest]:
    rows = await fetch_rows(
        db,
        """SELECT r.id, r.number, coalesce((SELECT owner_id FROM tokens WHERE id = r.reporter_id), r.reporter_id),
                  ARRAY(SELECT item_id FROM related_items t WHERE t.request_id = r.id),
                  r.action, r.application_id, r.identity_id, r.target_name, r.scheduled_start,
                  (SELECT coalesce(jsonb_agg(ARRAY[p.header, p.section, p.permission,
                                                   coalesce(p.lowered_access, p.requested_access)]
                                             ORDER BY p.position), '[]')
                   FROM privileges p WHERE p.request_id = r.id),
                  (SELECT coalesce(jsonb_agg(ARRAY[to_jsonb(p.rule_id), to_jsonb(p.identity_id), to_jsonb(p.response),
                                                   to_jsonb(p.owner_id), to_jsonb(p.duty_ids)]), '[]')
                   FROM request_conflict_people p WHERE p.request_id = r.id)
           FROM access_requests r WHERE r.id = ANY(%(ids)s) ORDER BY r.number""",
        ids=ids,
    )
    return [
        StoredRequest(
            id,
            number,
            reporter_id,
            frozenset(items),
            _as_new(*row),
            {
                (UUID(rule), UUID(person)): RecordedConflict(
                    RuleResponse(response), UUID(owner) if owner else None, frozenset(map(UUID, duties))
                )
                for rule, person, response, owner, duties in recorded
            },
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
