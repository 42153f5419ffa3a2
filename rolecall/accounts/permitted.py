"""Find the relations of a person to an account, which determine whether the person may see the account."""

from uuid import UUID

from rolecall.applications import permitted as applications
from rolecall.core.db import Db, fetch_rows
from rolecall.identities import authority
from rolecall.identities.authority import PersonRelation


async def relations_to(db: Db, caller_id: UUID, account_id: UUID) -> frozenset[PersonRelation]:
    """Return the relations of a person to the account's identity and application."""
    rows = await fetch_rows(db, "SELECT application_id, identity_id FROM accounts WHERE id = %(id)s", id=account_id)
    if not rows:
        return frozenset()
    application_id, identity_id = rows[0]
    found = await applications.relations_to(db, caller_id, application_id)
    return found | (await authority.relations_to_person(db, caller_id, identity_id) if identity_id else frozenset())
