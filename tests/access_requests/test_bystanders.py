"""Test what verbs and responses leave unchanged: other requests, their reviewers, and access that is not lowered."""

from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.access_requests.model import NewPrivilege
from rolecall.accounts.model import Access
from rolecall.core.db import Db, fetch_rows
from tests.access_requests.walking import (
    Cast,
    a_cast,
    a_request_that_is,
    body_of,
    detail_of,
    do,
    done,
    events_of,
)
from tests.builders import an_access_request, an_application, an_identity

APPROVED = {"type": "Approve", "response": "Approved"}
SALES = [
    NewPrivilege(header="Sales", permission="Leads", requested_access=Access.MODIFY),
    NewPrivilege(header="Sales", permission="Accounts", requested_access=Access.MODIFY),
]


async def a_request_about(db: Db, cast: Cast, application: str, *privileges: NewPrivilege) -> UUID:
    id = await an_application(db, application, ownerId=cast.grace, provisionerIds=[cast.peter])
    return await an_access_request(db, identity_id=cast.ada_id, application_id=id, privileges=list(privileges))


async def everything_of(client: httpx2.AsyncClient, db: Db, id: object) -> Any:
    responses = await fetch_rows(
        db, "SELECT * FROM responses WHERE request_id = %(id)s ORDER BY type, rule, position", id=id
    )
    privileges = await fetch_rows(db, "SELECT * FROM privileges WHERE request_id = %(id)s ORDER BY position", id=id)
    return await detail_of(client, id), await events_of(db, id), responses, privileges


@pytest.mark.parametrize(
    ("status", "verb"),
    [
        ("Pending", "approve"),
        ("Pending", "reject"),
        ("Open", "assign"),
        ("Open", "snooze"),
        ("Open", "resolve"),
        ("Open", "cancel"),
        ("Snoozed", "resume"),
        ("Resolved", "verify"),
        ("Resolved", "reopen"),
    ],
)
async def test_verb_moves_only_its_own_request(client: httpx2.AsyncClient, db: Db, status: str, verb: str) -> None:
    cast, others = await a_cast(db), await a_cast(db)
    bystander = await a_request_that_is(client, db, status, others)
    await db.execute("UPDATE applications SET name = 'Other', name_key = 'other'")
    id = await a_request_that_is(client, db, status, cast)
    before = await everything_of(client, db, bystander)
    path, body = body_of(verb, cast)

    await done(client, id, path, **body)

    assert await everything_of(client, db, bystander) == before


async def test_reviewer_of_another_request_is_not_asked(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    hal = await an_identity(db, "Hal", "Abelson")
    await an_access_request(db, identity_id=await an_identity(db, "Bo", "Boss", supervisorId=str(hal)))
    id = await a_request_about(db, cast, "CRM", *SALES)

    unknown = "00000000-0000-4000-8000-000000000000"
    for reviewer, message in {
        str(hal): "Hal Abelson is not asked to approve this request",
        cast.peter: "Peter Naur is not asked to approve this request",
        unknown: f"Identity with id {unknown} not found",
    }.items():
        answer = await do(client, id, "respond", **APPROVED, reviewerId=reviewer)

        assert answer.json()["errors"] == [{"field": "reviewerId", "message": message}]


async def test_token_that_resolved_without_being_asked_is_not_asked_later(client: httpx2.AsyncClient, db: Db) -> None:
    id = await a_request_that_is(client, db, "Resolved", await a_cast(db))

    answer = await do(client, id, "respond", type="Resolve", response="Approved")

    message = "Reviewer ID is required: name the reviewer whose response this is"
    assert answer.json()["errors"] == [{"field": "reviewerId", "message": message}]


async def test_response_is_refused_in_a_status_that_awaits_another_type(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    id = await a_request_that_is(client, db, "Pending", cast)

    answer = await do(client, id, "respond", type="Resolve", response="Approved", reviewerId=cast.peter)

    assert answer.status_code == 409
    assert answer.json()["message"] == "An access request that is Pending does not wait for a response of type Resolve"


async def test_access_is_lowered_only_in_its_own_request(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    bystander = await a_request_about(db, cast, "CRM", *SALES)
    id = await a_request_about(db, cast, "ERP", *reversed(SALES[:1]))
    lowered = [{"header": "Sales", "permission": "Leads", "access": "Grant"}]
    others = [{"header": "Sales", "permission": "Accounts", "access": "Grant"}]

    refused = await do(client, id, "respond", **APPROVED, reviewerId=cast.grace, approvedAccess=others)
    approved = await done(client, id, "respond", **APPROVED, reviewerId=cast.grace, approvedAccess=lowered)
    other = await done(client, bystander, "respond", **APPROVED, reviewerId=cast.grace)

    assert refused.json()["errors"] == [
        {"field": "approvedAccess.0", "message": "The request does not contain this privilege"}
    ]
    assert [each["approvedAccess"] for each in approved["target"]["privileges"]] == ["Grant"]
    assert [each["approvedAccess"] for each in other["target"]["privileges"]] == ["Modify", "Modify"]


async def test_approving_the_requested_access_does_not_change_it(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    id = await a_request_about(db, cast, "CRM", *SALES)
    same = [{"header": "Sales", "permission": "Leads", "access": "Modify"}]

    approved = await done(client, id, "respond", **APPROVED, reviewerId=cast.grace, approvedAccess=same)

    assert [each["approvedAccess"] for each in approved["target"]["privileges"]] == ["Modify", "Modify"]


async def test_only_an_approval_lowers_access(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    id = await a_request_about(db, cast, "CRM", *SALES)
    body = {"type": "Approve", "response": "Rejected", "reviewerId": cast.grace}
    lowered = [{"header": "Sales", "permission": "Leads", "access": "Grant"}]

    answer = await do(client, id, "respond", **body, approvedAccess=lowered)

    message = "Approved access can be set only when approving the request"
    assert answer.json()["errors"] == [{"field": "approvedAccess", "message": message}]
