"""Test `singleHanded`: the only administrator may decide alone if nobody else is asked, with a recorded reason."""

from uuid import UUID

import httpx2
import pytest

from rolecall.access_requests import actions
from rolecall.access_requests.permitted import ALONE, OWN_REQUEST
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.core.errors import Conflict, Invalid
from tests.builders import an_access_request, an_identity, facts
from tests.stand_ins.standing_in import caller_of

APPROVE = {"type": "Approve", "response": "Approved", "reviewerId": str(UUID(int=1))}


@pytest.fixture
async def alone(client: httpx2.AsyncClient, db: Db) -> UUID:
    """Turn on `singleHanded`, and return the only administrator."""
    ada = await an_identity(db)
    await execute(db, "INSERT INTO console_roles (identity_id, role) VALUES (%(id)s, 'Administrator')", id=ada)
    answer = await client.patch("/api/settings", json={"singleHanded": True})
    assert answer.json()["singleHanded"] is True
    return ada


async def respond(db: Db, person: UUID, request: UUID, **fields: str) -> str:
    async with db.transaction():
        detail = await actions.respond(db, await caller_of(db, person), str(request), {**APPROVE, **fields}, facts())
    return detail.status


async def test_only_person_decides_alone_and_the_reason_is_recorded(db: Db, alone: UUID) -> None:
    request = await an_access_request(db, identity_id=alone)

    assert await respond(db, alone, request, comment="I run this company alone") == "Open"

    said = await fetch_rows(db, "SELECT content FROM activity WHERE action = 'Single-Handed'")
    assert said == [("Ada Lovelace decided alone, because no other person could: I run this company alone",)]


async def test_reason_is_required(db: Db, alone: UUID) -> None:
    request = await an_access_request(db, identity_id=alone)

    with pytest.raises(Invalid) as refused:
        await respond(db, alone, request, comment=" ")

    assert [(each.field, each.message) for each in refused.value.problems] == [("comment", ALONE)]


async def test_request_of_another_person_needs_no_reason(db: Db, alone: UUID) -> None:
    request = await an_access_request(db)

    assert await respond(db, alone, request, reviewerId=str(alone)) == "Open"
    assert await fetch_value(db, "SELECT count(*) FROM activity WHERE action = 'Single-Handed'") == 0


async def test_only_person_cancels_their_request_without_a_reason(db: Db, alone: UUID) -> None:
    request = await an_access_request(db, identity_id=alone)
    await execute(db, "UPDATE access_requests SET reporter_id = %(id)s", id=alone)

    assert (await actions.cancel(db, await caller_of(db, alone), str(request), {}, facts())).status == "Canceled"


async def test_setting_is_off_by_default(client: httpx2.AsyncClient, db: Db, alone: UUID) -> None:
    await execute(db, "DELETE FROM settings")
    request = await an_access_request(db, identity_id=alone)

    assert (await client.get("/api/settings")).json()["singleHanded"] is False
    with pytest.raises(Conflict, match=OWN_REQUEST):
        await respond(db, alone, request, comment="I run this company alone")


async def test_second_administrator_must_decide(db: Db, alone: UUID) -> None:
    request = await an_access_request(db, identity_id=alone)
    other = await an_identity(db, "Grace", "Hopper")
    await execute(
        db, "INSERT INTO console_roles (identity_id, role, email) VALUES (%(id)s, 'Administrator', 'g')", id=other
    )

    with pytest.raises(Conflict, match=OWN_REQUEST):
        await respond(db, alone, request, comment="I run this company alone")


async def test_reviewer_who_is_asked_must_decide(db: Db, alone: UUID) -> None:
    boss = await an_identity(db, "Grace", "Hopper")
    await execute(db, "UPDATE identities SET supervisor_id = %(boss)s WHERE id = %(id)s", boss=boss, id=alone)
    request = await an_access_request(db, identity_id=alone)
    caller = await caller_of(db, alone)

    with pytest.raises((Conflict, Invalid)):
        await actions.respond(
            db, caller, str(request), {**APPROVE, "reviewerId": str(boss), "comment": "Quickly"}, facts()
        )

    assert await fetch_value(db, "SELECT status FROM access_requests") == "Pending"


async def test_only_person_provisions_alone_with_a_reason(db: Db, alone: UUID) -> None:
    request = await an_access_request(db, identity_id=alone)
    await execute(db, "UPDATE applications SET priority = 'High'")
    await respond(db, alone, request, comment="Alone")
    caller = await caller_of(db, alone)

    with pytest.raises(Invalid):
        await actions.resolve(db, caller, str(request), {}, facts())
    await actions.resolve(db, caller, str(request), {"comment": "Alone"}, facts())

    assert await fetch_value(db, "SELECT count(*) FROM activity WHERE action = 'Single-Handed'") == 2
