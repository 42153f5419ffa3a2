"""Read the current state of an application as frames: the whole state, or the part that some rows refer to."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple
from uuid import UUID

import polars as pl

from rolecall.application_imports.compare.copying import copy_in, copy_out, copy_out_pieces, empty_frame
from rolecall.application_imports.model import ACCOUNTS, GROUPS, PERMISSIONS, Relation
from rolecall.application_imports.read.parts import ONE_PART, Parting, RowParts
from rolecall.core.db import Db, execute, fetch_rows, fetch_value


class NameIndex(NamedTuple):
    """The numbers of accounts, groups or permissions by name, with current values and whether each is present."""

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
    """A table that assigns numbers to names. `name` lists the columns of a name, `in_files` those in files."""

    table: str
    name: list[str]
    in_files: list[str]
    # SQL for the flag `is_listed`, if the table has one.
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


def _names_query(relation: Relation, *, is_all: bool) -> tuple[str, list[str]]:
    """Return a query for all names or for the names in the table `wanted`, and the columns of the result."""
    table, name, in_files, extra = _NAMED_TABLES[relation.table]
    flags = ["is_present", "is_listed"] if extra else ["is_present"]
    selected = ", ".join(f"e.{column}" for column in name)
    values = ", ".join(f"v.{column}::text" for column in relation.values)
    same = " AND ".join(f"w.{column} = e.{column}" for column in name)
    query = f"""
        SELECT {selected}, e.number, (v.from_import IS NOT NULL)::text, {extra}{values}
        FROM {table} e {"" if is_all else f"JOIN wanted w ON {same}"}
        LEFT JOIN {relation.table} v ON v.{relation.key[0]} = e.number AND v.until_import IS NULL
        WHERE e.application_id = %(application)s"""
    return query, [*in_files, "number", *flags, *relation.values]


def _rows_query(relation: Relation, condition: str) -> tuple[str, list[str]]:
    """Return a query for current rows, whose intervals are open, and the columns of the result."""
    query = f"SELECT {relation.columns} FROM {relation.table} r WHERE r.until_import IS NULL AND {condition}"
    return query, [*relation.key, *relation.values]


class CurrentState:
    def __init__(self, db: Db, application_id: UUID, parting: Parting = ONE_PART) -> None:
        self.db = db
        self.application_id = application_id
        self.parting = parting

    async def index(self, relation: Relation, wanted: pl.DataFrame | None) -> NameIndex:
        """Return the index of the wanted names; if `wanted` is None, of all names that the application ever had."""
        table, name, in_files, _ = _NAMED_TABLES[relation.table]
        query, columns = _names_query(relation, is_all=wanted is None)
        if wanted is None:
            return NameIndex(await self._copy_out(query, columns), in_files)
        if not wanted.height:
            return NameIndex(empty_frame(columns), in_files)
        async with self._wanted(table, name, wanted):
            return NameIndex(await self._copy_out(query, columns), in_files)

    async def all_accounts(self) -> RowParts:
        """Return the index of all accounts that the application ever had, in parts."""
        found = RowParts(self.parting)
        query, columns = _names_query(ACCOUNTS, is_all=True)
        async for frame in copy_out_pieces(self.db, query, columns, application=self.application_id):
            found.add(frame, self.parting.number(pl.col("username")))
        return found

    async def valid_rows(self, relation: Relation, keys: pl.DataFrame) -> pl.DataFrame:
        """Return the current rows with the given keys."""
        async with self._wanted(relation.table, relation.key, keys):
            has_key = f"EXISTS (SELECT FROM wanted w WHERE {relation.same_key('w', 'r')})"
            return await self._copy_out(*_rows_query(relation, has_key))

    async def all_rows(self, relation: Relation) -> RowParts:
        """Return all current rows of the application, in parts by holder. Rows of unknown holders are in part 0."""
        found = RowParts(self.parting)
        number, holders = pl.lit(0, pl.UInt16), None
        if self.parting.count > 1:
            number, holders = pl.col("part").fill_null(0), await self._parts_of_holders(relation.key[0])
        query, columns = _rows_query(relation, relation.scope)
        async for frame in copy_out_pieces(self.db, query, columns, application=self.application_id):
            rows = frame if holders is None else frame.join(holders, on=relation.key[0], how="left")
            found.add(rows, number)
        return found

    async def _parts_of_holders(self, key: str) -> pl.DataFrame:
        """Return the numbers of all accounts and groups with their parts."""
        query = """SELECT number, username FROM accounts WHERE application_id = %(application)s
                   UNION ALL SELECT number, name FROM groups WHERE application_id = %(application)s"""
        pieces = copy_out_pieces(self.db, query, ["number", "name"], application=self.application_id)
        part = self.parting.number(pl.col("name")).alias("part")
        return pl.concat([frame.select(pl.col("number").alias(key), part) async for frame in pieces])

    async def _copy_out(self, query: str, columns: list[str]) -> pl.DataFrame:
        return await copy_out(self.db, query, columns, application=self.application_id)

    @asynccontextmanager
    async def _wanted(self, table: str, columns: Sequence[str], frame: pl.DataFrame) -> AsyncIterator[None]:
        """Provide the rows of `frame` as a temporary table `wanted` for joins."""
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
        # Fetch one array, because fetching a row for each number takes several times as long.
        query = f"SELECT array_agg(nextval('{sequence}')::int) FROM generate_series(1, %(n)s)"
        numbers = await fetch_value(self.db, query, n=count) if count else []
        return pl.Series("number", numbers, pl.Int32).sort()
