"""What is kept as intervals, and the three things that happen to intervals: they open, they close, they are counted."""

import asyncio
from collections.abc import Iterable
from enum import StrEnum
from uuid import UUID

import msgspec

from rolecall.accounts.model import valid
from rolecall.core.db import Db, execute, fetch_rows


class Kind(StrEnum):
    ACCOUNT = "Account"
    GROUP = "Group"
    MEMBERSHIP = "Membership"
    PERMISSION = "Permission"
    ASSIGNMENT = "Assignment"
    IDENTITY = "Identity"


_OF_ACCOUNTS = "account_number IN (SELECT number FROM accounts WHERE application_id = %(application)s)"
_OF_GROUPS = "group_number IN (SELECT number FROM groups WHERE application_id = %(application)s)"
_OF_PERMISSIONS = "permission_number IN (SELECT number FROM permissions WHERE application_id = %(application)s)"


class Relation(msgspec.Struct, frozen=True):
    table: str
    key: tuple[str, ...]
    values: tuple[str, ...]
    # SQL: whether a row belongs to the application.
    scope: str
    kind: Kind | None

    @property
    def columns(self) -> str:
        return ", ".join((*self.key, *self.values))

    def same_key(self, a: str, b: str) -> str:
        return " AND ".join(f"{a}.{column} = {b}.{column}" for column in self.key)


ACCOUNTS = Relation(
    "account_versions",
    ("account_number",),
    ("name", "first_name", "last_name", "email", "employee_id", "is_active", "is_locked", "last_login",
     "password_changed", "metadata", "first_name_key", "last_name_key"),
    _OF_ACCOUNTS,
    Kind.ACCOUNT,
)  # fmt: skip
GROUPS = Relation(
    "group_versions", ("group_number",), ("description", "nomenclature", "parent", "metadata"), _OF_GROUPS, Kind.GROUP
)
LISTINGS = Relation("group_listings", ("group_number",), (), _OF_GROUPS, None)
MEMBERSHIPS = Relation("memberships", ("account_number", "group_number"), (), _OF_ACCOUNTS, Kind.MEMBERSHIP)
PERMISSIONS = Relation(
    "permission_versions", ("permission_number",), ("description", "risk_rating"), _OF_PERMISSIONS, Kind.PERMISSION
)
ASSIGNMENTS = Relation(
    "assignments", ("holder_number", "permission_number"), ("access", "value"), _OF_PERMISSIONS, Kind.ASSIGNMENT
)
IDENTITIES = Relation(
    "identity_versions",
    ("identity_id", "application_id"),
    ("employee_id", "fields"),
    "application_id = %(application)s",
    Kind.IDENTITY,
)
RELATIONS = (ACCOUNTS, GROUPS, LISTINGS, MEMBERSHIPS, PERMISSIONS, ASSIGNMENTS, IDENTITIES)


async def copy_in(db: Db, into: str, pieces: Iterable[bytes]) -> None:
    """`into` names a table and its columns; the pieces are CSV. One is made while the one before is taken in."""
    made = iter(pieces)
    async with db.cursor() as cursor, cursor.copy(f"COPY {into} FROM STDIN (FORMAT csv)") as copy:
        piece = next(made, b"")
        while piece:
            following = asyncio.create_task(asyncio.to_thread(next, made, b""))
            await copy.write(piece)
            piece = await following


async def copy_out(db: Db, query: str, **params: object) -> bytes:
    async with db.cursor() as cursor, cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT csv)", params) as copy:
        return b"".join([bytes(piece) async for piece in copy])


async def open_intervals(db: Db, relation: Relation, rows: Iterable[bytes]) -> None:
    """Rows of the relation's columns and `from_import`."""
    await copy_in(db, f"{relation.table} ({relation.columns}, from_import)", rows)


async def close_intervals(db: Db, relation: Relation, number: int, keys: Iterable[bytes]) -> int:
    """End the valid rows with these keys at import `number`."""
    key = ", ".join(relation.key)
    await execute(db, f"CREATE TEMP TABLE closing ON COMMIT DROP AS SELECT {key} FROM {relation.table} WITH NO DATA")
    await copy_in(db, f"closing ({key})", keys)
    # Without it the planner reads the whole table for a few keys.
    await execute(db, "ANALYZE closing")
    closed = await execute(
        db,
        f"""UPDATE {relation.table} r SET until_import = {number:d} FROM closing c
            WHERE {relation.same_key("r", "c")} AND r.until_import IS NULL""",
    )
    await execute(db, "DROP TABLE closing")
    return closed


class Tally(msgspec.Struct):
    """How many rows of one relation an import changed."""

    new: int = 0
    altered: int = 0
    removed: int = 0

    @property
    def total(self) -> int:
        return self.new + self.altered + self.removed


async def tally(db: Db, relation: Relation, number: int) -> Tally:
    since, until = (f"FROM {relation.table} WHERE {column} = {number:d}" for column in ("from_import", "until_import"))
    [(opened, closed)] = await fetch_rows(db, f"SELECT (SELECT count(*) {since}), (SELECT count(*) {until})")
    altered = 0
    if opened and closed:
        # Sets, not a join: the planner knows nothing yet of the import's rows, and would take them one by one.
        key = ", ".join(relation.key)
        [(altered,)] = await fetch_rows(
            db, f"SELECT count(*) FROM (SELECT {key} {since} INTERSECT SELECT {key} {until}) AS altered"
        )
    return Tally(opened - altered, altered, closed - altered)


async def put_back(db: Db, relation: Relation, application_id: UUID, number: int, to: int) -> None:
    """Make what is valid equal to what was valid after import `to`; the change happens at import `number`."""
    then = f"{relation.scope} AND {valid(relation.table, to)}"
    # Text stands for JSON, which has no equality of its own.
    same = " AND ".join(f"t.{column}::text = r.{column}::text" for column in (*relation.key, *relation.values))
    await execute(
        db,
        f"""CREATE TEMP TABLE then_valid ON COMMIT DROP AS
            SELECT {relation.columns} FROM {relation.table} WHERE {then}""",
        application=application_id,
    )
    await execute(
        db,
        f"""UPDATE {relation.table} r SET until_import = {number:d} WHERE r.until_import IS NULL AND {relation.scope}
            AND NOT EXISTS (SELECT FROM then_valid t WHERE {same})""",
        application=application_id,
    )
    await execute(
        db,
        f"""INSERT INTO {relation.table} ({relation.columns}, from_import)
            SELECT {relation.columns}, {number:d} FROM then_valid t
            WHERE NOT EXISTS (SELECT FROM {relation.table} r
                              WHERE r.until_import IS NULL AND {relation.same_key("t", "r")})""",
    )
    await execute(db, "DROP TABLE then_valid")
