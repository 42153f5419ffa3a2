"""Write a change set to the database, in the transaction of the import."""

from collections.abc import Sequence
from uuid import UUID

import polars as pl

from rolecall.application_imports.apply.intervals import close_intervals, open_intervals
from rolecall.application_imports.compare.change_set import ChangeSet
from rolecall.application_imports.compare.copying import copy_in
from rolecall.application_imports.model import Relation
from rolecall.core.db import Db, execute


async def write_changes(db: Db, changes: ChangeSet) -> None:
    for into, rows in changes.inserts:
        if rows.height:
            await copy_in(db, into, rows)
    for relation, change in changes.changes:
        closed = pl.concat([part.select(relation.key) for part in (change.altered, change.removed)])
        if closed.height:
            await close_intervals(db, relation, changes.number, closed)
        if change.new.height or change.altered.height:
            opened = change.opened.select(*relation.key, *relation.values)
            await open_intervals(db, relation, changes.number, _sorted(opened, relation))


async def close_unused(db: Db, application_id: UUID, number: int, maybe_unused: Sequence[int]) -> None:
    """Remove unused groups that no file lists, clear the fields of other unlisted groups, remove unused permissions.

    Only the permissions in `maybe_unused` are checked. The calling code must write all changes first.
    """
    await _close_unnamed_groups(db, application_id, number)
    await _close_unused_permissions(db, number, maybe_unused)


def _sorted(rows: pl.DataFrame, relation: Relation) -> pl.DataFrame:
    """Sort by key, unless the rows are already sorted. Inserting sorted keys into an index is several times faster."""
    if len(relation.key) == 1 and rows.get_column(relation.key[0]).is_sorted():
        return rows
    return rows.sort(relation.key)


async def _close_unnamed_groups(db: Db, application_id: UUID, number: int) -> None:
    """Update groups that no file of groups lists: remove unused ones, and clear the fields of the others.

    A group is unused if it has no members and no permissions.
    """
    unlisted = """v.group_number = g.number AND g.application_id = %(application)s AND v.until_import IS NULL
        AND NOT EXISTS (SELECT FROM group_listings l WHERE l.group_number = g.number AND l.until_import IS NULL)"""
    await execute(
        db,
        f"""UPDATE group_versions v SET until_import = %(number)s FROM groups g WHERE {unlisted} AND NOT EXISTS
            (SELECT FROM memberships m WHERE m.group_number = g.number AND m.until_import IS NULL) AND NOT EXISTS
            (SELECT FROM assignments s WHERE s.holder_number = g.number AND s.until_import IS NULL)""",
        application=application_id,
        number=number,
    )
    await execute(
        db,
        f"""WITH stripped AS (
                UPDATE group_versions v SET until_import = %(number)s FROM groups g WHERE {unlisted}
                AND (v.description, v.nomenclature, v.parent, v.metadata) <> ('', '', '', '{{}}')
                RETURNING v.group_number)
            INSERT INTO group_versions (group_number, from_import, description, nomenclature, parent, metadata)
            SELECT group_number, %(number)s, '', '', '', '{{}}' FROM stripped""",
        application=application_id,
        number=number,
    )


async def _close_unused_permissions(db: Db, number: int, maybe_unused: Sequence[int]) -> None:
    """Remove the permissions in `maybe_unused` that no account or group holds any more."""
    if not maybe_unused:
        return
    await execute(
        db,
        """UPDATE permission_versions v SET until_import = %(number)s
           WHERE v.permission_number = ANY(%(maybe)s) AND v.until_import IS NULL
           AND NOT EXISTS (SELECT FROM assignments_of(v.permission_number, now_import()))""",
        number=number,
        maybe=list(maybe_unused),
    )
