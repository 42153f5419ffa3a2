"""Test exceptions for conflicts: their two approvals, their end, and who may decide."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import httpx2
import msgspec
import pytest
from psycopg.errors import CheckViolation

from rolecall.conflicts import actions
from rolecall.conflicts.actions import expire_exceptions
from rolecall.core.caller import Caller, Scope
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.core.errors import Conflict
from rolecall.core.ids import new_id
from rolecall.notifications.model import Reminders
from rolecall.notifications.notification_facts import FactContext, facts_of
from rolecall.notifications.reminders import remind_and_escalate
from tests.builders import a_token, an_identity, facts
from tests.duties.separating import Company, a_company, conflict_of, join, leave
from tests.notifications.notifying import notified

TODAY = datetime.now(UTC)
WISH = {"reason": "Two are on leave", "control": "Every release is checked the next morning"}


class Cast(msgspec.Struct):
    company: Company
    conflict: UUID
    una: UUID

    def wish(self, days: int = 30, **fields: Any) -> dict[str, Any]:
        until = (TODAY + timedelta(days=days)).isoformat()
        return {**WISH, "controlOwnerId": str(self.una), "until": until, **fields}


async def a_cast(db: Db) -> Cast:
    company = await a_company(db)
    una = await an_identity(db, "Una", "Schmidt")
    return Cast(company, await conflict_of(db, company.sofia), una)


async def act(
    client: httpx2.AsyncClient, id: UUID, verb: str, body: Any = None, token: str | None = None
) -> httpx2.Response:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return await client.post(f"/api/conflicts/{id}/{verb}", json=body or {}, headers=headers)


async def approve(
    client: httpx2.AsyncClient, db: Db, id: UUID, approver: object, stand_in: object = None
) -> httpx2.Response:
    """Approve with a token of the approver or stand-in, because a token without an owner records no approval.

    A person without a role becomes an administrator during the call, because only administrators own such tokens.
    """
    owner = UUID(str(stand_in or approver))
    roles = await fetch_rows(db, "SELECT identity_id FROM console_roles")
    token = await a_token(db, f"token {new_id()}", owner=owner, scopes=[Scope.DUTIES_WRITE])
    body = {"approverId": str(approver), **({"standInId": str(stand_in)} if stand_in else {})}
    answer = await act(client, id, "approve", body, token.secret)
    if (owner,) not in roles:
        await execute(db, "DELETE FROM console_roles WHERE identity_id = %(id)s", id=owner)
    return answer


async def refusal(db: Db, caller: Caller, cast: Cast, approver: UUID | None = None) -> str:
    """Try to approve; return why it was refused, or an empty string."""
    try:
        async with db.transaction():
            body = {"approverId": str(approver)} if approver else {}
            await actions.approve_exception(db, caller, str(cast.conflict), body, facts())
    except Conflict as error:
        return str(error)
    return ""


def a_person(id: UUID) -> Caller:
    return Caller(id, "A person", frozenset(), is_person=True)


async def except_sofia(client: httpx2.AsyncClient, db: Db, cast: Cast, days: int = 30) -> dict[str, Any]:
    """Request an exception for Sofia's conflict and give both approvals; return the conflict."""
    await act(client, cast.conflict, "except", cast.wish(days))
    await approve(client, db, cast.conflict, cast.company.owner)
    answer = await approve(client, db, cast.conflict, await owner_of_ledger(db))
    excepted: dict[str, Any] = answer.json()
    assert excepted["status"] == "Excepted", answer.text
    return excepted


async def owner_of_ledger(db: Db) -> str:
    return str(await fetch_value(db, "SELECT owner_id FROM applications WHERE name = 'Finance Ledger'"))


async def test_exception_is_in_force_after_the_rules_owner_and_a_second_person_approved(
    client: httpx2.AsyncClient, db: Db
) -> None:
    cast = await a_cast(db)

    asked = (await act(client, cast.conflict, "except", cast.wish())).json()
    first = (await approve(client, db, cast.conflict, cast.company.owner)).json()
    second = (await approve(client, db, cast.conflict, await owner_of_ledger(db))).json()

    assert [asked["status"], first["status"], second["status"]] == ["Open", "Open", "Excepted"]
    [exception] = second["exceptions"]
    assert [each["part"] for each in exception["approvals"]] == ["Rule Owner", "Second Approver"]
    assert (exception["status"], exception["controlOwner"]["name"]) == ("Approved", "Una Schmidt")
    assert (await client.get(f"/api/duty-rules/{cast.company.rule}")).json()["excepted"] == 1
    listed = (await client.get("/api/conflicts/exceptions", params={"status": "Approved"})).json()["items"]
    assert [item["control"] for item in listed] == [WISH["control"]]


async def test_expired_exception_reopens_the_conflict(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    await except_sofia(client, db, cast)

    async with db.transaction():
        await expire_exceptions(db, TODAY + timedelta(days=29))
    before = (await client.get(f"/api/conflicts/{cast.conflict}")).json()
    async with db.transaction():
        await expire_exceptions(db, TODAY + timedelta(days=31))
    after = (await client.get(f"/api/conflicts/{cast.conflict}")).json()

    assert (before["status"], after["status"], after["exceptions"][0]["status"]) == ("Excepted", "Open", "Expired")
    assert after["activity"][-1]["content"] == "The exception expired; the conflict is open again"


async def test_exception_whose_end_has_passed_cannot_be_approved(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    await act(client, cast.conflict, "except", cast.wish())
    await execute(db, "UPDATE conflict_exceptions SET until = now()")

    answer = await approve(client, db, cast.conflict, cast.company.owner)

    assert answer.status_code == 409
    assert answer.json()["message"] == "The exception has expired; request it again with a later end date"


async def test_owners_are_notified_when_an_exception_is_requested_and_expires(
    client: httpx2.AsyncClient, db: Db
) -> None:
    cast = await a_cast(db)

    await act(client, cast.conflict, "except", cast.wish())
    asked = await notified(db)
    async with db.transaction():
        await expire_exceptions(db, TODAY + timedelta(days=31))

    one, opened = ("Conflict Exception", "New"), ("Conflict Opened", "New")
    assert asked == [opened, one]
    assert (await notified(db, cast.company.owner), await notified(db, cast.una)) == ([opened, one, one], [one])
    expired = ("Sofia Dubois", "has expired, and the conflict is open again", True)
    assert await notifications_about(db) == [expired, expired, ("Sofia Dubois", "is waiting for your approval", False)]


async def notifications_about(db: Db, kind: str = "Conflict Exception") -> list[tuple[str, str, bool]]:
    """Return what each notification of a kind says: the person, the result, and whether it is still current."""
    rows = await fetch_rows(db, "SELECT id FROM notifications WHERE kind = %(kind)s", kind=kind)
    facts = await facts_of(db, [id for (id,) in rows], FactContext(Reminders(), ZoneInfo("UTC")))
    return sorted((fact.person, fact.result, fact.is_current) for fact in facts.values())


async def test_rules_owner_gets_one_notification_of_new_conflicts_until_it_is_read(db: Db) -> None:
    cast = await a_cast(db)

    await join(db, cast.company, "noor", "Approvers")
    assert await notified(db) == [("Conflict Opened", "New")]
    assert await notifications_about(db, "Conflict Opened") == [("Noor Hansen and 1 more", "2 open conflicts", True)]
    await execute(db, "UPDATE notifications SET is_read = true")
    await leave(db, cast.company, "noor", "Approvers")
    await join(db, cast.company, "noor", "Approvers")

    assert await notified(db, cast.company.owner) == [("Conflict Opened", "New")] * 2


async def test_owners_are_notified_once_before_an_exception_ends(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    await except_sofia(client, db, cast, days=6)
    await execute(db, "DELETE FROM notifications")

    for _ in range(2):
        async with db.transaction():
            await remind_and_escalate(db, ZoneInfo("UTC"), TODAY)

    until = TODAY + timedelta(days=6)
    said = f"ends on {until.day} {until:%B %Y}; renew it or have the access removed"
    assert await notifications_about(db) == [("Sofia Dubois", said, True)] * 2
    assert [len(await notified(db, who)) for who in (cast.company.owner, cast.una)] == [1, 1]


async def begin_again(client: httpx2.AsyncClient, db: Db, cast: Cast) -> UUID:
    """Get an exception for Sofia's conflict, end the conflict and begin it again; return the id of the new conflict."""
    await except_sofia(client, db, cast)
    await leave(db, cast.company, "sofia", "Approvers")
    await join(db, cast.company, "sofia", "Approvers")
    return await conflict_of(db, cast.company.sofia)


async def test_conflict_that_begins_again_is_excepted_while_the_exception_lasts(
    client: httpx2.AsyncClient, db: Db
) -> None:
    cast = await a_cast(db)
    again = await begin_again(client, db, cast)

    assert again != cast.conflict
    assert (await client.get(f"/api/conflicts/{again}")).json()["status"] == "Excepted"


async def test_withdrawal_on_the_page_of_an_ended_conflict_opens_the_one_that_began_again(
    client: httpx2.AsyncClient, db: Db
) -> None:
    cast = await a_cast(db)
    again = await begin_again(client, db, cast)

    withdrawn = await act(client, cast.conflict, "withdraw")

    current = (await client.get(f"/api/conflicts/{again}")).json()
    assert (withdrawn.json()["status"], current["status"]) == ("Ended", "Open")
    assert current["activity"][-1]["content"] == "Withdrew the exception"


async def test_database_refuses_moves_that_the_model_does_not_list(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    await except_sofia(client, db, cast)
    await act(client, cast.conflict, "withdraw")
    await leave(db, cast.company, "sofia", "Approvers")

    with pytest.raises(CheckViolation, match="An exception cannot change from Withdrawn to Approved"):
        await execute(db, "UPDATE conflict_exceptions SET status = 'Approved'")
    with pytest.raises(CheckViolation, match="A conflict cannot change from Ended to Open"):
        await execute(db, "UPDATE conflicts SET status = 'Open', until = NULL WHERE id = %(id)s", id=cast.conflict)


async def test_ended_exception_does_not_become_outgrown(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    await act(client, cast.conflict, "except", cast.wish())
    await act(client, cast.conflict, "withdraw")

    await execute(db, "SELECT end_exceptions(ARRAY(SELECT id FROM conflict_exceptions), 'Outgrown', '', now())")

    assert await fetch_rows(db, "SELECT status FROM conflict_exceptions") == [("Withdrawn",)]


async def test_nobody_approves_or_controls_their_own_exception(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    await execute(
        db,
        "UPDATE duty_rules SET definition = definition || jsonb_build_object('ownerId', %(sofia)s::text)",
        sofia=cast.company.sofia,
    )

    own = (await act(client, cast.conflict, "except", cast.wish(controlOwnerId=str(cast.company.sofia)))).json()
    await act(client, cast.conflict, "except", cast.wish())
    refused = await approve(client, db, cast.conflict, cast.company.sofia)

    said = "Control owner must be a person other than the one in conflict"
    assert own["errors"] == [{"field": "controlOwnerId", "message": said}]
    not_own = "The person in conflict cannot approve the exception; another person must decide"
    assert (refused.status_code, refused.json()["message"]) == (409, not_own)


async def test_owner_of_the_control_must_be_active(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    await execute(db, "UPDATE identities SET status = 'Removed' WHERE id = %(id)s", id=cast.una)

    refused = await act(client, cast.conflict, "except", cast.wish())

    assert refused.json()["errors"] == [
        {"field": "controlOwnerId", "message": "Control owner must be an active person"}
    ]


async def test_exception_without_reason_control_or_end_is_refused(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)

    async def problems(**body: Any) -> dict[str, str]:
        answer = await act(client, cast.conflict, "except", cast.wish(**body))
        return {each["field"]: each["message"] for each in answer.json()["errors"]}

    assert await problems(until=None) == {"until": "Until is required"}
    assert await problems(until="2020-01-01") == {"until": "Until must be in the future"}
    too_long = "Until must be at most 366 days from now; renew the exception before it ends"
    assert await problems(days=400) == {"until": too_long}
    assert await problems(reason=" ", control="") == {"reason": "Reason is required", "control": "Control is required"}


async def test_approvals_must_come_from_two_authorized_people(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    await act(client, cast.conflict, "except", cast.wish())

    second = "The missing approval must come from an owner of an application on either side, or an administrator"
    assert await refusal(db, a_person(cast.una), cast) == second
    await approve(client, db, cast.conflict, cast.company.owner)
    twice = "This person has already approved; another person must give the other approval"
    assert await refusal(db, a_person(cast.company.owner), cast, cast.company.owner) == twice
    missing = await act(client, cast.conflict, "approve")
    assert missing.json()["errors"][0]["field"] == "approverId"


async def test_auditor_who_owns_the_rule_cannot_approve(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    await act(client, cast.conflict, "except", cast.wish())

    before = (await approve(client, db, cast.conflict, cast.company.owner)).status_code
    await execute(db, "DELETE FROM exception_approvals")
    await execute(db, "INSERT INTO console_roles VALUES (%(id)s, 'Auditor')", id=cast.company.owner)
    by_token = (await approve(client, db, cast.conflict, cast.company.owner)).status_code
    by_hand = await refusal(db, a_person(cast.company.owner), cast)

    assert (before, by_token) == (200, 403)
    assert by_hand.startswith("The missing approval must come from")


async def test_exceptions_move_only_as_the_state_machine_allows(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    choose = random.Random(23)
    approvers = {"approve": str(cast.company.owner), "approve too": await owner_of_ledger(db)}
    secrets = {
        move: (await a_token(db, move, owner=UUID(id), scopes=[Scope.DUTIES_WRITE])).secret
        for move, id in approvers.items()
    }
    # Whether an exception is in force, and the approvals of the pending one (None if none is pending).
    in_force, waiting = False, None
    for _ in range(40):
        move = choose.choice(["except", "approve", "approve too", "withdraw", "expire", "approve", "approve too"])
        given: set[str] | None = waiting
        if move == "expire":
            async with db.transaction():
                await execute(db, "UPDATE conflict_exceptions SET until = now() - interval '1 day'")
                await expire_exceptions(db, datetime.now(UTC))
            in_force, waiting = False, None
        elif move in approvers:
            answer = await act(client, cast.conflict, "approve", {"approverId": approvers[move]}, secrets[move])
            allowed = given is not None and move not in given
            assert (answer.status_code == 200) is allowed, answer.text
            if given is not None and allowed:
                given.add(move)
                in_force, waiting = (True, None) if len(given) == 2 else (in_force, given)
        else:
            body = cast.wish() if move == "except" else None
            answer = await act(client, cast.conflict, move, body)
            allowed = given is None if move == "except" else given is not None or in_force
            assert (answer.status_code == 200) is allowed, answer.text
            if allowed and move == "except":
                waiting = set[str]()
            elif allowed:
                in_force, waiting = (in_force, None) if given is not None else (False, None)
        shown = (await client.get(f"/api/conflicts/{cast.conflict}")).json()
        assert shown["status"] == ("Excepted" if in_force else "Open"), move
        statuses = [each["status"] for each in shown["exceptions"]]
        assert statuses.count("Pending") == (waiting is not None)
        assert statuses.count("Approved") == in_force
