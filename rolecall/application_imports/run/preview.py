"""Store what a held import or a dry run would change, although its build is rolled back.

The change list is read inside the build's transaction and written on another connection, so it survives the rollback.
"""

from collections.abc import Sequence
from uuid import UUID

import msgspec
from psycopg.types.json import Jsonb

from rolecall.application_imports.changes import changes_listing
from rolecall.application_imports.model import RELATIONS, ChangeType, RejectedRow, Tallies
from rolecall.core.db import Db, execute

# The table of rejected rows, and its column for the import or the dry run.
IMPORT_REJECTS = ("import_rejects", "import_id")
DRY_RUN_REJECTS = ("dry_run_rejects", "dry_run_id")


async def store_preview(build: Db, beside: Db, id: UUID, number: int, tallies: Tallies) -> None:
    """Copy the change list of import `number` from the transaction of `build`, replacing an earlier copy."""
    async with beside.transaction():
        await execute(beside, "DELETE FROM previews WHERE id = %(id)s", id=id)
        counts = Jsonb(msgspec.to_builtins(tallies))
        await execute(beside, "INSERT INTO previews (id, counts) VALUES (%(id)s, %(counts)s)", id=id, counts=counts)
        position = 0
        for relation in RELATIONS:
            for type in ChangeType if relation.kind else ():
                listing = changes_listing(relation, type, number)
                query = f"""SELECT '{id}', {position} + row_number() OVER (ORDER BY {listing.order}) - 1,
                                   '{relation.kind}', '{type}', {listing.columns} {listing.rows}"""
                assert relation.kind
                count = getattr(tallies[relation.kind], type.lower())
                if count:
                    await _copy(build, query, beside)
                position += count


async def _copy(source: Db, query: str, target: Db) -> None:
    into = "previewed_changes (preview_id, position, kind, change, name, row, other)"
    async with (
        source.cursor().copy(f"COPY ({query}) TO STDOUT") as reading,
        target.cursor().copy(f"COPY {into} FROM STDIN") as writing,
    ):
        async for piece in reading:
            await writing.write(piece)


async def store_rejects(db: Db, table: tuple[str, str], id: UUID, rejects: Sequence[RejectedRow]) -> None:
    """Store rejected rows, and delete those of an earlier attempt. `rejects` has at most one row for each line."""
    name, column = table
    async with db.transaction():
        await execute(db, f"DELETE FROM {name} WHERE {column} = %(id)s", id=id)
        if not rejects:
            return
        into = f"{name} ({column}, file_id, line, reason, row)"
        async with db.cursor().copy(f"COPY {into} FROM STDIN") as copy:
            for reject in rejects:
                await copy.write_row((id, reject.file_id, reject.line, reject.reason, Jsonb(reject.row)))
