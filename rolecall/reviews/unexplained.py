"""Open reviews of access that an import shows for the first time and that no model or request explains."""

from datetime import datetime, timedelta
from typing import Any
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
# Up to this many people are reviewed separately; if there are more, one review covers them all. The same limit applies
# to unmatched accounts.
_MOST_SINGLE = 10


async def open_unexplained(db: Db, application_id: UUID, import_number: int, now: datetime) -> None:
    """Open reviews of unexplained access that this import shows for the first time, if `surpriseReviews` is set.

    There is one review for each person or, for more than `_MOST_SINGLE` people, one for all of them. The same applies
    to unmatched accounts. The first import opens no review.
    """
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
        # Read the data of the application once; each review opened below covers a part of it.
        await population.take(db, Taking(type=ReviewType.UNEXPLAINED, scope=scope, moment=now))
        for scope, what in await _asked(db, application_id, import_number):
            await _open(db, scope, f"Unexplained access in {name}: {what}"[:256], import_number, now)


async def _asked(db: Db, application_id: UUID, import_number: int) -> list[tuple[ReviewScope, str]]:
    """Return scopes and titles of reviews about the riskiest new access of each person and of each unmatched account.

    More than `_MOST_SINGLE` people share one review, and more than `_MOST_SINGLE` accounts share another review.
    """
    found = await fetch_rows(
        db,
        """SELECT DISTINCT ON (coalesce(h.identity_id, a.id)) coalesce(h.identity_id, a.id), h.identity_id IS NULL,
                  h.entitlement_id, e.name
           FROM pinned_holdings h JOIN entitlements e ON e.id = h.entitlement_id JOIN accounts a ON a.number = h.holder
           WHERE h.excluded IS NULL AND h.since_import = %(number)s
           ORDER BY coalesce(h.identity_id, a.id), risk_rank(e.risk_rating) DESC, e.name_key""",
        number=import_number,
    )
    asked = list[tuple[ReviewScope, str]]()
    for is_account, field, noun in ((False, "identity_ids", "people"), (True, "account_ids", "unmatched accounts")):
        of_kind = [(holder, access, name) for holder, unmatched, access, name in found if unmatched is is_account]
        each = [([holder], [access], name) for holder, access, name in of_kind]
        if len(of_kind) > _MOST_SINGLE:
            access = sorted({entitlement for _, entitlement, _ in of_kind})
            each = [([holder for holder, *_ in of_kind], access, f"{len(of_kind):,} {noun}")]
        for holders, entitlements, what in each:
            narrowed: dict[str, Any] = {"entitlement_ids": entitlements, field: holders}
            asked.append((ReviewScope(application_ids=[application_id], **narrowed), what))
    return asked


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
