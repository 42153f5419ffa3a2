"""Test who may respond for whom, and what is recorded."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.access_requests import actions
from rolecall.access_requests.permitted import (
    CHOSEN_BY_THEM,
    NOT_STANDING_IN,
    ONLY_YOURSELF,
    OWN_REQUEST,
    PROVISIONED_IT,
)
from rolecall.console import actions as console
from rolecall.core.caller import SYSTEM
from rolecall.core.db import Db, execute, fetch_rows
from rolecall.core.errors import Conflict, Invalid
from rolecall.identities.authority import Role
from rolecall.stand_ins.actions import end_stand_in
from tests.builders import an_access_request, an_application, an_identity, facts
from tests.console.test_matrix import sign_in
from tests.stand_ins.standing_in import CLERK, a_leave, a_stand_in, caller_of

APPROVED = {"type": "Approve", "response": "Approved"}


class Office:
    """Ada reports to Grace, who reports to Rosa. Sam is a colleague who stands in for Grace in some tests."""

    def __init__(self, ada: UUID, grace: UUID, rosa: UUID, sam: UUID, application: UUID) -> None:
        self.ada, self.grace, self.rosa, self.sam, self.application = ada, grace, rosa, sam, application

    async def request(self, db: Db, **fields: Any) -> UUID:
        return await an_access_request(db, identity_id=self.ada, application_id=self.application, **fields)


@pytest.fixture
async def office(db: Db) -> Office:
    rosa = await an_identity(db, "Rosa", "Far", email="rosa@example.com")
    grace = await an_identity(db, "Grace", "Hopper", email="grace@example.com", supervisorId=str(rosa))
    ada = await an_identity(db, "Ada", "Lovelace", supervisorId=str(grace))
    sam = await an_identity(db, "Sam", "Else", email="sam@example.com")
    return Office(ada, grace, rosa, sam, await an_application(db, "Payroll"))


async def approve(db: Db, person: UUID, request: UUID, reviewer: UUID, now: datetime | None = None) -> str:
    """Respond as a signed-in person; return the text of the activity entry, or of the refusal."""
    caller = await caller_of(db, person, now)
    try:
        async with db.transaction():
            detail = await actions.respond(db, caller, str(request), {**APPROVED, "reviewerId": str(reviewer)}, facts())
    except Conflict as error:
        return str(error)
    return next(entry.content for entry in detail.activity if entry.action == "Approved")


async def test_activity_and_response_name_the_reviewer_and_the_stand_in(db: Db, office: Office) -> None:
    request = await office.request(db)
    await a_stand_in(db, office.grace, office.sam)

    said = await approve(db, office.sam, request, office.grace)

    assert said == "Sam Else approved, standing in for Grace Hopper"
    rows = await fetch_rows(
        db, "SELECT reviewer_name, stand_in_name, response FROM responses WHERE type = 'Approve' AND asked"
    )
    assert rows == [("Grace Hopper", "Sam Else", "Approved")]


async def test_api_shows_the_stand_in_only_where_there_is_one(
    client: httpx2.AsyncClient, db: Db, office: Office
) -> None:
    request = await office.request(db)
    await a_stand_in(db, office.grace, office.sam)
    await approve(db, office.sam, request, office.grace)

    detail = (await client.get(f"/api/access-requests/{request}")).json()

    answers = {each["type"]: each["rules"][0]["responses"][0] for each in detail["requirements"]}
    assert answers["Approve"]["standIn"] == {"id": str(office.sam), "name": "Sam Else"}
    assert "standIn" not in answers["Resolve"]


@pytest.mark.parametrize("person", ["sam", "rosa", "ada"])
async def test_person_who_does_not_stand_in_cannot_respond_for_the_reviewer(
    db: Db, office: Office, person: str
) -> None:
    request = await office.request(db)

    said = await approve(db, getattr(office, person), request, office.grace)

    assert said == NOT_STANDING_IN


async def test_person_whose_request_it_is_does_not_choose_who_decides_for_the_reviewer(db: Db, office: Office) -> None:
    request = await office.request(db)
    await a_stand_in(db, office.grace, office.ada)
    await a_stand_in(db, office.ada, office.sam)

    said = await approve(db, office.sam, request, office.grace)

    assert said == CHOSEN_BY_THEM


async def test_stand_in_for_one_type_does_not_respond_to_others(db: Db, office: Office) -> None:
    request = await office.request(db)
    await a_stand_in(db, office.grace, office.sam, type="Verify")

    assert await approve(db, office.sam, request, office.grace) == NOT_STANDING_IN


async def test_stand_in_cannot_respond_before_and_after_the_period(db: Db, office: Office) -> None:
    request, now = await office.request(db), datetime.now(UTC)
    await a_stand_in(db, office.grace, office.sam, startsOn=(now + timedelta(days=1)).isoformat())

    assert await approve(db, office.sam, request, office.grace) == NOT_STANDING_IN
    assert await approve(db, office.sam, request, office.grace, now + timedelta(days=8)) == NOT_STANDING_IN
    assert "standing in" in await approve(db, office.sam, request, office.grace, now + timedelta(days=2))


async def test_stand_in_who_was_ended_cannot_respond(db: Db, office: Office) -> None:
    request, made = await office.request(db), await a_stand_in(db, office.grace, office.sam)
    await end_stand_in(db, CLERK, str(made.id), datetime.now(UTC))

    assert await approve(db, office.sam, request, office.grace) == NOT_STANDING_IN


async def test_stand_in_of_a_person_who_left_cannot_respond(db: Db, office: Office) -> None:
    request = await office.request(db)
    await a_stand_in(db, office.grace, office.sam)
    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=office.grace)

    assert await approve(db, office.sam, request, office.grace) == NOT_STANDING_IN


async def test_stand_in_does_not_decide_on_their_own_request(db: Db, office: Office) -> None:
    await a_stand_in(db, office.grace, office.ada)
    request = await office.request(db)

    assert await approve(db, office.ada, request, office.grace) == OWN_REQUEST
    # The reviewer is not blocked.
    assert await approve(db, office.grace, request, office.grace) == "Grace Hopper approved"


async def test_stand_in_does_not_verify_what_the_reviewer_or_they_provisioned(db: Db, office: Office) -> None:
    await execute(
        db, "UPDATE applications SET priority = 'High', owner_id = %(grace)s, provisioner_ids = %(both)s",
        grace=office.grace, both=[office.grace, office.rosa],
    )  # fmt: skip
    request = await office.request(db)
    await approve(db, office.grace, request, office.grace)
    await actions.resolve(db, await caller_of(db, office.grace), str(request), {}, facts())
    await a_stand_in(db, office.grace, office.sam)

    body = {"type": "Verify", "response": "Approved", "reviewerId": str(office.grace)}
    sam = await caller_of(db, office.sam)
    with pytest.raises(Conflict, match=PROVISIONED_IT):
        await actions.respond(db, sam, str(request), body, facts())


async def test_stand_in_who_provisioned_for_another_cannot_verify(db: Db, office: Office) -> None:
    await execute(
        db, "UPDATE applications SET priority = 'High', owner_id = %(rosa)s, provisioner_ids = %(peter)s",
        rosa=office.rosa, peter=[office.grace],
    )  # fmt: skip
    request = await office.request(db)
    await approve(db, office.grace, request, office.grace)
    await a_stand_in(db, office.grace, office.sam)
    await a_stand_in(db, office.rosa, office.sam)
    sam = await caller_of(db, office.sam)

    body = {"response": "Approved", "reviewerId": str(office.grace)}
    await actions.respond(db, sam, str(request), {**body, "type": "Resolve"}, facts())

    verify = {**body, "type": "Verify", "reviewerId": str(office.rosa)}
    with pytest.raises(Conflict, match=PROVISIONED_IT):
        await actions.respond(db, sam, str(request), verify, facts())


async def test_supervisor_stands_in_during_a_leave(db: Db, office: Office) -> None:
    request = await office.request(db)
    await a_leave(db, office.grace)

    assert await approve(db, office.rosa, request, office.grace) == "Rosa Far approved, standing in for Grace Hopper"


async def test_named_stand_in_replaces_the_supervisor_during_a_leave(db: Db, office: Office) -> None:
    request = await office.request(db)
    await a_leave(db, office.grace)
    await a_stand_in(db, office.grace, office.sam)

    assert await approve(db, office.rosa, request, office.grace) == NOT_STANDING_IN
    assert "standing in" in await approve(db, office.sam, request, office.grace)


async def test_supervisor_stands_in_during_a_leave_if_the_named_person_left(db: Db, office: Office) -> None:
    request = await office.request(db)
    await a_leave(db, office.grace)
    await a_stand_in(db, office.grace, office.sam)
    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=office.sam)

    assert "standing in" in await approve(db, office.rosa, request, office.grace)


async def test_leave_that_ended_or_was_canceled_ends_the_stand_in(db: Db, office: Office) -> None:
    request = await office.request(db)
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()
    await a_leave(db, office.grace, endDate=tomorrow)

    back = datetime.now(UTC) + timedelta(days=2)

    assert await approve(db, office.rosa, request, office.grace, back) == NOT_STANDING_IN
    assert "standing in" in await approve(db, office.rosa, request, office.grace)


async def test_stand_in_of_a_stand_in_responds(db: Db, office: Office) -> None:
    request = await office.request(db)
    alan = await an_identity(db, "Alan", "Turing")
    await a_stand_in(db, office.grace, office.sam)
    await a_stand_in(db, office.sam, alan)

    assert await approve(db, alan, request, office.grace) == "Alan Turing approved, standing in for Grace Hopper"


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
    # Standing in shows the requests, not the people of the reviewer.
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
async def test_form_names_no_colleague_without_the_whole_e_mail(
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
    assert "Sam Else stands in for Grace Hopper" in page


async def test_auditor_who_became_one_later_does_not_decide(
    administrator: httpx2.AsyncClient, db: Db, office: Office
) -> None:
    request = await office.request(db)
    await a_stand_in(db, office.grace, office.sam)
    await console.set_role(db, office.sam, Role.AUDITOR)

    said = await approve(db, office.sam, request, office.grace)

    assert said.startswith("Only people involved")


async def test_token_records_who_responded_for_the_reviewer(client: httpx2.AsyncClient, db: Db, office: Office) -> None:
    request = await office.request(db)
    body = {**APPROVED, "reviewerId": str(office.grace), "standInId": str(office.sam)}

    early = await client.post(f"/api/access-requests/{request}/respond", json=body)
    await a_stand_in(db, office.grace, office.sam)
    made = (await client.post(f"/api/access-requests/{request}/respond", json=body)).json()

    assert early.json()["errors"] == [
        {"field": "standInId", "message": f"Identity with id {office.sam} does not stand in for this person now"}
    ]
    said = [entry["content"] for entry in made["activity"]]
    assert any(each.startswith("Sam Else approved, standing in for Grace Hopper, recorded by ") for each in said)
    assert made["requirements"][0]["rules"][0]["responses"][0]["standIn"]["name"] == "Sam Else"


async def test_token_does_not_record_the_response_of_a_stand_in_to_their_own_request(
    client: httpx2.AsyncClient, db: Db, office: Office
) -> None:
    request = await office.request(db)
    await a_stand_in(db, office.grace, office.ada)

    body = {**APPROVED, "reviewerId": str(office.grace), "standInId": str(office.ada)}
    answer = await client.post(f"/api/access-requests/{request}/respond", json=body)

    assert (answer.status_code, answer.json()["message"]) == (409, OWN_REQUEST)


async def test_person_does_not_record_the_response_of_another_stand_in(db: Db, office: Office) -> None:
    request = await office.request(db)
    await a_stand_in(db, office.grace, office.sam)
    body = {**APPROVED, "reviewerId": str(office.grace), "standInId": str(office.rosa)}

    with pytest.raises(Invalid) as refused:
        await actions.respond(db, await caller_of(db, office.sam), str(request), body, facts())

    assert refused.value.problems[0].message == ONLY_YOURSELF


async def test_system_and_tokens_respond_as_before(db: Db, office: Office) -> None:
    request = await office.request(db)

    body = {**APPROVED, "reviewerId": str(office.grace)}
    detail = await actions.respond(db, SYSTEM, str(request), body, facts())

    assert "Grace Hopper approved, recorded by System" in [entry.content for entry in detail.activity]


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

    assert "You approved request #1. It still waits for Rosa Far" in told[0]
    assert "You approved request #1. It is Open" in told[1]
