"""Create data for reviews: an application in which people have ten groups each, and reasons for this access.

A model, requests and a closed review explain part of the access, so that queries for each of them find rows.
"""

from datetime import UTC, datetime
from uuid import UUID

from bench.duties import CALLER
from bench.models import facts
from rolecall.access_models import actions as models
from rolecall.core.caller import SYSTEM
from rolecall.core.db import Db, execute, fetch_value

GROUPS = 100
_STATEMENTS = [
    """INSERT INTO application_imports
           (id, application_id, type, status, created_by, created_at, build_start, build_end, metrics)
       SELECT gen_random_uuid(), %(there)s, 'API', 'Finished', 'bench', now(), now(), now() - interval '1 day', '{}'""",
    """INSERT INTO accounts (application_id, username, identity_id, match, matched_on)
       SELECT %(there)s, 'user ' || row_number() OVER (ORDER BY id), id, 'Email', now() - interval '1 day'
       FROM (SELECT id FROM identities ORDER BY id LIMIT %(people)s) AS chosen""",
    # Every fifth account is unused.
    """INSERT INTO account_versions
       SELECT number, %(run)s, NULL, username, '', '', '', '', true, false,
              CASE WHEN number %% 5 = 0 THEN '2020-01-01T00:00:00Z' ELSE '' END, '', '{}', '', ''
       FROM accounts WHERE application_id = %(there)s""",
    f"""INSERT INTO groups (application_id, name)
        SELECT %(there)s, 'Group ' || n FROM generate_series(1, {GROUPS}) AS n""",
    """INSERT INTO group_versions SELECT number, %(run)s, NULL, '', '', '', '{}' FROM groups
       WHERE application_id = %(there)s""",
    """INSERT INTO memberships SELECT a.number, g.number, %(run)s, NULL FROM accounts a
       JOIN (SELECT number, row_number() OVER () AS n FROM groups WHERE application_id = %(there)s) AS g
            ON g.n %% 10 = a.number %% 10 WHERE a.application_id = %(there)s""",
    "SELECT refresh_entitlements(%(there)s, %(run)s)",
]
# Every tenth account got one of its groups through a request that another person approved.
_REQUESTS = [
    """INSERT INTO access_requests (id, action, status, reporter_id, reporter_name, target_type, target_name,
                                    identity_id, application_id, created_at, status_since, resolved_on, completed_on)
       SELECT md5('granted ' || a.number)::uuid, 'Add', 'Completed', %(by)s, 'bench', 'User', a.username, a.identity_id,
              %(there)s, t.moment, t.moment, t.moment, t.moment
       FROM accounts a CROSS JOIN (SELECT now() - interval '9 days' AS moment) AS t
       WHERE a.application_id = %(there)s AND a.number %% 10 = 3""",
    """INSERT INTO privileges
       SELECT md5('granted ' || a.number)::uuid, 1, 'None', 'Grant', 'Grant', NULL, e.header, e.section, e.name, '',
              'Low', 'Grant', '{Request}', '{}'
       FROM accounts a CROSS JOIN LATERAL (
           SELECT e.* FROM memberships m JOIN entitlements e ON e.kind = 'Group' AND e.number = m.group_number
           WHERE m.account_number = a.number ORDER BY m.group_number LIMIT 1) AS e
       WHERE a.application_id = %(there)s AND a.number %% 10 = 3""",
    """INSERT INTO responses
       SELECT r.id, 'Approve', 1, 1, 'Owner', o.id, 'Bench', 'Approved', true
       FROM access_requests r CROSS JOIN (SELECT id FROM identities ORDER BY id DESC LIMIT 1) AS o
       WHERE r.application_id = %(there)s AND r.completed_on IS NOT NULL""",
]


async def a_second_application(db: Db, people: int) -> UUID:
    """Give this many people an account with ten groups each in a second application; return its id."""
    there: UUID = await fetch_value(db, "SELECT id FROM applications ORDER BY id OFFSET 1 LIMIT 1")
    run = None
    for statement in _STATEMENTS:
        await execute(db, statement, there=there, run=run, people=people)
        run = run or await fetch_value(db, "SELECT max(number)::int FROM application_imports")
    for statement in _REQUESTS:
        await execute(db, statement, there=there, by=CALLER.id)
    await _commit_model(db, there)
    await execute(db, "VACUUM ANALYZE")
    return there


async def _commit_model(db: Db, there: UUID) -> None:
    """Commit a model that explains half of the groups of every seventh person."""
    division = [[{"field": "division", "operator": "is", "value": "Division 0"}]]
    access = [{"applicationId": str(there), "groups": [f"Group {n}" for n in range(1, GROUPS // 2 + 1)]}]
    async with db.transaction():
        made = await models.create_model(db, {"name": "Staff", "conditions": division, "access": access}, facts())
        await models.commit_model(db, SYSTEM, str(made.id), datetime.now(UTC))


async def close_as_decided(db: Db, review_id: UUID) -> None:
    """Close a review with every item kept, except every twentieth, which is revoked."""
    await execute(
        db,
        """UPDATE review_items SET decision = CASE WHEN number %% 20 = 0 THEN 'Revoke' ELSE 'Keep' END,
                  status = CASE WHEN number %% 20 = 0 THEN 'Flagged' ELSE 'Approved' END, decided_on = now(),
                  decided_by = %(by)s
           WHERE review_id = %(id)s""",
        id=review_id,
        by=CALLER.id,
    )
    await execute(db, "UPDATE reviews SET status = 'Closed', closed_on = now() WHERE id = %(id)s", id=review_id)
    await execute(db, "VACUUM ANALYZE review_items")
