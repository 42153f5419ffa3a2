"""Count accounts and notifications that need attention, for the home page."""

from datetime import datetime, timedelta

import msgspec

from rolecall.core.db import Db, fetch_rows
from rolecall.notifications import health

# Counting stops here, so that the home page stays fast.
_MOST_COUNTED = 1000
_DORMANT_DAYS = 90


class Attention(msgspec.Struct, frozen=True):
    """A number of records, its caption, and where they are listed."""

    count: int
    label: str
    address: str


_NOW = "JOIN account_versions v ON v.account_number = a.number AND v.until_import IS NULL"
_THERE = "JOIN applications p ON p.id = a.application_id AND NOT p.is_archived"
_FOUND = {
    ("Accounts of people who left", "/accounts?leaver=true&isActive=true"): f"""
        identities i JOIN accounts a ON a.identity_id = i.id {_NOW} AND v.is_active {_THERE}
        WHERE i.status <> 'Active'""",
    (
        "Accounts without a person",
        "/accounts?match=Unmatched",
    ): f"accounts a {_NOW} {_THERE} WHERE a.match = 'Unmatched'",
    (
        "Accounts that match several people",
        "/accounts?match=Disputed",
    ): f"accounts a {_NOW} {_THERE} WHERE a.match = 'Disputed'",
    (f"Accounts unused for {_DORMANT_DAYS} days", f"/accounts?dormantDays={_DORMANT_DAYS}&isActive=true"): f"""
        accounts a {_NOW} AND v.is_active AND v.last_login <> '' AND v.last_login < %(oldest)s {_THERE}""",
}


async def accounts_to_look_at(db: Db, now: datetime) -> list[Attention]:
    """Count leavers', unmatched, disputed and dormant accounts, up to a thousand each."""
    counts = ", ".join(
        f"(SELECT count(*) FROM (SELECT FROM {found} LIMIT {_MOST_COUNTED}) AS found)" for found in _FOUND.values()
    )
    oldest = f"{now - timedelta(days=_DORMANT_DAYS):%Y-%m-%dT%H:%M:%SZ}"
    [row] = await fetch_rows(db, f"SELECT {counts}", oldest=oldest)
    return [Attention(count, label, address) for count, (label, address) in zip(row, _FOUND, strict=True) if count]


async def notifications_to_look_at(db: Db, now: datetime) -> list[Attention]:
    """Count what keeps notifications from arriving."""
    found = await health.problems(db, now)
    counted = [
        Attention(len(found.failing), "Channels that cannot send notifications", "/settings/notifications"),
        Attention(len(found.refused), "Addresses that refused notifications", "/settings/outbox"),
        Attention(found.unsendable, "People without e-mail: no mail server is set up", "/settings/notifications"),
        Attention(len(found.broken_templates), "Notification templates with errors", "/settings/notifications"),
    ]
    return [each for each in counted if each.count]
