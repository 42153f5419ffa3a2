"""Which access requests an event makes, from what the identity has and what the access models give."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.access_requests.model import AccessLevel, NewPrivilege, NewRequest
from rolecall.settings.policy import EventType, RequestAction

# What a privilege is about: header, section, permission.
Key = tuple[str, str, str]


class HeldAccount(msgspec.Struct, frozen=True):
    application_id: UUID
    username: str
    is_active: bool
    privileges: Sequence[NewPrivilege]


# What the models give, by application.
Grants = Mapping[UUID, Mapping[Key, NewPrivilege]]


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """What an event's requests follow from."""

    needed_on: datetime
    needed_until: datetime | None = None
    accounts: Sequence[HeldAccount] = ()
    before: Grants = {}
    after: Grants = {}


def key(privilege: NewPrivilege) -> Key:
    return privilege.header, privilege.section, privilege.permission


def planned_requests(type: EventType, situation: Situation) -> list[NewRequest]:
    """Without identity and event, which the maker adds."""
    match type:
        case EventType.ONBOARD:
            return [
                _add(application_id, grants.values(), situation) for application_id, grants in situation.after.items()
            ]
        case EventType.OFFBOARD:
            return [_without(RequestAction.REMOVE, account, situation) for account in situation.accounts]
        case EventType.ABSENCE:
            return [
                _without(RequestAction.SUSPEND, account, situation)
                for account in situation.accounts
                if account.is_active
            ]
        case EventType.ROLE_TRANSITION:
            applications = {**situation.before, **situation.after}
            return [request for application_id in applications for request in _difference(application_id, situation)]


def _add(application_id: UUID, privileges: Iterable[NewPrivilege], situation: Situation) -> NewRequest:
    return NewRequest(
        action=RequestAction.ADD,
        application_id=application_id,
        privileges=list(privileges),
        scheduled_start=situation.needed_on,
    )


def _without(action: RequestAction, account: HeldAccount, situation: Situation) -> NewRequest:
    """All that the account holds goes."""
    return NewRequest(
        action=action,
        application_id=account.application_id,
        target_name=account.username,
        privileges=[_taken(privilege) for privilege in account.privileges],
        scheduled_start=situation.needed_on,
    )


def _taken(privilege: NewPrivilege) -> NewPrivilege:
    return msgspec.structs.replace(privilege, requested_access=AccessLevel.NONE)


def _difference(application_id: UUID, situation: Situation) -> Iterator[NewRequest]:
    before, after = situation.before.get(application_id, {}), situation.after.get(application_id, {})
    gained = [given for name, given in after.items() if not _same(given, before.get(name))]
    lost = [_taken(given) for name, given in before.items() if name not in after]
    account = _account_in(application_id, situation.accounts)
    if account is None:
        if gained:
            yield _add(application_id, gained, situation)
        return

    def request(action: RequestAction, privileges: list[NewPrivilege], start: datetime) -> NewRequest:
        return NewRequest(
            action=action,
            application_id=application_id,
            target_name=account.username,
            privileges=privileges,
            scheduled_start=start,
        )

    # With an end date what is lost goes only then: until it comes, both roles' access overlap.
    overlaps = situation.needed_until is not None
    if gained:
        yield request(RequestAction.CHANGE, gained if overlaps else [*gained, *lost], situation.needed_on)
    if lost and (overlaps or not gained):
        action = RequestAction.CHANGE if after else RequestAction.REMOVE
        yield request(action, lost, situation.needed_until or situation.needed_on)


def _same(given: NewPrivilege, had: NewPrivilege | None) -> bool:
    return had is not None and had.requested_access == given.requested_access


def _account_in(application_id: UUID, accounts: Sequence[HeldAccount]) -> HeldAccount | None:
    """The one to change, if a person has several: the first that is active."""
    there = [account for account in accounts if account.application_id == application_id]
    return min(there, key=lambda account: (not account.is_active, account.username), default=None)
