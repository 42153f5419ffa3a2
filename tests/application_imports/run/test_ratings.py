"""Test that an upload or rollback that lowers a high risk rating is held until another person continues it.

This person needs the right to configure applications.
"""

from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.application_imports import actions
from rolecall.application_imports.actions import OWN_RATINGS
from rolecall.core.caller import Caller, Scope
from rolecall.core.clock import now
from rolecall.core.db import Db, execute, fetch_value
from rolecall.core.errors import Conflict
from tests.application_imports.running import Imports
from tests.builders import a_token, an_application

USERS = "Username\nada\n"
PERMISSIONS = "Group,Header,Permission,Access,Risk Rating\n"
GROUPS = "Group,Parent\nChiefs,\nClerks,Chiefs\n"


def files(*rows: str, groups: str = GROUPS) -> dict[str, Any]:
    return {"Users": USERS, "Groups": groups, "Permissions": "\n".join([PERMISSIONS.strip(), *rows, ""])}


CRITICAL = files("Chiefs,Books,Close,Grant,Critical", "Clerks,Books,Read,Grant,Low")


@pytest.fixture
async def ledger(db: Db, imports: Imports) -> UUID:
    """Create an application whose group Clerks is rated Critical, because its parent group may close the books."""
    id = await an_application(db, "Ledger")
    await imports.finish(id, CRITICAL)
    return id


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (
            files("Chiefs,Books,Close,Grant,Low", "Clerks,Books,Read,Grant,Low"),
            "it would lower the risk rating of Books Close from Critical to Low",
        ),
        (
            files("Chiefs,Books,Close,None,Critical", "Clerks,Books,Read,Grant,Low"),
            "it would lower the risk rating of Chiefs from Critical to None, Clerks from Critical to Low",
        ),
        (
            files(*CRITICAL["Permissions"].splitlines()[1:], groups="Group,Parent\nChiefs,\nClerks,\n"),
            "it would lower the risk rating of Clerks from Critical to Low",
        ),
    ],
    ids=["a permission", "what a group gives", "a parent"],
)
async def test_upload_that_lowers_a_high_rating_is_held(
    imports: Imports, ledger: UUID, sent: dict[str, Any], reason: str
) -> None:
    held = await imports.run(ledger, sent)

    assert held["status"] == "Running"
    assert f"Held: {reason}" in held["log"]


FLAT = "Group,Parent\nChiefs,\nClerks,\n"


async def test_import_that_lowers_a_rating_in_a_second_step_is_held(imports: Imports, db: Db) -> None:
    """A returning entitlement is compared with its last rating, so that removing it first does not bypass the hold."""
    ledger = await an_application(db, "Ledger")
    await imports.finish(ledger, files("Chiefs,Books,Close,Grant,Critical", "Clerks,Books,Read,Grant,Low", groups=FLAT))
    await imports.finish(ledger, files("Clerks,Books,Read,Grant,Low", groups="Group,Parent\nClerks,\n"))

    held = await imports.run(ledger, files("Chiefs,Books,Close,Grant,Low", "Clerks,Books,Read,Grant,Low", groups=FLAT))

    lowered = "Books Close from Critical to Low, Chiefs from Critical to Low"
    assert f"Held: it would lower the risk rating of {lowered}" in held["log"]


async def test_import_that_lowers_a_rating_after_everything_was_removed_is_held(imports: Imports, ledger: UUID) -> None:
    await imports.finish(ledger, files(groups="Group,Parent\n"))

    held = await imports.run(ledger, files("Chiefs,Books,Close,Grant,Low", "Clerks,Books,Read,Grant,Low"))

    assert "Held: it would lower the risk rating of Books Close from Critical to Low" in held["log"]


async def test_curated_rating_counts_when_a_group_loses_a_permission(
    imports: Imports, client: httpx2.AsyncClient, db: Db
) -> None:
    ledger = await an_application(db, "Ledger")
    await imports.finish(ledger, files("Chiefs,Books,Close,Grant,Critical", "Clerks,Books,Read,Grant,Low", groups=FLAT))
    read = await fetch_value(db, "SELECT id FROM entitlements WHERE name = 'Read'")
    assert (await client.patch(f"/api/entitlements/{read}", json={"riskRating": "Critical"})).status_code == 200

    held = await imports.run(ledger, files("Chiefs,Books,Close,Grant,Critical", groups=FLAT))

    assert "Held: it would lower the risk rating of Clerks from Critical to None" in held["log"]


async def test_import_that_is_not_held_cannot_be_continued(
    imports: Imports, client: httpx2.AsyncClient, ledger: UUID
) -> None:
    run = await imports.upload(ledger, LOWERED)

    answer = await client.post(f"/api/application-imports/{run['id']}/continue")

    assert (answer.status_code, answer.json()["message"]) == (
        409,
        "Application import is not held, so it cannot be continued",
    )


async def test_import_that_changes_other_ratings_is_not_held(imports: Imports, ledger: UUID) -> None:
    await imports.finish(ledger, files("Chiefs,Books,Close,Grant,Critical", "Clerks,Books,Read,Grant,None"))
    await imports.finish(ledger, files("Chiefs,Books,Close,Grant,Critical", "Clerks,Books,Read,Grant,High"))


LOWERED = files("Chiefs,Books,Close,Grant,Moderate", "Clerks,Books,Read,Grant,Low")


async def test_rollback_that_lowers_a_high_rating_is_held(
    imports: Imports, client: httpx2.AsyncClient, db: Db, ledger: UUID
) -> None:
    other = await an_application(db, "Other")
    low = await imports.finish(other, LOWERED)
    await imports.finish(other, CRITICAL)

    answer = await client.post(f"/api/applications/{other}/rollback", json={"importNumber": low["number"]})
    await imports.work()

    rolled_back = await imports.get(answer.json()["id"])
    assert rolled_back["status"] == "Running"
    assert "Held: it would lower the risk rating of Books Close from Critical to Moderate" in rolled_back["log"]


async def test_scheduled_import_that_lowers_a_rating_is_not_held(imports: Imports, db: Db, ledger: UUID) -> None:
    run = await imports.upload(ledger, LOWERED)
    await execute(db, "UPDATE application_imports SET supplied_by = NULL WHERE id = %(id)s", id=run["id"])

    await imports.work()

    assert (await imports.get(run["id"]))["status"] == "Finished"


async def test_another_caller_with_the_right_to_configure_can_continue_the_import(
    imports: Imports, client: httpx2.AsyncClient, db: Db, ledger: UUID
) -> None:
    held = await imports.run(ledger, LOWERED)
    path = f"/api/application-imports/{held['id']}/continue"

    own = await client.post(path)
    assert (own.status_code, own.json()["message"]) == (409, OWN_RATINGS)
    weak = await a_token(db, "weak", scopes=["imports:write"])
    assert (await client.post(path, headers={"Authorization": f"Bearer {weak.secret}"})).status_code == 403
    strong = await a_token(db, "strong", scopes=["imports:write", "config:manage"])
    assert (await client.post(path, headers={"Authorization": f"Bearer {strong.secret}"})).status_code == 200
    await imports.work()

    assert (await imports.get(held["id"]))["status"] == "Finished"


async def test_owner_cannot_continue_what_their_token_uploaded(imports: Imports, db: Db, ledger: UUID) -> None:
    held = UUID((await imports.run(ledger, LOWERED))["id"])
    owner, other = (Caller(UUID(int=n), name, frozenset(Scope)) for n, name in ((71, "Owner"), (72, "Other")))
    await execute(db, "UPDATE tokens SET owner_id = %(owner)s", owner=owner.id)

    with pytest.raises(Conflict):
        await actions.continue_import(db, owner, held, now())

    await actions.continue_import(db, other, held, now())
