"""Plan the access requests of an event from the accounts of the identity and the grants of access models."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.access_requests.model import NewPrivilege, NewRequest
from rolecall.accounts.model import Access
from rolecall.settings.policy import EventType, RequestAction

# The name of a privilege: header, section, permission.
Key = tuple[str, str, str]
# Privileges that access models grant, by application.
Grants = Mapping[UUID, Mapping[Key, NewPrivilege]]


class HeldAccount(msgspec.Struct, frozen=True):
    """An account. `holds` are its current, requested and suspended privileges; only a role transition needs them."""

    application_id: UUID
    username: str
    is_active: bool
    holds: frozenset[Key] = frozenset()


class Situation(msgspec.Struct, frozen=True):
    """The data from which the requests of an event are planned: accounts of the identity, and grants of access models.

    `before` are the grants before a role transition; `after` are the grants after a role transition or an onboarding.
    Other events need no grants. `models_after` are the models that match the identity after the event; None means those
    that match it now.
    """

    accounts: Sequence[HeldAccount]
    before: Grants = {}
    after: Grants = {}
    models_after: frozenset[UUID] | None = None


class EventDates(msgspec.Struct, frozen=True):
    needed_on: datetime
    needed_until: datetime | None


def key(privilege: NewPrivilege) -> Key:
    return privilege.header, privilege.section, privilege.permission


def planned_requests(type: EventType, identity_id: UUID, dates: EventDates, situation: Situation) -> list[NewRequest]:
    match type:
        case EventType.ONBOARD:
            found = (_add(id, grants.values(), dates) for id, grants in situation.after.items())
        case EventType.OFFBOARD:
            found = (_of_account(RequestAction.REMOVE, account, dates) for account in situation.accounts)
        case EventType.ABSENCE:
            active = [account for account in situation.accounts if account.is_active]
            found = (_of_account(RequestAction.SUSPEND, account, dates) for account in active)
        case EventType.ROLE_TRANSITION:
            # Only the keys are used: the applications in which models grant access before or after the transition.
            applications = {**situation.before, **situation.after}
            found = (request for id in applications for request in _difference(id, situation, dates))
    return [
        msgspec.structs.replace(request, identity_id=identity_id, models_in_effect=situation.models_after)
        for request in found
    ]


def _add(application_id: UUID, privileges: Iterable[NewPrivilege], dates: EventDates) -> NewRequest:
    return NewRequest(
        action=RequestAction.ADD,
        application_id=application_id,
        privileges=list(privileges),
        scheduled_start=dates.needed_on,
    )


def _of_account(action: RequestAction, account: HeldAccount, dates: EventDates) -> NewRequest:
    """Return a request for the whole account; `enrich` then lists the groups and direct permissions of the account."""
    return NewRequest(
        action=action,
        application_id=account.application_id,
        target_name=account.username,
        scheduled_start=dates.needed_on,
    )


def _difference(application_id: UUID, situation: Situation, dates: EventDates) -> Iterator[NewRequest]:
    before, after = situation.before.get(application_id, {}), situation.after.get(application_id, {})
    gained = [given for name, given in after.items() if not _is_same_access(given, before.get(name))]
    account = _account_in(application_id, situation.accounts)
    if account is None:
        if gained:
            yield _add(application_id, gained, dates)
        return
    # Request the removal only of grants that the account holds or may get (`HeldAccount.holds`).
    lost = [_removed(given) for name, given in before.items() if name not in after and name in account.holds]

    def request(action: RequestAction, privileges: list[NewPrivilege], start: datetime) -> NewRequest:
        return msgspec.structs.replace(
            _of_account(action, account, dates), privileges=privileges, scheduled_start=start
        )

    # If there is an end date, the person keeps the access of both roles until then.
    overlaps = dates.needed_until is not None
    if gained:
        yield request(RequestAction.CHANGE, gained if overlaps else [*gained, *lost], dates.needed_on)
    if lost and (overlaps or not gained):
        # Request a Remove if the new role grants nothing in this application.
        action = RequestAction.CHANGE if after else RequestAction.REMOVE
        yield request(action, lost, dates.needed_until or dates.needed_on)


def _removed(privilege: NewPrivilege) -> NewPrivilege:
    return msgspec.structs.replace(privilege, requested_access=Access.NONE)


def _is_same_access(given: NewPrivilege, had: NewPrivilege | None) -> bool:
    return had is not None and had.requested_access == given.requested_access


def _account_in(application_id: UUID, accounts: Sequence[HeldAccount]) -> HeldAccount | None:
    """Return the person's account in an application, or None. Prefer active accounts, then the first by username."""
    there = [account for account in accounts if account.application_id == application_id]
    return min(there, key=lambda account: (not account.is_active, account.username), default=None)
