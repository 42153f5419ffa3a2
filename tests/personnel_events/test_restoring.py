from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.access_requests.model import NewPrivilege
from rolecall.accounts.model import Access
from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows
from tests.builders import an_access_model, an_access_request, an_application, an_identity, an_import
from tests.holdings import a_finished_import, a_rollback, an_account, finish_import
from tests.personnel_events.bodies import EVENTS, created
from tests.working import let_the_worker_work

BACK = datetime(2026, 12, 1, 1, tzinfo=UTC)
DAY, SECOND, HOUR = timedelta(days=1), timedelta(seconds=1), timedelta(hours=1)


class Leave:
    """Ada is on leave until December; her ledger account is in two groups."""

    ada: UUID
    ledger: UUID
    event: Any


@pytest.fixture
async def leave(client: httpx2.AsyncClient, db: Db, config: Config) -> Leave:
    clock.travel_to(datetime(2026, 11, 2, 9, tzinfo=UTC))
    leave = Leave()
    leave.ada, leave.ledger = await an_identity(db, department="Finance"), await an_application(db, "Ledger")
    await an_account(db, leave.ledger, "ada", leave.ada, groups=("Posters", "Readers"))
    leave.event = await created(
        client, "leave-of-absence", identityId=str(leave.ada), effectiveDate="2026-11-02", endDate="2026-12-01"
    )
    await let_the_worker_work(config)
    return leave


async def suspended(client: httpx2.AsyncClient, leave: Leave) -> None:
    event = (await client.get(f"{EVENTS}/{leave.event['id']}")).json()
    [request] = event["stages"][0]["accessRequests"]
    answer = await client.post(f"/api/access-requests/{request['id']}/resolve")
    assert answer.json()["status"] == "Completed"


async def back(client: httpx2.AsyncClient, config: Config, leave: Leave) -> tuple[Any, list[str], list[str]]:
    """End the leave; return the event, the restored access and the comments on differences."""
    await let_the_worker_work(config, BACK)
    event = (await client.get(f"{EVENTS}/{leave.event['id']}")).json()
    restored = []
    for request in event["stages"][2]["accessRequests"]:
        assert request["action"] == "Restore"
        detail = (await client.get(f"/api/access-requests/{request['id']}")).json()
        restored += [p["permission"]["permission"] for p in detail["target"]["privileges"]]
    return event, restored, [comment["content"] for comment in event["comments"]]


async def a_request(
    db: Db, leave: Leave, access: Access, group: str = "Posters", *, action: str = "Change", **fields: Any
) -> UUID:
    """Request this level of access to a group for Ada's account."""
    asked = {"application_id": leave.ledger, "identity_id": leave.ada, "target_name": "ada", "now": clock.now()}
    privilege = NewPrivilege(header="Group", permission=group, requested_access=access)
    return await an_access_request(db, action, **{**asked, "privileges": [privilege], **fields})


async def test_end_of_a_leave_restores_everything_that_was_suspended(
    client: httpx2.AsyncClient, config: Config, leave: Leave
) -> None:
    await suspended(client, leave)

    event, restored, comments = await back(client, config, leave)

    assert (event["status"], restored, comments) == ("Open", ["Posters", "Readers"], [])


async def test_unfinished_suspension_is_canceled_at_the_end_of_the_leave(
    client: httpx2.AsyncClient, config: Config, leave: Leave
) -> None:
    event, restored, comments = await back(client, config, leave)

    assert (event["status"], restored, comments) == ("Completed", [], [])
    [request] = event["stages"][0]["accessRequests"]
    assert request["status"] == "Canceled"


async def test_canceled_suspension_leaves_nothing_to_restore(
    client: httpx2.AsyncClient, config: Config, leave: Leave
) -> None:
    event = (await client.get(f"{EVENTS}/{leave.event['id']}")).json()
    [request] = event["stages"][0]["accessRequests"]
    answer = await client.post(f"/api/access-requests/{request['id']}/cancel")
    assert answer.json()["status"] == "Canceled"

    event, restored, comments = await back(client, config, leave)

    assert (event["status"], restored, comments) == ("Completed", [], [])


async def test_inactive_identity_gets_no_access_back(
    client: httpx2.AsyncClient, db: Db, config: Config, leave: Leave
) -> None:
    await an_identity(db, "Bo", "Boss")
    await suspended(client, leave)
    await created(client, "offboard", identityId=str(leave.ada), effectiveDate="2026-11-20")
    await let_the_worker_work(config, datetime(2026, 11, 20, 1, tzinfo=UTC))

    event, restored, comments = await back(client, config, leave)

    assert (event["status"], restored) == ("Completed", [])
    assert comments == ["Nothing is restored: the identity is Disabled"]


async def test_access_in_an_archived_application_is_not_restored(
    client: httpx2.AsyncClient, config: Config, leave: Leave
) -> None:
    await suspended(client, leave)
    assert (await client.patch(f"/api/applications/{leave.ledger}", json={"isArchived": True})).status_code == 200

    _, restored, comments = await back(client, config, leave)

    assert restored == []
    assert comments == ["ada is not restored: Ledger is archived"]


@pytest.mark.parametrize("action", ["Change", "Remove"])
async def test_access_removed_by_another_request_is_not_restored(
    client: httpx2.AsyncClient, db: Db, config: Config, leave: Leave, action: str
) -> None:
    await suspended(client, leave)
    id = await a_request(db, leave, Access.NONE, action=action)
    number = (await client.get(f"/api/access-requests/{id}")).json()["number"]

    _, restored, comments = await back(client, config, leave)

    assert restored == ["Readers"]
    assert comments == [f"Group Posters of ada in Ledger is not restored: access request {number} removes it"]


async def test_account_whose_access_was_removed_gets_no_restore(
    client: httpx2.AsyncClient, db: Db, config: Config, leave: Leave
) -> None:
    await suspended(client, leave)
    for group in ("Posters", "Readers"):
        await a_request(db, leave, Access.NONE, group)

    event, _, comments = await back(client, config, leave)

    assert (event["stages"][2]["accessRequests"], len(comments), event["status"]) == ([], 2, "Completed")


async def test_account_that_was_removed_during_the_leave_gets_no_suspended_access_back(
    client: httpx2.AsyncClient, db: Db, config: Config, leave: Leave
) -> None:
    await suspended(client, leave)
    # In an import, the account has lost the suspended access and has other access; the removal lists only the latter.
    await execute(db, "DELETE FROM memberships")
    await an_account(db, leave.ledger, "other", None, groups=("Others",))
    await execute(
        db,
        "UPDATE memberships SET account_number = (SELECT number FROM accounts WHERE username = 'ada')",
    )
    id = await a_request(db, leave, Access.NONE, action="Remove", privileges=[])
    removal = (await client.get(f"/api/access-requests/{id}")).json()

    event, _, comments = await back(client, config, leave)

    assert [each["permission"]["permission"] for each in removal["target"]["privileges"]] == ["Others"]
    assert event["stages"][2]["accessRequests"] == []
    assert comments == [f"ada is not restored: access request {removal['number']} removes the account"]


async def test_removal_that_was_canceled_or_affects_another_person_does_not_limit_the_restore(
    client: httpx2.AsyncClient, db: Db, config: Config, leave: Leave
) -> None:
    await suspended(client, leave)
    canceled = await a_request(db, leave, Access.NONE)
    assert (await client.post(f"/api/access-requests/{canceled}/cancel")).status_code == 200
    await a_request(db, leave, Access.NONE, "Readers", identity_id=await an_identity(db, "Grace", "Hopper"))

    _, restored, comments = await back(client, config, leave)

    assert (restored, comments) == (["Posters", "Readers"], [])


async def a_suspension(
    client: httpx2.AsyncClient, db: Db, leave: Leave, *groups: str, access: Access = Access.NONE
) -> int:
    """Suspend Ada's account, or only its access to these groups, apart from the leave; return the request's number."""
    privileges = [NewPrivilege(header="Group", permission=group, requested_access=access) for group in groups]
    request = await done(client, str(await a_request(db, leave, access, action="Suspend", privileges=privileges)))
    return int(request["number"])


async def done(client: httpx2.AsyncClient, id: str) -> Any:
    answer = await client.post(f"/api/access-requests/{id}/resolve")
    assert answer.json()["status"] == "Completed"
    return answer.json()


async def restored_by_hand(client: httpx2.AsyncClient, leave: Leave, *groups: str) -> Any:
    privileges = [{"header": "Group", "permission": group} for group in groups]
    body = {"action": "Restore", "applicationId": str(leave.ledger), "identityId": str(leave.ada)}
    answer = await client.post("/api/access-requests", json={**body, "privileges": privileges})
    assert answer.status_code == 201, answer.text
    return answer.json()


@pytest.mark.parametrize("is_first", [True, False])
async def test_end_of_a_leave_does_not_lift_another_suspension_of_the_account(
    client: httpx2.AsyncClient, db: Db, config: Config, leave: Leave, is_first: bool
) -> None:
    number = await a_suspension(client, db, leave) if is_first else 0
    await suspended(client, leave)
    number = number or await a_suspension(client, db, leave)

    event, restored, comments = await back(client, config, leave)

    assert (event["status"], restored) == ("Completed", [])
    assert comments == [f"ada is not restored: access request {number} suspends the account"]
    # The restore by hand is approved, and includes the access that the leave suspended.
    request = await restored_by_hand(client, leave)
    assert [p["permission"]["permission"] for p in request["target"]["privileges"]] == ["Posters", "Readers"]
    assert request["status"] == "Pending"


async def test_end_of_a_leave_does_not_restore_an_account_whose_suspension_is_not_finished(
    client: httpx2.AsyncClient, db: Db, config: Config, leave: Leave
) -> None:
    await suspended(client, leave)
    await a_request(db, leave, Access.NONE, action="Suspend", privileges=[])

    _, restored, _ = await back(client, config, leave)

    assert restored == []


@pytest.mark.parametrize("groups", [(), ("Posters",)])
async def test_suspension_that_was_canceled_or_lifted_does_not_limit_the_restore(
    client: httpx2.AsyncClient, db: Db, config: Config, leave: Leave, groups: tuple[str, ...]
) -> None:
    await suspended(client, leave)
    await a_suspension(client, db, leave, *groups)
    canceled = await a_request(db, leave, Access.NONE, action="Suspend")
    assert (await client.post(f"/api/access-requests/{canceled}/cancel")).status_code == 200
    await client.patch("/api/settings", json={"approvalPolicy": []})
    await done(client, (await restored_by_hand(client, leave, *groups))["id"])

    _, restored, comments = await back(client, config, leave)

    assert (restored, comments) == (["Posters", "Readers"], [])


async def test_restore_that_is_not_provisioned_does_not_lift_a_suspension(
    client: httpx2.AsyncClient, db: Db, config: Config, leave: Leave
) -> None:
    await suspended(client, leave)
    await a_suspension(client, db, leave)
    await restored_by_hand(client, leave)

    _, restored, _ = await back(client, config, leave)

    assert restored == []


async def test_only_a_later_restore_of_the_same_account_lifts_a_suspension(
    client: httpx2.AsyncClient, db: Db, config: Config, leave: Leave
) -> None:
    await suspended(client, leave)
    number = await a_suspension(client, db, leave)

    async def provisioned(after: timedelta, access: Access = Access.GRANT, **fields: Any) -> UUID:
        id = await a_request(db, leave, access, **{"action": "Restore", **fields})
        done = "UPDATE access_requests SET status = 'Completed', resolved_on = %(on)s, completed_on = %(on)s"
        await execute(db, f"{done} WHERE id = %(id)s", id=id, on=clock.now() + after)
        return id

    await provisioned(-HOUR)
    await provisioned(HOUR, application_id=await an_application(db, "Wiki"))
    await provisioned(HOUR, target_name="other")
    await provisioned(HOUR, identity_id=await an_identity(db, "Grace", "Hopper"))
    await provisioned(HOUR, action="Change")
    of_leave = await provisioned(HOUR)
    related = "INSERT INTO related_items SELECT %(id)s, gen_random_uuid(), 'Personnel Event', 9, 'Completed', 'Removal'"
    await execute(db, related, id=of_leave)

    _, restored, comments = await back(client, config, leave)

    assert (restored, comments) == ([], [f"ada is not restored: access request {number} suspends the account"])


@pytest.mark.parametrize(
    ("access", "restored", "said"),
    [
        (Access.NONE, ["Readers"], "is not restored: access request {} suspends"),
        (
            Access.GRANT,
            ["Posters", "Readers"],
            "is restored as Grant, not as Unrestricted: access request {} lowers",
        ),
    ],
)
async def test_access_that_another_request_suspends_is_not_restored(
    client: httpx2.AsyncClient,
    db: Db,
    config: Config,
    leave: Leave,
    access: Access,
    restored: list[str],
    said: str,
) -> None:
    await execute(db, "UPDATE privileges SET initial_access = 'Unrestricted' WHERE permission = 'Posters'")
    await suspended(client, leave)
    number = await a_suspension(client, db, leave, "Posters", access=access)

    _, found, comments = await back(client, config, leave)

    assert (found, comments) == (restored, [f"Group Posters of ada in Ledger {said.format(number)} it"])


async def test_access_stays_suspended_if_only_other_access_of_the_account_was_restored(
    client: httpx2.AsyncClient, db: Db, config: Config, leave: Leave
) -> None:
    await suspended(client, leave)
    number = await a_suspension(client, db, leave)
    await client.patch("/api/settings", json={"approvalPolicy": []})
    await done(client, (await restored_by_hand(client, leave, "Readers"))["id"])

    _, restored, comments = await back(client, config, leave)

    said = f"Group Posters of ada in Ledger is not restored: access request {number} suspends it"
    assert (restored, comments) == (["Readers"], [said])


@pytest.mark.parametrize("is_gained", [True, False])
async def test_access_lost_in_a_role_transition_during_the_leave_is_not_restored(
    client: httpx2.AsyncClient, db: Db, config: Config, leave: Leave, is_gained: bool
) -> None:
    ledger = str(leave.ledger)
    await an_access_model(db, "Clerks", access=[{"applicationId": ledger, "groups": ["Posters"]}])
    sales = [[{"field": "department", "operator": "is", "value": "Sales"}]]
    if is_gained:
        await an_access_model(
            db, "Sellers", conditions=sales, access=[{"applicationId": ledger, "groups": ["Sellers"]}]
        )
    await suspended(client, leave)
    # The suspended account has lost its groups when the transition is planned.
    await execute(db, ENDED.format("memberships"), n=await a_finished_import(db, leave.ledger))
    moved = {"effectiveDate": "2026-11-02", "identity": {"department": "Sales"}}
    await created(client, "role-transition", identityId=str(leave.ada), **moved)
    await let_the_worker_work(config)

    _, restored, comments = await back(client, config, leave)

    assert restored == ["Readers"]
    [said] = comments
    assert said.startswith("Group Posters of ada in Ledger is not restored: access request ")


@pytest.fixture
async def coming(client: httpx2.AsyncClient, db: Db, config: Config) -> Leave:
    """Ada's leave starts in a week; her suspension has been requested and lists a group and two permissions."""
    clock.travel_to(datetime(2026, 11, 2, 9, tzinfo=UTC))
    leave = Leave()
    leave.ada, leave.ledger = await an_identity(db), await an_application(db, "Ledger")
    held = (("Books", "Post", "Unrestricted", "Low"), ("Books", "Void", "Deny", "Low"))
    await an_account(db, leave.ledger, "ada", leave.ada, groups=("Posters",), permissions=held)
    leave.event = await created(
        client, "leave-of-absence", identityId=str(leave.ada), effectiveDate="2026-11-09", endDate="2026-12-01"
    )
    await let_the_worker_work(config)
    return leave


async def imported(db: Db, leave: Leave, on: int) -> int:
    """Import all files of the ledger on this day of November, and return the number of the import."""
    at = datetime(2026, 11, on, tzinfo=UTC)
    number = await finish_import(db, leave.ledger, "Users", "Groups", "Memberships", "Permissions", at=at)
    await execute(db, "UPDATE application_imports SET build_end = %(at)s WHERE number = %(n)s", at=at, n=number)
    return number


async def after_the_coming_leave(
    client: httpx2.AsyncClient, config: Config, leave: Leave
) -> tuple[dict[str, str], list[str]]:
    """Run the leave; return the restored access and the comments on differences."""
    await let_the_worker_work(config, datetime(2026, 11, 9, 1, tzinfo=UTC))
    await suspended(client, leave)
    event, _, comments = await back(client, config, leave)
    found: dict[str, str] = {}
    for request in event["stages"][2]["accessRequests"]:
        detail = (await client.get(f"/api/access-requests/{request['id']}")).json()
        found |= {p["permission"]["permission"]: p["requestedAccess"] for p in detail["target"]["privileges"]}
    return found, comments


ENDED = "UPDATE {} SET until_import = %(n)s WHERE until_import IS NULL"
EVERYTHING = {"Posters": "Grant", "Post": "Unrestricted", "Void": "Deny"}


async def test_access_that_ended_before_the_leave_began_is_not_restored(
    client: httpx2.AsyncClient, db: Db, config: Config, coming: Leave
) -> None:
    number = await imported(db, coming, 6)
    for table in ("memberships", "assignments"):
        await execute(db, ENDED.format(table), n=number)
    lowered = "INSERT INTO assignments SELECT holder_number, permission_number, 'Grant', %(n)s, NULL, value"
    of_post = "FROM assignments WHERE permission_number = (SELECT number FROM permissions WHERE permission = 'Post')"
    await execute(db, f"{lowered} {of_post}", n=number)

    found, comments = await after_the_coming_leave(client, config, coming)

    assert found == {"Post": "Grant", "Void": "Deny"}
    assert comments == [
        f"Group Posters of ada in Ledger is not restored: import {number} showed it as None before the leave began",
        "Books Post of ada in Ledger is restored as Grant, not as Unrestricted:"
        f" import {number} showed it as Grant before the leave began",
    ]


@pytest.mark.parametrize("is_shown", [True, False])
async def test_account_that_was_inactive_before_the_leave_began_is_not_restored(
    client: httpx2.AsyncClient, db: Db, config: Config, coming: Leave, is_shown: bool
) -> None:
    number = await imported(db, coming, 6)
    await execute(db, ENDED.format("account_versions"), n=number)
    # An account that an import does not show comes back with a later import.
    since = number if is_shown else await imported(db, coming, 12)
    columns = "account_number, {}, NULL, name, '', '', '', '', {}, false, '', '', '{{}}', '', ''"
    copied = columns.format(since, "false")
    await execute(db, f"INSERT INTO account_versions SELECT {copied} FROM account_versions")

    found, comments = await after_the_coming_leave(client, config, coming)

    assert found == {}
    said = f"import {number} did not show it as active before the leave began"
    assert comments == [f"ada is not restored: {said}"]


@pytest.mark.parametrize("day", [1, 10])
async def test_import_that_ended_before_the_request_or_after_the_start_does_not_limit_the_restore(
    client: httpx2.AsyncClient, db: Db, config: Config, coming: Leave, day: int
) -> None:
    number = await imported(db, coming, day)
    await execute(db, ENDED.format("memberships"), n=number)

    assert await after_the_coming_leave(client, config, coming) == (EVERYTHING, [])


async def test_last_import_before_the_leave_began_limits_the_restore(
    client: httpx2.AsyncClient, db: Db, config: Config, coming: Leave
) -> None:
    number = await imported(db, coming, 5)
    await execute(db, ENDED.format("memberships"), n=number)
    again = await imported(db, coming, 6)
    await execute(db, "INSERT INTO memberships SELECT account_number, group_number, %(n)s FROM memberships", n=again)

    assert await after_the_coming_leave(client, config, coming) == (EVERYTHING, [])


@pytest.mark.parametrize(
    ("imported", "resolved", "stays_away"),
    [
        (DAY, -SECOND, False),
        (DAY, timedelta(), False),
        (DAY, SECOND, True),
        (DAY, None, True),
        (timedelta(), -SECOND, False),
    ],
)
async def test_removal_that_an_import_already_reflects_does_not_limit_the_restore(
    client: httpx2.AsyncClient,
    db: Db,
    config: Config,
    leave: Leave,
    imported: timedelta,
    resolved: timedelta | None,
    stays_away: bool,
) -> None:
    """Test a removal and an import before the suspension.

    `imported` is how long before the suspension the last import was created. `resolved` is how long after that the
    removal was resolved; None means that it was not resolved.
    """
    await suspended(client, leave)
    rows = await fetch_rows(db, "SELECT created_at FROM access_requests WHERE action = 'Suspend'")
    suspension = rows[0][0]
    ended = "UPDATE application_imports SET created_at = %(at)s, build_end = %(end)s"
    await execute(db, ended, at=suspension - imported, end=suspension)
    # Imports that finished later, failed or belong to another application do not count; nor do rollbacks.
    soon = {"created_at": suspension - HOUR, "build_end": suspension - HOUR}
    await an_import(db, leave.ledger, "Finished", created_at=suspension - 2 * DAY, build_end=suspension)
    await an_import(db, leave.ledger, "Failed", **soon)
    await an_import(db, leave.ledger, "Finished", created_at=suspension - HOUR, build_end=suspension + HOUR)
    await an_import(db, await an_application(db, "Other"), "Finished", **soon)
    rollback = "UPDATE application_imports SET created_at = %(at)s, build_end = %(at)s WHERE number = %(number)s"
    await execute(db, rollback, at=suspension - HOUR, number=await a_rollback(db, leave.ledger))
    earlier = await a_request(db, leave, Access.NONE, now=suspension - 2 * DAY)
    at = None if resolved is None else suspension - imported + resolved
    await execute(db, "UPDATE access_requests SET resolved_on = %(at)s WHERE id = %(id)s", at=at, id=earlier)

    _, restored, _ = await back(client, config, leave)

    assert restored == (["Readers"] if stays_away else ["Posters", "Readers"])


@pytest.mark.parametrize(
    ("asked", "restored", "said"),
    [
        ([Access.GRANT], "Grant", "is restored as Grant, not as Unrestricted: access request"),
        ([Access.MODIFY, Access.GRANT], "Grant", "is restored as Grant, not as Unrestricted: access request"),
        ([Access.GRANT, Access.MODIFY], "Grant", "is restored as Grant, not as Unrestricted: access request"),
        ([Access.DENY], None, "is not restored: access request"),
        ([Access.UNRESTRICTED], "Unrestricted", None),
    ],
)
async def test_access_lowered_during_the_leave_is_restored_at_the_lower_level(
    client: httpx2.AsyncClient,
    db: Db,
    config: Config,
    leave: Leave,
    asked: list[Access],
    restored: str | None,
    said: str | None,
) -> None:
    await execute(db, "UPDATE privileges SET initial_access = 'Unrestricted' WHERE permission = 'Posters'")
    await suspended(client, leave)
    for access in asked:
        await a_request(db, leave, access)

    event, _, comments = await back(client, config, leave)

    [request] = event["stages"][2]["accessRequests"]
    detail = (await client.get(f"/api/access-requests/{request['id']}")).json()
    found = {each["permission"]["permission"]: each["requestedAccess"] for each in detail["target"]["privileges"]}
    assert found == {**({"Posters": restored} if restored else {}), "Readers": "Grant"}
    assert [comment for comment in comments if said is None or said not in comment] == []
    assert len(comments) == (said is not None)


async def another_leave(
    client: httpx2.AsyncClient, config: Config, person: UUID, start: str, end: str | None = None
) -> Any:
    event = await created(
        client, "leave-of-absence", identityId=str(person), effectiveDate=f"2026-{start}", endDate=end
    )
    await let_the_worker_work(config)
    return event


@pytest.mark.parametrize("ends", [(None, "2027-01-01"), ("2027-01-01", None)])
async def test_end_of_a_leave_restores_nothing_during_another_leave(
    client: httpx2.AsyncClient, config: Config, leave: Leave, ends: tuple[str | None, str | None]
) -> None:
    await suspended(client, leave)
    others = [await another_leave(client, config, leave.ada, "11-02", end) for end in ends]

    _, restored, said = await back(client, config, leave)

    assert restored == []
    assert f"leave {others[0]['number']} of the same person has not ended" in said[0]


@pytest.mark.parametrize("other", ["none", "not started", "ended", "canceled"])
async def test_other_leaves_that_are_not_in_effect_do_not_prevent_the_restore(
    client: httpx2.AsyncClient, db: Db, config: Config, leave: Leave, other: str
) -> None:
    await suspended(client, leave)
    await another_leave(client, config, await an_identity(db, "Grace", "Hopper"), "11-02")
    match other:
        case "not started":
            await another_leave(client, config, leave.ada, "12-05")
        case "ended":
            await another_leave(client, config, leave.ada, "11-02", "2026-11-10")
            await let_the_worker_work(config, datetime(2026, 11, 11, tzinfo=UTC))
        case "canceled":
            event = await another_leave(client, config, leave.ada, "11-02")
            assert (await client.post(f"{EVENTS}/{event['id']}/cancel", json={})).status_code == 200

    _, restored, said = await back(client, config, leave)

    assert (restored, said) == (["Posters", "Readers"], [])


async def test_account_without_privileges_is_restored_after_an_unverified_suspension(
    client: httpx2.AsyncClient, db: Db, config: Config, leave: Leave
) -> None:
    grace, wiki = await an_identity(db, "Grace", "Hopper"), await an_application(db, "Wiki", priority="High")
    await an_account(db, wiki, "grace", grace)
    leave.event = await another_leave(client, config, grace, "11-02", "2026-12-01")
    event = (await client.get(f"{EVENTS}/{leave.event['id']}")).json()
    [request] = event["stages"][0]["accessRequests"]
    assert (await client.post(f"/api/access-requests/{request['id']}/resolve")).json()["status"] == "Resolved"

    event, restored, comments = await back(client, config, leave)

    assert ([request["target"]["name"] for request in event["stages"][2]["accessRequests"]]) == ["grace"]
    assert (restored, comments, event["stages"][0]["accessRequests"][0]["status"]) == ([], [], "Resolved")


async def test_return_date_cannot_change_after_the_return_has_started(
    client: httpx2.AsyncClient, config: Config, leave: Leave
) -> None:
    await suspended(client, leave)
    await back(client, config, leave)

    answer = await client.post(f"{EVENTS}/{leave.event['id']}/return-date", json={"endDate": "2027-01-01"})

    assert answer.status_code == 409
    assert answer.json()["message"] == "The return has already started, so its date cannot be changed"


async def test_restore_at_the_end_of_a_leave_needs_no_approval(
    client: httpx2.AsyncClient, db: Db, config: Config, leave: Leave
) -> None:
    await suspended(client, leave)
    adds = {"type": "Approve", "reason": "Adds", "responder": "Supervisor", "actions": ["Add"]}
    await client.patch("/api/settings", json={"approvalPolicy": [adds]})

    event, restored, _ = await back(client, config, leave)

    (request,) = event["stages"][2]["accessRequests"]
    assert (request["status"], restored) == ("Open", ["Posters", "Readers"])


@pytest.mark.parametrize("is_listed", [True, False])
async def test_membership_in_a_removed_group_is_not_restored(
    client: httpx2.AsyncClient, db: Db, config: Config, leave: Leave, is_listed: bool
) -> None:
    """A group that no file lists is known only by its members, so it does not count as removed when it has none."""
    await suspended(client, leave)
    await a_request(db, leave, Access.MODIFY)
    number = await a_finished_import(db, leave.ledger)
    if not is_listed:
        await db.execute(
            "DELETE FROM group_listings WHERE group_number = (SELECT number FROM groups WHERE name = 'Posters')"
        )
    for table in ("group_versions", "group_listings"):
        await db.execute(
            f"UPDATE {table} SET until_import = %s"
            " WHERE group_number = (SELECT number FROM groups WHERE name = 'Posters')",
            (number,),
        )

    _, restored, comments = await back(client, config, leave)

    gone = "Group Posters of ada in Ledger is not restored: the group no longer exists"
    assert (restored, comments) == ((["Readers"], [gone]) if is_listed else (["Posters", "Readers"], []))
