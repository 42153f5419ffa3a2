"""Which access requests an event makes, from what the identity has and what the access models give."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.access_requests.model import NewPrivilege, NewRequest
from rolecall.accounts.model import Access
from rolecall.settings.policy import EventType, RequestAction

# What a privilege is about: header, section, permission.
Key = tuple[str, str, str]
# What models give, by application.
Grants = Mapping[UUID, Mapping[Key, NewPrivilege]]


class HeldAccount(msgspec.Struct, frozen=True):
    """`holds` is what the account has or is about to get; it is filled in for a role transition only."""

    application_id: UUID
    username: str
    is_active: bool
    holds: frozenset[Key] = frozenset()


class Situation(msgspec.Struct, frozen=True):
    """What the identity has, and what the models that match it before and after the event give."""

    accounts: Sequence[HeldAccount]
    before: Grants = {}
    after: Grants = {}
    models_after: frozenset[UUID] | None = None


class Times(msgspec.Struct, frozen=True):
    needed_on: datetime
    needed_until: datetime | None


def key(privilege: NewPrivilege) -> Key:
    return privilege.header, privilege.section, privilege.permission


def planned_requests(type: EventType, identity_id: UUID, times: Times, situation: Situation) -> list[NewRequest]:
    match type:
        case EventType.ONBOARD:
            found = (_add(id, grants.values(), times) for id, grants in situation.after.items())
        case EventType.OFFBOARD:
            found = (_of_account(RequestAction.REMOVE, account, times) for account in situation.accounts)
        case EventType.ABSENCE:
            active = [account for account in situation.accounts if account.is_active]
            found = (_of_account(RequestAction.SUSPEND, account, times) for account in active)
        case EventType.ROLE_TRANSITION:
            applications = {**situation.before, **situation.after}
            found = (request for id in applications for request in _difference(id, situation, times))
    return [
        msgspec.structs.replace(request, identity_id=identity_id, models_in_effect=situation.models_after)
        for request in found
    ]


def _add(application_id: UUID, privileges: Iterable[NewPrivilege], times: Times) -> NewRequest:
    return NewRequest(
        action=RequestAction.ADD,
        application_id=application_id,
        privileges=list(privileges),
        scheduled_start=times.needed_on,
    )


def _of_account(action: RequestAction, account: HeldAccount, times: Times) -> NewRequest:
    """Without privileges it is about all that the account holds."""
    return NewRequest(
        action=action,
        application_id=account.application_id,
        target_name=account.username,
        scheduled_start=times.needed_on,
    )


def _difference(application_id: UUID, situation: Situation, times: Times) -> Iterator[NewRequest]:
    before, after = situation.before.get(application_id, {}), situation.after.get(application_id, {})
    gained = [given for name, given in after.items() if not _same(given, before.get(name))]
    account = _account_in(application_id, situation.accounts)
    if account is None:
        if gained:
            yield _add(application_id, gained, times)
        return
    # What the models gave but the account does not hold cannot be taken away.
    lost = [_taken(given) for name, given in before.items() if name not in after and name in account.holds]

    def request(action: RequestAction, privileges: list[NewPrivilege], start: datetime) -> NewRequest:
        return msgspec.structs.replace(
            _of_account(action, account, times), privileges=privileges, scheduled_start=start
        )

    # With an end date what is lost goes only then: until it comes, the access of both roles overlaps.
    overlaps = times.needed_until is not None
    if gained:
        yield request(RequestAction.CHANGE, gained if overlaps else [*gained, *lost], times.needed_on)
    if lost and (overlaps or not gained):
        action = RequestAction.CHANGE if after else RequestAction.REMOVE
        yield request(action, lost, times.needed_until or times.needed_on)


def _taken(privilege: NewPrivilege) -> NewPrivilege:
    return msgspec.structs.replace(privilege, requested_access=Access.NONE)


def _same(given: NewPrivilege, had: NewPrivilege | None) -> bool:
    return had is not None and had.requested_access == given.requested_access


def _account_in(application_id: UUID, accounts: Sequence[HeldAccount]) -> HeldAccount | None:
    """The one to change, if a person has several: the first that is active."""
    there = [account for account in accounts if account.application_id == application_id]
    return min(there, key=lambda account: (not account.is_active, account.username), default=None)
