"""Open reviews of single findings: access that an import shows and that no model and no request explains."""

from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from rolecall.core.caller import SYSTEM
from rolecall.core.db import Db, execute, fetch_rows
from rolecall.core.ids import new_id
from rolecall.reviews import actions, population
from rolecall.reviews.model import ReviewScope, ReviewType
from rolecall.reviews.population import Taking

# How long the owner has to decide.
_DUE_AFTER = timedelta(days=14)
# If an import shows unexplained access of more people, one review asks about all of them.
_MOST_SINGLE = 10


async def open_unexplained(db: Db, application_id: UUID, import_number: int, now: datetime) -> None:
    """Open a review for the access of each person that only this import shows, if the application asks for it."""
    rows = await fetch_rows(
        db,
        """SELECT a.name FROM applications a WHERE a.id = %(id)s AND a.surprise_reviews AND NOT a.is_archived
           AND EXISTS (SELECT FROM application_imports r WHERE r.application_id = a.id AND r.status = 'Finished'
                       AND r.number < %(number)s)""",
        id=application_id,
        number=import_number,
    )
    for (name,) in rows:
        scope = ReviewScope(application_ids=[application_id])
        await population.take(db, Taking(type=ReviewType.UNEXPLAINED, scope=scope, moment=now))
        # One of each person: the riskiest.
        found = await fetch_rows(
            db,
            """SELECT DISTINCT ON (h.identity_id) h.identity_id, h.entitlement_id, e.name
               FROM pinned_holdings h JOIN entitlements e ON e.id = h.entitlement_id
               WHERE h.excluded IS NULL AND h.since_import = %(number)s AND h.identity_id IS NOT NULL
               ORDER BY h.identity_id, risk_rank(e.risk_rating) DESC, e.name_key""",
            number=import_number,
        )
        asked = [([person], [access], what) for person, access, what in found]
        if len(found) > _MOST_SINGLE:
            people, access = [each[0] for each in found], sorted({each[1] for each in found})
            asked = [(people, access, f"{len(found):,} people")]
        for people, access, what in asked:
            scope = ReviewScope(application_ids=[application_id], entitlement_ids=access, identity_ids=people)
            await _open(db, scope, f"Unexplained access in {name}: {what}"[:256], import_number, now)


async def _open(db: Db, scope: ReviewScope, title: str, import_number: int, now: datetime) -> None:
    id = new_id()
    await execute(
        db,
        """INSERT INTO reviews (id, name, description, type, scope, stages, due_on, explained, on_silence, statement,
                                owner_id, created_by, created_at, opened_by_import)
           SELECT %(id)s, %(name)s, %(description)s, 'Unexplained', %(scope)s::jsonb,
                  '[{"reviewer": "Application Owner"}]', %(due)s, 'each', 'escalate', %(statement)s, a.owner_id,
                  %(by)s, %(now)s, %(number)s FROM applications a WHERE a.id = %(application)s""",
        id=id,
        name=title,
        description=f"Import {import_number} shows access that no model and no request explains",
        scope=msgspec.json.encode(scope).decode(),
        due=now + _DUE_AFTER,
        statement=actions.STATEMENT,
        by=SYSTEM.name,
        now=now,
        number=import_number,
        application=scope.application_ids[0],
    )
    await actions.open_review(db, SYSTEM, id, now, is_collected=True)
