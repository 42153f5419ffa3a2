"""Test that matching takes linear time if many accounts and identities have the same e-mail or name."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from rolecall.accounts import matching
from rolecall.core.db import Db, execute, fetch_rows, fetch_value, session_options
from tests.builders import an_application, an_identity
from tests.holdings import a_finished_import

FEW, MANY = 250, 1000
# The columns of identities that the copies have in common.
COPIED = """first_name, last_name, email_address, type, title, company, division, department, office, custom_fields,
    created_date, updated_date, first_seen_date, status, last_name_key, first_name_key"""


class Explained(psycopg.AsyncCursor[Any]):
    """A cursor that runs the statement of matching with EXPLAIN ANALYZE, and stores the plan in a setting."""

    async def execute(self, query: Any, *args: Any, **kwargs: Any) -> Any:
        if "UPDATE accounts" not in query:
            return await super().execute(query, *args, **kwargs)
        await super().execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}", *args, **kwargs)
        [(plan,)] = await self.fetchall()
        return await super().execute("SELECT set_config('tests.plan', %s::text, false)", (Jsonb(plan),))


@pytest.fixture
async def explaining(clean_database: str) -> AsyncIterator[Db]:
    options = session_options("http://rolecall.test")
    async with await psycopg.AsyncConnection.connect(
        clean_database, autocommit=True, options=options, cursor_factory=Explained
    ) as db:
        yield db


def rows_in(plan: dict[str, Any]) -> int:
    """Return how many rows the nodes of a plan returned or filtered out."""
    counts = [plan.get(key, 0) for key in ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Join Filter")]
    return int(sum(counts) * plan["Actual Loops"]) + sum(map(rows_in, plan.get("Plans", [])))


async def placeholders(db: Db, many: int, shared: str, confirmed: int | None) -> int:
    """Create identities and accounts that share an e-mail or name; return their import.

    If `confirmed` is not None, the e-mails of all identities but that many are unconfirmed.
    """
    # Values differ between calls, so that a call does not match what an earlier one created.
    email, last, first = (f"none@{many}.test", "", "") if shared == "email" else ("", str(many), "test")
    application = await an_application(db, f"{many} accounts")
    run = await a_finished_import(db, application)
    copied = await an_identity(db, "Test", str(many), email=f"none@{many}.test")
    await execute(
        db,
        f"""INSERT INTO identities (id, {COPIED})
            SELECT gen_random_uuid(), {COPIED} FROM identities, generate_series(2, %(n)s) WHERE id = %(id)s""",
        n=many,
        id=copied,
    )
    await execute(
        db,
        """INSERT INTO unconfirmed_emails
           SELECT id, '', now() FROM identities WHERE last_name = %(name)s OFFSET %(confirmed)s""",
        name=str(many),
        confirmed=many if confirmed is None else confirmed,
    )
    await execute(
        db,
        """WITH made AS (INSERT INTO accounts (application_id, username, match)
                         SELECT %(application)s, 'user' || n, 'Unmatched' FROM generate_series(1, %(n)s) AS n
                         RETURNING number, username)
           INSERT INTO account_versions (account_number, from_import, until_import, name, first_name, last_name, email,
               employee_id, is_active, is_locked, last_login, password_changed, metadata, last_name_key, first_name_key)
           SELECT number, %(run)s, NULL, username, '', '', %(email)s, '', true, false, '', '', '{}', %(last)s, %(first)s
           FROM made""",
        application=application,
        run=run,
        n=many,
        email=email,
        first=first,
        last=last,
    )
    # Whether autovacuum has already seen these rows must not decide the plan.
    await execute(db, "ANALYZE accounts, account_versions, identities, identities_to_match, unconfirmed_emails")
    return run


async def rows_read(db: Db, run: int, *, is_change: bool) -> int:
    """Match, and return how many rows that reads, including those that SQL functions read."""
    now = datetime.now(UTC)
    async with db.transaction():
        await (matching.match_changed_identities(db, now) if is_change else matching.match_imported(db, run, now))
        [plan] = await fetch_value(db, "SELECT current_setting('tests.plan')::jsonb")
        own: int = await fetch_value(
            db,
            "SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_xact_user_tables",
        )
    return own + rows_in(plan["Plan"])


@pytest.mark.parametrize("is_change", [False, True], ids=["an import", "changed identities"])
@pytest.mark.parametrize(
    ("shared", "confirmed", "match"),
    [("email", None, "Disputed"), ("email", 0, "Disputed"), ("email", 1, "Email"), ("name", None, "Disputed")],
    ids=["the same e-mail", "the same unconfirmed e-mail", "one of them confirmed", "the same name"],
)
async def test_four_times_as_many_accounts_and_identities_with_one_value_take_about_four_times_the_work(
    explaining: Db, shared: str, confirmed: int | None, match: str, is_change: bool
) -> None:
    reads = []
    for many in FEW, MANY:
        run = await placeholders(explaining, many, shared, confirmed)
        reads.append(await rows_read(explaining, run, is_change=is_change))
        if not is_change:
            await execute(explaining, "DELETE FROM identities_to_match")

    assert reads[1] / reads[0] < 6
    assert await fetch_rows(explaining, "SELECT match, count(*) FROM accounts GROUP BY match") == [(match, FEW + MANY)]
