"""A file of people becomes versions of identities; `identity_source` then shows them in the identities themselves."""

from datetime import datetime
from typing import NamedTuple

import polars as pl

from rolecall.application_imports.deltas import Delta
from rolecall.application_imports.diff import Difference, difference
from rolecall.application_imports.draft import involved
from rolecall.application_imports.finish import Run
from rolecall.application_imports.frames import as_csv, as_frame
from rolecall.application_imports.relations import IDENTITIES, close_intervals, copy_in, copy_out, open_intervals
from rolecall.application_imports.rows import sort_keys
from rolecall.core.db import Db, execute


class PeopleDraft(NamedTuple):
    """What will change in what the source says of people; `before` knows their identities."""

    before: pl.DataFrame
    change: Difference

    @property
    def applied(self) -> dict[int, int]:
        """Rows that change something, by file."""
        return dict(self.change.opened.group_by("file").len().iter_rows())


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
    return PeopleDraft(before, difference(before, after, ["employee_id"], ["fields"]))


async def write(db: Db, run: Run, draft: PeopleDraft, now: datetime) -> None:
    before, change = draft
    application = pl.lit(str(run.application_id)).alias("application_id")
    gone = pl.concat([part.select("employee_id") for part in (change.altered, change.removed)])
    closed = before.join(gone, on="employee_id", how="semi").select("identity_id", application)
    if closed.height:
        await close_intervals(db, IDENTITIES, run.number, as_csv(closed))
    opened = change.opened.join(before.select("employee_id", "identity_id"), on="employee_id", how="left")
    known = opened.filter(pl.col("identity_id").is_not_null())
    if known.height:
        number = pl.lit(run.number).alias("from_import")
        columns = ("identity_id", application, "employee_id", "fields", number)
        await open_intervals(db, IDENTITIES, as_csv(known.select(*columns)))
    await _open_for_new_people(db, run, opened.filter(pl.col("identity_id").is_null()), now)


async def _open_for_new_people(db: Db, run: Run, people: pl.DataFrame, now: datetime) -> None:
    """Someone with the employee id; else the one person onboarded with the e-mail; else a new identity."""
    if not people.height:
        return
    await execute(
        db,
        """CREATE TEMP TABLE people (employee_id text, fields json, first_name_key text, last_name_key text,
                                     identity_id uuid, is_made boolean NOT NULL DEFAULT false) ON COMMIT DROP""",
    )
    keyed = people.select(
        "employee_id",
        "fields",
        sort_keys(people.get_column("first_name")).alias("first_name_key"),
        sort_keys(people.get_column("last_name")).alias("last_name_key"),
    )
    await copy_in(db, "people (employee_id, fields, first_name_key, last_name_key)", as_csv(keyed))
    await execute(db, "ANALYZE people")
    await execute(db, "UPDATE people p SET identity_id = i.id FROM identities i WHERE i.employee_id = p.employee_id")
    await execute(
        db,
        """UPDATE people p SET identity_id = one.id
           FROM (SELECT lower(email_address) AS email, (array_agg(id))[1] AS id FROM identities
                 WHERE employee_id IS NULL AND email_address <> '' AND status <> 'Removed'
                 GROUP BY 1 HAVING count(*) = 1) AS one
           JOIN (SELECT lower(fields ->> 'email') AS email FROM people GROUP BY 1 HAVING count(*) = 1) AS single
           USING (email)
           WHERE p.identity_id IS NULL AND lower(p.fields ->> 'email') = one.email""",
    )
    await execute(db, "UPDATE people SET identity_id = gen_random_uuid(), is_made = true WHERE identity_id IS NULL")
    # This and the next statement fire triggers of other packages: schema/identities.sql lists them.
    await execute(
        db,
        """INSERT INTO identities (id, employee_id, first_name, last_name, first_name_key, last_name_key,
                                   created_date, updated_date, first_seen_date)
           SELECT identity_id, employee_id, fields ->> 'first_name', fields ->> 'last_name', first_name_key,
                  last_name_key, %(now)s, %(now)s, %(now)s FROM people WHERE is_made""",
        now=now,
    )
    await execute(
        db,
        """UPDATE identities i SET employee_id = p.employee_id FROM people p
           WHERE p.identity_id = i.id AND i.employee_id IS NULL""",
    )
    await execute(
        db,
        """INSERT INTO identity_versions (identity_id, application_id, employee_id, fields, from_import)
           SELECT identity_id, %(application)s, employee_id, fields, %(number)s FROM people""",
        application=run.application_id,
        number=run.number,
    )
