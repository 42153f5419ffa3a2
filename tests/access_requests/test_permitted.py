"""Test who may move a request: roles, relations and separation of duties."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.access_requests import actions, model
from rolecall.access_requests.model import Move, NewPrivilege
from rolecall.access_requests.permitted import (
    NOT_INVOLVED,
    NOT_STANDING_IN,
    OF_OWNER,
    OWN_REQUEST,
    PROVISIONED_IT,
    REPORTED_BY_OTHERS,
    SECOND_RESPONSE,
    Standing,
    owner_refusal,
    refusal,
    response_refusal,
)
from rolecall.access_requests.requirements import ADMINISTRATORS
from rolecall.accounts.model import Access
from rolecall.core.caller import Caller, Scope
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value
from rolecall.core.errors import Conflict
from rolecall.core.roles import Role
from rolecall.settings.policy import RequirementType
from tests.access_requests.people import a_person
from tests.access_requests.walking import do, done
from tests.builders import an_access_request, an_application, an_identity, facts
from tests.holdings import an_account, finish_import
from tests.stand_ins.standing_in import a_stand_in, caller_of
from tests.working import let_the_worker_work

ME, OTHER = UUID(int=7), UUID(int=8)
MOVES = [model.ASSIGN, model.RESOLVE, model.VERIFY, model.REOPEN, model.SNOOZE, model.RESUME, model.CANCEL]
PROVISIONING = {model.ASSIGN, model.RESOLVE, model.SNOOZE, model.RESUME, model.REOPEN}
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
        ("is_reporter", {*MOVES} - {model.RESOLVE, model.VERIFY}),
        ("is_assignee", PROVISIONING),
        ("is_provisioner", PROVISIONING),
    ],
)
def test_person_may_make_the_moves_of_their_relation(role: str | None, relation: str, moves: set[Move]) -> None:
    assert allowed(a_standing(role=role, **{relation: True})) == moves
    assert allowed(a_standing(role=role)) == set()
    assert refusal(a_standing(role=role), model.CANCEL) == NOT_INVOLVED


@pytest.mark.parametrize(
    ("type", "moves"),
    [
        ("Approve", {model.ASSIGN, model.CANCEL}),
        ("Resolve", PROVISIONING | {model.CANCEL}),
        ("Verify", {model.VERIFY, model.REOPEN}),
    ],
)
def test_reviewer_may_make_only_the_moves_of_their_response_type(type: str, moves: set[Move]) -> None:
    assert allowed(a_standing(asked=[type])) == moves


def test_administrators_and_operators_may_move_requests_of_others() -> None:
    for role in ("Administrator", "Operator"):
        assert allowed(a_standing(role=role)) == {*MOVES}
        assert allowed(a_standing(role=role, is_affected=True)) == {*MOVES} - {
            model.RESOLVE,
            model.VERIFY,
            model.CANCEL,
            model.SNOOZE,
        }


def test_auditor_cannot_move_a_request_even_as_its_reviewer() -> None:
    """The only move that an auditor may make is to cancel a request of their own."""
    asked = a_standing(role="Auditor", asked=["Approve", "Verify"], is_provisioner=True)
    own = a_standing(role="Auditor", asked=["Verify"], is_reporter=True, is_provisioner=True)

    assert [allowed(asked), allowed(own)] == [set(), {model.CANCEL}]


def a_caller(**given: Any) -> Caller:
    return Caller(ME, "Ada Hopper", frozenset(), is_person=True, **given)


@pytest.mark.parametrize("type", RequirementType)
def test_auditor_cannot_respond_as_reviewer_or_as_stand_in(type: RequirementType) -> None:
    asked = a_standing(role="Auditor", asked=list(RequirementType))
    caller = a_caller(stands_in_for=frozenset({(OTHER, type)}))

    assert [response_refusal(asked, caller, type, reviewer) for reviewer in (ME, OTHER)] == [NOT_INVOLVED] * 2


@pytest.mark.parametrize("type", RequirementType)
def test_administrator_responds_for_the_administrators_and_for_no_other_reviewer(type: RequirementType) -> None:
    administrator, reviewer = a_standing(role="Administrator"), a_standing(role="Reviewer", asked=[type])

    assert response_refusal(administrator, a_caller(), type, ADMINISTRATORS.id) is None
    assert response_refusal(administrator, a_caller(), type, OTHER) == NOT_STANDING_IN
    assert response_refusal(reviewer, a_caller(), type, ADMINISTRATORS.id) == NOT_STANDING_IN
    assert response_refusal(reviewer, a_caller(), type, ME) is None


def test_person_who_responds_for_one_reviewer_approves_and_verifies_for_no_other() -> None:
    asked = list(RequirementType)
    caller = a_caller(stands_in_for=frozenset((OTHER, type) for type in asked))

    def refusals(**given: Any) -> list[str | None]:
        return [response_refusal(a_standing(asked=asked, **given), caller, type, OTHER) for type in asked]

    assert asked == ["Approve", "Resolve", "Verify"]
    assert refusals(responds_as=[ME, OTHER]) == [SECOND_RESPONSE, None, SECOND_RESPONSE]
    assert refusals(responds_as=[OTHER]) == [None] * 3
    assert refusals(responds_as=[ME], is_alone=True) == [None] * 3


def test_api_token_may_make_every_move() -> None:
    assert allowed(a_standing(is_person=False, role=None, is_reporter=True, carried_out_by=[ME])) == {*MOVES}


def test_token_of_an_administrator_may_record_decisions_and_other_tokens_only_what_their_owner_may() -> None:
    owners = {role: a_standing(role=role, is_reporter=True) for role in ("Administrator", "Reviewer")}

    assert owner_refusal(None, model.RESOLVE) is None
    assert owner_refusal(owners["Administrator"], model.RESOLVE) is None
    assert owner_refusal(owners["Reviewer"], model.RESOLVE) == OF_OWNER.format(OWN_REQUEST)
    affected = a_standing(role="Administrator", is_affected=True)
    assert owner_refusal(affected, model.CANCEL) == OF_OWNER.format(REPORTED_BY_OTHERS)


def test_person_cannot_decide_their_own_request_or_verify_their_own_work() -> None:
    own = a_standing(role="Administrator", is_reporter=True, asked=["Approve", "Verify"])
    assert [refusal(own, move) for move in (model.APPROVE, model.RESOLVE, model.VERIFY)] == [OWN_REQUEST] * 3
    assert refusal(a_standing(role="Administrator", is_affected=True), model.CANCEL) == REPORTED_BY_OTHERS
    worked = a_standing(role="Administrator", asked=["Verify"], carried_out_by=[ME])
    assert refusal(worked, model.VERIFY) == PROVISIONED_IT
    assert refusal(worked, model.REOPEN) is None
    token = a_standing(is_person=False, role=None, carried_out_by=[OTHER])
    assert (refusal(token, model.VERIFY, OTHER), refusal(token, model.VERIFY, ME)) == (PROVISIONED_IT, None)


class People:
    """Grace owns the application, Peter provisions it, and Rita is a reviewer who is not involved in any request."""

    def __init__(self, **callers: Caller) -> None:
        self.grace, self.peter, self.rita = (callers[name] for name in ("grace", "peter", "rita"))


@pytest.fixture
async def people(db: Db) -> People:
    await a_person(db, "Ada", Role.ADMINISTRATOR)
    roles = {"grace": Role.REVIEWER, "peter": Role.PROVISIONER, "rita": Role.REVIEWER}
    return People(**{name: await a_person(db, name.title(), role) for name, role in roles.items()})


async def a_removal(db: Db, people: People, **fields: Any) -> UUID:
    """Create a request that opens at once and requires verification."""
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
async def test_reviewer_cannot_move_a_request_that_does_not_involve_them(db: Db, people: People, verb: str) -> None:
    id = await a_removal(db, people)
    status = FROM.get(verb, "Open")
    await execute(db, "UPDATE access_requests SET status = %(status)s WHERE id = %(id)s", id=id, status=status)

    with pytest.raises(Conflict, match=NOT_INVOLVED):
        await VERBS[verb](db, people.rita, id)

    assert await fetch_value(db, "SELECT status FROM access_requests WHERE id = %(id)s", id=id) == status
    assert await fetch_value(db, "SELECT assignee_id FROM access_requests WHERE id = %(id)s", id=id) is None


async def test_provisioner_can_move_only_requests_of_their_applications(db: Db, people: People) -> None:
    id = await a_removal(db, people)
    other = await an_access_request(db, "Remove")

    await VERBS["assign"](db, people.peter, id)
    await VERBS["resolve"](db, people.peter, id)

    for verb in ("assign", "resolve", "cancel"):
        with pytest.raises(Conflict, match=NOT_INVOLVED):
            await VERBS[verb](db, people.peter, other)


async def test_reporter_can_cancel_their_own_request(db: Db, people: People) -> None:
    id = await a_removal(db, people)
    await execute(db, "UPDATE access_requests SET reporter_id = %(id)s", id=people.rita.id)

    await VERBS["cancel"](db, people.rita, id)

    assert await fetch_value(db, "SELECT status FROM access_requests WHERE id = %(id)s", id=id) == "Canceled"


VERIFIED = {"type": "Verify", "response": "Approved"}


async def test_person_who_resolved_a_request_cannot_verify_it(
    client: httpx2.AsyncClient, db: Db, people: People
) -> None:
    """Try the operation verify, a response, and a response that a token records."""
    id = await a_removal(db, people)
    await execute(db, "UPDATE applications SET provisioner_ids = ARRAY[owner_id]")
    await VERBS["resolve"](db, people.grace, id)

    for attempt in (
        VERBS["verify"](db, people.grace, id),
        actions.respond(db, people.grace, str(id), VERIFIED, facts()),
    ):
        with pytest.raises(Conflict, match=PROVISIONED_IT):
            await attempt
    recorded = await do(client, id, "respond", **VERIFIED, reviewerId=str(people.grace.id))

    assert (recorded.status_code, recorded.json()["message"]) == (409, PROVISIONED_IT)
    assert await fetch_value(db, "SELECT status FROM access_requests WHERE id = %(id)s", id=id) == "Resolved"


async def test_assignee_at_the_time_of_resolving_cannot_verify(
    client: httpx2.AsyncClient, db: Db, people: People
) -> None:
    id = await a_removal(db, people)
    await done(client, id, "assign", assigneeId=str(people.grace.id))
    await done(client, id, "resolve")
    with pytest.raises(Conflict, match=PROVISIONED_IT):
        await VERBS["verify"](db, people.grace, id)

    await done(client, id, "reopen")
    await done(client, id, "assign", assigneeId=str(people.peter.id))
    await done(client, id, "resolve")
    # A person who provisioned the request before it was reopened is still excluded.
    with pytest.raises(Conflict, match=PROVISIONED_IT):
        await VERBS["verify"](db, people.grace, id)


async def two_resolve_rules(client: httpx2.AsyncClient) -> None:
    """Require two people to carry out each request; the owner is one of them and also verifies."""
    policy = [
        {"type": "Resolve", "reason": "Owner", "responder": "Application Owner"},
        {"type": "Resolve", "reason": "Provisioner", "responder": "Application Provisioner"},
        {"type": "Verify", "reason": "Check", "responder": "Application Owner"},
    ]
    assert (await client.patch("/api/settings", json={"approvalPolicy": policy})).status_code == 200


@pytest.mark.parametrize("how", ["in person", "recorded by a token", "by a stand-in"])
async def test_person_who_met_one_of_several_rules_before_a_reopening_cannot_verify(
    client: httpx2.AsyncClient, db: Db, people: People, how: str
) -> None:
    """The last response moves the request, so its event names another person as the caller."""
    await two_resolve_rules(client)
    id = await a_removal(db, people)
    did = {"type": "Resolve", "response": "Approved"}
    if how == "recorded by a token":
        await done(client, id, "respond", **did, reviewerId=str(people.grace.id))
    elif how == "by a stand-in":
        await a_stand_in(db, people.grace.id, people.rita.id)
        rita = await caller_of(db, people.rita.id)
        await actions.respond(db, rita, str(id), {**did, "reviewerId": str(people.grace.id)}, facts())
    else:
        await actions.respond(db, people.grace, str(id), did, facts())
    await actions.respond(db, people.peter, str(id), did, facts())
    await VERBS["reopen"](db, people.grace, id)
    await VERBS["resolve"](db, people.peter, id)

    verifiers = [people.grace, await caller_of(db, people.rita.id)] if how == "by a stand-in" else [people.grace]
    for verifier in verifiers:
        answer = {**VERIFIED, "reviewerId": str(people.grace.id)}
        with pytest.raises(Conflict, match=PROVISIONED_IT):
            await actions.respond(db, verifier, str(id), answer, facts())
    with pytest.raises(Conflict, match=PROVISIONED_IT):
        await VERBS["verify"](db, people.grace, id)


async def test_another_person_or_an_import_can_verify(
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


async def test_administrators_are_asked_when_every_verifier_provisioned_the_request(
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
