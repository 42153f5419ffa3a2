"""Count the accounts that held an entitlement, import by import.

The steps are computed once per import and stored (`core/computed_lists.py`), because an entitlement may have as many
holders as the application has accounts.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.core.computed_lists import list_name, store_texts, stored_texts
from rolecall.core.db import Db, fetch_rows, fetch_value

# A step names at most this many accounts that gained the entitlement, and as many that lost it.
_NAMED = 2


class HolderStep(msgspec.Struct, frozen=True):
    """An import that changed which accounts hold the entitlement; `gained` and `lost` each name at most two."""

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


# Count an account once, even if it holds the entitlement through several paths. Store all steps in one value, because
# they are always read together.
_STEPS = f"""SELECT asked.list, counted.key
    FROM unnest(%(names)s::text[], %(ids)s::uuid[], %(numbers)s::int[]) AS asked (list, id, number)
    CROSS JOIN LATERAL (
        WITH spans AS (
            SELECT h.account, unnest(range_agg(h.during)) AS during FROM holdings_of(asked.id, NULL) AS h
            GROUP BY h.account
        ), moves AS (
            SELECT lower(during) AS number, 1 AS change, account FROM spans
            UNION ALL SELECT upper(during), -1, account FROM spans WHERE NOT upper_inf(during)
        ), steps AS (
            SELECT number, sum(change) AS change,
                   (array_agg(account ORDER BY account) FILTER (WHERE change > 0))[:{_NAMED}] AS gained,
                   (array_agg(account ORDER BY account) FILTER (WHERE change < 0))[:{_NAMED}] AS lost
            FROM moves WHERE moves.number <= asked.number GROUP BY moves.number
        ), counted AS (
            SELECT number, sum(change) OVER (ORDER BY number) AS accounts, change, gained, lost FROM steps
        )
        SELECT coalesce(json_agg(step ORDER BY number), '[]')::text AS key
        FROM counted, LATERAL json_build_array(
            number, accounts, change, coalesce(gained, '{{}}'), coalesce(lost, '{{}}')) AS step
    ) AS counted"""
# The steps depend on the last import and on all names of the entitlement, because these names share one history.
_STATE = """SELECT e.id, coalesce((SELECT max(r.number)::int FROM application_imports r
                                   WHERE r.application_id = e.application_id AND r.status = 'Finished'), 0),
                   ARRAY(SELECT f.id::text FROM former_selves(e.id) AS f ORDER BY 1)
            FROM entitlements e WHERE e.id = ANY(%(ids)s)"""


async def _steps(
    db: Db, ids: Sequence[UUID], now: datetime, *, is_stored_only: bool = False
) -> dict[UUID, list[_StoredStep]]:
    rows = await fetch_rows(db, _STATE, ids=list(ids))
    names = {id: list_name(f"steps of {' '.join(selves)} up to {number}") for id, number, selves in rows}
    stored = await stored_texts(db, list(names.values()))
    missing = [(names[id], id, number) for id, number, _ in rows if names[id] not in stored]
    if missing and not is_stored_only:
        lists, of, numbers = zip(*missing, strict=True)
        await store_texts(db, _STEPS, now, names=list(lists), ids=list(of), numbers=list(numbers))
        stored |= await stored_texts(db, lists)
    return {
        id: msgspec.json.decode(stored[name], type=list[_StoredStep]) for id, name in names.items() if name in stored
    }


async def _moments(db: Db, steps: Iterable[_StoredStep]) -> dict[int, datetime]:
    rows = await fetch_rows(
        db,
        "SELECT number, build_end FROM application_imports WHERE number = ANY(%(numbers)s)",
        numbers=list({step.number for step in steps}),
    )
    return dict(rows)


async def holders_over_time(db: Db, id: UUID, now: datetime) -> list[HolderStep]:
    """Return all imports that changed the holders of an entitlement, including holders under its former names."""
    steps = (await _steps(db, [id], now)).get(id, [])
    moments = await _moments(db, steps)
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


class HolderCount(msgspec.Struct, frozen=True):
    """The number of accounts that hold an entitlement, from a moment on."""

    moment: datetime
    accounts: int


async def counts_over_time(
    db: Db, ids: Sequence[UUID], now: datetime, *, is_stored_only: bool = False
) -> dict[UUID, list[HolderCount]]:
    """Return how many accounts held each entitlement over time.

    With `is_stored_only`, leave out entitlements whose counts are not stored yet.
    """
    found = await _steps(db, ids, now, is_stored_only=is_stored_only)
    moments = await _moments(db, (step for steps in found.values() for step in steps))
    return {id: [HolderCount(moments[step.number], step.accounts) for step in steps] for id, steps in found.items()}


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
