"""Match accounts to identities: by pin, then employee ID, e-mail, and first and last name.

Matching runs at the end of every import, in the worker when identities change, and when a pin is removed.
"""

from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.core import clock
from rolecall.core.db import Db, execute, fetch_rows, fetch_value

# The first rule that matches an identity decides; if it matches several, the account is disputed. A leaver's account
# still belongs to the leaver, so only the weakest rule, names, requires an active identity. An unconfirmed e-mail
# matches only if it is not the confirmed e-mail of another person (docs/decisions/0121).
_TOLD = """
    told AS MATERIALIZED (
        SELECT a.number, lower(v.employee_id) AS employee_id, lower(v.email) AS email,
               v.last_name_key, v.first_name_key
        FROM affected JOIN accounts a USING (number)
        JOIN account_versions v ON v.account_number = a.number AND v.until_import IS NULL
        WHERE a.pin IS NULL)"""
_FITS = f"""{_TOLD},
    told_emails AS MATERIALIZED (
        SELECT number, email, has_confirmed_bearer(email) AS is_confirmed FROM told WHERE email <> ''),
    fits AS (
        SELECT t.number, 1 AS way, i.id FROM told t JOIN identities i ON lower(i.employee_id) = t.employee_id
        WHERE t.employee_id <> '' AND i.employee_id IS NOT NULL
        UNION ALL
        SELECT t.number, 2, i.id FROM told_emails t JOIN identities i ON lower(i.email_address) = t.email
        LEFT JOIN unconfirmed_emails u ON u.identity_id = i.id
        WHERE i.email_address <> '' AND (u.identity_id IS NULL OR NOT t.is_confirmed)
        UNION ALL
        SELECT t.number, 2, u.identity_id FROM told_emails t
        JOIN unconfirmed_emails u ON lower(u.sign_in_email) = t.email WHERE u.sign_in_email <> ''
        UNION ALL
        SELECT t.number, 3, i.id FROM told t
        JOIN identities i ON i.last_name_key = t.last_name_key AND i.first_name_key = t.first_name_key
        WHERE t.last_name_key <> '' AND t.first_name_key <> '' AND i.status = 'Active')"""
# Read e-mails and names once for each value: with all pairs, a placeholder such as none@example.com in 3,000 accounts
# and identities took 23 s. `mailed` and `named` combine values and accounts by a window function instead of a join,
# because wrong estimates could turn a join into a nested loop.
# The UPDATE fires count_matching and keep_past (schema/accounts.sql), note_to_evaluate (schema/duties.sql) and
# recheck_requests (schema/access_requests.sql).
_MATCH = f"""{_TOLD},
    by_id AS MATERIALIZED (
        SELECT t.number, t.email, t.last_name_key, t.first_name_key, e.people, e.id
        FROM told t
        LEFT JOIN LATERAL (
            SELECT count(*) AS people, (array_agg(f.id))[1] AS id FROM (
                SELECT i.id FROM identities i
                WHERE t.employee_id <> '' AND lower(i.employee_id) = t.employee_id AND i.employee_id IS NOT NULL
                LIMIT 2) AS f) AS e ON e.id IS NOT NULL),
    mails AS (
        -- The confirmed bearers of an e-mail or, if there are none, the unconfirmed ones.
        SELECT k.email, b.people, b.id FROM (SELECT DISTINCT email FROM by_id WHERE id IS NULL AND email <> '') AS k
        CROSS JOIN LATERAL (
            SELECT count(*) AS people, (array_agg(f.id))[1] AS id FROM (
                SELECT i.id, NOT EXISTS (SELECT FROM unconfirmed_emails u WHERE u.identity_id = i.id) AS is_confirmed
                FROM identities i WHERE lower(i.email_address) = k.email AND i.email_address <> ''
                UNION ALL
                SELECT u.identity_id, true FROM unconfirmed_emails u
                WHERE lower(u.sign_in_email) = k.email AND u.sign_in_email <> '') AS f
            GROUP BY f.is_confirmed ORDER BY f.is_confirmed DESC LIMIT 1) AS b),
    mailed AS (
        SELECT number, last_name_key, first_name_key, max(people) OVER same AS people,
               (array_agg(id) FILTER (WHERE id IS NOT NULL) OVER same)[1] AS id
        FROM (SELECT number, email, last_name_key, first_name_key, NULL::bigint AS people, NULL::uuid AS id
              FROM by_id WHERE id IS NULL AND email <> ''
              UNION ALL SELECT NULL, email, NULL, NULL, people, id FROM mails) AS n
        WINDOW same AS (PARTITION BY email COLLATE "C")),
    best AS MATERIALIZED (
        SELECT number, last_name_key, first_name_key, people, id, 1 AS way FROM by_id WHERE id IS NOT NULL OR email = ''
        UNION ALL SELECT number, last_name_key, first_name_key, people, id, 2 FROM mailed WHERE number IS NOT NULL),
    names AS (
        SELECT k.last_name_key, k.first_name_key, count(*) AS people, (array_agg(i.id))[1] AS id
        FROM (SELECT DISTINCT last_name_key, first_name_key FROM best
              WHERE id IS NULL AND last_name_key <> '' AND first_name_key <> '') AS k
        JOIN identities i ON i.last_name_key = k.last_name_key AND i.first_name_key = k.first_name_key
        WHERE i.status = 'Active' GROUP BY k.last_name_key, k.first_name_key),
    named AS (
        SELECT number, max(people) OVER same AS people, (array_agg(id) FILTER (WHERE id IS NOT NULL) OVER same)[1] AS id
        FROM (SELECT number, last_name_key, first_name_key, NULL::bigint AS people, NULL::uuid AS id
              FROM best WHERE id IS NULL AND last_name_key <> '' AND first_name_key <> ''
              UNION ALL SELECT NULL, last_name_key, first_name_key, people, id FROM names) AS n
        WINDOW same AS (PARTITION BY last_name_key, first_name_key)),
    decided AS (
        SELECT number, people, id, way FROM best WHERE id IS NOT NULL
        UNION ALL SELECT number, NULL, NULL, 3 FROM best
                  WHERE id IS NULL AND (last_name_key = '' OR first_name_key = '')
        UNION ALL SELECT number, people, id, 3 FROM named WHERE number IS NOT NULL),
    found AS (
        SELECT number,
               CASE WHEN people IS NULL THEN 'Unmatched' WHEN people > 1 THEN 'Disputed'
                    ELSE (ARRAY['Employee ID', 'Email', 'Name'])[way] END AS match,
               CASE WHEN people = 1 THEN id END AS identity_id
        FROM decided)
    -- Leave unchanged matches as they are, because `matched_on` is when the match began.
    UPDATE accounts a SET match = f.match, identity_id = f.identity_id, matched_on = %(now)s
    FROM found f WHERE f.number = a.number AND (f.match, f.identity_id) IS DISTINCT FROM (a.match, a.identity_id)"""


async def take_turn(db: Db) -> None:
    """Serialize account matching and the evaluation of duties: take their lock until the transaction ends."""
    await execute(db, "SELECT lock_matching()")


async def wait_for_turns(db: Db, now: datetime) -> datetime:
    """Wait until a matching in progress has ended; return a time later than its matches."""
    # Release the lock at once: a transaction lock would delay other matchings until this transaction ends.
    await execute(
        db,
        """SELECT pg_advisory_lock(turn.key), pg_advisory_unlock(turn.key)
           FROM (SELECT hashtextextended('matching', 0) AS key) AS turn""",
    )
    return max(now, clock.now())


async def match_imported(db: Db, import_number: int, now: datetime) -> None:
    """Match the accounts that an import created or altered. Call this late: the lock is held until the commit."""
    await take_turn(db)
    # Read the clock after taking the lock, so that matches get a later time than reviews opened without them.
    now = max(now, clock.now())
    if not await fetch_value(db, "SELECT EXISTS (SELECT FROM identities)"):
        return
    await execute(
        db,
        f"""WITH affected AS (SELECT account_number AS number FROM account_versions
                              WHERE from_import = %(import_number)s AND until_import IS NULL), {_MATCH}""",
        import_number=import_number,
        now=now,
    )


async def match_changed_identities(db: Db, now: datetime) -> int:
    """Match accounts again if changed identities may affect them; return how many matches changed.

    The triggers note_to_match and note_to_match_on_… (schema/accounts.sql) queue the changes.
    """
    # This runs every second: if no identity changed, return without locking or scanning the accounts.
    if not await fetch_value(db, "SELECT EXISTS (SELECT FROM identities_to_match)"):
        return 0
    await take_turn(db)
    now = max(now, clock.now())
    # Repeat the conditions `<> ''` of the partial indexes, so that PostgreSQL can use these indexes.
    return await execute(
        db,
        f"""WITH changed AS (DELETE FROM identities_to_match RETURNING *),
            affected AS (
                SELECT a.number FROM accounts a JOIN (SELECT DISTINCT identity_id FROM changed) AS c USING (identity_id)
                UNION
                SELECT v.account_number FROM (SELECT DISTINCT lower(employee_id) AS employee_id FROM changed) AS c
                JOIN account_versions v ON lower(v.employee_id) = c.employee_id
                WHERE v.until_import IS NULL AND v.employee_id <> ''
                UNION
                SELECT v.account_number FROM (SELECT DISTINCT lower(email_address) AS email FROM changed) AS c
                JOIN account_versions v ON lower(v.email) = c.email WHERE v.until_import IS NULL AND v.email <> ''
                UNION
                SELECT v.account_number FROM (SELECT DISTINCT last_name_key, first_name_key FROM changed) AS c
                JOIN account_versions v USING (last_name_key, first_name_key)
                WHERE v.until_import IS NULL AND v.last_name_key <> ''),
            {_MATCH}""",
        now=now,
    )


async def match_one(db: Db, account_id: UUID, now: datetime) -> None:
    await execute(
        db,
        f"WITH affected AS (SELECT number FROM accounts WHERE id = %(id)s), {_MATCH}",
        id=account_id,
        now=now,
    )


async def counts(db: Db, application_id: UUID) -> dict[str, int]:
    """Return the number of an application's accounts for each kind of match."""
    rows = await fetch_rows(
        db,
        """SELECT a.match, count(*) FROM accounts a
           JOIN account_versions v ON v.account_number = a.number AND v.until_import IS NULL
           WHERE a.application_id = %(application)s GROUP BY 1""",
        application=application_id,
    )
    return dict(rows)


class Fit(msgspec.Struct):
    """A person to whom a disputed account may belong."""

    id: UUID
    name: str


class Dispute(msgspec.Struct):
    """An account that the deciding rule matches to several people."""

    username: str
    people: list[Fit]


async def disputes(db: Db, application_id: UUID, most: int) -> list[Dispute]:
    """Return the first disputed accounts, ordered by username, each with the people whom the deciding rule matches."""
    rows = await fetch_rows(
        db,
        f"""WITH affected AS (
                SELECT a.number FROM accounts a
                JOIN account_versions v ON v.account_number = a.number AND v.until_import IS NULL
                WHERE a.application_id = %(application)s AND a.match = 'Disputed' ORDER BY a.username LIMIT %(most)s),
            {_FITS},
            best AS (SELECT number, min(way) AS way FROM fits GROUP BY number)
            SELECT a.username, json_agg(json_build_object('id', i.id, 'name', i.first_name || ' ' || i.last_name)
                                        ORDER BY i.last_name_key, i.first_name_key, i.id)
            FROM best JOIN fits USING (number, way) JOIN accounts a USING (number) JOIN identities i ON i.id = fits.id
            GROUP BY a.username ORDER BY a.username""",
        application=application_id,
        most=most,
    )
    return [msgspec.convert({"username": username, "people": people}, Dispute) for username, people in rows]
