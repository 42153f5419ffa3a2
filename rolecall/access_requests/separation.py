"""Check new requests against the rules that keep duties apart, counting what other open requests would change."""

from collections.abc import Iterable, Sequence
from uuid import UUID

import msgspec

from rolecall.access_requests import open_access
from rolecall.access_requests.model import NewPrivilege, NewRequest, raises
from rolecall.access_requests.open_access import OpenChange
from rolecall.accounts.model import Access
from rolecall.core.db import Db, fetch_rows
from rolecall.core.errors import Invalid, Problem
from rolecall.duties import prevention
from rolecall.duties.model import RuleResponse
from rolecall.duties.prevention import AccessProposal, FoundConflict, PotentialConflict, ProposedAccess
from rolecall.settings.policy import RequestAction

_NO_ACCESS = (Access.NONE, Access.DENY)
_Duties = dict[ProposedAccess, set[UUID]]


class _DutyChanges(msgspec.Struct, frozen=True):
    """Access with the duties that it would give, and with those that it would no longer give."""

    gains: _Duties
    losses: _Duties


class _CheckedRequest(msgspec.Struct, frozen=True):
    new: NewRequest
    changes: _DutyChanges


def _change(new: NewRequest, privilege: NewPrivilege) -> OpenChange:
    name = privilege.header, privilege.section, privilege.permission
    initial = privilege.initial_access or Access.NONE
    before = ProposedAccess(new.application_id, *name, initial, new.target_name or "", new.identity_id is None)
    return OpenChange(before, msgspec.structs.replace(before, access=privilege.requested_access))


def _whole_group(new: NewRequest) -> list[OpenChange]:
    """Return the loss of a group that is removed or suspended itself: its members lose everything that it gives."""
    if new.identity_id or new.action not in (RequestAction.REMOVE, RequestAction.SUSPEND):
        return []
    name = new.target_name or ""
    before = ProposedAccess(new.application_id, None, "", name, Access.GRANT, name, is_group=True)
    return [OpenChange(before, msgspec.structs.replace(before, access=Access.NONE))]


async def conflicts_created(db: Db, news: Sequence[NewRequest]) -> list[list[FoundConflict]]:
    """Return the conflicts that enriched requests would create.

    A request about a group is checked for its members and for people with an open request to become members.
    """
    of_groups = await _take_turns_of_groups(db, news)
    if of_groups is None:
        return [[] for _ in news]
    checked = await _checked(db, news, of_groups=of_groups)
    people = await _people_concerned(db, checked)
    everyone = {id for each in people for id in each}
    if not everyone:
        return [[] for _ in news]
    others = await _others(db, everyone, of_groups=of_groups)
    proposals = [(place, _proposal(checked, place, id, others[id])) for place, each in enumerate(people) for id in each]
    found: list[dict[UUID, FoundConflict]] = [{} for _ in news]
    conflicts = await prevention.conflicts_of(db, [proposal for _, proposal in proposals])
    for (place, _), made in zip(proposals, conflicts, strict=True):
        own = checked[place].changes.losses.keys()
        for each in made:
            if each.gains or each.losses & own:
                known = found[place].setdefault(each.conflict.rule_id, each)
                joined = {"gains": known.gains | each.gains, "losses": known.losses | each.losses}
                found[place][each.conflict.rule_id] = msgspec.structs.replace(known, **joined)
    return [list(by_rule.values()) for by_rule in found]


async def refuse_new_conflicts(db: Db, request_id: UUID) -> None:
    """Refuse lowered access that would create a conflict which the request did not have, as without its control duty.

    The rule's owner was not asked about it; a rule that only warns refuses nothing.
    """
    recorded = await fetch_rows(db, "SELECT rule_id FROM request_conflicts WHERE request_id = %(id)s", id=request_id)
    (found,) = await conflicts_created(db, [await _with_lowered_access(db, request_id)])
    for each in shown(found):
        if each.response is not RuleResponse.WARN and (each.rule_id,) not in recorded:
            raise Invalid.on(
                "approvedAccess",
                f"With this access the request would create a conflict by the rule {each}:"
                " also lower the access that creates it, or reject the request",
            )


async def _with_lowered_access(db: Db, request_id: UUID) -> NewRequest:
    """Return the request as it would be if only the access that reviewers approved had been requested."""
    rows = await fetch_rows(
        db,
        """SELECT r.action, r.application_id, r.identity_id, r.target_name, r.scheduled_start, p.header, p.section,
                  p.permission, p.initial_access, coalesce(p.lowered_access, p.requested_access)
           FROM access_requests r JOIN privileges p ON p.request_id = r.id WHERE r.id = %(id)s ORDER BY p.position""",
        id=request_id,
    )
    action, application_id, identity_id, target_name, start = rows[0][:5]
    names = "header", "section", "permission"
    privileges = [
        NewPrivilege(
            **dict(zip(names, row[5:8], strict=True)), initial_access=Access(row[8]), requested_access=Access(row[9])
        )
        for row in rows
    ]
    return NewRequest(
        action=RequestAction(action),
        application_id=application_id,
        identity_id=identity_id,
        target_name=target_name,
        privileges=privileges,
        scheduled_start=start,
    )


async def _people_concerned(db: Db, checked: Sequence[_CheckedRequest]) -> list[list[UUID]]:
    """Return the people whose duties each request would change: the person, or the members of the group."""
    changing = [each.new if each.changes.gains or each.changes.losses else None for each in checked]
    groups = {_group_of(new) for new in changing if new and not new.identity_id}
    members = await open_access.people_in_groups(db, groups)
    return [([new.identity_id] if new.identity_id else members[_group_of(new)]) if new else [] for new in changing]


def _group_of(new: NewRequest) -> tuple[UUID, str]:
    return new.application_id, new.target_name or ""


async def _take_turns_of_groups(db: Db, news: Sequence[NewRequest]) -> bool | None:
    """Lock the groups that requests name; return None if no rule is in effect, else whether any have open requests."""
    named = {(new.application_id, each.permission) for new in news for each in new.privileges}
    named |= {_group_of(new) for new in news if not new.identity_id}
    return await open_access.take_turns_of_groups(db, named)


async def _checked(db: Db, news: Sequence[NewRequest], *, of_groups: bool) -> list[_CheckedRequest]:
    """Find the duties that privileges would give or no longer give; most concern none."""
    changes = [[_change(new, each) for each in new.privileges] or _whole_group(new) for new in news]
    given = await _given(db, [one for each in changes for one in each], of_groups=of_groups)
    return [_CheckedRequest(new, _duty_changes(each, given)) for new, each in zip(news, changes, strict=True)]


def _duty_changes(changes: Iterable[OpenChange], given: _Duties) -> _DutyChanges:
    found = _DutyChanges({}, {})
    for each in changes:
        had, has = given.get(each.before, set()), given.get(each.after, set())
        if has and raises(each.before.access, each.after.access):
            found.gains[each.after] = has
        elif had - has:
            found.losses[each.before] = had - has
    return found


async def _given(db: Db, changes: Iterable[OpenChange], *, of_groups: bool) -> _Duties:
    """Return the duties that access gives; a group also gives what open requests would give it."""
    asked = {each for one in changes for each in (one.before, one.after) if each.access not in _NO_ACCESS}
    if not of_groups:
        return await prevention.duties_given(db, asked)
    promised = await open_access.promised_to_groups(db, {(each.application_id, each.permission) for each in asked})
    given = await prevention.duties_given(db, asked.union(*promised.values()))
    for each in asked:
        through = promised.get((each.application_id, each.permission), []) if not each.section else []
        given[each] = given[each].union(*(given[one] for one in through))
    return given


async def _others(db: Db, people: set[UUID], *, of_groups: bool) -> dict[UUID, _DutyChanges]:
    """Return what other requests would change, for each person."""
    changes = await open_access.open_changes(db, people, of_groups=of_groups)
    every = [one for each in changes.values() for one in each]
    given = await _given(db, every, of_groups=of_groups) if every else {}
    return {id: _duty_changes(changes[id], given) for id in people}


def _proposal(checked: Sequence[_CheckedRequest], place: int, id: UUID, others: _DutyChanges) -> AccessProposal:
    """Combine the changes of a request with those of requests for the same person that were made together.

    What those requests remove on a later day is `leaving`: the person holds it until then.
    """
    mine = checked[place]
    who, start = mine.new.identity_id, mine.new.scheduled_start or 0
    same = [each for each in checked if who and each is not mine and each.new.identity_id == who]
    at_once = [each for each in same if (each.new.scheduled_start or 0) == start]
    later = [each for each in same if each not in at_once]
    return AccessProposal(
        id,
        mine.changes.gains,
        _merged(others.gains, *(each.changes.gains for each in same)),
        _merged(mine.changes.losses, *(each.changes.losses for each in at_once)),
        _merged(others.losses, *(each.changes.losses for each in later)),
        _merged(*(each.changes.gains for each in at_once if each.new.action is RequestAction.RESTORE)),
    )


def _merged(*parts: _Duties) -> _Duties:
    return {access: duties for part in parts for access, duties in part.items()}


def refusals(new: NewRequest, found: Sequence[FoundConflict]) -> list[Problem]:
    """Return a problem for each rule that blocks the request, at the privilege that would create the conflict.

    A request that removes a control duty is never refused: the rule's owner approves it.
    """
    return [
        Problem(
            f"privileges.{min(_places(new, each.gains))}.permission",
            f"The rule {each.conflict} blocks this access: one person must not hold these duties together",
        )
        for each in found
        if each.conflict.response is RuleResponse.BLOCK and each.gains
    ]


def _places(new: NewRequest, gains: frozenset[ProposedAccess]) -> list[int]:
    return [place for place, each in enumerate(new.privileges) if _change(new, each).after in gains]


def without_refused(new: NewRequest, found: Sequence[FoundConflict]) -> tuple[NewRequest | None, list[str]]:
    """Remove the privileges that a rule blocks; None if none remain. Also return what was left out, and why."""
    blocking = [each for each in found if each.conflict.response is RuleResponse.BLOCK]
    refused = {place: each.conflict for each in blocking for place in _places(new, each.gains)}
    kept = [each for place, each in enumerate(new.privileges) if place not in refused]
    said = [
        f"{new.privileges[place].permission} of {new.target_name} is not requested: the rule {conflict} blocks it"
        for place, conflict in refused.items()
    ]
    return (msgspec.structs.replace(new, privileges=kept) if kept or not refused else None), said


def shown(found: Sequence[FoundConflict]) -> list[PotentialConflict]:
    return [each.conflict for each in found]
