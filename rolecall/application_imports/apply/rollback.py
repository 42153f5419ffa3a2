"""Restore the data of an application as it was after an earlier import, as the changes of a new import."""

from uuid import UUID

from rolecall.accounts.model import valid
from rolecall.application_imports.apply.identities import take_turn
from rolecall.application_imports.model import RELATIONS, Relation
from rolecall.application_imports.read.sources import Sources, sources_after
from rolecall.core.db import Db, execute


async def restore(db: Db, application_id: UUID, number: int, to: int) -> Sources:
    """Restore every relation to its state after import `to`; return the files that this state was read from."""
    await take_turn(db)
    for relation in RELATIONS:
        await _restore(db, relation, application_id, number, to)
    return await sources_after(db, application_id, to)


async def _restore(db: Db, relation: Relation, application_id: UUID, number: int, to: int) -> None:
    then = f"{relation.scope} AND {valid(relation.table, to)}"
    # Compare values as text: the type json has no equality.
    same = " AND ".join(
        [relation.same_key("t", "r"), *(f"t.{column}::text = r.{column}::text" for column in relation.values)]
    )
    await execute(
        db,
        f"""CREATE TEMP TABLE then_valid ON COMMIT DROP AS
            SELECT {relation.columns} FROM {relation.table} WHERE {then}""",
        application=application_id,
    )
    # Without statistics the planner reads the rows of every application for a few keys.
    await execute(db, "ANALYZE then_valid")
    # If the rows are assignments, this fires the trigger note_former_holders in schema/accounts.sql.
    await execute(
        db,
        f"""UPDATE {relation.table} r SET until_import = {number:d} WHERE r.until_import IS NULL AND {relation.scope}
            AND NOT EXISTS (SELECT FROM then_valid t WHERE {same})""",
        application=application_id,
    )
    # Search only the rows of this application; with the keys alone, the planner might read those of all applications.
    # If the rows are assignments, this fires the trigger note_holders in schema/accounts.sql.
    await execute(
        db,
        f"""INSERT INTO {relation.table} ({relation.columns}, from_import)
            SELECT {relation.columns}, {number:d} FROM then_valid t
            WHERE NOT EXISTS (SELECT FROM {relation.table} r WHERE r.until_import IS NULL AND {relation.scope}
                              AND {relation.same_key("t", "r")})""",
        application=application_id,
    )
    await execute(db, "DROP TABLE then_valid")
