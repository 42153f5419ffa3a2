"""A file of people becomes versions of identities; `identity_source` then shows them in the identities themselves."""

from datetime import datetime
from typing import NamedTuple

import polars as pl

from rolecall.application_imports.apply import identities as identity_source
from rolecall.application_imports.compare.change_set import MANY, involved, random_ids
from rolecall.application_imports.compare.copying import as_csv, as_frame
from rolecall.application_imports.compare.diff import Difference, difference
from rolecall.application_imports.compare.relations import (
    IDENTITIES,
    close_intervals,
    copy_in,
    copy_out,
    open_intervals,
)
from rolecall.application_imports.read.file_delta import Delta
from rolecall.application_imports.read.rows import sort_keys
from rolecall.application_imports.run.finish import Run
from rolecall.core.db import Db, execute
from rolecall.identities.model import IdentityStatus, IdentityType
from rolecall.settings.model import CUSTOM_FIELDS


class PeopleDraft(NamedTuple):
    """What will change in what the source says of people; `before` knows their identities."""

    before: pl.DataFrame
    change: Difference
    # The fields that the file has a column for.
    said: set[str]

    @property
    def applied(self) -> dict[int, int]:
        """Rows that change something, by file."""
        return dict(self.change.opened.group_by("file").len().iter_rows())

    def grown(self) -> list[str]:
        """The tables that got many rows."""
        return ["identities", "identity_versions"] if self.change.opened.height >= MANY else []


async def draw_up(db: Db, run: Run, people: Delta) -> PeopleDraft:
    # Only what the file has a column for is said of a person; the rest stays as it is.
    said = sorted(people.columns - {"employee_id"})
    after = people.after.with_columns(fields=pl.struct(said).struct.json_encode())
    text = await copy_out(
        db,
        """SELECT employee_id, identity_id, fields FROM identity_versions
           WHERE application_id = %(application)s AND until_import IS NULL""",
        application=run.application_id,
    )
    before = as_frame(text, ["employee_id", "identity_id", "fields"])
    if people.gone is not None:
        before = involved(people, before, ["employee_id"])
    return PeopleDraft(before, difference(before, after, ["employee_id"], ["fields"]), set(said))


async def write(db: Db, run: Run, draft: PeopleDraft, now: datetime) -> None:
    before, change = draft.before, draft.change
    application = pl.lit(str(run.application_id)).alias("application_id")
    gone = pl.concat([part.select("employee_id") for part in (change.altered, change.removed)])
    closed = before.join(gone, on="employee_id", how="semi").select("identity_id", application)
    if closed.height:
        await close_intervals(db, IDENTITIES, run.number, as_csv(closed))
    opened = change.opened.join(before.select("employee_id", "identity_id"), on="employee_id", how="left")
    known = opened.filter(pl.col("identity_id").is_not_null())
    if known.height:
        await _open(db, run, known)
    new = opened.filter(pl.col("identity_id").is_null()).drop("identity_id")
    await _open_for_new_people(db, run, new, draft.said, now)


async def _open_for_new_people(db: Db, run: Run, people: pl.DataFrame, said: set[str], now: datetime) -> None:
    """Someone with the employee id; else the one person onboarded with the e-mail; else a new identity."""
    if not people.height:
        return
    people = await _found(db, people, said)
    made, known = people.filter("is_made"), people.filter(~pl.col("is_made"))
    if made.height:
        await identity_source.prepare(db)
        await copy_in(db, "made_people (identity_id)", as_csv(made.select("identity_id")))
        await execute(db, "ANALYZE made_people")
        new = _as_identities(made, said, now)
        # Fires triggers of other packages: schema/identities.sql lists them.
        await copy_in(db, f"identities ({', '.join(new.columns)})", as_csv(new))
    if known.height:
        # Fires the same triggers, schema/identities.sql.
        await execute(
            db,
            """UPDATE identities i SET employee_id = k.employee_id
               FROM unnest(%(ids)s::uuid[], %(employee_ids)s::text[]) AS k (id, employee_id)
               WHERE k.id = i.id AND i.employee_id IS NULL""",
            ids=known.get_column("identity_id").to_list(),
            employee_ids=known.get_column("employee_id").to_list(),
        )
    await _open(db, run, people)


async def _found(db: Db, people: pl.DataFrame, said: set[str]) -> pl.DataFrame:
    """Add `identity_id`, `supervisor` (an identity, if known) and `is_made` (the identity is new) to the people."""
    text = await copy_out(
        db,
        """SELECT id, coalesce(employee_id, ''), CASE WHEN employee_id IS NULL THEN email_address ELSE '' END
           FROM identities WHERE employee_id IS NOT NULL OR (email_address <> '' AND status <> 'Removed')""",
    )
    there = as_frame(text, ["identity_id", "employee_id", "email"])
    by_id = there.filter(pl.col("employee_id") != "").select("employee_id", known=pl.col("identity_id"))
    people = people.join(by_id, on="employee_id", how="left", maintain_order="left")
    if "email" in said:
        people = _by_email(people, there.filter(pl.col("employee_id") == ""))
    made = people.filter(pl.col("known").is_null()).select("employee_id")
    # Sort the ids, so that rows enter the indexes in order.
    ids = made.with_columns(random_ids(made.height).sort().alias("made"))
    people = people.join(ids, on="employee_id", how="left", maintain_order="left")
    people = people.with_columns(identity_id=pl.coalesce("known", "made"), is_made=pl.col("known").is_null()).drop(
        "known", "made"
    )
    above = pl.concat([people.select("employee_id", "identity_id"), by_id.rename({"known": "identity_id"})])
    above = above.unique("employee_id").rename({"employee_id": "supervisor_id", "identity_id": "supervisor"})
    people = people.join(above, on="supervisor_id", how="left", maintain_order="left")
    # Nobody is their own supervisor, whatever the file says.
    is_own = pl.col("supervisor") == pl.col("identity_id")
    return people.with_columns(supervisor=pl.when(~is_own).then("supervisor"))


def _by_email(people: pl.DataFrame, onboarded: pl.DataFrame) -> pl.DataFrame:
    """Fill a missing `known` with the identity without employee ID of the same e-mail, if both are unique."""
    key = pl.col("email").str.to_lowercase()
    one = onboarded.select(key, onboarded=pl.col("identity_id")).filter(pl.len().over("email") == 1)
    is_single = pl.col("key").is_unique() & pl.col("known").is_null()
    found = people.with_columns(key=key).with_columns(is_single=is_single)
    found = found.join(one, left_on="key", right_on="email", how="left", maintain_order="left")
    matched = pl.when("is_single").then("onboarded")
    return found.with_columns(known=pl.coalesce("known", matched)).drop("key", "is_single", "onboarded")


def _as_identities(people: pl.DataFrame, said: set[str], now: datetime) -> pl.DataFrame:
    """Return complete rows of `identities`, so that no update has to follow."""
    defaults = {"type": IdentityType.EMPLOYEE.value, "status": IdentityStatus.ACTIVE.value}

    def shown(column: str, field: str) -> pl.Expr:
        return (pl.col(field) if field in said else pl.lit(defaults.get(field, ""))).alias(column)

    def date(column: str, field: str) -> pl.Expr:
        moment = pl.lit(now.isoformat())
        given = pl.when(pl.col(field) != "").then(pl.col(field)) if field in said else pl.when(False).then(moment)
        return given.otherwise(moment).alias(column)

    custom = [pl.col(f"custom_field_{n}").alias(str(n)) for n in CUSTOM_FIELDS if f"custom_field_{n}" in said]
    rows = people.select(
        pl.col("identity_id").alias("id"),
        "employee_id",
        *(shown(column, field) for column, field in (*identity_source.TEXTS.items(), ("status", "status"))),
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


async def _open(db: Db, run: Run, people: pl.DataFrame) -> None:
    columns = (
        "identity_id",
        pl.lit(str(run.application_id)).alias("application_id"),
        "employee_id",
        "fields",
        pl.lit(run.number).alias("from_import"),
    )
    await open_intervals(db, IDENTITIES, as_csv(people.select(*columns)))
