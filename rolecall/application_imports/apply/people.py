"""Write the people of an identity source: their versions, and identities for people who are new.

`apply/identities.py` then updates identities that existed before.
"""

from datetime import datetime
from uuid import UUID

import polars as pl

from rolecall.application_imports.apply import identities
from rolecall.application_imports.apply.intervals import close_intervals, open_intervals
from rolecall.application_imports.compare.change_set import ordered_ids
from rolecall.application_imports.compare.copying import copy_in, copy_out
from rolecall.application_imports.compare.people import PeopleChanges
from rolecall.application_imports.model import IDENTITIES
from rolecall.application_imports.read.names import sort_keys
from rolecall.core.db import Db, execute
from rolecall.identities.model import IdentityStatus, IdentityType
from rolecall.settings.model import CUSTOM_FIELDS


async def write_people(db: Db, application_id: UUID, number: int, changes: PeopleChanges, now: datetime) -> None:
    await identities.take_turn(db)
    before, change = changes.before, changes.difference
    ended = pl.concat([part.select("employee_id") for part in (change.altered, change.removed)])
    closed = before.join(ended, on="employee_id", how="semi").select("identity_id", _application(application_id))
    if closed.height:
        await close_intervals(db, IDENTITIES, number, closed)
    opened = change.opened.join(before.select("employee_id", "identity_id"), on="employee_id", how="left")
    known = opened.filter(pl.col("identity_id").is_not_null())
    if known.height:
        await _open(db, application_id, number, known)
    new = opened.filter(pl.col("identity_id").is_null()).drop("identity_id")
    if new.height:
        people = await _with_identities(db, new, changes.fields)
        await _write_new_people(db, people, changes.fields, now)
        await _open(db, application_id, number, people)


async def _write_new_people(db: Db, people: pl.DataFrame, fields: set[str], now: datetime) -> None:
    """Insert new identities, and set the employee ID of identities that were found by e-mail."""
    made, known = people.filter("is_made"), people.filter(~pl.col("is_made"))
    if made.height:
        await identities.create_made_people(db)
        await copy_in(db, "made_people (identity_id)", made.select("identity_id"))
        await execute(db, "ANALYZE made_people")
        new = _as_identities(made, fields, now)
        # Fires triggers of other packages: schema/identities.sql lists them.
        await copy_in(db, f"identities ({', '.join(new.columns)})", new)
    if known.height:
        # Fires triggers of other packages: schema/identities.sql lists them. One of them deletes the password of a
        # person whose e-mail is not confirmed yet, so confirm the e-mail only after this update.
        await execute(
            db,
            """UPDATE identities i SET employee_id = k.employee_id
               FROM unnest(%(ids)s::uuid[], %(employee_ids)s::text[]) AS k (id, employee_id)
               WHERE k.id = i.id AND i.employee_id IS NULL""",
            ids=known.get_column("identity_id").to_list(),
            employee_ids=known.get_column("employee_id").to_list(),
        )


async def _with_identities(db: Db, people: pl.DataFrame, fields: set[str]) -> pl.DataFrame:
    """Add the columns `identity_id`, `is_made` (whether the identity is new) and `supervisor` (the id of an identity).

    Find identities by employee ID, or else by e-mail address. An address finds only an identity that has no employee ID
    and is not removed, and it must be unique among these identities and among the rows. All other rows are new people.
    An identity has the address with which the person signs in or, if they cannot sign in, an unconfirmed one.
    """
    there = await copy_out(
        db,
        """SELECT i.id, coalesce(i.employee_id, ''), CASE WHEN i.employee_id IS NULL THEN e.email ELSE '' END,
                  u.sign_in_email IS DISTINCT FROM ''
           FROM identities i LEFT JOIN unconfirmed_emails u ON u.identity_id = i.id
           CROSS JOIN LATERAL (SELECT coalesce(nullif(u.sign_in_email, ''), i.email_address) AS email) AS e
           WHERE i.employee_id IS NOT NULL OR (e.email <> '' AND i.status <> 'Removed')""",
        ["identity_id", "employee_id", "email", "is_confirmed"],
    )
    by_id = there.filter(pl.col("employee_id") != "").select("employee_id", known=pl.col("identity_id"))
    people = people.join(by_id, on="employee_id", how="left", maintain_order="left")
    if "email" in fields:
        people = _by_email(people, there.filter(pl.col("employee_id") == ""))
    made = people.filter(pl.col("known").is_null()).select("employee_id")
    ids = made.with_columns(ordered_ids(made.height).alias("made"))
    people = people.join(ids, on="employee_id", how="left", maintain_order="left")
    people = people.with_columns(identity_id=pl.coalesce("known", "made"), is_made=pl.col("known").is_null()).drop(
        "known", "made"
    )
    return _with_supervisors(people, by_id)


def _with_supervisors(people: pl.DataFrame, by_id: pl.DataFrame) -> pl.DataFrame:
    """Add the supervisor's identity, except for people who are their own supervisor."""
    above = pl.concat([people.select("employee_id", "identity_id"), by_id.rename({"known": "identity_id"})])
    above = above.unique("employee_id").rename({"employee_id": "supervisor_id", "identity_id": "supervisor"})
    people = people.join(above, on="supervisor_id", how="left", maintain_order="left")
    is_own = pl.col("supervisor") == pl.col("identity_id")
    return people.with_columns(supervisor=pl.when(~is_own).then("supervisor"))


def _by_email(people: pl.DataFrame, onboarded: pl.DataFrame) -> pl.DataFrame:
    """Set `known` where it is missing, by e-mail addresses that are unique in both `people` and `onboarded`.

    An unconfirmed address counts only if nobody in `onboarded` has confirmed the same address.
    """
    key = pl.col("email").str.to_lowercase()
    is_confirmed = pl.col("is_confirmed") == "t"
    counted = onboarded.filter(is_confirmed | ~is_confirmed.any().over(key))
    one = counted.select(key, onboarded=pl.col("identity_id")).filter(pl.len().over("email") == 1)
    is_single = pl.col("key").is_unique() & pl.col("known").is_null()
    found = people.with_columns(key=key).with_columns(is_single=is_single)
    found = found.join(one, left_on="key", right_on="email", how="left", maintain_order="left")
    matched = pl.when("is_single").then("onboarded")
    return found.with_columns(known=pl.coalesce("known", matched)).drop("key", "is_single", "onboarded")


def _as_identities(people: pl.DataFrame, fields: set[str], now: datetime) -> pl.DataFrame:
    """Return complete rows of `identities`, so that they need no update afterwards."""
    defaults = {"type": IdentityType.EMPLOYEE.value, "status": IdentityStatus.ACTIVE.value}

    def text(column: str, field: str) -> pl.Expr:
        return (pl.col(field) if field in fields else pl.lit(defaults.get(field, ""))).alias(column)

    def date(column: str, field: str) -> pl.Expr:
        moment = pl.lit(now.isoformat())
        given = pl.when(pl.col(field) != "").then(pl.col(field)) if field in fields else pl.when(False).then(moment)
        return given.otherwise(moment).alias(column)

    custom = [pl.col(f"custom_field_{n}").alias(str(n)) for n in CUSTOM_FIELDS if f"custom_field_{n}" in fields]
    rows = people.select(
        pl.col("identity_id").alias("id"),
        "employee_id",
        *(text(column, field) for column, field in (*identities.TEXTS.items(), ("status", "status"))),
        (pl.struct(custom).struct.json_encode() if custom else pl.lit("{}")).alias("custom_fields"),
        pl.col("supervisor").alias("supervisor_id"),
        date("created_date", "created"),
        date("updated_date", "updated"),
        pl.lit(now.isoformat()).alias("first_seen_date"),
        sort_keys(people.get_column("first_name")).alias("first_name_key"),
        sort_keys(people.get_column("last_name")).alias("last_name_key"),
    )
    is_active = pl.col("status") == IdentityStatus.ACTIVE.value
    return rows.with_columns(pl.when(~is_active).then(pl.lit(now.isoformat())).alias("inactivated_date"))


async def _open(db: Db, application_id: UUID, number: int, people: pl.DataFrame) -> None:
    columns = ("identity_id", _application(application_id), "employee_id", "fields")
    await open_intervals(db, IDENTITIES, number, people.select(*columns))


def _application(id: UUID) -> pl.Expr:
    return pl.lit(str(id)).alias("application_id")
