"""Compare the facets with the totals of the list under the same filters."""

from uuid import UUID

import httpx2
import msgspec
import pytest

from rolecall.core.db import Db, execute, fetch_rows
from rolecall.entitlements.facets import Facets, facets
from rolecall.entitlements.model import EntitlementKind
from rolecall.entitlements.queries import EntitlementFilters, by_name
from rolecall.entitlements.shapes import Owner
from rolecall.settings.policy import Level
from tests.builders import an_identity
from tests.entitlements.test_curate import curate
from tests.entitlements.test_list import a_ledger
from tests.nesting import only_groups

FILTERS = [
    EntitlementFilters(),
    EntitlementFilters(kind=EntitlementKind.GROUP),
    EntitlementFilters(kind=EntitlementKind.PERMISSION, risk_rating=Level.CRITICAL),
    EntitlementFilters(is_privileged=True),
    EntitlementFilters(search="appro"),
    EntitlementFilters(search="clerk", kind=EntitlementKind.PERMISSION),
    EntitlementFilters(tag="SOX"),
]


async def counted_by_list(db: Db, filters: EntitlementFilters, there: list[UUID]) -> Facets:
    async def found(**given: object) -> int:
        page = await by_name(db, 1, msgspec.structs.replace(filters, **given))
        return page.total_count

    people = await fetch_rows(db, "SELECT id, first_name || ' ' || last_name FROM identities ORDER BY list_key")
    owners = [(Owner(id, name), await found(owner_id=id)) for id, name in people]
    return Facets(
        {id: await found(application_id=id) for id in there},
        {kind: await found(kind=kind) for kind in EntitlementKind},
        {level: await found(risk_rating=level) for level in Level},
        await found(is_privileged=True),
        sorted((one for one in owners if one[1]), key=lambda one: -one[1]),
    )


async def assert_equal(db: Db, there: list[UUID], *further: EntitlementFilters) -> None:
    # The console requests facets only of applications that are not archived.
    rows = await fetch_rows(db, "SELECT id FROM applications WHERE NOT is_archived AND id = ANY(%(ids)s)", ids=there)
    live = [id for (id,) in rows]
    for filters in [*FILTERS, EntitlementFilters(application_id=there[1]), *further]:
        assert await facets(db, filters, live) == await counted_by_list(db, filters, live), filters


@pytest.mark.parametrize("archived", [False, True])
async def test_facet_counts_equal_the_totals_of_the_list(client: httpx2.AsyncClient, db: Db, archived: bool) -> None:
    there = [await a_ledger(db, name) for name in ("Ledger", "Payroll")]
    owner = await an_identity(db, "Olga", "Owner")
    [approve, *_] = (await client.get("/api/entitlements", params={"search": "Approve"})).json()["items"]
    await curate(client, approve["id"], ownerId=str(owner), isPrivileged=True, tags=["SOX"])
    if archived:
        last = await a_ledger(db, "Archive")
        await execute(db, "UPDATE applications SET is_archived = true WHERE id = %(id)s", id=last)

    await assert_equal(db, there, EntitlementFilters(owner_id=owner))


async def test_facets_count_what_the_list_finds_after_every_kind_of_change(client: httpx2.AsyncClient, db: Db) -> None:
    there = [await a_ledger(db, name) for name in ("Ledger", "Payroll")]
    olga, petra = await an_identity(db, "Olga", "Owner"), await an_identity(db, "Petra", "Boss")
    await execute(db, "UPDATE applications SET owner_id = %(petra)s WHERE id = ANY(%(ids)s)", petra=petra, ids=there)

    ids = dict[str, str]()

    async def id_of(name: str, which: int) -> str:
        found = (await client.get("/api/entitlements", params={"applicationId": str(there[which])})).json()["items"]
        return next(str(one["id"]) for one in found if one["name"] == name)

    async def curated() -> None:
        await curate(client, await id_of("Approve", 0), ownerId=str(olga), isPrivileged=True, riskRating="Low")
        await curate(client, await id_of("Clerks", 1), ownerId=str(petra), tags=["SOX"], displayName="Zeta")

    async def renamed() -> None:
        former = await id_of("Wire approvers", 0)
        await only_groups(db, there[0], {"Payment approvers": "", "Clerks": "Payment approvers"})
        ids["new name"] = await id_of("Payment approvers", 0)
        await curate(client, ids["new name"], sameAs=former, riskRating="High")

    async def parted() -> None:
        await curate(client, ids["new name"], sameAs="", riskRating="")

    async def came_back() -> None:
        await only_groups(db, there[0], {"Wire approvers": "", "Clerks": "Wire approvers"})

    async def left() -> None:
        await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=olga)

    async def everyone_left() -> None:
        await execute(db, "UPDATE identities SET status = 'Removed' WHERE id = %(id)s", id=petra)

    async def returned() -> None:
        await execute(db, "UPDATE identities SET status = 'Active'")

    async def archived() -> None:
        await execute(db, "UPDATE applications SET is_archived = true WHERE id = %(id)s", id=there[1])

    async def restored() -> None:
        await execute(db, "UPDATE applications SET is_archived = false")

    changes = (curated, renamed, left, came_back, everyone_left, parted, archived, returned, restored)
    for change in changes:
        await change()
        await assert_equal(db, there, EntitlementFilters(owner_id=olga), EntitlementFilters(owner_id=petra))
