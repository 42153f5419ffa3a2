"""Test who may respond for whom, and what is recorded."""

from datetime import UTC, datetime, timedelta
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
    SECOND_RESPONSE,
)
from rolecall.core.caller import SYSTEM
from rolecall.core.db import Db, execute, fetch_rows
from rolecall.core.errors import Conflict, Invalid
from rolecall.personnel_events import actions as events
from rolecall.stand_ins.actions import end_stand_in
from tests.builders import an_access_request, an_identity, facts
from tests.stand_ins.office import APPROVED, Office, approve
from tests.stand_ins.standing_in import CLERK, a_leave, a_stand_in, caller_of, days


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


async def test_person_whom_another_request_is_about_may_choose_who_decides_for_the_reviewer(
    db: Db, office: Office
) -> None:
    theirs, bo = await office.request(db), await an_identity(db, "Bo", "Boss", supervisorId=str(office.grace))
    request = await an_access_request(db, identity_id=bo, application_id=office.application)
    await a_stand_in(db, office.grace, office.ada)
    await a_stand_in(db, office.ada, office.sam)

    said = [await approve(db, office.sam, each, office.grace) for each in (request, theirs)]

    assert said == ["Sam Else approved, standing in for Grace Hopper", CHOSEN_BY_THEM]


async def test_stand_in_for_one_type_does_not_respond_to_others(db: Db, office: Office) -> None:
    request = await office.request(db)
    await a_stand_in(db, office.grace, office.sam, type="Verify")

    assert await approve(db, office.sam, request, office.grace) == NOT_STANDING_IN


async def test_stand_in_cannot_respond_before_or_after_the_period(db: Db, office: Office) -> None:
    request, now = await office.request(db), datetime.now(UTC)
    await a_stand_in(db, office.grace, office.sam, startsOn=(now + timedelta(days=1)).isoformat())

    assert await approve(db, office.sam, request, office.grace) == NOT_STANDING_IN
    assert await approve(db, office.sam, request, office.grace, now + timedelta(days=8)) == NOT_STANDING_IN
    assert "standing in" in await approve(db, office.sam, request, office.grace, now + timedelta(days=2))


async def test_stand_in_cannot_respond_after_being_ended(db: Db, office: Office) -> None:
    request, made = await office.request(db), await a_stand_in(db, office.grace, office.sam)
    await end_stand_in(db, CLERK, str(made.id), datetime.now(UTC))

    assert await approve(db, office.sam, request, office.grace) == NOT_STANDING_IN


async def test_stand_in_of_a_person_who_left_cannot_respond(db: Db, office: Office) -> None:
    request = await office.request(db)
    await a_stand_in(db, office.grace, office.sam)
    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=office.grace)

    said = "Grace Hopper is Disabled and cannot respond; another reviewer must respond"
    assert await approve(db, office.sam, request, office.grace) == said


async def test_stand_in_does_not_decide_on_their_own_request(db: Db, office: Office) -> None:
    await a_stand_in(db, office.grace, office.ada)
    request = await office.request(db)

    assert await approve(db, office.ada, request, office.grace) == OWN_REQUEST
    # The reviewer can still respond.
    assert await approve(db, office.grace, request, office.grace) == "Grace Hopper approved"


async def test_stand_in_cannot_verify_what_the_reviewer_provisioned(db: Db, office: Office) -> None:
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


async def test_supervisor_stands_in_only_until_the_end_of_the_leave(db: Db, office: Office) -> None:
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


async def test_token_records_who_responded_for_the_reviewer(client: httpx2.AsyncClient, db: Db, office: Office) -> None:
    request = await office.request(db)
    body = {**APPROVED, "reviewerId": str(office.grace), "standInId": str(office.sam)}

    early = await client.post(f"/api/access-requests/{request}/respond", json=body)
    await a_stand_in(db, office.grace, office.sam)
    made = (await client.post(f"/api/access-requests/{request}/respond", json=body)).json()

    assert early.json()["errors"] == [
        {
            "field": "standInId",
            "message": f"Identity with id {office.sam} does not stand in for this person now; use a current stand-in",
        }
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


async def test_system_records_the_response_of_a_reviewer(db: Db, office: Office) -> None:
    request = await office.request(db)

    body = {**APPROVED, "reviewerId": str(office.grace)}
    detail = await actions.respond(db, SYSTEM, str(request), body, facts())

    assert "Grace Hopper approved, recorded by System" in [entry.content for entry in detail.activity]


async def a_second_rule(db: Db, reviewer: UUID, name: str) -> None:
    await execute(
        db,
        """INSERT INTO responses (request_id, type, rule, position, reason, reviewer_id, reviewer_name, asked)
           SELECT request_id, type, max(rule) + 1, 0, 'Second rule', %(id)s, %(name)s, true FROM responses
           WHERE type = 'Approve' GROUP BY request_id, type""",
        id=reviewer,
        name=name,
    )


async def test_reviewer_cannot_also_respond_for_another_reviewer(db: Db, office: Office) -> None:
    request = await office.request(db)
    await a_second_rule(db, office.rosa, "Rosa Far")
    await a_stand_in(db, office.rosa, office.grace)

    first = await approve(db, office.grace, request, office.rosa)
    await approve_partly(db, office.grace, request, office.grace)
    again = await approve(db, office.grace, request, office.rosa)

    assert (first, again) == (SECOND_RESPONSE, SECOND_RESPONSE)
    assert await approve(db, office.rosa, request, office.rosa) == "Rosa Far approved"


async def test_one_stand_in_does_not_respond_for_two_reviewers(db: Db, office: Office) -> None:
    request = await office.request(db)
    await a_second_rule(db, office.rosa, "Rosa Far")
    for reviewer in (office.grace, office.rosa):
        await a_stand_in(db, reviewer, office.sam)

    first = await approve_partly(db, office.sam, request, office.grace)
    second = await approve(db, office.sam, request, office.rosa)

    assert (first, second) == ("Sam Else approved, standing in for Grace Hopper", SECOND_RESPONSE)


async def approve_partly(db: Db, person: UUID, request: UUID, reviewer: UUID) -> str:
    """Approve a request that another reviewer must approve too; return the text of the activity entry."""
    async with db.transaction():
        detail = await actions.respond(
            db, await caller_of(db, person), str(request), {**APPROVED, "reviewerId": str(reviewer)}, facts()
        )
    return next(entry.content for entry in detail.activity if entry.action == "Response")


async def test_supervisor_who_entered_the_leave_does_not_stand_in(db: Db, office: Office) -> None:
    """Rosa, the supervisor of Grace, sends her on leave; Rosa's supervisor stands in."""
    top = await an_identity(db, "Tina", "Top")
    await execute(db, "UPDATE identities SET supervisor_id = %(top)s WHERE id = %(id)s", top=top, id=office.rosa)
    request = await office.request(db)
    today = datetime.now(UTC).date().isoformat()
    rosa = await caller_of(db, office.rosa)
    await events.begin_absence(db, rosa, {"identityId": str(office.grace), "effectiveDate": today}, facts())

    assert await approve(db, office.rosa, request, office.grace) == NOT_STANDING_IN
    assert await approve(db, top, request, office.grace) == "Tina Top approved, standing in for Grace Hopper"


async def test_supervisor_who_entered_the_leave_does_not_stand_in_through_others(db: Db, office: Office) -> None:
    """Rosa enters Grace's leave, so Rosa's supervisor Tina stands in for Grace.

    Tina named Rosa as her own stand-in, but Rosa cannot respond for Grace until Grace names her directly.
    """
    top = await an_identity(db, "Tina", "Top", email="tina@test.example")
    await execute(db, "UPDATE identities SET supervisor_id = %(top)s WHERE id = %(id)s", top=top, id=office.rosa)
    await a_stand_in(db, top, office.rosa)
    request = await office.request(db)
    today = datetime.now(UTC).date().isoformat()
    rosa = await caller_of(db, office.rosa)
    await events.begin_absence(db, rosa, {"identityId": str(office.grace), "effectiveDate": today}, facts())

    assert await approve(db, office.rosa, request, office.grace) == NOT_STANDING_IN

    await a_stand_in(db, office.grace, office.rosa)
    assert "standing in for Grace Hopper" in await approve(db, office.rosa, request, office.grace)


async def test_supervisor_who_prolonged_the_leave_does_not_stand_in(db: Db, office: Office) -> None:
    """Rosa stands in for Grace, whom she supervises, during a leave that a clerk entered, until Rosa prolongs it."""
    leave = await a_leave(db, office.grace, endDate=days(2))
    request = await office.request(db)
    rosa = await caller_of(db, office.rosa)
    assert (office.grace, "Approve") in rosa.stands_in_for

    await events.set_return_date(db, rosa, leave, {"endDate": days(1.5)}, facts())
    assert (office.grace, "Approve") in (await caller_of(db, office.rosa)).stands_in_for

    await events.set_return_date(db, rosa, leave, {"endDate": days(300)}, facts())
    await events.set_return_date(db, CLERK, leave, {"endDate": days(301)}, facts())
    assert await approve(db, office.rosa, request, office.grace) == NOT_STANDING_IN
