"""Test how the console shows stand-ins, and how people name stand-ins and respond for others in it."""

import re
from datetime import UTC, datetime, timedelta

import httpx2
import pytest

from rolecall.access_requests import actions
from rolecall.access_requests.permitted import NOT_INVOLVED
from rolecall.console import actions as console
from rolecall.core.db import Db, execute, fetch_rows
from rolecall.core.roles import Role
from rolecall.stand_ins.queries import represented_by
from tests.builders import an_identity, facts
from tests.console.test_matrix import sign_in
from tests.stand_ins.office import APPROVED, Office, approve
from tests.stand_ins.standing_in import a_leave, a_stand_in, caller_of


async def test_stand_in_finds_the_request_in_the_console_and_responds(
    administrator: httpx2.AsyncClient, db: Db, office: Office
) -> None:
    request = await office.request(db)
    await sign_in(administrator, db, office.sam)
    before = await administrator.get(f"/requests/{request}")
    await a_stand_in(db, office.grace, office.sam)

    home, waiting, listed = [
        (await administrator.get(path)).text for path in ("/", "/requests?asks=Approve", "/requests")
    ]
    answered = await administrator.post(f"/requests/{request}/respond", data=APPROVED)
    shown = (await administrator.get(f"/requests/{request}")).text
    others = await administrator.get(f"/identities/{office.ada}")

    assert before.status_code == 404
    assert "You respond for Grace Hopper now." in home
    assert all(str(request) in page for page in (home, waiting, listed))
    assert "You stand in for Grace Hopper." in waiting
    assert answered.status_code == 303
    assert "Grace Hopper</strong> through Sam Else as stand-in" in shown
    # A stand-in sees the requests of the reviewer, but not the pages of the people whom they are about.
    assert others.status_code == 404


async def test_stand_in_may_respond_but_not_cancel_or_assign(
    administrator: httpx2.AsyncClient, db: Db, office: Office
) -> None:
    request = await office.request(db)
    await a_stand_in(db, office.grace, office.sam)
    await sign_in(administrator, db, office.sam)

    for verb in ("cancel", "assign"):
        await administrator.post(f"/requests/{request}/{verb}")

    assert await fetch_rows(db, "SELECT status, assignee_id FROM access_requests") == [("Pending", None)]


async def test_stand_in_of_an_administrator_does_not_inherit_the_role(db: Db, office: Office) -> None:
    await execute(db, "INSERT INTO console_roles (identity_id, role) VALUES (%(id)s, 'Administrator')", id=office.grace)
    await a_stand_in(db, office.grace, office.sam)

    caller = await caller_of(db, office.sam)

    assert caller.is_limited
    assert {id for id, _ in caller.stands_in_for} == {office.grace}


async def test_stand_in_sees_for_whom_they_will_respond(
    administrator: httpx2.AsyncClient, db: Db, office: Office
) -> None:
    await sign_in(administrator, db, office.grace)
    days = [(datetime.now(UTC) + timedelta(days=count)).date().isoformat() for count in (5, 9)]
    form = {"standInId": "sam@example.com", "startsOn": days[0], "endsOn": days[1], "type": "Approve"}
    await administrator.post("/stand-ins", data=form)
    (id,) = (await fetch_rows(db, "SELECT id FROM stand_ins"))[0]

    await sign_in(administrator, db, office.sam)
    before = (await administrator.get("/stand-ins")).text
    await sign_in(administrator, db, office.grace)
    await administrator.post(f"/stand-ins/{id}/end")
    await sign_in(administrator, db, office.sam)
    after = (await administrator.get("/stand-ins")).text

    assert re.search("You stand in for.*Grace Hopper.*Approve requests, from ", before, re.DOTALL)
    assert "You stand in for" not in after


async def test_automatic_stand_in_is_distinguished_from_one_named_for_another_type(db: Db, office: Office) -> None:
    await a_leave(db, office.grace)
    await a_stand_in(db, office.grace, office.sam, type="Resolve")

    found = {
        who: [
            (one.person.name, one.types, one.is_automatic) for one in await represented_by(db, who, datetime.now(UTC))
        ]
        for who in (office.rosa, office.sam)
    }

    assert found == {
        office.rosa: [("Grace Hopper", ["Approve", "Verify"], True)],
        office.sam: [("Grace Hopper", ["Resolve"], False)],
    }


async def test_people_name_and_end_stand_ins_in_the_console(
    administrator: httpx2.AsyncClient, db: Db, office: Office
) -> None:
    await sign_in(administrator, db, office.grace)
    until = (datetime.now(UTC) + timedelta(days=3)).date().isoformat()

    by_name = await administrator.post("/stand-ins", data={"standInId": "Sam Else", "endsOn": until})
    made = await administrator.post("/stand-ins", data={"standInId": "sam@example.com", "endsOn": until})
    page = (await administrator.get("/stand-ins")).text
    (id,) = (await fetch_rows(db, "SELECT id FROM stand_ins"))[0]
    await sign_in(administrator, db, office.sam)
    foreign = await administrator.post(f"/stand-ins/{id}/end")
    theirs = (await administrator.get("/stand-ins")).text
    await sign_in(administrator, db, office.grace)
    await administrator.post(f"/stand-ins/{id}/end")

    assert by_name.status_code == 400
    assert "No person matches Sam Else" in by_name.text
    assert made.headers["location"] == "/stand-ins"
    assert "Sam Else" in page
    assert foreign.status_code == 403
    assert "Grace Hopper" in theirs
    assert await fetch_rows(db, "SELECT id FROM stand_ins WHERE ends_on > now()") == []


@pytest.mark.parametrize("words", ["s@", "sam@", "sam@exampl", "@ (Sam Else)", "x@y (Sam)", "{sam}"])
async def test_form_suggests_no_colleague_without_the_complete_e_mail(
    administrator: httpx2.AsyncClient, db: Db, office: Office, words: str
) -> None:
    await an_identity(db, "Sam", "Other", email="sam.other@example.com")
    await sign_in(administrator, db, office.ada)
    until = (datetime.now(UTC) + timedelta(days=3)).date().isoformat()

    form = {"standInId": words.format(sam=office.sam), "endsOn": until}
    answer = await administrator.post("/stand-ins", data=form)

    assert answer.status_code == 400
    assert "No person matches" in answer.text
    assert "Sam Other" not in answer.text
    assert await fetch_rows(db, "SELECT id FROM stand_ins") == []


@pytest.mark.parametrize("role", [None, Role.OPERATOR])
async def test_people_export_only_their_own_stand_ins(
    administrator: httpx2.AsyncClient, db: Db, office: Office, role: Role | None
) -> None:
    await a_stand_in(db, office.grace, office.sam)
    if role:
        await console.set_role(db, office.rosa, role)
    await sign_in(administrator, db, office.rosa)

    whose = [await administrator.get(f"/export/stand-ins?format=csv&identityId={id}") for id in (office.grace, "")]
    own = await administrator.get(f"/export/stand-ins?format=csv&identityId={office.rosa}")

    assert [answer.status_code for answer in whose] == [403, 403]
    assert own.status_code == 200
    assert "Grace" not in own.text


async def test_administrator_names_a_stand_in_for_another_person(
    administrator: httpx2.AsyncClient, db: Db, office: Office
) -> None:
    until = (datetime.now(UTC) + timedelta(days=3)).date().isoformat()

    form = {"identityId": "Grace Hopper", "standInId": "Sam Else", "endsOn": until}
    answer = await administrator.post("/stand-ins", data=form)
    page = (await administrator.get("/stand-ins")).text

    assert answer.status_code == 303
    assert "Sam Else was named as the stand-in for Grace Hopper" in page


async def test_stand_in_who_became_an_auditor_later_cannot_decide(
    administrator: httpx2.AsyncClient, db: Db, office: Office
) -> None:
    request = await office.request(db)
    await a_stand_in(db, office.grace, office.sam)
    await console.set_role(db, office.sam, Role.AUDITOR)

    said = await approve(db, office.sam, request, office.grace)

    assert said == NOT_INVOLVED


async def test_console_responds_for_the_reviewer_who_did_not_carry_out_the_request(
    administrator: httpx2.AsyncClient, db: Db, office: Office
) -> None:
    olga = await an_identity(db, "Olga", "Owner")
    await execute(
        db,
        "UPDATE applications SET priority = 'High', owner_id = %(owner)s, provisioner_ids = %(by)s",
        owner=office.grace,
        by=[office.grace],
    )
    request = await office.request(db)
    await approve(db, office.grace, request, office.grace)
    await execute(
        db,
        """INSERT INTO responses (request_id, type, rule, position, reason, reviewer_id, reviewer_name)
           SELECT request_id, type, rule, max(position) + 1, min(reason), %(olga)s, 'Olga Owner' FROM responses
           WHERE type = 'Verify' GROUP BY request_id, type, rule""",
        olga=olga,
    )
    await actions.resolve(db, await caller_of(db, office.grace), str(request), {}, facts())
    for person in (office.grace, olga):
        await a_stand_in(db, person, office.sam)
    await sign_in(administrator, db, office.sam)

    shown = (await administrator.get(f"/requests?asks=Verify&selected={request}")).text
    await administrator.post(f"/requests/{request}/respond", data={"type": "Verify", "response": "Approved"})

    assert "You stand in for Olga Owner." in shown
    rows = await fetch_rows(
        db, "SELECT reviewer_name, stand_in_name FROM responses WHERE type = 'Verify' AND response = 'Approved'"
    )
    assert ("Olga Owner", "Sam Else") in rows


async def test_message_after_an_approval_names_those_who_must_still_respond(
    administrator: httpx2.AsyncClient, db: Db, office: Office
) -> None:
    request = await office.request(db)
    await execute(
        db,
        """INSERT INTO responses (request_id, type, rule, position, reason, reviewer_id, reviewer_name)
           SELECT request_id, type, max(rule) + 1, 0, 'Second rule', %(rosa)s, 'Rosa Far' FROM responses
           WHERE type = 'Approve' GROUP BY request_id, type""",
        rosa=office.rosa,
    )
    told = []
    for person in (office.grace, office.rosa):
        await sign_in(administrator, db, person)
        await administrator.post(f"/requests/{request}/respond", data=APPROVED)
        told.append((await administrator.get("/requests")).text)

    assert "You approved request #1. It still waits for Rosa Far to approve it" in told[0]
    assert re.search(r"You approved request #1\. It waits for .+ to provision it", told[1])


async def test_stand_in_sees_only_requests_that_wait_and_those_to_which_they_responded(
    administrator: httpx2.AsyncClient, db: Db, office: Office
) -> None:
    """The history of the person, and requests that wait for another type of response, stay hidden."""
    old, answered, waiting = [await office.request(db) for _ in range(3)]
    await approve(db, office.grace, old, office.grace)
    await a_stand_in(db, office.grace, office.sam, type="Approve")
    await a_stand_in(db, office.rosa, office.sam, type="Resolve")
    await execute(
        db,
        """INSERT INTO responses (request_id, type, rule, position, reason, reviewer_id, reviewer_name, response, asked)
           SELECT id, 'Resolve', 9, 0, 'Provisions', %(rosa)s, 'Rosa Far', 'Pending', true FROM access_requests
           WHERE id = %(id)s""",
        rosa=office.rosa,
        id=waiting,
    )
    await approve(db, office.sam, answered, office.grace)
    await execute(db, "UPDATE access_requests SET status = 'Completed' WHERE status = 'Open'")
    await sign_in(administrator, db, office.sam)

    async def statuses() -> list[int]:
        return [(await administrator.get(f"/requests/{id}")).status_code for id in (old, answered, waiting)]

    during = await statuses()
    (number,) = (await fetch_rows(db, "SELECT number FROM access_requests WHERE id = %(id)s", id=old))[0]
    found = (await administrator.get(f"/search?q=%23{number}")).text
    await execute(db, "DELETE FROM stand_ins WHERE type = 'Approve'")
    after = await statuses()

    assert during == [404, 200, 200]
    assert str(old) not in found
    # The last request still waits for approvals, so a stand-in of type Resolve does not see it yet.
    assert after == [404, 200, 404]


async def test_stand_in_does_not_see_a_request_to_which_the_reviewer_responded(
    administrator: httpx2.AsyncClient, db: Db, office: Office
) -> None:
    request = await office.request(db)
    await execute(
        db,
        """INSERT INTO responses (request_id, type, rule, position, reason, reviewer_id, reviewer_name, response, asked)
           VALUES (%(id)s, 'Approve', 9, 0, 'Owns it', %(rosa)s, 'Rosa Far', 'Pending', true)""",
        id=request,
        rosa=office.rosa,
    )
    await a_stand_in(db, office.grace, office.sam, type="Approve")
    await sign_in(administrator, db, office.sam)

    statuses = [(await administrator.get(f"/requests/{request}")).status_code]
    async with db.transaction():
        body = {**APPROVED, "reviewerId": str(office.grace)}
        await actions.respond(db, await caller_of(db, office.grace), str(request), body, facts())
    statuses.append((await administrator.get(f"/requests/{request}")).status_code)

    assert statuses == [200, 404]
