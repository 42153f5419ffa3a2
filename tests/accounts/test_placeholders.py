"""Test that matching takes linear time if many accounts and identities have the same e-mail or name."""

from datetime import UTC, datetime

import pytest

from rolecall.accounts import matching
from rolecall.core.db import Db, execute, fetch_rows
from tests.builders import an_application, an_identity
from tests.holdings import a_finished_import

MANY = 5000
# The columns of identities that the copies have in common.
COPIED = """first_name, last_name, email_address, type, title, company, division, department, office, custom_fields,
    created_date, updated_date, first_seen_date, status, last_name_key, first_name_key"""


@pytest.mark.parametrize(
    ("email", "name"), [("none@x.test", ""), ("", "test")], ids=["the same e-mail", "the same name"]
)
async def test_many_accounts_and_identities_with_the_same_value_are_matched_in_seconds(
    db: Db, email: str, name: str
) -> None:
    application = await an_application(db)
    run = await a_finished_import(db, application)
    await an_identity(db, "Test", "Test", email="none@x.test")
    await execute(
        db,
        f"""INSERT INTO identities (id, {COPIED})
            SELECT gen_random_uuid(), {COPIED} FROM identities, generate_series(1, %(n)s)""",
        n=MANY,
    )
    await execute(
        db,
        """WITH made AS (INSERT INTO accounts (application_id, username, match)
                         SELECT %(application)s, 'user' || n, 'Unmatched' FROM generate_series(1, %(n)s) AS n
                         RETURNING number, username)
           INSERT INTO account_versions (account_number, from_import, until_import, name, first_name, last_name, email,
               employee_id, is_active, is_locked, last_login, password_changed, metadata, last_name_key, first_name_key)
           SELECT number, %(run)s, NULL, username, '', '', %(email)s, '', true, false, '', '', '{}', %(name)s, %(name)s
           FROM made""",
        application=application,
        run=run,
        n=MANY,
        email=email,
        name=name,
    )
    async with db.transaction():
        await execute(db, "SET LOCAL statement_timeout = '10s'")
        await matching.match_imported(db, run, datetime.now(UTC))

    assert await fetch_rows(db, "SELECT match, count(*) FROM accounts GROUP BY match") == [("Disputed", MANY)]
