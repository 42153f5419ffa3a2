"""Find the relations of a person to a stand-in record. They determine whether the person may see the record."""

from uuid import UUID

from rolecall.core.db import Db, fetch_rows
from rolecall.identities.authority import PersonRelation


async def relations_to(db: Db, caller_id: UUID, stand_in_id: UUID) -> frozenset[PersonRelation]:
    rows = await fetch_rows(
        db,
        """SELECT CASE %(me)s WHEN identity_id THEN 'self' ELSE 'stand-in' END FROM stand_ins
           WHERE id = %(id)s AND %(me)s IN (identity_id, stand_in_id)""",
        me=caller_id,
        id=stand_in_id,
    )
    return frozenset(PersonRelation(relation) for (relation,) in rows)
