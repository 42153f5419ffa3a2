"""What an event's requests follow from, read from accounts and access models."""

from collections.abc import Sequence
from uuid import UUID

from rolecall.access_requests.model import AccessLevel, NewPrivilege
from rolecall.accounts import queries as accounts
from rolecall.accounts.shapes import Held, Membership
from rolecall.core.db import Db
from rolecall.personnel_events.model import Event
from rolecall.personnel_events.planning import HeldAccount, Situation
from rolecall.settings.policy import Level
from rolecall.work_items.queries import grouped


async def of_event(db: Db, event: Event) -> Situation:
    return Situation(
        needed_on=event.needed_on,
        needed_until=event.needed_until,
        accounts=await held_accounts(db, event.identity_id),
    )


async def held_accounts(db: Db, identity_id: UUID) -> list[HeldAccount]:
    found = await accounts.of_identity(db, identity_id)
    privileges = await _held_privileges(db, [account.id for account in found])
    return [
        HeldAccount(account.application_id, account.username, account.is_active, privileges[account.id])
        for account in found
    ]


async def _held_privileges(db: Db, account_ids: Sequence[UUID]) -> dict[UUID, list[NewPrivilege]]:
    """Groups first, then what an account holds itself; what it holds through a group goes with the group."""
    memberships = await accounts.memberships(db, account_ids)
    direct = [held for held in await accounts.permissions_held(db, account_ids) if not held.group]
    rows = [(member.account_id, _membership(member)) for member in memberships]
    rows += [(held.holder_id, _permission(held)) for held in direct]
    return grouped(rows, lambda privilege: privilege)


def _membership(member: Membership) -> NewPrivilege:
    return NewPrivilege(
        header=member.nomenclature or "Group",
        permission=member.group,
        description=member.description,
        initial_access=AccessLevel.GRANT,
    )


def _permission(held: Held) -> NewPrivilege:
    return NewPrivilege(
        header=held.header,
        section=held.section,
        permission=held.permission,
        description=held.description,
        risk_rating=Level(held.risk_rating),
        value=held.value,
        initial_access=AccessLevel(held.access),
    )
