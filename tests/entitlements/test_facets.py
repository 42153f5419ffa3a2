"""Compare the facets with the totals of the list under the same filters."""

from uuid import UUID

import httpx2
import msgspec
import pytest

from rolecall.core.db import Db, execute
from rolecall.entitlements.facets import Facets, facets
from rolecall.entitlements.model import EntitlementKind
from rolecall.entitlements.queries import EntitlementFilters, by_name
from rolecall.entitlements.shapes import Owner
from rolecall.settings.policy import Level
from tests.builders import an_identity
from tests.entitlements.test_curate import curate
from tests.entitlements.test_list import a_ledger

FILTERS = [
    EntitlementFilters(),
    EntitlementFilters(kind=EntitlementKind.GROUP),
    EntitlementFilters(kind=EntitlementKind.PERMISSION, risk_rating=Level.CRITICAL),
    EntitlementFilters(is_privileged=True),
    EntitlementFilters(search="appro"),
    EntitlementFilters(search="clerk", kind=EntitlementKind.PERMISSION),
    EntitlementFilters(tag="SOX"),
]


async def counted_by_list(db: Db, filters: EntitlementFilters, there: list[UUID], owner: UUID) -> Facets:
    async def found(**given: object) -> int:
        page = await by_name(db, 1, msgspec.structs.replace(filters, **given))
        return page.total_count

    of_owner = await found(owner_id=owner)
    return Facets(
        {id: await found(application_id=id) for id in there},
        {kind: await found(kind=kind) for kind in EntitlementKind},
        {level: await found(risk_rating=level) for level in Level},
        await found(is_privileged=True),
        [(Owner(owner, "Olga Owner"), of_owner)] if of_owner else [],
    )


@pytest.mark.parametrize("archived", [False, True])
async def test_facet_counts_equal_the_totals_of_the_list(client: httpx2.AsyncClient, db: Db, archived: bool) -> None:
    there = [await a_ledger(db, name) for name in ("Ledger", "Payroll")]
    owner = await an_identity(db, "Olga", "Owner")
    [approve, *_] = (await client.get("/api/entitlements", params={"search": "Approve"})).json()["items"]
    await curate(client, approve["id"], ownerId=str(owner), isPrivileged=True, tags=["SOX"])
    if archived:
        last = await a_ledger(db, "Archive")
        await execute(db, "UPDATE applications SET is_archived = true WHERE id = %(id)s", id=last)

    for filters in [*FILTERS, EntitlementFilters(application_id=there[1]), EntitlementFilters(owner_id=owner)]:
        assert await facets(db, filters, there) == await counted_by_list(db, filters, there, owner), filters
