"""Decide who may see an entitlement and its holders."""

from uuid import UUID

from rolecall.applications import permitted as applications
from rolecall.core.db import Db, fetch_rows
from rolecall.identities.authority import PersonRelation


async def relations_to(db: Db, caller_id: UUID, entitlement_id: UUID) -> frozenset[PersonRelation]:
    """Return the relations of a person to the entitlement and to its application."""
    rows = await fetch_rows(
        db, "SELECT application_id, owner_id FROM entitlements WHERE id = %(id)s", id=entitlement_id
    )
    if not rows:
        return frozenset()
    application_id, owner_id = rows[0]
    owned = frozenset({PersonRelation.OWNER}) if owner_id == caller_id else frozenset()
    return owned | await applications.relations_to(db, caller_id, application_id)
