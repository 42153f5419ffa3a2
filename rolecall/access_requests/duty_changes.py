"""Find the duties that requests would give people and take from them, to check new and stored requests.

A request is checked together with what requests of a lower turn give (open_access.py explains turns): if two requests
create a conflict together, it is attributed to the later one. A new request has the turn `LAST`.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

import msgspec

from rolecall.access_requests import open_access
from rolecall.access_requests.model import NewPrivilege, NewRequest, raises
from rolecall.access_requests.open_access import CANCELED, PROVISIONED, Group, OpenAccessRequest, OpenChange
from rolecall.accounts.model import Access
from rolecall.core.db import Db
from rolecall.duties import prevention
from rolecall.duties.prevention import FoundConflict, PotentialConflict, ProposedAccess, key_of
from rolecall.settings.policy import RequestAction

# Higher than the number of any stored request.
LAST = 2**63 - 1
_NO_ACCESS = (Access.NONE, Access.DENY)
DutiesOf = dict[ProposedAccess, set[UUID]]
# A turn, and duties that are given or taken away once the requests up to this turn are provisioned.
_Turned = tuple[int, set[UUID]]


class _DutiesOfAccess(msgspec.Struct, frozen=True):
    """The duties that one permission or group gives, and the duties that open requests take from it.

    For a membership, `given` and `taken` include what open requests change for the group and the groups above it.
    """

    given: Sequence[_Turned] = ()
    taken: Sequence[_Turned] = ()

    def before(self, turn: int) -> set[UUID]:
        """Return all duties that the access may give before a turn, even if an earlier request takes them away."""
        return _union(self.given, turn)

    def certain(self, turn: int) -> set[UUID]:
        """Return the duties that the access already gives, except those that a request with a lower turn takes away."""
        return _union(self.given, CANCELED) - _union(self.taken, turn)


def _union(turned: Iterable[_Turned], turn: int) -> set[UUID]:
    return set[UUID]().union(*(duties for needs, duties in turned if needs < turn))


_Given = Mapping[ProposedAccess, _DutiesOfAccess]
_NONE = _DutiesOfAccess()


class GainsAndLosses(msgspec.Struct, frozen=True):
    """The access that a request would give and take away, each with its duties.

    `repeated` is requested access that the target already holds, perhaps through a group that the target leaves.
    `certain` has the duties that the gained and the repeated access give even if no other request gets provisioned,
    except those that an earlier request takes away.
    """

    gains: DutiesOf
    losses: DutiesOf
    repeated: DutiesOf
    certain: DutiesOf

    @property
    def given(self) -> DutiesOf:
        return self.gains | self.repeated


class CheckedRequest(msgspec.Struct, frozen=True):
    new: NewRequest
    changes: GainsAndLosses
    turn: int = LAST


class OtherRequest(msgspec.Struct, frozen=True):
    """What another open request would change for a person."""

    request: OpenAccessRequest
    changes: GainsAndLosses


class OtherRequests(msgspec.Struct, frozen=True):
    """What open requests would change for each person, and the duties of the access in these changes."""

    changes: Mapping[UUID, Mapping[OpenAccessRequest, list[OpenChange]]]
    given: _Given

    def of(self, id: UUID, turn: int = LAST) -> list[OtherRequest]:
        found = self.changes.get(id, {})
        return [OtherRequest(request, _changed(each, self.given, turn)) for request, each in found.items()]


def change_of(new: NewRequest, privilege: NewPrivilege) -> OpenChange:
    name = privilege.header, privilege.section, privilege.permission
    initial = privilege.initial_access or Access.NONE
    before = ProposedAccess(new.application_id, *name, initial, new.target_name or "", new.identity_id is None)
    return OpenChange(before, msgspec.structs.replace(before, access=privilege.requested_access))


def _whole_group(new: NewRequest) -> list[OpenChange]:
    """Return a change that takes away the group if the request removes or suspends a whole group, else nothing."""
    if new.identity_id or new.action not in (RequestAction.REMOVE, RequestAction.SUSPEND):
        return []
    name = new.target_name or ""
    before = ProposedAccess(new.application_id, None, "", name, Access.GRANT, name, is_group=True)
    return [OpenChange(before, msgspec.structs.replace(before, access=Access.NONE))]


async def checked(db: Db, news: Sequence[NewRequest], turns: Sequence[int], *, of_groups: bool) -> list[CheckedRequest]:
    """Return each request with the duties that it would give or take away."""
    changes = [[change_of(new, each) for each in new.privileges] or _whole_group(new) for new in news]
    given = await _given(db, [one for each in changes for one in each], of_groups=of_groups)
    return [
        CheckedRequest(new, _changed(each, given, turn), turn)
        for new, each, turn in zip(news, changes, turns, strict=True)
    ]


def _changed(changes: Iterable[OpenChange], given: _Given, turn: int) -> GainsAndLosses:
    found = GainsAndLosses({}, {}, {}, {})
    for each in changes:
        had, has = _duties(given, _taken(each)).before(turn), _duties(given, each.after).before(turn)
        if has:
            found.certain[each.after] = given[each.after].certain(turn)
            (found.gains if raises(each.before.access, each.after.access) else found.repeated)[each.after] = has
        if had - has:
            found.losses[each.before] = had - has
    return found


def _taken(change: OpenChange) -> ProposedAccess:
    """Return the access that a change takes away.

    A removal takes all access, because a request may have given more than imports show.
    """
    if _is_access(change.after):
        return change.before
    return msgspec.structs.replace(change.before, access=Access.UNRESTRICTED)


def _duties(given: _Given, access: ProposedAccess) -> _DutiesOfAccess:
    return given.get(access, _NONE)


async def _given(db: Db, changes: Iterable[OpenChange], *, of_groups: bool) -> _Given:
    """Return the duties of all access in these changes.

    With `of_groups`, include the duties that open requests would give to a group or take from it.
    """
    asked = {each for one in changes for each in (_taken(one), one.after) if _is_access(each)}
    # Only a privilege without a section can be a membership (`is_membership`, schema/access_requests.sql).
    memberships = {each for each in asked if not each.section}
    groups = {_group(each) for each in memberships}
    through = await open_access.changes_of_groups(db, groups) if of_groups else {}
    behind = {each for changes in through.values() for _, one in changes for each in (_taken(one), one.after)}
    duties = defaultdict(
        set[UUID], await prevention.duties_given(db, asked | {each for each in behind if _is_access(each)})
    )

    def of(access: ProposedAccess) -> _DutiesOfAccess:
        there = through.get(_group(access), ()) if access in memberships else ()
        given = [(turn, duties[one.after]) for turn, one in there]
        taken = [(turn, duties[_taken(one)] - duties[one.after]) for turn, one in there]
        return _DutiesOfAccess([(PROVISIONED, duties[access]), *given], taken)

    return {each: of(each) for each in asked}


def _is_access(access: ProposedAccess) -> bool:
    return access.access not in _NO_ACCESS


def _group(access: ProposedAccess) -> Group:
    return access.application_id, access.permission


async def people_concerned(db: Db, requests: Sequence[CheckedRequest]) -> list[list[UUID]]:
    """Return the people whose duties each request would change: the person, or current and requested group members."""
    # A request that changes no duties needs no check, so its people need no lock.
    changing = [each if each.changes.given or each.changes.losses else None for each in requests]
    groups = {group_of(each.new) for each in changing if each and not each.new.identity_id}
    members = await open_access.people_in_groups(db, groups)
    return [_people(each, members) if each else [] for each in changing]


def _people(request: CheckedRequest, members: Mapping[Group, list[tuple[int, UUID]]]) -> list[UUID]:
    if request.new.identity_id:
        return [request.new.identity_id]
    return [id for turn, id in members[group_of(request.new)] if turn < request.turn]


def group_of(new: NewRequest) -> Group:
    return new.application_id, new.target_name or ""


async def others_of(db: Db, people: Iterable[UUID], *, of_groups: bool) -> OtherRequests:
    """Return what open requests would change for these people, and lock the people until the transaction ends."""
    changes = await open_access.open_changes(db, people, of_groups=of_groups)
    every = [one for by_request in changes.values() for each in by_request.values() for one in each]
    return OtherRequests(changes, await _given(db, every, of_groups=of_groups) if every else {})


def controlling(own: GainsAndLosses, others: Iterable[OtherRequest], turn: int) -> DutiesOf:
    """Return the gained access that may serve as a control duty.

    Leave out access that earlier requests would take away once they are provisioned.
    """
    waiting = [each for each in others if CANCELED < each.request.turn < turn]
    taken = {key_of(access) for each in waiting for access in each.changes.losses}
    return {access: own.certain[access] for access in own.gains if key_of(access) not in taken}


def merged(parts: Iterable[DutiesOf]) -> DutiesOf:
    return {access: duties for part in parts for access, duties in part.items()}


def joined(found: Iterable[FoundConflict]) -> list[FoundConflict]:
    """Merge the conflicts of several people into one per rule. The people may hold different duties of the rule."""
    by_rule: dict[UUID, FoundConflict] = {}
    for each in found:
        known = by_rule.setdefault(each.conflict.rule_id, each)
        by_rule[each.conflict.rule_id] = FoundConflict(
            with_duties(known.conflict, each.conflict.duties),
            known.gains | each.gains,
            known.losses | each.losses,
            {**known.people, **each.people},
        )
    return list(by_rule.values())


def with_duties(conflict: PotentialConflict, duties: Iterable[str]) -> PotentialConflict:
    return msgspec.structs.replace(conflict, duties=list(dict.fromkeys([*conflict.duties, *duties])))
