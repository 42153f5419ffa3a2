"""Test that access fits the action: Remove and Suspend never raise it, and a request that raises it needs approval."""

from datetime import UTC, datetime, timedelta

import httpx2
import pytest

from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value
from tests.access_requests.fitting import Cast, a_ledger_cast, approvers, ask, asked, named
from tests.access_requests.walking import detail_of, done
from tests.duties.separating import finish_again
from tests.holdings import a_finished_import, finish_import
from tests.working import let_the_worker_work

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


@pytest.fixture
async def cast(db: Db) -> Cast:
    return await a_ledger_cast(db)


@pytest.mark.parametrize("action", ["Remove", "Suspend"])
@pytest.mark.parametrize(
    ("permission", "access", "message"),
    [
        ("Post", "Unrestricted", "Access must be lower than Modify"),
        ("Post", "Modify", "Access must be lower than Modify"),
        ("Close", "Unrestricted", "Access must be lower than Unrestricted"),
        ("Read", "Grant", "Access must be lower than Grant"),
        ("Void", "Grant", "Access must be None"),
        ("Void", "None", "Access must stay Deny: removing a denial raises access. Request a Change instead"),
        ("Audit", "Grant", "Access must be None"),
    ],
)
async def test_remove_and_suspend_never_raise_access(
    client: httpx2.AsyncClient, cast: Cast, action: str, permission: str, access: str, message: str
) -> None:
    answer = await ask(client, cast, action, named("Clerks", header="Group"), named(permission, access))

    assert answer["errors"] == [{"field": "privileges.1.access", "message": message}]


@pytest.mark.parametrize(
    ("permission", "access"),
    [("Post", "Grant"), ("Post", "None"), ("Post", "Deny"), ("Close", "Modify"), ("Void", "Deny"), ("Audit", "None")],
)
async def test_remove_lowers_access_without_approval(
    client: httpx2.AsyncClient, cast: Cast, permission: str, access: str
) -> None:
    request = await ask(client, cast, "Remove", named(permission, access))

    assert (request["status"], approvers(request)) == ("Open", [])
    assert request["target"]["privileges"][0]["approvedAccess"] == access


async def test_access_that_does_not_fit_is_reported_with_other_problems(client: httpx2.AsyncClient, cast: Cast) -> None:
    answer = await ask(
        client, cast, "Remove", named("Post", "Unrestricted"), named("Read", "Grant"), scheduledStart="soon"
    )

    assert [each["field"] for each in answer["errors"]] == [
        "scheduledStart",
        "privileges.0.access",
        "privileges.1.access",
    ]


async def test_remove_cannot_raise_access_of_a_group(client: httpx2.AsyncClient, db: Db, cast: Cast) -> None:
    await execute(db, "UPDATE assignments SET holder_number = (SELECT number FROM groups)")

    refused = await ask(client, cast, "Remove", named("Post", "Unrestricted"), group="Clerks")
    lowered = await ask(client, cast, "Remove", named("Post", "Grant"), group="Clerks")

    assert refused["errors"] == [{"field": "privileges.0.access", "message": "Access must be lower than Modify"}]
    assert asked(lowered) == [("Post", "Modify", "Grant")]


@pytest.fixture
async def through_group(db: Db, cast: Cast) -> None:
    """Let Ada hold everything only through her group."""
    await execute(db, "UPDATE assignments SET holder_number = (SELECT number FROM groups)")


@pytest.mark.usefixtures("through_group")
@pytest.mark.parametrize("action", ["Remove", "Suspend"])
async def test_access_through_a_group_is_not_lowered_without_approval(
    client: httpx2.AsyncClient, cast: Cast, action: str
) -> None:
    refused = await ask(client, cast, action, named("Post", "Grant"))
    removed = await ask(client, cast, action, named("Post", "None"))

    message = "Access comes only through groups, so it cannot be lowered here: change or remove the membership instead"
    assert refused["errors"] == [{"field": "privileges.0.access", "message": message}]
    assert removed["status"] == "Open"


@pytest.mark.usefixtures("through_group")
async def test_change_of_access_through_a_group_is_approved_like_an_add(client: httpx2.AsyncClient, cast: Cast) -> None:
    policy = [{"type": "Approve", "reason": "Adds", "responder": "Supervisor", "actions": ["Add"]}]
    assert (await client.patch("/api/settings", json={"approvalPolicy": policy})).status_code == 200

    lowered = await ask(client, cast, "Change", named("Post", "Grant"))
    removed = await ask(client, cast, "Change", named("Post", "None"))

    assert (approvers(lowered), approvers(removed)) == (["Bo Boss"], [])


@pytest.mark.parametrize("blank", ["", " ", "\u200b"])
async def test_blank_identity_counts_as_absent(client: httpx2.AsyncClient, cast: Cast, blank: str) -> None:
    body = {"action": "Add", "applicationId": str(cast.ledger), "identityId": blank}

    answer = await client.post("/api/access-requests", json=body)

    assert answer.status_code == 400
    assert {problem["field"] for problem in answer.json()["errors"]} == {"identityId"}


@pytest.mark.parametrize(
    ("permission", "access", "raises"),
    [("Post", "Unrestricted", True), ("Void", "None", True), ("Post", "Grant", False), ("Audit", "Deny", False)],
)
async def test_change_that_raises_access_is_approved_like_an_add(
    client: httpx2.AsyncClient, cast: Cast, permission: str, access: str, raises: bool
) -> None:
    policy = [
        {"type": "Approve", "reason": "Adds", "responder": "Supervisor", "actions": ["Add"]},
        {"type": "Resolve", "reason": "Adds only", "responder": "Application Owner", "actions": ["Add"]},
    ]
    assert (await client.patch("/api/settings", json={"approvalPolicy": policy})).status_code == 200

    request = await ask(client, cast, "Change", named(permission, access))

    assert approvers(request) == (["Bo Boss"] if raises else [])
    # Only the rules of type Approve treat the request as an Add; for the others it is still a Change.
    (work,) = [each for each in request["requirements"] if each["type"] == "Resolve"]
    assert [rule["reason"] for rule in work["rules"]] != ["Adds only"]


@pytest.mark.parametrize("action", ["Remove", "Suspend", "Change"])
async def test_request_that_would_raise_access_when_it_starts_is_canceled(
    client: httpx2.AsyncClient, db: Db, config: Config, cast: Cast, action: str
) -> None:
    clock.travel_to(NOON)
    adds = {"type": "Approve", "reason": "Adds", "responder": "Supervisor", "actions": ["Add"]}
    assert (await client.patch("/api/settings", json={"approvalPolicy": [adds]})).status_code == 200
    later, last = [(NOON + timedelta(days=days)).isoformat() for days in (3, 9)]
    lowering = await ask(client, cast, action, named("Post", "Grant"), scheduledStart=later)
    standing = await ask(client, cast, action, named("Close", "Grant"), scheduledStart=later)
    removing = await ask(client, cast, action, named("Post", "None"), scheduledStart=later)
    not_due = await ask(client, cast, action, named("Post", "Grant"), scheduledStart=last)
    approved = await ask(client, cast, "Change", named("Post", "Grant"), named("Read", "Modify"), scheduledStart=later)
    await done(client, approved["id"], "respond", type="Approve", response="Approved", reviewerId=str(cast.bo))
    await execute(
        db,
        """UPDATE assignments SET until_import = 2 WHERE permission_number =
               (SELECT number FROM permissions WHERE permission = 'Post')""",
    )

    await let_the_worker_work(config, NOON + timedelta(days=3, minutes=1))

    canceled = await detail_of(client, lowering["id"])
    why = "ada has Books Post as None now, so Grant would raise the access; make a new request if it is still needed"
    assert (canceled["status"], [comment["content"] for comment in canceled["comments"]]) == ("Canceled", [why])
    others = [await detail_of(client, request["id"]) for request in (standing, removing, approved, not_due)]
    assert [request["status"] for request in others] == ["Open", "Open", "Open", "Scheduled"]


async def end_access(db: Db, permission: str) -> None:
    """Take a permission away from everyone, as an import shows it after another request was completed."""
    await execute(
        db,
        """UPDATE assignments SET until_import = from_import + 1
           WHERE permission_number = (SELECT number FROM permissions WHERE permission = %(permission)s)""",
        permission=permission,
    )


@pytest.mark.parametrize(("away", "back"), [("snooze", "resume"), ("resolve", "reopen")])
@pytest.mark.parametrize("action", ["Remove", "Suspend", "Change"])
async def test_request_that_would_raise_access_when_it_opens_again_is_canceled(
    client: httpx2.AsyncClient, db: Db, cast: Cast, action: str, away: str, back: str
) -> None:
    adds = {"type": "Approve", "reason": "Adds", "responder": "Supervisor", "actions": ["Add"]}
    check = {"type": "Verify", "reason": "Check", "responder": "Application Owner"}
    assert (await client.patch("/api/settings", json={"approvalPolicy": [adds, check]})).status_code == 200
    lowering = await ask(client, cast, action, named("Post", "Grant"))
    standing = await ask(client, cast, action, named("Close", "Grant"))
    for request in (lowering, standing):
        until = {"until": (clock.now() + timedelta(days=1)).isoformat()} if away == "snooze" else {}
        await done(client, request["id"], away, **until)
    await end_access(db, "Post")

    canceled, opened = [await done(client, request["id"], back) for request in (lowering, standing)]

    why = "ada has Books Post as None now, so Grant would raise the access; make a new request if it is still needed"
    assert (canceled["status"], [comment["content"] for comment in canceled["comments"]]) == ("Canceled", [why])
    assert opened["status"] == "Open"


async def test_open_request_that_would_raise_access_after_an_import_is_canceled(
    client: httpx2.AsyncClient, db: Db, config: Config, cast: Cast
) -> None:
    later = (clock.now() + timedelta(days=3)).isoformat()
    lowering = await ask(client, cast, "Remove", named("Post", "Grant"))
    scheduled = await ask(client, cast, "Remove", named("Post", "Grant"), scheduledStart=later)
    standing = await ask(client, cast, "Remove", named("Close", "Grant"))
    removing = await ask(client, cast, "Remove", named("Post", "None"))
    await end_access(db, "Post")

    await let_the_worker_work(config)
    before = (await detail_of(client, lowering["id"]))["status"]
    await finish_again(db, await a_finished_import(db, cast.ledger))
    assert await fetch_value(db, "SELECT count(*) FROM people_to_recheck") == 1
    await let_the_worker_work(config)

    requests = [await detail_of(client, request["id"]) for request in (lowering, scheduled, standing, removing)]
    assert [before, *(request["status"] for request in requests)] == ["Open", "Canceled", "Scheduled", "Open", "Open"]


async def test_import_cancels_a_resolved_request_that_would_raise_access_instead_of_reopening_it(
    client: httpx2.AsyncClient, db: Db, config: Config, cast: Cast
) -> None:
    await execute(db, "UPDATE applications SET priority = 'High'")
    lowering = await ask(client, cast, "Remove", named("Post", "Grant"))
    await done(client, lowering["id"], "resolve")
    await end_access(db, "Post")

    later = clock.now() + timedelta(minutes=1)
    await finish_import(db, cast.ledger, "Users", "Permissions", at=later)
    await let_the_worker_work(config, later)

    assert (await detail_of(client, lowering["id"]))["status"] == "Canceled"


async def test_removal_starts_although_the_access_was_denied_meanwhile(
    client: httpx2.AsyncClient, db: Db, config: Config, cast: Cast
) -> None:
    """If the removal waited, a denied privilege would keep the account of a leaver from being removed."""
    clock.travel_to(NOON)
    later = (NOON + timedelta(days=3)).isoformat()
    request = await ask(client, cast, "Remove", named("Post", "None"), scheduledStart=later)
    await execute(
        db,
        """UPDATE assignments SET access = 'Deny' WHERE permission_number =
               (SELECT number FROM permissions WHERE permission = 'Post')""",
    )

    await let_the_worker_work(config, NOON + timedelta(days=3, minutes=1))

    assert (await detail_of(client, request["id"]))["status"] == "Open"
