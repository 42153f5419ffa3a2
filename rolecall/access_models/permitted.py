"""Check who may see an access model."""

from uuid import UUID

from rolecall.core.db import Db, fetch_value
from rolecall.identities.authority import PersonRelation

# SQL that is true if the person %(me)s owns the model. The owner in a draft counts only before the first commit.
IS_OWN = "coalesce(definition, draft) ->> 'ownerId' = %(me)s::text"


async def relations_to(db: Db, caller_id: UUID, model_id: UUID) -> frozenset[PersonRelation]:
    owned = await fetch_value(
        db, f"SELECT true FROM access_models WHERE id = %(id)s AND {IS_OWN}", me=caller_id, id=model_id
    )
    return frozenset({PersonRelation.OWNER}) if owned else frozenset()
