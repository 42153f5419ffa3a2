"""Read the current state of an application as frames: all of it, or what some rows refer to."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple
from uuid import UUID

import polars as pl

from rolecall.application_imports.compare.copying import copy_in, copy_out, empty_frame
from rolecall.application_imports.model import ACCOUNTS, GROUPS, PERMISSIONS, Relation
from rolecall.core.db import Db, execute, fetch_rows


class NameIndex(NamedTuple):
    """The numbers of names, with whether each is present now and its current values."""

    frame: pl.DataFrame
    name: list[str]

    def with_numbers_for(self, names: pl.DataFrame, numbers: pl.Series) -> "NameIndex":
        new = names.with_columns(number=numbers, is_present=pl.lit(False))
        return NameIndex(pl.concat([self.frame, new], how="diagonal"), self.name)

    def missing(self, names: pl.DataFrame) -> pl.DataFrame:
        return names.join(self.frame, on=self.name, how="anti")

    def number(self, frame: pl.DataFrame, into: str) -> pl.DataFrame:
        """Add the numbers of the names in `frame` as the column `into`."""
        numbers = self.frame.select(*self.name, pl.col("number").alias(into))
        return frame.join(numbers, on=self.name, how="left", maintain_order="left")


class _NamedTable(NamedTuple):
    """A table of names with numbers: the columns that name a row, in the table and in files."""

    table: str
    name: list[str]
    in_files: list[str]
    extra: str = ""


_NAME = ["header", "section", "permission"]
_NAMED_TABLES = {
    ACCOUNTS.table: _NamedTable("accounts", ["username"], ["username"]),
    GROUPS.table: _NamedTable(
        "groups",
        ["name"],
        ["group"],
        "EXISTS (SELECT FROM group_listings l WHERE l.group_number = e.number AND l.until_import IS NULL)::text, ",
    ),
    PERMISSIONS.table: _NamedTable("permissions", _NAME, _NAME),
}


class CurrentState:
    def __init__(self, db: Db, application_id: UUID) -> None:
        self.db = db
        self.application_id = application_id

    async def index(self, relation: Relation, wanted: pl.DataFrame | None) -> NameIndex:
        """Look up the wanted names, or all that the application ever had."""
        table, name, in_files, extra = _NAMED_TABLES[relation.table]
        flags = ["is_present", "is_listed"] if extra else ["is_present"]
        columns = [*in_files, "number", *flags, *relation.values]
        if wanted is not None and not wanted.height:
            return NameIndex(empty_frame(columns), in_files)
        selected = ", ".join(f"e.{column}" for column in name)
        values = ", ".join(f"v.{column}::text" for column in relation.values)
        same = " AND ".join(f"w.{column} = e.{column}" for column in name)
        async with self._wanted(table, name, wanted):
            frame = await copy_out(
                self.db,
                f"""SELECT {selected}, e.number, (v.from_import IS NOT NULL)::text, {extra}{values}
                    FROM {table} e {f"JOIN wanted w ON {same}" if wanted is not None else ""}
                    LEFT JOIN {relation.table} v ON v.{relation.key[0]} = e.number AND v.until_import IS NULL
                    WHERE e.application_id = %(application)s""",
                columns,
                application=self.application_id,
            )
        return NameIndex(frame, in_files)

    async def valid_rows(self, relation: Relation, keys: pl.DataFrame | None = None) -> pl.DataFrame:
        """Return the valid rows of the application, or those with the given keys."""
        has_key = f"EXISTS (SELECT FROM wanted w WHERE {relation.same_key('w', 'r')})"
        async with self._wanted(relation.table, relation.key, keys):
            return await copy_out(
                self.db,
                f"""SELECT {relation.columns} FROM {relation.table} r
                    WHERE r.until_import IS NULL AND {relation.scope if keys is None else has_key}""",
                [*relation.key, *relation.values],
                application=self.application_id,
            )

    @asynccontextmanager
    async def _wanted(self, table: str, columns: Sequence[str], frame: pl.DataFrame | None) -> AsyncIterator[None]:
        """Provide the rows of `frame` as a temporary table `wanted` for joins."""
        if frame is None:
            yield
            return
        names = ", ".join(columns)
        async with self.db.transaction():
            await execute(self.db, f"CREATE TEMP TABLE wanted ON COMMIT DROP AS SELECT {names} FROM {table} LIMIT 0")
            await copy_in(self.db, f"wanted ({names})", frame)
            await execute(self.db, "ANALYZE wanted")
            yield

    async def held_by(self, accounts: pl.DataFrame, relation: Relation) -> pl.DataFrame:
        rows = await fetch_rows(
            self.db,
            f"""SELECT {", ".join(relation.key)} FROM {relation.table}
                WHERE {relation.key[0]} = ANY(%(accounts)s) AND until_import IS NULL""",
            accounts=accounts.get_column("number").to_list(),
        )
        return pl.DataFrame(rows, schema=dict.fromkeys(relation.key, pl.Int32), orient="row")

    async def new_numbers(self, sequence: str, count: int) -> pl.Series:
        if not count:
            return empty_frame(["number"]).get_column("number")
        query = f"SELECT nextval('{sequence}')::int FROM generate_series(1, %(n)s)"
        return (await copy_out(self.db, query, ["number"], n=count)).get_column("number").sort()
