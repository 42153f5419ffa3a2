"""Find SCIM pushes without a valid token, those whose last token expires soon, and tokens of people who left."""

from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from rolecall.core.db import Db, fetch_all, fetch_rows
from rolecall.tokens.queries import OWNER_LEFT

_SOON = timedelta(days=30)


async def problems(db: Db, now: datetime) -> list[str]:
    """Describe pushes that have no token, or whose last token expired or expires soon. Skip archived applications."""
    rows = await fetch_rows(
        db,
        # `until` is NULL only if there is no token: HAVING excludes pushes with a token that never expires.
        """SELECT a.name, max(t.expires_at) AS until
           FROM scim_pushes p JOIN applications a ON a.id = p.application_id AND NOT a.is_archived
           LEFT JOIN scim_tokens t ON t.application_id = p.application_id AND t.revoked_at IS NULL
           GROUP BY a.id, a.name
           HAVING count(t.id) = 0 OR max(coalesce(t.expires_at, 'infinity')) < %(soon)s ORDER BY a.list_key""",
        soon=now + _SOON,
    )
    return [f"{name}: {_said(until, now) if until else 'there is no token'}" for name, until in rows]


def _said(until: datetime, now: datetime) -> str:
    return f"the last token {'expired' if until <= now else 'expires'} on {until:%Y-%m-%d}"


class TokenOfLeaver(msgspec.Struct, frozen=True):
    application_id: UUID
    application: str
    name: str
    owner: str


async def tokens_of_leavers(db: Db, now: datetime) -> list[TokenOfLeaver]:
    """Return the valid tokens whose owners are no longer active. Skip archived applications, which accept no pushes."""
    return await fetch_all(
        db,
        TokenOfLeaver,
        f"""SELECT a.id AS application_id, a.name AS application, t.name, o.first_name || ' ' || o.last_name AS owner
            FROM scim_tokens t JOIN identities o ON o.id = t.owner_id
            JOIN applications a ON a.id = t.application_id AND NOT a.is_archived
            WHERE t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > %(now)s) AND {OWNER_LEFT}
            ORDER BY a.list_key, t.created_at, t.id""",
        now=now,
    )
