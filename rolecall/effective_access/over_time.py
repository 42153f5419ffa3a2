"""Count the accounts that held an entitlement, import by import.

The steps are computed once per import and stored (`core/computed_lists.py`), because an entitlement may have as many
holders as the application has accounts.
"""

from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.accounts.queries import last_import
from rolecall.core.computed_lists import fetch_computed
from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.entitlements.shapes import EntitlementItem

# How many of the accounts that gained or lost the entitlement a step names.
_NAMED = 2


class HolderStep(msgspec.Struct, frozen=True):
    """An import that changed which accounts hold the entitlement; `gained` and `lost` name some of them."""

    number: int
    moment: datetime
    accounts: int
    change: int
    gained: list[str]
    lost: list[str]


class _StoredStep(msgspec.Struct, array_like=True):
    number: int
    accounts: int
    change: int
    gained: list[int]
    lost: list[int]


# Count an account once, even if it holds the entitlement on several paths. Store all steps together, for one chart.
_STEPS = f"""
    WITH spans AS (
        SELECT h.account, unnest(range_agg(h.during)) AS during FROM holdings_of(%(id)s, NULL) AS h GROUP BY h.account
    ), moves AS (
        SELECT lower(during) AS number, 1 AS change, account FROM spans
        UNION ALL SELECT upper(during), -1, account FROM spans WHERE NOT upper_inf(during)
    ), steps AS (
        SELECT number, sum(change) AS change,
               (array_agg(account ORDER BY account) FILTER (WHERE change > 0))[:{_NAMED}] AS gained,
               (array_agg(account ORDER BY account) FILTER (WHERE change < 0))[:{_NAMED}] AS lost
        FROM moves WHERE number <= %(as_of)s GROUP BY number
    ), counted AS (
        SELECT number, sum(change) OVER (ORDER BY number) AS accounts, change, gained, lost FROM steps
    )
    SELECT coalesce(json_agg(step ORDER BY number), '[]')::text AS key, 0 AS place
    FROM counted, LATERAL json_build_array(
        number, accounts, change, coalesce(gained, '{{}}'), coalesce(lost, '{{}}')) AS step"""


async def holders_over_time(db: Db, entitlement: EntitlementItem, now: datetime) -> list[HolderStep]:
    """Return all imports that changed the holders of an entitlement, including holders under its former names."""
    number = await last_import(db, entitlement.application.id)
    selves = await fetch_rows(db, "SELECT id FROM former_selves(%(id)s) ORDER BY 1", id=entitlement.id)
    name = f"steps of {' '.join(str(id) for (id,) in selves)} up to {number}"
    gathered = await fetch_computed(db, name, _STEPS, 1, now, id=entitlement.id, as_of=number)
    steps = msgspec.json.decode(gathered.keys[0], type=list[_StoredStep])
    moments: dict[int, datetime] = dict(
        await fetch_rows(
            db,
            "SELECT number, build_end FROM application_imports WHERE number = ANY(%(numbers)s)",
            numbers=[step.number for step in steps],
        )
    )
    names = await _names(db, {account for step in steps for account in (*step.gained, *step.lost)})
    return [
        HolderStep(
            step.number,
            moments[step.number],
            step.accounts,
            step.change,
            [names[account] for account in step.gained],
            [names[account] for account in step.lost],
        )
        for step in steps
    ]


async def _names(db: Db, accounts: set[int]) -> dict[int, str]:
    """Return a name for each account: the person that it matches, or else the username."""
    rows = await fetch_rows(
        db,
        """SELECT a.number, coalesce(i.first_name || ' ' || i.last_name, a.username) FROM accounts a
           LEFT JOIN identities i ON i.id = a.identity_id WHERE a.number = ANY(%(accounts)s)""",
        accounts=list(accounts),
    )
    return dict(rows)


async def first_data(db: Db, application_id: UUID) -> datetime | None:
    """Return when the first import of the application finished; there is no data about earlier times."""
    moment: datetime | None = await fetch_value(
        db,
        """SELECT build_end FROM application_imports WHERE application_id = %(id)s AND status = 'Finished'
           ORDER BY number LIMIT 1""",
        id=application_id,
    )
    return moment
