"""Hash the items of a review, before or after they are stored."""

from uuid import UUID

from rolecall.core.db import Db, fetch_value
from rolecall.reviews.model import ItemSubject

# One line of ids and imported values per item, so that the hash can be recomputed with or without a database.
_LINE = """concat_ws(E'\\t', coalesce({holder}::text, ''), coalesce({row}.entitlement_id::text, ''), {subject},
    coalesce({row}.application_id::text, ''), {row}.access, coalesce({row}.since_import::text, ''),
    coalesce({row}.identity_id::text, ''))"""
# Sort by bytes, so that the order does not depend on the database's collation (evidence/verify.py does the same).
_DIGEST = """
    SELECT encode(sha256(convert_to(coalesce(string_agg(line, E'\\n' ORDER BY line COLLATE "C"), ''), 'UTF8')), 'hex')
    FROM ({lines}) AS lines (line)"""


async def taken_digest(db: Db, subject: ItemSubject) -> str:
    """Return the SHA-256 of the population in `pinned_holdings`, without excluded access."""
    line = _LINE.format(holder="coalesce(a.id, g.id, h.model_id)", row="h", subject="%(subject)s::text")
    lines = f"""SELECT {line} FROM pinned_holdings h LEFT JOIN accounts a ON a.number = h.holder
                LEFT JOIN groups g ON g.number = h.holder WHERE h.excluded IS NULL"""
    digest: str = await fetch_value(db, _DIGEST.format(lines=lines), subject=subject)
    return digest


async def items_digest(db: Db, review_id: UUID) -> str:
    """Return the SHA-256 of the stored items of a review, without model items that only group other items."""
    line = _LINE.format(holder="coalesce(a.id, g.id, i.model_id)", row="i", subject="i.subject")
    lines = f"""SELECT {line} FROM review_items i LEFT JOIN accounts a ON a.number = i.account_number
                LEFT JOIN groups g ON g.number = i.group_number JOIN reviews r ON r.id = i.review_id
                WHERE i.review_id = %(id)s AND (i.subject <> 'Model' OR r.type = 'Model')"""
    digest: str = await fetch_value(db, _DIGEST.format(lines=lines), id=review_id)
    return digest
