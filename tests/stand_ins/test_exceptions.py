"""Test that stand-ins of owners decide on exceptions for conflicts, and what is recorded."""

from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.conflicts import actions
from rolecall.conflicts.shapes import ConflictDetail
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.core.errors import Conflict, Invalid
from tests.builders import an_identity, facts
from tests.conflicts.test_exceptions import Cast, a_cast, act, approve, owner_of_ledger
from tests.console.test_matrix import sign_in
from tests.notifications.notifying import notified
from tests.stand_ins.standing_in import a_stand_in, caller_of


async def waiting(db: Db, client: httpx2.AsyncClient) -> Cast:
    """Request an exception for Sofia's conflict; Hana owns the rule and Carla the ledger."""
    cast = await a_cast(db)
    assert (await act(client, cast.conflict, "except", cast.wish())).status_code == 200
    return cast


async def approve_as(db: Db, person: UUID, conflict: UUID, **body: Any) -> ConflictDetail:
    async with db.transaction():
        return await actions.approve_exception(db, await caller_of(db, person), str(conflict), body, facts())


async def test_activity_and_approval_name_the_owner_and_the_stand_in(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await waiting(db, client)
    sam = await an_identity(db, "Sam", "Else")
    await a_stand_in(db, cast.company.owner, sam)

    found = await approve_as(db, sam, cast.conflict)

    said = found.activity[-1].content
    assert said == "Sam Else approved the exception as the rule's owner, standing in for Hana Makinen"
    (approval,) = (await client.get(f"/api/conflicts/{cast.conflict}")).json()["exceptions"][0]["approvals"]
    assert (approval["approver"]["name"], approval["standIn"]["name"]) == ("Hana Makinen", "Sam Else")


async def test_one_person_cannot_give_both_approvals(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await waiting(db, client)
    sam, chief = await an_identity(db, "Sam", "Else"), UUID(await owner_of_ledger(db))
    for owner in (cast.company.owner, chief):
        await a_stand_in(db, owner, sam)
    await approve_as(db, sam, cast.conflict)

    for approver in (None, chief):
        with pytest.raises(Conflict, match="already approved"):
            await approve_as(db, sam, cast.conflict, approverId=str(approver) if approver else None)
    found = await approve_as(db, chief, cast.conflict)

    assert found.status == "Excepted"


@pytest.mark.parametrize("who", ["sofia", "auditor", "verifier"])
async def test_stand_in_who_may_not_decide_is_refused(client: httpx2.AsyncClient, db: Db, who: str) -> None:
    cast = await waiting(db, client)
    other = await an_identity(db, "Sam", "Else")
    stand_in = cast.company.sofia if who == "sofia" else other
    await a_stand_in(db, cast.company.owner, stand_in, **({"type": "Verify"} if who == "verifier" else {}))
    if who == "auditor":
        await execute(db, "INSERT INTO console_roles (identity_id, role) VALUES (%(id)s, 'Auditor')", id=stand_in)

    with pytest.raises((Conflict, Invalid)):
        await approve_as(db, stand_in, cast.conflict, approverId=str(cast.company.owner))
    with pytest.raises(Conflict):
        await approve_as(db, stand_in, cast.conflict)


async def test_person_in_conflict_cannot_choose_who_approves_for_the_owner(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await waiting(db, client)
    sam = await an_identity(db, "Sam", "Else")
    await a_stand_in(db, cast.company.owner, cast.company.sofia)
    await a_stand_in(db, cast.company.sofia, sam)

    with pytest.raises(Conflict, match="The person in conflict cannot approve"):
        await approve_as(db, sam, cast.conflict)


async def test_stand_in_of_an_administrator_does_not_approve(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await waiting(db, client)
    boss, sam = await an_identity(db, "Alan", "Turing"), await an_identity(db, "Sam", "Else")
    await execute(db, "INSERT INTO console_roles (identity_id, role) VALUES (%(id)s, 'Administrator')", id=boss)
    await a_stand_in(db, boss, sam)

    with pytest.raises(Conflict, match="must come from"):
        await approve_as(db, sam, cast.conflict)
    with pytest.raises(Invalid):
        await approve_as(db, sam, cast.conflict, approverId=str(boss))


async def test_token_records_who_approved_for_the_owner(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await waiting(db, client)
    sam = await an_identity(db, "Sam", "Else")

    early = await approve(client, db, cast.conflict, cast.company.owner, sam)
    await a_stand_in(db, cast.company.owner, sam)
    made = (await approve(client, db, cast.conflict, cast.company.owner, sam)).json()

    assert early.json()["errors"][0]["field"] == "standInId"
    assert "standing in for Hana Makinen, recorded by " in made["activity"][-1]["content"]


async def test_stand_in_sees_the_conflict_only_while_an_exception_waits(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, db: Db
) -> None:
    cast = await a_cast(db)
    sam = await an_identity(db, "Sam", "Else", email="sam@example.com")
    await a_stand_in(db, cast.company.owner, sam)
    await sign_in(administrator, db, sam)
    page = f"/conflicts/{cast.conflict}"

    before = await administrator.get(page)
    await act(client, cast.conflict, "except", cast.wish())
    shown = await administrator.get(page)
    await administrator.post(f"{page}/withdraw")
    after = await administrator.get(page)

    assert (before.status_code, shown.status_code, after.status_code) == (404, 200, 404)
    assert "You stand in for Hana Makinen." in shown.text
    assert await fetch_value(db, "SELECT status FROM conflict_exceptions") == "Withdrawn"


async def test_stand_in_is_notified_of_the_exception(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    sam = await an_identity(db, "Sam", "Else")
    await a_stand_in(db, cast.company.owner, sam)

    await act(client, cast.conflict, "except", cast.wish())

    assert ("Conflict Exception", "New") in await notified(db, sam)


async def test_owner_of_the_control_sees_the_conflict_but_cannot_approve(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, db: Db
) -> None:
    cast = await waiting(db, client)
    await sign_in(administrator, db, cast.una)

    shown = await administrator.get(f"/conflicts/{cast.conflict}")
    await administrator.post(f"/conflicts/{cast.conflict}/approve")
    await act(client, cast.conflict, "withdraw")
    after = await administrator.get(f"/conflicts/{cast.conflict}")

    assert (shown.status_code, after.status_code) == (200, 404)
    assert "An exception is waiting for your approval" not in shown.text
    assert await fetch_rows(db, "SELECT * FROM exception_approvals") == []
