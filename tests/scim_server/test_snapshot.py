"""Test that pushed users and groups are imported as one snapshot after a quiet period."""

from datetime import timedelta
from typing import Any

import httpx2
import pytest

from rolecall.application_imports.run.schedule import import_pushes
from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from tests.application_imports.running import Imports
from tests.interleaving import overlapping
from tests.scim_server.pushing import USER, Pushing

QUIET = timedelta(minutes=6)


class Snapshots:
    def __init__(self, client: httpx2.AsyncClient, db: Db, config: Config, push: Pushing) -> None:
        self.client, self.db, self.config, self.push = client, db, config, push
        self.imports = Imports(client, config)

    async def after(self, pause: timedelta) -> list[dict[str, Any]]:
        """Import pushed changes as the worker would after this pause; return all imports so far."""
        await import_pushes(self.db, self.config, clock.now() + pause)
        await self.imports.work()
        rows = await fetch_rows(self.db, "SELECT id FROM application_imports ORDER BY number")
        return [await self.imports.get(str(id)) for (id,) in rows]

    async def accounts(self) -> dict[str, dict[str, Any]]:
        items = await self.imports.items(f"/api/applications/{self.push.id}/accounts")
        return {item["username"]: item for item in items}


@pytest.fixture
async def snapshots(client: httpx2.AsyncClient, db: Db, config: Config, push: Pushing) -> Snapshots:
    return Snapshots(client, db, config, push)


async def test_push_is_imported_after_a_quiet_time(snapshots: Snapshots) -> None:
    push = snapshots.push
    ada, bob = await push.user("ada"), await push.user("bob")
    await push.group("Finance", ada, bob)

    assert await snapshots.after(timedelta(minutes=4)) == []
    (first,) = await snapshots.after(QUIET)
    assert (first["status"], first["type"]) == ("Finished", "Scheduled")
    assert sorted(await snapshots.accounts()) == ["ada", "bob"]
    assert len(await snapshots.after(QUIET)) == 1, "nothing has changed since"

    await push.patch(f"Users/{bob['id']}", {"op": "Replace", "path": "active", "value": "False"})
    await push.patch(f"Groups/{(await push.get('Groups'))['Resources'][0]['id']}", {"op": "remove", "path": "members"})
    *_, second = await snapshots.after(QUIET)
    assert second["status"] == "Finished"
    assert not (await snapshots.accounts())["bob"]["isActive"]


async def test_disabled_user_whose_active_is_left_out_stays_disabled(snapshots: Snapshots) -> None:
    push = snapshots.push
    users = [await push.user(name, active=False) for name in ("removed", "null", "replaced")]
    removed, null, replaced = (f"Users/{user['id']}" for user in users)

    await push.patch(removed, {"op": "remove", "path": "active"})
    await push.patch(null, {"op": "replace", "path": "active", "value": None})
    await push.send("PUT", replaced, {"schemas": [USER], "userName": "replaced"})
    await snapshots.after(QUIET)

    assert {name: one["isActive"] for name, one in (await snapshots.accounts()).items()} == {
        "removed": False,
        "null": False,
        "replaced": False,
    }


async def test_push_of_one_user_and_one_group_is_imported(snapshots: Snapshots) -> None:
    await snapshots.push.group("Finance", await snapshots.push.user("ada"))

    (run,) = await snapshots.after(QUIET)

    assert run["status"] == "Finished", run
    assert list(await snapshots.accounts()) == ["ada"]
    rows = await fetch_rows(snapshots.db, "SELECT name FROM groups")
    assert rows == [("Finance",)]


async def test_members_of_nested_groups_count_as_members(snapshots: Snapshots) -> None:
    push = snapshots.push
    ada, bob = await push.user("ada"), await push.user("bob")
    inner = await push.group("Clerks", ada)
    outer = await push.group("Finance", inner, bob)
    await push.patch(f"Groups/{inner['id']}", {"op": "add", "path": "members", "value": [{"value": outer["id"]}]})

    await snapshots.after(QUIET)

    rows = await fetch_rows(
        snapshots.db,
        """SELECT g.name, a.username FROM memberships m JOIN groups g ON g.number = m.group_number
           JOIN accounts a ON a.number = m.account_number""",
    )
    assert sorted(rows) == [("Clerks", "ada"), ("Clerks", "bob"), ("Finance", "ada"), ("Finance", "bob")]


async def test_import_that_reads_too_long_fails_and_says_why(
    snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock simulates a query that takes hours."""
    await snapshots.push.group("Finance", await snapshots.push.user("ada"))
    monkeypatch.setattr("rolecall.sources.push._MOST_SECONDS", 0.2)

    async with snapshots.db.transaction():
        await execute(snapshots.db, "LOCK TABLE scim_members IN ACCESS EXCLUSIVE MODE")
        page = snapshots.client.post(f"/api/applications/{snapshots.push.id}/source/test")
        result = (await page).json()

    assert "reading 200 users with their groups took more than 0 s" in result["contents"][0]["problem"]


async def test_push_that_never_pauses_is_imported_within_an_hour(snapshots: Snapshots) -> None:
    started = clock.now()
    for minutes in range(0, 64, 4):
        clock.travel_to(started + timedelta(minutes=minutes))
        await snapshots.push.user(f"user{minutes}")

    assert len(await snapshots.after(timedelta(minutes=1))) == 1


async def test_import_without_pushed_users_fails_and_keeps_the_accounts(snapshots: Snapshots) -> None:
    ada = await snapshots.push.user("ada")
    await snapshots.after(QUIET)
    await snapshots.push.send("DELETE", f"Users/{ada['id']}")

    *_, run = await snapshots.after(QUIET)

    assert run["status"] == "Failed"
    assert "no users have been pushed yet" in run["log"]
    assert list(await snapshots.accounts()) == ["ada"]


async def test_push_whose_import_failed_is_imported_again(snapshots: Snapshots) -> None:
    """The identity provider sends each change only once, so nothing else would repeat a failed import."""
    await snapshots.push.user("ada")
    assert [run["status"] for run in await snapshots.after(QUIET)] == ["Finished"]
    await execute(snapshots.db, "UPDATE application_imports SET status = 'Failed', failure = 'full', metrics = NULL")

    assert len(await snapshots.after(timedelta(minutes=50))) == 1
    assert [run["status"] for run in await snapshots.after(timedelta(minutes=70))] == ["Failed", "Finished"]


async def test_two_workers_import_a_failed_push_once(snapshots: Snapshots) -> None:
    await snapshots.push.user("ada")
    await snapshots.after(QUIET)
    await execute(snapshots.db, "UPDATE application_imports SET status = 'Failed', failure = 'full', metrics = NULL")

    async def work(db: Db) -> None:
        await import_pushes(db, snapshots.config, clock.now() + timedelta(minutes=90))

    await overlapping(snapshots.config, snapshots.db, work, work)

    assert await fetch_value(snapshots.db, "SELECT count(*) FROM application_imports WHERE status = 'Pending'") == 1


async def test_source_test_shows_what_was_pushed(client: httpx2.AsyncClient, push: Pushing) -> None:
    await push.user("ada")

    result = (await client.post(f"/api/applications/{push.id}/source/test")).json()

    assert result["isWorking"], result
    assert result["contents"][0]["total"] == 1
    assert "http://rolecall.test/scim/v2" in result["login"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"url": "https://example.com"}, "url"),
        ({"contents": {"Users": {"path": "Printers"}}}, "contents.Users.path"),
        ({"secretRef": "sealed"}, "secretRef"),
        ({"contents": {"Users": {"path": "Users", "filter": "x"}}}, "contents.Users.filter"),
    ],
)
async def test_keys_that_a_push_does_not_use_are_refused(
    client: httpx2.AsyncClient, push: Pushing, body: dict[str, Any], field: str
) -> None:
    whole = {"kind": "scim push", "contents": {"Users": {"path": "Users"}}, **body}

    answer = await client.put(f"/api/applications/{push.id}/source", json=whole)

    assert answer.status_code == 400
    assert [problem["field"] for problem in answer.json()["errors"]] == [field]
