"""Find an independent and available reviewer for each item.

If this is not the person that the stage names, record why. A person does not review their own account, access from a
request that they made, approved or carried out, or access that one of their models explains. The items are rows of the
temporary table `candidate_items`.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.access_requests.requirements import ADMINISTRATORS
from rolecall.core.db import Db, execute, fetch_all
from rolecall.reviews.model import ReviewStage, StageReviewer
from rolecall.reviews.permitted import DECIDER

CANDIDATES = """
    CREATE TEMP TABLE candidate_items (
        place int, item_id uuid, subject text, application_id uuid, account_number int, group_number int,
        entitlement_id uuid, model_id uuid, identity_id uuid, access text, since_import int, request_ids uuid[],
        model_ids uuid[], under_model uuid, first_id uuid, passed_by uuid[]) ON COMMIT DROP"""

# SQL for the person that a stage names, from the joins in `PEOPLE_OF`.
NAMED_BY = {
    StageReviewer.SUPERVISOR: "i.supervisor_id",
    StageReviewer.APPLICATION_OWNER: "o.owner_id",
    StageReviewer.ENTITLEMENT_OWNER: "e.owner_id",
    StageReviewer.MODEL_OWNER: "(m.definition ->> 'ownerId')::uuid",
    StageReviewer.IDENTITY: "%(identity)s::uuid",
}
# The joins that `NAMED_BY` needs, for a row `c`.
PEOPLE_OF = """
    LEFT JOIN identities i ON i.id = c.identity_id LEFT JOIN applications o ON o.id = c.application_id
    LEFT JOIN entitlements e ON e.id = c.entitlement_id
    LEFT JOIN access_models m ON m.id = coalesce(c.model_id, c.model_ids[1])"""
_UNNAMED = {
    StageReviewer.SUPERVISOR: "no supervisor is known",
    StageReviewer.APPLICATION_OWNER: "the application has no owner",
    StageReviewer.ENTITLEMENT_OWNER: "the entitlement has no owner",
    StageReviewer.MODEL_OWNER: "no model with an owner explains it",
    StageReviewer.IDENTITY: "the reviewer is not known",
}

_NAME = "(SELECT first_name || ' ' || last_name FROM identities WHERE id = {})"
# For each person that the stage names, find who reviews: that person or, during an absence, the stand-in.
_STATES = f"""
    INSERT INTO reviewer_states
    SELECT s.id, CASE WHEN s.obstacle IS NULL THEN s.id
                      WHEN s.obstacle = 'is absent' AND review_obstacle(s.stand_in, %(now)s) IS NULL
                      THEN s.stand_in END,
           CASE WHEN s.obstacle IS NOT NULL THEN {_NAME.format("s.id")} || ' ' || s.obstacle END
    FROM (SELECT id, review_obstacle(id, %(now)s) AS obstacle, stand_in_of(id, 'Approve', %(now)s) AS stand_in
          FROM (SELECT DISTINCT first_id AS id FROM candidate_items WHERE first_id IS NOT NULL) AS named) AS s"""

# The people who made, approved or carried out the requests that gave the access.
_TOOK_PART = """
    INSERT INTO request_people
    SELECT r.id, person.id, min(part.did || ' request #' || r.number) FROM access_requests r
    CROSS JOIN LATERAL (
        SELECT r.reporter_id AS person, 'made' AS did
        UNION ALL SELECT s.reviewer_id, CASE s.type WHEN 'Approve' THEN 'approved' ELSE 'carried out' END
        FROM responses s WHERE s.request_id = r.id AND s.type <> 'Verify' AND s.response = 'Approved'
        UNION ALL SELECT s.stand_in_id, CASE s.type WHEN 'Approve' THEN 'approved' ELSE 'carried out' END
        FROM responses s WHERE s.request_id = r.id AND s.type <> 'Verify' AND s.stand_in_id IS NOT NULL
        UNION ALL SELECT r.assignee_id, 'carried out'
        UNION ALL SELECT person, 'carried out' FROM resolved_by(r.id) AS person) AS part
    LEFT JOIN tokens t ON t.id = part.person
    CROSS JOIN LATERAL (SELECT coalesce(t.owner_id, part.person) AS id) AS person
    WHERE person.id IS NOT NULL AND r.id IN (SELECT unnest(request_ids) FROM candidate_items)
    GROUP BY r.id, person.id"""
_OWNED_MODELS = """
    INSERT INTO owned_models
    SELECT (definition ->> 'ownerId')::uuid, array_agg(id) FROM access_models
    WHERE definition ->> 'ownerId' IS NOT NULL GROUP BY 1"""

# Each person that the stage names, with the people who must be independent: that person and their stand-in.
_INVOLVED = """(SELECT id, id AS person FROM reviewer_states UNION
                SELECT id, actual_id FROM reviewer_states WHERE actual_id IS NOT NULL)"""
# Items that need a fallback, with the reason: the stage gives no reviewer, the reviewer is unavailable, or the reviewer
# or their stand-in is not independent.
_PROBLEMS = f"""
    INSERT INTO reviewer_problems
    SELECT DISTINCT ON (p.place) p.place, p.why FROM (
        SELECT c.place, 1 AS rank, %(unnamed)s AS why FROM candidate_items c WHERE c.first_id IS NULL
        UNION ALL
        SELECT c.place, 2, s.why FROM candidate_items c JOIN reviewer_states s ON s.id = c.first_id
        WHERE s.actual_id IS NULL
        UNION ALL
        SELECT c.place, 3, {_NAME.format("s.person")} || ' holds the account' FROM candidate_items c
        JOIN {_INVOLVED} AS s ON s.id = c.first_id WHERE s.person = c.identity_id
        UNION ALL
        SELECT c.place, 4, {_NAME.format("s.person")} || %(passed)s FROM candidate_items c
        JOIN {_INVOLVED} AS s ON s.id = c.first_id WHERE s.person = ANY(c.passed_by)
        UNION ALL
        SELECT c.place, 5, {_NAME.format("t.person")} || ' ' || t.did FROM candidate_items c
        JOIN {_INVOLVED} AS s ON s.id = c.first_id CROSS JOIN LATERAL unnest(c.request_ids) AS q (id)
        JOIN request_people t ON t.request_id = q.id AND t.person = s.person
        UNION ALL
        SELECT c.place, 6, {_NAME.format("w.owner_id")} || ' owns the model that explains it' FROM candidate_items c
        JOIN {_INVOLVED} AS s ON s.id = c.first_id JOIN owned_models w ON w.owner_id = s.person
        WHERE c.subject <> 'Model' AND c.under_model IS NULL AND c.model_ids && w.ids) AS p
    ORDER BY p.place, p.rank, p.why"""

# The fallbacks in order: that of the review, the supervisor's supervisor, the application's owner, administrators.
_FALLBACKS = f"""
    INSERT INTO assigned_items
    WITH asked AS MATERIALIZED (
        SELECT p.place, p.why, c.identity_id, c.subject, c.request_ids, c.model_ids, c.passed_by,
               f.rank, f.person, f.label
        FROM reviewer_problems p JOIN candidate_items c ON c.place = p.place {PEOPLE_OF}
        CROSS JOIN LATERAL (
            SELECT 1 AS rank, {{fallback}} AS person, 'the fallback of the review' AS label
            UNION ALL SELECT 2, (SELECT above.supervisor_id FROM identities above WHERE above.id = i.supervisor_id),
                             'the supervisor''s supervisor'
            UNION ALL SELECT 3, o.owner_id, 'the application''s owner'
            UNION ALL SELECT 3 + row_number() OVER (ORDER BY r.identity_id)::int, r.identity_id, 'an administrator'
                      FROM console_roles r WHERE r.role = 'Administrator') AS f
        WHERE f.person IS NOT NULL
    ), able AS MATERIALIZED (
        SELECT id FROM (SELECT DISTINCT person AS id FROM asked) AS people WHERE review_obstacle(id, %(now)s) IS NULL
    ), found AS (
        SELECT DISTINCT ON (a.place) a.place, a.person, a.why || '; ' || a.label || ' reviews it instead' AS moved
        FROM asked a JOIN able ON able.id = a.person
        WHERE a.person IS DISTINCT FROM a.identity_id AND NOT coalesce(a.person = ANY(a.passed_by), false)
          AND NOT EXISTS (SELECT FROM request_people t WHERE t.request_id = ANY(a.request_ids) AND t.person = a.person)
          AND (a.subject = 'Model' OR NOT EXISTS (
                  SELECT FROM owned_models w WHERE w.owner_id = a.person AND w.ids && a.model_ids))
        ORDER BY a.place, a.rank
    )
    SELECT p.place, coalesce(f.person, %(administrators)s),
           coalesce(f.moved, p.why || '; no other person is independent, so any administrator can review it')
    FROM reviewer_problems p LEFT JOIN found f ON f.place = p.place"""
# Assign the items of an absent reviewer to the stand-in.
_STAND_INS = f"""
    INSERT INTO assigned_items
    SELECT c.place, s.actual_id, s.why || '; ' || {_NAME.format("s.actual_id")} || ' stands in'
    FROM candidate_items c JOIN reviewer_states s ON s.id = c.first_id AND s.actual_id <> s.id
    WHERE NOT EXISTS (SELECT FROM reviewer_problems p WHERE p.place = c.place)"""


async def create_tables(db: Db) -> None:
    """Create the temporary tables; drop those that an earlier step of the transaction created."""
    made = {
        "reviewer_states": "(id uuid, actual_id uuid, why text)",
        "request_people": "(request_id uuid, person uuid, did text)",
        "owned_models": "(owner_id uuid, ids uuid[])",
        "reviewer_problems": "(place int, why text)",
        "assigned_items": "(place int, reviewer_id uuid, moved text)",
    }
    await execute(db, "DROP TABLE IF EXISTS candidate_items")
    await execute(db, CANDIDATES)
    for name, columns in made.items():
        await execute(db, f"DROP TABLE IF EXISTS {name}")
        await execute(db, f"CREATE TEMP TABLE {name} {columns} ON COMMIT DROP")


PASSED_ON, REVIEWED_BEFORE = " passed it on", " reviewed it in an earlier stage"


async def assign(
    db: Db, stage: ReviewStage, fallback: ReviewStage | None, now: datetime, passed: str = PASSED_ON
) -> None:
    """Fill `assigned_items` with new reviewers for the items that the person named by the stage cannot review."""
    for table in ("reviewer_states", "request_people", "owned_models", "reviewer_problems"):
        await execute(db, f"DELETE FROM {table}")
    # Temporary tables have no statistics until they are analyzed.
    await execute(db, "ANALYZE candidate_items (place, identity_id, entitlement_id, first_id, subject)")
    await execute(db, _STATES, now=now)
    await execute(db, _TOOK_PART)
    await execute(db, _OWNED_MODELS)
    await execute(db, "ANALYZE reviewer_states")
    await execute(db, "ANALYZE request_people")
    await execute(db, _PROBLEMS, unnamed=_UNNAMED[stage.reviewer], passed=passed)
    await execute(db, "ANALYZE reviewer_problems")
    named = NAMED_BY[fallback.reviewer] if fallback else "NULL::uuid"
    await execute(
        db,
        _FALLBACKS.replace("{fallback}", named),
        now=now,
        identity=fallback.identity_id if fallback else None,
        administrators=ADMINISTRATORS.id,
    )
    await execute(db, _STAND_INS)
    await execute(db, "ANALYZE assigned_items")


# The people who must not review the item next: everyone who decided about it or passed it on in any stage, its current
# reviewer, and the current holder of the account.
_PASSED_BY = f"""ARRAY(SELECT c.reviewer_id
                  UNION SELECT a.identity_id FROM accounts a
                        WHERE a.number = c.account_number AND a.identity_id IS NOT NULL
                  UNION SELECT d.reviewer_id FROM review_decisions d WHERE d.item_id = c.id
                  UNION SELECT {DECIDER} FROM review_decisions d LEFT JOIN tokens t ON t.id = d.decided_by
                        WHERE d.item_id = c.id)"""
_FROM_ITEMS = f"""
    INSERT INTO candidate_items
    SELECT row_number() OVER (), c.id, c.subject, c.application_id, c.account_number, c.group_number, c.entitlement_id,
           c.model_id, c.identity_id, c.access, c.since_import, c.request_ids, c.model_ids, NULL, {{named}},
           {_PASSED_BY}
    FROM review_items c {PEOPLE_OF} WHERE c.id = ANY(%(ids)s)"""


class NewReviewer(msgspec.Struct, frozen=True):
    item_id: UUID
    reviewer_id: UUID
    moved: str


async def reviewers_for(
    db: Db,
    item_ids: Sequence[UUID],
    stage: ReviewStage | None,
    fallback: ReviewStage | None,
    now: datetime,
    passed: str = PASSED_ON,
) -> list[NewReviewer]:
    """Return new reviewers for stored items: the people that `stage` names, or fallbacks if these people cannot review.

    Without a stage, replace the current reviewers with the fallbacks.
    """
    await create_tables(db)
    named = NAMED_BY[stage.reviewer] if stage else "c.reviewer_id"
    sql = _FROM_ITEMS.replace("{named}", named)
    await execute(db, sql, ids=list(item_ids), identity=stage.identity_id if stage else None)
    # Without a stage, every item gets another reviewer, because its current one is in `passed_by`.
    await assign(db, stage or ReviewStage(StageReviewer.IDENTITY), fallback, now, passed)
    return await fetch_all(
        db,
        NewReviewer,
        """SELECT c.item_id, coalesce(a.reviewer_id, c.first_id) AS reviewer_id, coalesce(a.moved, '') AS moved
           FROM candidate_items c LEFT JOIN assigned_items a ON a.place = c.place ORDER BY c.place""",
    )
