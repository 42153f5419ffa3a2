"""What an event's requests follow from, read from accounts and access models."""

from uuid import UUID

from rolecall.access_requests.completion import held_privileges
from rolecall.accounts import queries as accounts
from rolecall.core.db import Db
from rolecall.personnel_events.model import Event
from rolecall.personnel_events.planning import HeldAccount, Situation


async def of_event(db: Db, event: Event) -> Situation:
    return Situation(
        needed_on=event.needed_on,
        needed_until=event.needed_until,
        accounts=await held_accounts(db, event.identity_id),
    )


async def held_accounts(db: Db, identity_id: UUID) -> list[HeldAccount]:
    found = await accounts.of_identity(db, identity_id)
    privileges = await held_privileges(db, [account.id for account in found])
    return [
        HeldAccount(account.application_id, account.username, account.is_active, privileges[account.id])
        for account in found
    ]
