"""Count accounts, tokens and notification problems that need attention, for the home page."""

from datetime import datetime, timedelta

import msgspec

from rolecall.core.computed_lists import fetch_computed
from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.core.text import some_of
from rolecall.notifications import health
from rolecall.scim_server import health as pushes
from rolecall.tokens import queries as tokens

# The highest count: counting stops here, to keep the home page fast.
_MOST_COUNTED = 1000
_DORMANT_DAYS = 90
_MOST_NAMED = 3


class Attention(msgspec.Struct, frozen=True):
    """A count of records, with a caption and a link to the list of the records."""

    count: int
    label: str
    address: str


# The current version has no `until_import`. This excludes accounts that are gone, which have no current version.
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


# Part of the cache key for the count of privileged accounts. It changes with imports, curations and archiving.
_STATE = """SELECT concat_ws(' ', (SELECT max(changed_on) FROM curations),
        (SELECT string_agg(t.import_number::text, ' ' ORDER BY p.id) FROM applications p
         JOIN application_totals t ON t.application_id = p.id WHERE NOT p.is_archived))"""
_PRIVILEGED = f"""SELECT count(DISTINCT a.number)::text AS key, 0 AS place
    FROM entitlements e CROSS JOIN LATERAL holdings_of(e.id, now_import()) AS h
    JOIN accounts a ON a.number = h.account {_NOW} {_THERE} WHERE e.is_privileged"""


async def _privileged_accounts(db: Db, now: datetime) -> Attention:
    state = await fetch_value(db, _STATE)
    # Store the count, because counting reads all holders of all privileged entitlements.
    found = await fetch_computed(db, f"privileged accounts after {state}", _PRIVILEGED, 1, now)
    return Attention(int(found.keys[0]), "Accounts with privileged access", "/accounts?privileged=true")


async def accounts_to_look_at(db: Db, now: datetime) -> list[Attention]:
    """Count unmatched, disputed, dormant, leavers' and privileged accounts; only the last count can exceed 1000."""
    counts = ", ".join(
        f"(SELECT count(*) FROM (SELECT FROM {found} LIMIT {_MOST_COUNTED}) AS found)" for found in _FOUND.values()
    )
    # Logins are stored as text in ISO 8601, which sorts by time.
    oldest = f"{now - timedelta(days=_DORMANT_DAYS):%Y-%m-%dT%H:%M:%SZ}"
    [row] = await fetch_rows(db, f"SELECT {counts}", oldest=oldest)
    found = [Attention(count, label, address) for count, (label, address) in zip(row, _FOUND, strict=True)]
    return [each for each in (*found, await _privileged_accounts(db, now)) if each.count]


async def tokens_to_look_at(db: Db, now: datetime) -> list[Attention]:
    """Count the valid tokens with refused scopes: scopes that the owner of the token may no longer use."""
    count = len(await tokens.with_refused_scopes(db, now))
    return [Attention(count, "API tokens with scopes that their owner lacks", "/settings/tokens")] if count else []


async def push_tokens_to_look_at(db: Db, now: datetime) -> list[Attention]:
    """Count the valid SCIM tokens of people who left; the link leads to the first application."""
    found = await pushes.tokens_of_leavers(db, now)
    if not found:
        return []
    names = some_of(list(dict.fromkeys(each.application for each in found)), _MOST_NAMED)
    address = f"/applications/{found[0].application_id}/source"
    return [Attention(len(found), f"SCIM tokens of people who left: {names}", address)]


async def notifications_to_look_at(db: Db, now: datetime) -> list[Attention]:
    """Count the problems that prevent notifications from arriving."""
    found = await health.problems(db, now)
    counted = [
        Attention(len(found.failing), "Channels that cannot send notifications", "/settings/notifications"),
        Attention(len(found.refused), "Addresses that notifications probably did not reach", "/settings/outbox"),
        Attention(
            len(found.unwritten), "Notifications that could not be written", "/settings/outbox?outcome=unwritten"
        ),
        Attention(
            found.unsendable, "People notified in the console only: no mail server is set up", "/settings/notifications"
        ),
        Attention(len(found.broken_templates), "Notification templates with errors", "/settings/notifications"),
    ]
    return [each for each in counted if each.count]
