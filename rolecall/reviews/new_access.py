"""Find access that appeared after a review was opened, in the applications that it covers."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from rolecall.accounts.model import Access
from rolecall.core.db import Db
from rolecall.core.paging import Page, fetch_page
from rolecall.effective_access.shapes import ImportReason
from rolecall.reviews.shapes import NamedReference, NewAccess, ReviewItemEntitlement
from rolecall.settings.policy import Level
from rolecall.work_items.shapes import person

# Access that was imported after the population was taken and is still held. A review of groups or models has none.
_NEW = """
    WITH pins AS MATERIALIZED (
        SELECT p.application_id, p.import_number FROM review_populations p JOIN reviews r ON r.id = p.review_id
        WHERE p.review_id = %(review)s AND p.import_number IS NOT NULL AND r.type NOT IN ('Group Contents', 'Model')
    ), appeared AS MATERIALIZED (
        SELECT m.account_number, g.id AS entitlement_id, 'Grant' AS access, m.from_import
        FROM pins p JOIN groups g ON g.application_id = p.application_id
        JOIN memberships m ON m.group_number = g.number AND m.from_import > p.import_number AND m.until_import IS NULL
        UNION ALL
        SELECT s.holder_number, o.id, s.access::text, s.from_import
        FROM pins p JOIN permissions o ON o.application_id = p.application_id
        JOIN assignments s ON s.permission_number = o.number AND s.from_import > p.import_number
             AND s.until_import IS NULL AND s.access NOT IN ('None', 'Deny')
    )"""
_FROM = """FROM appeared n JOIN accounts a ON a.number = n.account_number JOIN applications o ON o.id = a.application_id
    JOIN entitlements e ON e.id = n.entitlement_id LEFT JOIN identities i ON i.id = a.identity_id
    JOIN application_imports r ON r.number = n.from_import
    WHERE NOT EXISTS (SELECT FROM review_items c WHERE c.review_id = %(review)s AND c.account_number = n.account_number
                      AND n.entitlement_id IN (c.entitlement_id, latest_self(c.entitlement_id)))
      AND (%(reviewers)s::uuid[] IS NULL OR EXISTS (
          SELECT FROM review_items c WHERE c.review_id = %(review)s AND c.reviewer_id = ANY(%(reviewers)s)
            AND c.application_id = a.application_id
            AND (c.account_number = a.number OR c.identity_id = a.identity_id)))"""
_COLUMNS = """o.id, o.name, a.id, a.username, i.id, i.first_name || ' ' || i.last_name, e.id, e.kind, e.header,
    e.section, e.name, e.display_name, e.description, e.risk_rating, e.is_privileged, n.access, r.number, r.build_end"""


def _from_row(row: Sequence[Any]) -> NewAccess:
    application, account, owner, entitlement = row[:2], row[2:4], row[4:6], row[6:15]
    return NewAccess(
        NamedReference(*application),
        NamedReference(*account),
        person(*owner),
        ReviewItemEntitlement(*(*entitlement[:7], Level(entitlement[7]), entitlement[8])),
        Access(row[15]),
        ImportReason(*row[16:]),
    )


async def new_access(db: Db, review_id: UUID, page: int, reviewers: Sequence[UUID] | None = None) -> Page[NewAccess]:
    """List new access; with `reviewers`, only that of people and accounts that they review in the application."""
    return await fetch_page(
        db,
        _from_row,
        page,
        given=_NEW,
        total=f"SELECT count(*) {_FROM}",
        items=f"SELECT {_COLUMNS} {_FROM} ORDER BY i.list_key NULLS LAST, o.list_key, a.username, e.name_key",
        review=review_id,
        reviewers=None if reviewers is None else list(reviewers),
    )
