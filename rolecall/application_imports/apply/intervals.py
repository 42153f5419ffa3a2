"""Open and close the intervals of relations. A row is valid until an import closes its interval."""

import polars as pl

from rolecall.application_imports.compare.copying import copy_in
from rolecall.application_imports.model import Relation
from rolecall.core.db import Db, execute


async def open_intervals(db: Db, relation: Relation, number: int, rows: pl.DataFrame) -> None:
    """Insert rows with the relation's columns, valid from import `number`."""
    from_import = pl.lit(number).alias("from_import")
    # If the rows are assignments, this fires the trigger note_holders in schema/accounts.sql.
    await copy_in(db, f"{relation.table} ({relation.columns}, from_import)", rows.with_columns(from_import))


async def close_intervals(db: Db, relation: Relation, number: int, keys: pl.DataFrame) -> None:
    """End the valid rows with these keys at import `number`."""
    key = ", ".join(relation.key)
    await execute(db, f"CREATE TEMP TABLE closing ON COMMIT DROP AS SELECT {key} FROM {relation.table} WITH NO DATA")
    await copy_in(db, f"closing ({key})", keys)
    # Without statistics the planner reads the whole table for a few keys.
    await execute(db, "ANALYZE closing")
    # For assignments, fires note_former_holders, schema/accounts.sql.
    await execute(
        db,
        f"""UPDATE {relation.table} r SET until_import = {number:d} FROM closing c
            WHERE {relation.same_key("r", "c")} AND r.until_import IS NULL""",
    )
    await execute(db, "DROP TABLE closing")
