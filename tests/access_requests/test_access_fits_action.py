"""Test that access fits the action: Remove and Suspend lower it, Restore gives it back, and raises need approval."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.access_requests.request_body import read_request
from rolecall.applications.queries import with_mentioned_applications
from rolecall.core import clock
from rolecall.core.checking import Facts
from rolecall.core.config import Config
from rolecall.core.db import Db, execute
from rolecall.identities.queries import with_mentioned_identities
from tests.access_requests.walking import PATH, detail_of, done
from tests.builders import an_application, an_identity
from tests.counting import counting
from tests.holdings import an_account
from tests.working import let_the_worker_work

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
HELD = (
    ("Books", "Post", "Modify", "High"),
    ("Books", "Close", "Unrestricted", "Critical"),
    ("Books", "Read", "Grant", "None"),
    ("Books", "Void", "Deny", "None"),
    ("Books", "Audit", "None", "None"),
)


class Cast:
    """Ada has an account in the ledger, Bo is her supervisor, and Olga owns the ledger."""

    ada: UUID
    bo: UUID
    olga: UUID
    ledger: UUID


@pytest.fixture
async def cast(db: Db) -> Cast:
    cast = Cast()
    cast.bo, cast.olga = await an_identity(db, "Bo", "Boss"), await an_identity(db, "Olga", "Owner")
    cast.ada = await an_identity(db, "Ada", "Lovelace", supervisorId=str(cast.bo))
    cast.ledger = await an_application(db, "Ledger", ownerId=str(cast.olga))
    await an_account(db, cast.ledger, "ada", cast.ada, groups=("Clerks",), permissions=HELD)
    return cast


def named(permission: str, access: str | None = None, header: str = "Books") -> dict[str, Any]:
    return {"header": header, "permission": permission, **({"access": access} if access else {})}


async def ask(client: httpx2.AsyncClient, cast: Cast, action: str, *privileges: dict[str, Any], **body: Any) -> Any:
    target = {} if "group" in body else {"identityId": str(cast.ada)}
    raw = {"action": action, "applicationId": str(cast.ledger), "privileges": list(privileges), **target, **body}
    return (await client.post(PATH, json=raw)).json()


def approvers(request: Any) -> list[str]:
    return [
        answer["reviewer"]["name"]
        for requirement in request["requirements"]
        if requirement["type"] == "Approve"
        for rule in requirement["rules"]
        for answer in rule["responses"]
    ]


def asked(request: Any) -> list[tuple[str, str, str]]:
    return [
        (each["permission"]["permission"], each["initialAccess"], each["requestedAccess"])
        for each in request["target"]["privileges"]
    ]


async def suspended(client: httpx2.AsyncClient, cast: Cast, *privileges: dict[str, Any], **body: Any) -> Any:
    request = await ask(client, cast, "Suspend", *privileges, **body)
    return await done(client, request["id"], "resolve")


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


async def test_restore_of_access_that_was_not_suspended_is_rejected(client: httpx2.AsyncClient, cast: Cast) -> None:
    whole = await ask(client, cast, "Restore")
    one = await ask(client, cast, "Restore", named("Close", "Grant"))
    # A suspension that was not provisioned took nothing away.
    await ask(client, cast, "Suspend", named("Close"))
    waiting = await ask(client, cast, "Restore", named("Close"))

    assert whole["errors"] == [{"field": "action", "message": "ada is not suspended"}]
    not_suspended = [{"field": "privileges.0.access", "message": "Books Close of ada is not suspended"}]
    assert one["errors"] == waiting["errors"] == not_suspended


async def test_restore_gives_back_exactly_what_was_suspended(client: httpx2.AsyncClient, cast: Cast) -> None:
    await suspended(client, cast, named("Post"), named("Read"))

    more = await ask(client, cast, "Restore", named("Post", "Unrestricted"), named("Close", "Grant"), named("Read"))
    request = await ask(client, cast, "Restore")

    assert more["errors"] == [
        {"field": "privileges.0.access", "message": "Access must be Modify, the access that is still approved"},
        {"field": "privileges.1.access", "message": "Books Close of ada is not suspended"},
    ]
    assert asked(request) == [("Post", "Modify", "Modify"), ("Read", "Grant", "Grant")]


async def test_restore_looks_up_its_target_once(
    client: httpx2.AsyncClient, cast: Cast, clean_database: str, facts: Facts
) -> None:
    await suspended(client, cast)
    raw = {"applicationId": str(cast.ledger), "identityId": str(cast.ada), "privileges": [named("Post")]}

    async with counting(clean_database) as counts:
        known = await with_mentioned_identities(counts.db, facts, raw)
        known = await with_mentioned_applications(counts.db, known, raw)
        remove = await counts.of(read_request(counts.db, {**raw, "action": "Remove"}, known))
        restore = await counts.of(read_request(counts.db, {**raw, "action": "Restore"}, known))

    # The two additional statements read the suspensions, and the identity to check that it is active.
    assert restore == remove + 2


async def test_restore_outside_an_event_is_approved_like_an_add(client: httpx2.AsyncClient, cast: Cast) -> None:
    await suspended(client, cast)

    modest = await ask(client, cast, "Restore", named(" READ "))
    rest = await ask(client, cast, "Restore")

    assert (modest["status"], approvers(modest)) == ("Pending", ["Bo Boss"])
    assert asked(modest) == [("Read", "Grant", "Grant")]
    # The remaining access has a high risk, so the owner must approve too.
    assert [name for name, _, _ in asked(rest)] == ["Clerks", "Close", "Post", "Void"]
    assert approvers(rest) == ["Bo Boss", "Olga Owner"]


async def test_access_that_was_restored_or_removed_cannot_be_restored(client: httpx2.AsyncClient, cast: Cast) -> None:
    await suspended(client, cast, named("Post"), named("Read"), named("Close"))
    restored = await ask(client, cast, "Restore", named("Post"))
    await ask(client, cast, "Remove", named("Close"))

    again = await ask(client, cast, "Restore", named("Post"))
    rest = await ask(client, cast, "Restore")
    await done(client, restored["id"], "cancel")
    after_cancel = await ask(client, cast, "Restore", named("Post"))

    assert again["errors"] == [{"field": "privileges.0.access", "message": "Books Post of ada is not suspended"}]
    assert asked(rest) == [("Read", "Grant", "Grant")]
    assert asked(after_cancel) == [("Post", "Modify", "Modify")]


async def test_everything_suspended_is_restored_in_the_order_it_was_suspended(
    client: httpx2.AsyncClient, db: Db, cast: Cast
) -> None:
    await an_account(db, cast.ledger, "bo", cast.bo, groups=("Posters",))
    await ask(client, cast, "Suspend", identityId=str(cast.bo))
    await suspended(client, cast, named("Post"))
    await suspended(client, cast, named("Close"), named("Read"))

    request = await ask(client, cast, "Restore")

    assert [name for name, *_ in asked(request)] == ["Post", "Close", "Read"]


async def test_privilege_is_restored_once_in_any_spelling(client: httpx2.AsyncClient, cast: Cast) -> None:
    await suspended(client, cast, named("Post"))

    answer = await ask(client, cast, "Restore", named("Post"), named("POST"))

    assert answer["errors"] == [{"field": "privileges", "message": "Privileges must name each permission once"}]


async def test_account_without_privileges_is_restored_once(client: httpx2.AsyncClient, db: Db, cast: Cast) -> None:
    refused = [{"field": "action", "message": "ada is not suspended"}]
    await execute(db, "DELETE FROM memberships")
    await execute(db, "DELETE FROM assignments")
    assert (await ask(client, cast, "Restore"))["errors"] == refused
    await suspended(client, cast)
    await ask(client, cast, "Change", named("Post", "Grant"))

    restored = await ask(client, cast, "Restore")
    assert (restored["status"], asked(restored)) == ("Pending", [])
    assert (await ask(client, cast, "Restore"))["errors"] == refused
    await done(client, restored["id"], "cancel")
    canceled = await ask(client, cast, "Restore")
    await done(client, canceled["id"], "cancel")
    await ask(client, cast, "Remove")
    assert (await ask(client, cast, "Restore"))["errors"] == refused


async def test_restore_gives_back_at_most_what_is_still_approved(client: httpx2.AsyncClient, cast: Cast) -> None:
    await suspended(client, cast, named("Post"), named("Close"), named("Read"))
    await ask(client, cast, "Change", named("Post", "Grant"))
    lowered = await ask(client, cast, "Change", named("Close", "Grant"))
    await done(client, lowered["id"], "respond", type="Approve", response="Approved", reviewerId=str(cast.bo))
    waiting = await ask(client, cast, "Change", named("Read", "Unrestricted"))

    more = await ask(client, cast, "Restore", named("Close", "Unrestricted"))
    rest = await ask(client, cast, "Restore")

    assert waiting["status"] == "Pending"
    assert more["errors"] == [
        {"field": "privileges.0.access", "message": "Access must be Grant, the access that is still approved"}
    ]
    assert [(name, given) for name, _, given in asked(rest)] == [
        ("Post", "Grant"),
        ("Close", "Grant"),
        ("Read", "Grant"),
    ]


async def test_access_that_was_approved_again_after_a_removal_can_be_restored(
    client: httpx2.AsyncClient, cast: Cast
) -> None:
    await suspended(client, cast, named("Read"))
    await ask(client, cast, "Remove", named("Read"))
    assert "errors" in await ask(client, cast, "Restore", named("Read"))
    given = await ask(client, cast, "Change", named("Read", "Unrestricted"))
    await done(client, given["id"], "respond", type="Approve", response="Approved", reviewerId=str(cast.bo))

    assert asked(await ask(client, cast, "Restore", named("Read")))[0][2] == "Grant"


async def test_pending_request_does_not_replace_the_last_approval_for_a_restore(
    client: httpx2.AsyncClient, cast: Cast
) -> None:
    await suspended(client, cast, named("Close"))
    lowered = await ask(client, cast, "Change", named("Close", "Grant"))
    await done(client, lowered["id"], "respond", type="Approve", response="Approved", reviewerId=str(cast.bo))
    waiting = await ask(client, cast, "Change", named("Close", "Modify"))

    assert waiting["status"] == "Pending"
    assert asked(await ask(client, cast, "Restore", named("Close")))[0][2] == "Grant"


async def test_access_of_a_removed_account_cannot_be_restored(client: httpx2.AsyncClient, db: Db, cast: Cast) -> None:
    await suspended(client, cast)
    # After the next import the suspended account holds no access.
    await execute(db, "DELETE FROM memberships")
    await execute(db, "DELETE FROM assignments")
    await ask(client, cast, "Remove")

    answer = await ask(client, cast, "Restore", named("Post"))

    assert answer["errors"] == [{"field": "privileges.0.access", "message": "Books Post of ada is not suspended"}]


@pytest.mark.parametrize("blank", ["", " ", "\u200b"])
async def test_blank_identity_counts_as_absent(client: httpx2.AsyncClient, cast: Cast, blank: str) -> None:
    body = {"action": "Add", "applicationId": str(cast.ledger), "identityId": blank}

    answer = await client.post("/api/access-requests", json=body)

    assert answer.status_code == 400
    assert {problem["field"] for problem in answer.json()["errors"]} == {"identityId"}


async def test_suspension_of_one_account_does_not_restore_another(
    client: httpx2.AsyncClient, db: Db, cast: Cast
) -> None:
    await an_account(db, cast.ledger, "ada.admin", cast.ada)
    await suspended(client, cast, named("Post"), targetName="ada")

    answer = await ask(client, cast, "Restore", named("Post"), targetName="ada.admin")

    assert answer["errors"][0]["message"] == "Books Post of ada.admin is not suspended"


async def test_suspended_group_can_be_restored(client: httpx2.AsyncClient, db: Db, cast: Cast) -> None:
    await execute(db, "UPDATE assignments SET holder_number = (SELECT number FROM groups)")
    await suspended(client, cast, named("Close"), group="Clerks")

    request = await ask(client, cast, "Restore", group="clerks")

    assert asked(request) == [("Close", "Unrestricted", "Unrestricted")]
    assert approvers(request)


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
    # Only the approval is that of an Add; the request is still a Change.
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
    why = "ada now has Books Post as None: Grant would raise it"
    assert (canceled["status"], [comment["content"] for comment in canceled["comments"]]) == ("Canceled", [why])
    others = [await detail_of(client, request["id"]) for request in (standing, removing, approved, not_due)]
    assert [request["status"] for request in others] == ["Open", "Open", "Open", "Scheduled"]


async def test_removal_starts_although_the_access_was_denied_meanwhile(
    client: httpx2.AsyncClient, db: Db, config: Config, cast: Cast
) -> None:
    """Otherwise a denied privilege would keep the account of a leaver from being removed."""
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
