"""What an application holds now, as frames: everything, or what some rows are about."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple
from uuid import UUID

import polars as pl

from rolecall.application_imports.compare.copying import as_csv, as_frame
from rolecall.application_imports.compare.relations import ACCOUNTS, GROUPS, PERMISSIONS, Relation, copy_in, copy_out
from rolecall.core.db import Db, execute, fetch_rows


class Known(NamedTuple):
    """Names with their numbers; whether each is there now, and with what values."""

    frame: pl.DataFrame
    name: list[str]

    def with_numbers_for(self, names: pl.DataFrame, numbers: pl.Series) -> "Known":
        new = names.with_columns(number=numbers, is_present=pl.lit(False))
        return Known(pl.concat([self.frame, new], how="diagonal"), self.name)

    def missing(self, names: pl.DataFrame) -> pl.DataFrame:
        return names.join(self.frame, on=self.name, how="anti")

    def number(self, frame: pl.DataFrame, into: str) -> pl.DataFrame:
        numbers = self.frame.select(*self.name, pl.col("number").alias(into))
        return frame.join(numbers, on=self.name, how="left", maintain_order="left")


class _Entity(NamedTuple):
    """What exists once for all, and the columns that name it: in the table, and in the files."""

    table: str
    name: list[str]
    said: list[str]
    extra: str = ""


_NAME = ["header", "section", "permission"]
_ENTITIES = {
    ACCOUNTS.table: _Entity("accounts", ["username"], ["username"]),
    GROUPS.table: _Entity(
        "groups",
        ["name"],
        ["group"],
        "EXISTS (SELECT FROM group_listings l WHERE l.group_number = e.number AND l.until_import IS NULL)::text, ",
    ),
    PERMISSIONS.table: _Entity("permissions", _NAME, _NAME),
}


class State:
    def __init__(self, db: Db, application_id: UUID) -> None:
        self.db = db
        self.application_id = application_id

    async def known(self, relation: Relation, wanted: pl.DataFrame | None) -> Known:
        """Of the names wanted, or all: those that the application ever had."""
        table, name, said, extra = _ENTITIES[relation.table]
        flags = ["is_present", "is_listed"] if extra else ["is_present"]
        columns = [*said, "number", *flags, *relation.values]
        if wanted is not None and not wanted.height:
            return Known(as_frame(b"", columns), said)
        selected = ", ".join(f"e.{column}" for column in name)
        values = ", ".join(f"v.{column}::text" for column in relation.values)
        same = " AND ".join(f"w.{column} = e.{column}" for column in name)
        async with self._wanted(table, name, wanted):
            text = await copy_out(
                self.db,
                f"""SELECT {selected}, e.number, (v.from_import IS NOT NULL)::text, {extra}{values}
                    FROM {table} e {f"JOIN wanted w ON {same}" if wanted is not None else ""}
                    LEFT JOIN {relation.table} v ON v.{relation.key[0]} = e.number AND v.until_import IS NULL
                    WHERE e.application_id = %(application)s""",
                application=self.application_id,
            )
        return Known(as_frame(text, columns), said)

    async def current(self, relation: Relation, keys: pl.DataFrame | None = None) -> pl.DataFrame:
        """The rows that are valid: of the application, or with these keys."""
        involved = f"EXISTS (SELECT FROM wanted w WHERE {relation.same_key('w', 'r')})"
        async with self._wanted(relation.table, relation.key, keys):
            text = await copy_out(
                self.db,
                f"""SELECT {relation.columns} FROM {relation.table} r
                    WHERE r.until_import IS NULL AND {relation.scope if keys is None else involved}""",
                application=self.application_id,
            )
        return as_frame(text, [*relation.key, *relation.values])

    @asynccontextmanager
    async def _wanted(self, table: str, columns: Sequence[str], frame: pl.DataFrame | None) -> AsyncIterator[None]:
        """The rows of `frame`, for a query to join with."""
        if frame is None:
            yield
            return
        names = ", ".join(columns)
        async with self.db.transaction():
            await execute(self.db, f"CREATE TEMP TABLE wanted ON COMMIT DROP AS SELECT {names} FROM {table} LIMIT 0")
            await copy_in(self.db, f"wanted ({names})", as_csv(frame))
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

    async def numbers(self, sequence: str, count: int) -> pl.Series:
        query = f"SELECT nextval('{sequence}')::int FROM generate_series(1, %(n)s)"
        text = await copy_out(self.db, query, n=count) if count else b""
        return as_frame(text, ["number"]).get_column("number").sort()
