"""Check new requests against the rules that keep duties apart, counting what other open requests would give."""

from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

import msgspec

from rolecall.access_requests.model import NewPrivilege, NewRequest, raises
from rolecall.accounts.model import Access
from rolecall.core.db import Db, execute, fetch_rows
from rolecall.core.errors import Problem
from rolecall.duties import prevention
from rolecall.duties.model import RuleResponse
from rolecall.duties.prevention import AccessProposal, FoundConflict, ProposedAccess, WouldConflict
from rolecall.settings.policy import RequestAction

_GIVING = (RequestAction.ADD, RequestAction.CHANGE, RequestAction.RESTORE)
_TAKEN = (Access.NONE, Access.DENY)


def _is_gain(new: NewRequest, privilege: NewPrivilege) -> bool:
    return new.action in _GIVING and raises(privilege.initial_access or "None", privilege.requested_access)


def _proposed(new: NewRequest, privilege: NewPrivilege) -> ProposedAccess:
    name = privilege.header, privilege.section, privilege.permission
    return ProposedAccess(new.application_id, *name, privilege.requested_access, new.target_name or "")


async def found_in(db: Db, news: Sequence[NewRequest]) -> list[list[FoundConflict]]:
    """Return the conflicts that completed requests would create; places of gains are those of privileges.

    What a group would gain, its members would gain.
    """
    gains = [[_proposed(new, each) for each in new.privileges if _is_gain(new, each)] for new in news]
    given = await prevention.duties_given(db, {each for gained in gains for each in gained})
    if not any(given.values()):
        return [[] for _ in news]
    people = [[new.identity_id] if new.identity_id else await _members(db, new) for new in news]
    everyone = {id for each in people for id in each}
    await _take_turn(db, everyone)
    waiting = await _waiting(db, everyone)
    proposals = [
        (
            place,
            AccessProposal(
                id,
                gains[place],
                [*waiting[id], *_together(news, gains, place)],
                _losses(news, news[place]) if news[place].identity_id else [],
            ),
        )
        for place, each in enumerate(people)
        for id in each
    ]
    found: list[dict[UUID, FoundConflict]] = [{} for _ in news]
    conflicts = await prevention.conflicts_of(db, [proposal for _, proposal in proposals], given)
    for (place, _), made in zip(proposals, conflicts, strict=True):
        for each in made:
            known = found[place].setdefault(each.conflict.rule_id, each)
            found[place][each.conflict.rule_id] = msgspec.structs.replace(known, gains=known.gains | each.gains)
    return [
        [msgspec.structs.replace(each, gains=_places(new, each.gains)) for each in by_rule.values()]
        for new, by_rule in zip(news, found, strict=True)
    ]


async def _take_turn(db: Db, people: set[UUID]) -> None:
    """Let the requests of a person wait for each other, so that two at once cannot each miss the other.

    People share 256 locks, because a lock for each of 100,000 people would fill the lock table.
    """
    await execute(
        db,
        """SELECT pg_advisory_xact_lock(hashtextextended('requests of ' || part, 0)) FROM (
               SELECT DISTINCT hashtextextended(id::text, 0) & 255 AS part
               FROM unnest(%(people)s::uuid[]) AS id ORDER BY 1) AS parts""",
        people=list(people),
    )


async def _members(db: Db, new: NewRequest) -> list[UUID]:
    """Return the people in a group, or in a group below it."""
    rows = await fetch_rows(
        db,
        """SELECT DISTINCT a.identity_id FROM groups g
           CROSS JOIN LATERAL groups_below(g.number, now_import()) AS b
           JOIN memberships m ON m.group_number = b.number AND m.until_import IS NULL
           JOIN accounts a ON a.number = m.account_number AND a.identity_id IS NOT NULL
           WHERE g.application_id = %(application)s AND g.name = %(name)s""",
        application=new.application_id,
        name=new.target_name,
    )
    return [id for (id,) in rows]


def _places(new: NewRequest, gains: frozenset[int]) -> frozenset[int]:
    places = [place for place, each in enumerate(new.privileges) if _is_gain(new, each)]
    return frozenset(places[gain] for gain in gains)


def _together(
    news: Sequence[NewRequest], gains: Sequence[Sequence[ProposedAccess]], place: int
) -> list[ProposedAccess]:
    """Return what the other requests made at the same time would give the same person."""
    return [
        each
        for n, (new, gained) in enumerate(zip(news, gains, strict=True))
        if n != place and new.identity_id == news[place].identity_id
        for each in gained
    ]


def _losses(news: Sequence[NewRequest], new: NewRequest) -> list[ProposedAccess]:
    """Return what requests made at the same time take away, unless they do so later than this one gives."""
    return [
        _proposed(other, each)
        for other in news
        if other.identity_id == new.identity_id and (other.scheduled_start or 0) == (new.scheduled_start or 0)
        for each in other.privileges
        if each.requested_access in _TAKEN
    ]


async def _waiting(db: Db, people: set[UUID]) -> dict[UUID | None, list[ProposedAccess]]:
    """Return what other requests would give people, also completed ones that no import could show yet."""
    rows = await fetch_rows(
        db,
        """SELECT r.identity_id, r.application_id, p.header, p.section, p.permission,
                  coalesce(p.lowered_access, p.requested_access)
           FROM access_requests r JOIN privileges p ON p.request_id = r.id
           WHERE r.identity_id = ANY(%(people)s) AND r.status <> 'Canceled'
             AND (r.status <> 'Completed' OR NOT EXISTS (
                 SELECT FROM application_imports i WHERE i.application_id = r.application_id
                 AND i.status = 'Finished' AND i.created_at >= r.completed_on))
             AND r.action IN ('Add', 'Change', 'Restore')
             AND access_rank(coalesce(p.lowered_access, p.requested_access)) > access_rank(p.initial_access)""",
        people=list(people),
    )
    found = defaultdict[UUID | None, list[ProposedAccess]](list)
    for identity_id, *words, access in rows:
        found[identity_id].append(ProposedAccess(*(*words, Access(access))))
    return found


def refusals(found: Sequence[FoundConflict]) -> list[Problem]:
    """Say which rules refuse a request, at the privileges that would create the conflict."""
    return [
        Problem(
            f"privileges.{min(each.gains)}.permission",
            f"The rule {each.conflict} refuses this access: the same person must not hold both",
        )
        for each in found
        if each.conflict.response is RuleResponse.BLOCK
    ]


def without_refused(new: NewRequest, found: Sequence[FoundConflict]) -> tuple[NewRequest | None, list[str]]:
    """Take out the privileges that a rule refuses; None if none are left. Return also what is left out and why."""
    refused = {
        place: each.conflict for each in found if each.conflict.response is RuleResponse.BLOCK for place in each.gains
    }
    kept = [each for place, each in enumerate(new.privileges) if place not in refused]
    said = [
        f"{new.privileges[place].permission} of {new.target_name} is not requested: the rule {conflict} refuses it"
        for place, conflict in refused.items()
    ]
    return (msgspec.structs.replace(new, privileges=kept) if kept or not refused else None), said


def shown(found: Sequence[FoundConflict]) -> list[WouldConflict]:
    return [each.conflict for each in found]
