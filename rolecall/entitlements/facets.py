"""Count the entitlements that match each value of a filter, with the other filters applied."""

from collections.abc import Sequence
from uuid import UUID

import msgspec

from rolecall.core.db import Db, fetch_rows
from rolecall.core.paging import totals_by
from rolecall.entitlements.model import EntitlementKind
from rolecall.entitlements.queries import EntitlementFilters, are_totals_stored, rows_that_match
from rolecall.entitlements.shapes import Owner
from rolecall.settings.policy import Level

MOST_OWNERS = 12


class Facets(msgspec.Struct, frozen=True):
    """The number of entitlements for each application, kind and risk, and for the owners with the most entitlements.

    `privileged` counts the privileged ones.
    """

    applications: dict[UUID, int]
    kinds: dict[EntitlementKind, int]
    risks: dict[Level, int]
    privileged: int
    owners: list[tuple[Owner, int]]


async def facets(db: Db, filters: EntitlementFilters, applications: Sequence[UUID]) -> Facets:
    by_application = await _counts(db, filters, "application_id", [str(id) for id in applications])
    by_kind = await _counts(db, filters, "kind", list(EntitlementKind))
    by_risk = await _counts(db, filters, "risk_rating", list(Level))
    return Facets(
        {id: by_application[str(id)] for id in applications},
        {kind: by_kind[kind] for kind in EntitlementKind},
        {level: by_risk[level] for level in Level},
        await _privileged(db, filters),
        await _owners(db, filters),
    )


async def _counts(db: Db, filters: EntitlementFilters, column: str, values: Sequence[str]) -> dict[str, int]:
    others = msgspec.structs.replace(filters, **{column: None})
    if await are_totals_stored(db, others):
        fixed = {name: str(value) for name, value in others.columns().items()}
        return await totals_by(db, "entitlements", column, values, **fixed)
    rows, params = rows_that_match(others)
    found = await fetch_rows(db, f"SELECT e.{column}::text, count(*) {rows} GROUP BY 1", **params)
    return dict.fromkeys(values, 0) | dict(found)


async def _privileged(db: Db, filters: EntitlementFilters) -> int:
    rows, params = rows_that_match(msgspec.structs.replace(filters, is_privileged=True))
    [(total,)] = await fetch_rows(db, f"SELECT count(*) {rows}", **params)
    return int(total)


async def _owners(db: Db, filters: EntitlementFilters) -> list[tuple[Owner, int]]:
    """Return the owners with the most entitlements. If an owner has left, the application's owner counts instead."""
    joins = "JOIN applications a ON a.id = e.application_id JOIN identities o ON o.id = e.owner_id"
    rows, params = rows_that_match(msgspec.structs.replace(filters, owner_id=None), joins)
    found = await fetch_rows(
        db,
        f"""WITH owned AS (SELECT CASE WHEN o.status = 'Active' THEN o.id ELSE a.owner_id END AS owner_id,
                                  count(*) AS total {rows} GROUP BY 1)
            SELECT i.id, i.first_name || ' ' || i.last_name, o.total
            FROM owned o JOIN identities i ON i.id = o.owner_id AND i.status = 'Active'
            ORDER BY o.total DESC, i.list_key LIMIT {MOST_OWNERS}""",
        **params,
    )
    return [(Owner(id, name), total) for id, name, total in found]
