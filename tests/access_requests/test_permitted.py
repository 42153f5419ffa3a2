"""Who may move a request: roles, relations and separation of duties, judged in one place."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.access_requests import actions
from rolecall.access_requests.model import (
    APPROVE,
    ASSIGN,
    CANCEL,
    REOPEN,
    RESOLVE,
    RESUME,
    SNOOZE,
    VERIFY,
    Move,
    NewPrivilege,
)
from rolecall.access_requests.permitted import ABOUT_THEM, CARRIED_OUT, NOT_THEIRS, OWN, Standing, refusal
from rolecall.accounts.model import Access
from rolecall.console import actions as console
from rolecall.console.model import SCOPES, Role
from rolecall.core.caller import Caller, Scope
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value
from rolecall.core.errors import Conflict
from tests.access_requests.walking import do, done
from tests.builders import an_access_request, an_application, an_identity, facts
from tests.holdings import an_account, finish_import
from tests.working import let_the_worker_work

ME, OTHER = UUID(int=7), UUID(int=8)
MOVES = [ASSIGN, RESOLVE, VERIFY, REOPEN, SNOOZE, RESUME, CANCEL]
PROVISIONING = {ASSIGN, RESOLVE, SNOOZE, RESUME, REOPEN}
RELATIONS = ("is_reporter", "is_affected", "is_assignee", "is_provisioner")


def a_standing(**given: Any) -> Standing:
    nothing = dict.fromkeys(RELATIONS, False)
    usual = {
        "caller_id": ME,
        "is_person": True,
        "role": "Reviewer",
        "asked": [],
        "carried_out_by": [],
        "owner_carried_out": False,
        "latest": datetime.now(UTC),
    }
    return Standing(**{**usual, **nothing, **given})


def allowed(standing: Standing) -> set[Move]:
    return {move for move in MOVES if refusal(standing, move) is None}


@pytest.mark.parametrize("role", ["Reviewer", "Provisioner", None])
@pytest.mark.parametrize(
    ("relation", "moves"),
    [
        ("is_affected", set()),
        ("is_reporter", {*MOVES} - {RESOLVE, VERIFY}),
        ("is_assignee", PROVISIONING),
        ("is_provisioner", PROVISIONING),
    ],
)
def test_relation_decides_what_a_person_may_move(role: str | None, relation: str, moves: set[Move]) -> None:
    assert allowed(a_standing(role=role, **{relation: True})) == moves
    assert allowed(a_standing(role=role)) == set()
    assert refusal(a_standing(role=role), CANCEL) == NOT_THEIRS


@pytest.mark.parametrize(
    ("type", "moves"),
    [("Approve", {ASSIGN, CANCEL}), ("Resolve", PROVISIONING | {CANCEL}), ("Verify", {VERIFY, REOPEN})],
)
def test_being_asked_allows_the_moves_of_that_response_alone(type: str, moves: set[Move]) -> None:
    assert allowed(a_standing(asked=[type])) == moves


def test_administrators_and_operators_move_what_is_not_their_own() -> None:
    for role in ("Administrator", "Operator"):
        assert allowed(a_standing(role=role)) == {*MOVES}
        assert allowed(a_standing(role=role, is_affected=True)) == {*MOVES} - {RESOLVE, VERIFY, CANCEL, SNOOZE}


def test_auditor_moves_nothing_even_what_is_asked_of_them() -> None:
    assert allowed(a_standing(role="Auditor", asked=["Verify"], is_reporter=True, is_provisioner=True)) == set()


def test_token_acts_by_its_scope() -> None:
    assert allowed(a_standing(is_person=False, role=None, is_reporter=True, carried_out_by=[ME])) == {*MOVES}


def test_nobody_decides_on_their_own_request_or_verifies_their_own_work() -> None:
    own = a_standing(role="Administrator", is_reporter=True, asked=["Approve", "Verify"])
    assert [refusal(own, move) for move in (APPROVE, RESOLVE, VERIFY)] == [OWN] * 3
    assert refusal(a_standing(role="Administrator", is_affected=True), CANCEL) == ABOUT_THEM
    worked = a_standing(role="Administrator", asked=["Verify"], carried_out_by=[ME])
    assert refusal(worked, VERIFY) == CARRIED_OUT
    assert refusal(worked, REOPEN) is None
    token = a_standing(is_person=False, role=None, carried_out_by=[OTHER])
    assert (refusal(token, VERIFY, OTHER), refusal(token, VERIFY, ME)) == (CARRIED_OUT, None)


class People:
    """Grace owns the application and Peter provisions it; Rita reviews, and nothing is asked of her."""

    def __init__(self, **callers: Caller) -> None:
        self.grace, self.peter, self.rita = (callers[name] for name in ("grace", "peter", "rita"))


async def a_person(db: Db, name: str, role: Role) -> Caller:
    id = await an_identity(db, name, "Hopper")
    await console.set_role(db, id, role, f"{name}@example.com")
    return Caller(id, f"{name} Hopper", SCOPES[role])


@pytest.fixture
async def people(db: Db) -> People:
    await a_person(db, "Ada", Role.ADMINISTRATOR)
    roles = {"grace": Role.REVIEWER, "peter": Role.PROVISIONER, "rita": Role.REVIEWER}
    return People(**{name: await a_person(db, name.title(), role) for name, role in roles.items()})


async def a_removal(db: Db, people: People, **fields: Any) -> UUID:
    """A request that is Open at once, and that must be verified."""
    ledger = await an_application(
        db, "Ledger", priority="High", ownerId=str(people.grace.id), provisionerIds=[str(people.peter.id)], **fields
    )
    return await an_access_request(db, "Remove", application_id=ledger)


Act = Callable[[Db, Caller, UUID], Awaitable[Any]]
VERBS: dict[str, Act] = {
    "cancel": lambda db, who, one: actions.cancel(db, who, str(one), {}, facts()),
    "assign": lambda db, who, one: actions.assign(db, who, str(one), {"assigneeId": str(who.id)}, facts()),
    "resolve": lambda db, who, one: actions.resolve(db, who, str(one), {}, facts()),
    "snooze": lambda db, who, one: actions.snooze(db, who, str(one), {"until": _tomorrow()}, facts()),
    "resume": lambda db, who, one: actions.resume(db, who, str(one), {}, facts()),
    "verify": lambda db, who, one: actions.verify(db, who, str(one), {}, facts()),
    "reopen": lambda db, who, one: actions.reopen(db, who, str(one), {}, facts()),
}
FROM = {"resume": "Snoozed", "verify": "Resolved", "reopen": "Resolved"}


def _tomorrow() -> str:
    return (datetime.now(UTC) + timedelta(days=1)).isoformat()


@pytest.mark.parametrize("verb", VERBS)
async def test_reviewer_cannot_move_what_is_neither_theirs_nor_asked_of_them(db: Db, people: People, verb: str) -> None:
    id = await a_removal(db, people)
    status = FROM.get(verb, "Open")
    await execute(db, "UPDATE access_requests SET status = %(status)s WHERE id = %(id)s", id=id, status=status)

    with pytest.raises(Conflict, match=NOT_THEIRS):
        await VERBS[verb](db, people.rita, id)

    assert await fetch_value(db, "SELECT status FROM access_requests WHERE id = %(id)s", id=id) == status
    assert await fetch_value(db, "SELECT assignee_id FROM access_requests WHERE id = %(id)s", id=id) is None


async def test_provisioner_works_on_requests_of_their_applications_alone(db: Db, people: People) -> None:
    id = await a_removal(db, people)
    other = await an_access_request(db, "Remove")

    await VERBS["assign"](db, people.peter, id)
    await VERBS["resolve"](db, people.peter, id)

    for verb in ("assign", "resolve", "cancel"):
        with pytest.raises(Conflict, match=NOT_THEIRS):
            await VERBS[verb](db, people.peter, other)


async def test_reporter_cancels_their_own_request(db: Db, people: People) -> None:
    id = await a_removal(db, people)
    await execute(db, "UPDATE access_requests SET reporter_id = %(id)s", id=people.rita.id)

    await VERBS["cancel"](db, people.rita, id)

    assert await fetch_value(db, "SELECT status FROM access_requests WHERE id = %(id)s", id=id) == "Canceled"


VERIFIED = {"type": "Verify", "response": "Approved"}


async def test_who_resolved_does_not_verify(client: httpx2.AsyncClient, db: Db, people: People) -> None:
    """Neither by the verb, nor by a response, nor by a token that records their response."""
    id = await a_removal(db, people)
    await execute(db, "UPDATE applications SET provisioner_ids = ARRAY[owner_id]")
    await VERBS["resolve"](db, people.grace, id)

    for attempt in (
        VERBS["verify"](db, people.grace, id),
        actions.respond(db, people.grace, str(id), VERIFIED, facts()),
    ):
        with pytest.raises(Conflict, match="Whoever carried out a request does not verify it"):
            await attempt
    recorded = await do(client, id, "respond", **VERIFIED, reviewerId=str(people.grace.id))

    assert (recorded.status_code, recorded.json()["message"]) == (409, CARRIED_OUT)
    assert await fetch_value(db, "SELECT status FROM access_requests WHERE id = %(id)s", id=id) == "Resolved"


async def test_who_was_assigned_when_it_was_resolved_does_not_verify(
    client: httpx2.AsyncClient, db: Db, people: People
) -> None:
    id = await a_removal(db, people)
    await done(client, id, "assign", assigneeId=str(people.grace.id))
    await done(client, id, "resolve")
    with pytest.raises(Conflict, match="Whoever carried out"):
        await VERBS["verify"](db, people.grace, id)

    await done(client, id, "reopen")
    await done(client, id, "assign", assigneeId=str(people.peter.id))
    await done(client, id, "resolve")
    # The first round counts too: reopening does not make them independent.
    with pytest.raises(Conflict, match="Whoever carried out"):
        await VERBS["verify"](db, people.grace, id)


async def test_another_person_and_an_import_verify(
    client: httpx2.AsyncClient, db: Db, people: People, config: Config
) -> None:
    id = await a_removal(db, people)
    await VERBS["resolve"](db, people.peter, id)
    assert (await actions.respond(db, people.grace, str(id), VERIFIED, facts())).status == "Completed"

    ledger = await fetch_value(db, "SELECT id FROM applications WHERE name = 'Ledger'")
    ada = await an_identity(db)
    await an_account(db, ledger, "ada", ada)
    asked = [NewPrivilege(header="Group", permission="Posters", requested_access=Access.NONE)]
    proved = await an_access_request(
        db, "Remove", application_id=ledger, identity_id=ada, target_name="ada", privileges=asked
    )
    await VERBS["resolve"](db, people.peter, proved)
    later = datetime.now(UTC) + timedelta(minutes=1)
    await finish_import(db, ledger, "Users", "Memberships", at=later)
    await let_the_worker_work(config, later)

    assert await fetch_value(db, "SELECT status FROM access_requests WHERE id = %(id)s", id=proved) == "Completed"


async def test_administrators_are_asked_when_all_who_would_verify_carried_it_out(
    client: httpx2.AsyncClient, db: Db, people: People
) -> None:
    id = await a_removal(db, people)
    await execute(db, "UPDATE applications SET provisioner_ids = ARRAY[owner_id]")

    detail = await actions.resolve(db, people.grace, str(id), {}, facts())

    (verify,) = [requirement for requirement in detail.requirements if requirement.type == "Verify"]
    (rule,) = verify.rules
    assert [(answer.reviewer.name, answer.response) for answer in rule.responses] == [
        ("Grace Hopper", "Pending"),
        ("Ada Hopper", "Pending"),
    ]
    ada = await fetch_value(db, "SELECT identity_id FROM console_roles WHERE role = 'Administrator'")
    admin = Caller(ada, "Ada Hopper", frozenset(Scope))
    assert (await actions.respond(db, admin, str(id), VERIFIED, facts())).status == "Completed"
