"""Measure separation of duties: evaluate all rules, evaluate an import, and check a request.

    python -m bench.duties [--rows 100000]

`--rows` is the number of people; each has an account with ten permissions. 500 rules keep apart pairs of 250 duties.
The baseline is a hand-written join that finds the same conflicts in one statement, without storing them. The database
is embedded.
"""

import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import psycopg

from bench.figures import Found, tell
from bench.seeding import measure
from rolecall.access_requests.actions import request_access
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts
from rolecall.core.db import Db, execute, fetch_value, session_options

BAR_FULL, BAR_JOIN, BAR_IMPORT, BAR_REQUEST = 10.0, 5.0, 1.0, 10.0
RULES, DUTIES, PERMISSIONS, HELD = 500, 250, 5000, 10
ROUNDS = 40
CALLER = Caller(UUID(int=7), "bench", frozenset(Scope))

_SEED = [
    """INSERT INTO application_imports
           (id, application_id, type, status, created_by, created_at, build_start, build_end, metrics)
       SELECT gen_random_uuid(), %(there)s, 'API', 'Finished', 'bench', now(), now(), now() - interval '1 day', '{}'""",
    """INSERT INTO accounts (application_id, username, identity_id, match)
       SELECT %(there)s, 'user ' || row_number() OVER (ORDER BY id), id, 'Email' FROM identities""",
    """INSERT INTO account_versions
       SELECT number, %(run)s, NULL, username, '', '', '', '', true, false, '', '', '{}', '', '' FROM accounts
       WHERE application_id = %(there)s""",
    f"""INSERT INTO permissions (application_id, header, section, permission)
        SELECT %(there)s, 'Area', '', 'Permission ' || n FROM generate_series(1, {PERMISSIONS}) AS n""",
    """INSERT INTO permission_versions
       SELECT number, %(run)s, NULL, '', 'Low' FROM permissions WHERE application_id = %(there)s""",
    # Each rule keeps apart two permissions whose numbers are close. One account in fifty holds ten consecutive
    # permissions; the permissions of the others are far apart, so they break no rule.
    f"""INSERT INTO assignments (holder_number, permission_number, access, from_import, until_import, value)
        SELECT DISTINCT ON (a.number, p.number) a.number, p.number, 'Grant'::access, %(run)s, NULL::int, ''
        FROM (SELECT number, row_number() OVER (ORDER BY number) AS n FROM accounts
              WHERE application_id = %(there)s) AS a
        CROSS JOIN generate_series(0, {HELD - 1}) AS slot
        JOIN (SELECT number, row_number() OVER (ORDER BY number) AS n FROM permissions WHERE application_id = %(there)s)
             AS p ON p.n = 1 + (a.n * 7919 + slot * CASE WHEN a.n %% 50 = 0 THEN 1 ELSE 499 END) %% {PERMISSIONS}""",
    "SELECT refresh_entitlements(%(there)s, %(run)s)",
    f"""INSERT INTO duties (id, name, patterns, name_key, created_at, changed_at)
        SELECT md5('duty ' || n)::uuid, 'Duty ' || n,
               jsonb_build_array(jsonb_build_object('permission', 'Permission ' || n)),
               'duty ' || n, now(), now() FROM generate_series(1, {DUTIES}) AS n""",
    f"""INSERT INTO duty_rules (id, version, definition, name_key, created_at, changed_at)
        SELECT md5('rule ' || n)::uuid, 1, jsonb_build_object('name', 'Rule ' || n, 'enabled', true, 'risk', 'High',
                   'response', 'Warn', 'conflicts', jsonb_build_array(md5('duty ' || 1 + n %% {DUTIES})::uuid,
                   md5('duty ' || 1 + (n + 1 + n / {DUTIES}) %% {DUTIES})::uuid)), 'rule ' || n, now(), now()
        FROM generate_series(1, {RULES}) AS n""",
    # VACUUM summarizes the new pages in BRIN indexes; an import does this itself.
    "VACUUM ANALYZE",
]
_JOIN = """
    SELECT count(*) FROM (
        SELECT DISTINCT r.id, a.identity_id FROM duty_rules r
        JOIN duty_entitlements x ON x.duty_id = (r.definition -> 'conflicts' ->> 0)::uuid
        JOIN duty_entitlements y ON y.duty_id = (r.definition -> 'conflicts' ->> 1)::uuid
        JOIN assignments s ON s.permission_number = x.number AND s.until_import IS NULL
        JOIN assignments t ON t.permission_number = y.number AND t.until_import IS NULL
        JOIN accounts a ON a.number = s.holder_number JOIN accounts b ON b.number = t.holder_number
                                                                    AND b.identity_id = a.identity_id) AS found"""
# One account in a hundred loses some permissions and gets as many others.
_CHANGES = f"""
    WITH gone AS (
        UPDATE assignments SET until_import = %(run)s
        WHERE holder_number %% 100 = 0 AND until_import IS NULL AND permission_number %% {HELD} = 0
        RETURNING holder_number, permission_number)
    INSERT INTO assignments
    SELECT holder_number, 1 + (permission_number + 3) %% {PERMISSIONS}, 'Grant', %(run)s, NULL, '' FROM gone
    ON CONFLICT DO NOTHING"""


async def seed(db: Db) -> UUID:
    there: UUID = await fetch_value(db, "SELECT id FROM applications ORDER BY id LIMIT 1")
    run = None
    for statement in _SEED:
        await execute(db, statement, there=there, run=run)
        run = run or await fetch_value(db, "SELECT max(number)::int FROM application_imports")
    return there


async def timed(work: Callable[[], Awaitable[Any]]) -> tuple[float, Any]:
    started = time.perf_counter()
    result = await work()
    return time.perf_counter() - started, result


async def an_import(db: Db, there: UUID) -> float:
    """Return the seconds that the evaluation of duties takes at the end of an import with 1 % changes."""
    run = await fetch_value(
        db,
        """INSERT INTO application_imports (id, application_id, type, status, created_by, created_at, build_start)
           VALUES (gen_random_uuid(), %(there)s, 'API', 'Running', 'bench', now(), now()) RETURNING number::int""",
        there=there,
    )
    await execute(db, _CHANGES, run=run)
    finish = """UPDATE application_imports SET status = 'Finished', build_end = now(), metrics = '{}'
                WHERE number = %(run)s"""
    seconds, _ = await timed(lambda: execute(db, finish, run=run))
    return seconds


async def a_request(db: Db, there: UUID, place: int) -> float:
    who = await fetch_value(db, "SELECT id FROM identities ORDER BY id OFFSET %(n)s LIMIT 1", n=place)
    asked = [{"header": "Area", "permission": f"Permission {1 + place % DUTIES}"}]
    raw = {"action": "Add", "applicationId": str(there), "identityId": str(who), "privileges": asked}

    async def work() -> None:
        async with db.transaction():
            await request_access(db, CALLER, raw, Facts(now=datetime.now(UTC), zone=ZoneInfo("UTC")))

    seconds, _ = await timed(work)
    return seconds


async def requests(db: Db, there: UUID) -> float:
    """Return by how many percent the check of duties slows a request, from medians with and without rules."""
    took: dict[bool, list[float]] = {True: [], False: []}
    for n in range(ROUNDS):
        # Alternate the order, because the second request for a person finds warm caches.
        for checked in (n % 2 == 0, n % 2 == 1):
            async with db.transaction(force_rollback=True):
                if not checked:
                    await execute(db, "DELETE FROM duty_rule_duties")
                took[checked].append(await a_request(db, there, n))
    with_rules, without = (sorted(took[checked])[ROUNDS // 2] for checked in (True, False))
    return 100 * (with_rules / without - 1)


async def run(url: str, rows: int) -> bool:
    async with await psycopg.AsyncConnection.connect(
        url, autocommit=True, options=session_options("http://127.0.0.1:8000")
    ) as db:
        there = await seed(db)
        full, _ = await timed(lambda: execute(db, "SELECT evaluate_everything(now())"))
        conflicts = await fetch_value(db, "SELECT count(*) FROM conflicts WHERE until IS NULL")
        joined, found = await timed(lambda: fetch_value(db, _JOIN))
        assert found == conflicts, (found, conflicts)
        print(f"{conflicts:,} conflicts of {rows:,} people; the join took {joined:.2f} s")
        what = f"{RULES} rules, {rows:,} people, {rows * HELD:,} assignments"
        figures = [
            (f"full evaluation of {what}", full, "s", BAR_FULL),
            ("the same, relative to a hand-written join", full / joined, "×", BAR_JOIN),
            ("end of an import, 1 % changed", await an_import(db, there), "s", BAR_IMPORT),
            ("check of a request", await requests(db, there), "%", BAR_REQUEST),
        ]
    held = [tell(Found("duties", *figure, at_most=True)) for figure in figures]
    return all(held)


if __name__ == "__main__":
    measure(run, __doc__)
