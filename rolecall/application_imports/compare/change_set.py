"""What an import will change, found out before any of it is written: differences that become intervals."""

import secrets
from collections.abc import Iterable
from typing import NamedTuple

import polars as pl

from rolecall.application_imports.compare.copying import as_csv
from rolecall.application_imports.compare.diff import Difference
from rolecall.application_imports.compare.relations import Relation, close_intervals, copy_in, open_intervals
from rolecall.application_imports.compare.state import Known, State
from rolecall.application_imports.read.file_delta import Delta, Doubt
from rolecall.applications.model import Content
from rolecall.core.db import Db

# So many rows that the planner should know of them.
MANY = 5_000


class Insert(NamedTuple):
    """Rows of something that exists from now on; `into` names a table and its columns, `id` and application last."""

    into: str
    rows: pl.DataFrame


class Change(NamedTuple):
    relation: Relation
    difference: Difference


class Draft:
    def __init__(self, state: State, number: int) -> None:
        self.state = state
        self.number = number
        self.inserts: list[Insert] = []
        self.changes: list[Change] = []
        # Rows of each file that changed something.
        self.applied: dict[Content, dict[int, int]] = {}

    def insert(self, into: str, rows: pl.DataFrame) -> None:
        application = pl.lit(str(self.state.application_id)).alias("application_id")
        self.inserts.append(Insert(into, rows.with_columns(random_ids(rows.height), application)))

    def change(self, relation: Relation, change: Difference, numbers: dict[str, Known]) -> None:
        for column, known in numbers.items():
            change = Difference(
                *(
                    part if column in part.columns else known.number(part.drop("number", strict=False), column)
                    for part in change
                )
            )
        self.changes.append(Change(relation, change))

    def count(self, delta: Delta, change: Difference) -> None:
        files = pl.concat([part.select("file") for part in (change.new, change.altered)])
        self.applied[delta.content] = dict(files.group_by("file").len().iter_rows())

    async def write(self, db: Db) -> None:
        for into, rows in self.inserts:
            if rows.height:
                await copy_in(db, into, as_csv(rows))
        for relation, change in self.changes:
            closed = pl.concat([part.select(relation.key) for part in (change.altered, change.removed)])
            if closed.height:
                await close_intervals(db, relation, self.number, as_csv(closed))
            if change.new.height or change.altered.height:
                number = pl.lit(self.number).alias("from_import")
                opened = change.opened.select(*relation.key, *relation.values, number)
                await open_intervals(db, relation, as_csv(_in_order(opened, relation)))
        await self.settle(db)

    async def settle(self, db: Db) -> None:
        """What follows from the changes, found out in the database."""

    def grown(self) -> list[str]:
        """The tables that got many rows."""
        added = {into.partition(" ")[0]: rows.height for into, rows in self.inserts}
        added |= {relation.table: change.opened.height for relation, change in self.changes}
        return [table for table, rows in added.items() if rows >= MANY]


def involved(delta: Delta, present: pl.DataFrame, name: list[str]) -> pl.DataFrame:
    """The rows that lines of `delta` are about; a line that comes must be new, or replace a line that goes."""
    assert delta.gone is not None
    there = present.select(name)
    if delta.after.select(name).join(there, on=name, how="semi").join(delta.gone, on=name, how="anti").height:
        raise Doubt(delta.content, "a line repeats what another line says")
    if delta.gone.select(name).join(there, on=name, how="anti").height:
        raise Doubt(delta.content, "a line that went was not among what is known")
    return present.join(delta.mentioned(*name), on=name, how="semi")


def union(frames: Iterable[pl.DataFrame], column: str) -> pl.DataFrame:
    found = list(frames)
    return pl.concat(found).unique() if found else pl.DataFrame(schema={column: pl.String})


def random_ids(count: int) -> pl.Series:
    """Random UUIDs. Made here: a default that differs from row to row has COPY insert its rows one by one."""
    digits = secrets.token_hex(16 * count)
    each = (digits[start : start + 32] for start in range(0, len(digits), 32))
    return pl.Series("id", [f"{of[:12]}4{of[13:16]}a{of[17:]}" for of in each], pl.String)


def _in_order(rows: pl.DataFrame, relation: Relation) -> pl.DataFrame:
    """An index takes keys in order several times faster; a file is mostly in order already."""
    if len(relation.key) == 1 and rows.get_column(relation.key[0]).is_sorted():
        return rows
    return rows.sort(relation.key)
