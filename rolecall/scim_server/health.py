"""Find SCIM pushes without a valid token, and those whose last token expires soon."""

from datetime import datetime, timedelta

from rolecall.core.db import Db, fetch_rows

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
