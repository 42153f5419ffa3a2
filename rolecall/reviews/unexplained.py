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
        for identity_id, entitlement_id, entitlement in found:
            title = f"Unexplained access in {name}: {entitlement}"
            await _open(db, application_id, identity_id, entitlement_id, title[:256], import_number, now)


async def _open(
    db: Db,
    application_id: UUID,
    identity_id: UUID,
    entitlement_id: UUID,
    title: str,
    import_number: int,
    now: datetime,
) -> None:
    scope = ReviewScope(application_ids=[application_id], entitlement_ids=[entitlement_id], identity_ids=[identity_id])
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
        application=application_id,
    )
    await actions.open_review(db, SYSTEM, id, now)
