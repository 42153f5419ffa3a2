from datetime import timedelta
from typing import Any

import httpx2

from rolecall.application_imports.apply.rollback import restore
from rolecall.application_imports.compare.state import CurrentState
from rolecall.application_imports.model import ASSIGNMENTS
from rolecall.core import clock
from rolecall.core.db import Db, execute, fetch_value
from rolecall.core.paging import evict_frozen_pages
from tests.application_imports.running import Imports
from tests.builders import an_application

FIRST = {
    "Users": "Username,Email,Cost Centre\nada,ada@x.test,7\nbob,,8\n",
    "Groups": "Group,Description,Owner\nadmins,May do all,Eve\n",
    "Memberships": "Username,Group\nada,admins\n",
    "Permissions": "Username,Header,Section,Permission,Access,Risk Rating\nada,Ledger,,Post,Y,High\n",
}
SECOND = {
    **FIRST,
    "Users": "Username,Email,Cost Centre\nada,ada@y.test,7\ncyd,,9\n",
    "Permissions": "Username,Header,Section,Permission,Access,Risk Rating\nada,Ledger,,Post,N,High\n",
}


async def names(imports: Imports, path: str, **params: Any) -> list[str]:
    return [item["username"] for item in await imports.items(path, **params)]


async def test_accounts_show_the_access_that_the_files_list(imports: Imports, db: Db) -> None:
    application = await an_application(db)
    await imports.finish(application, FIRST)

    path = f"/api/applications/{application}"
    ada, _ = await imports.items(f"{path}/accounts")
    (group,) = await imports.items(f"{path}/groups")
    (permission,) = await imports.items(f"{path}/permissions")

    assert (ada["username"], ada["email"], ada["isActive"], ada["lastLogin"]) == ("ada", "ada@x.test", True, None)
    assert ada["metadata"] == [{"key": "Cost Centre", "value": "7"}]
    assert (ada["match"], ada["identityId"]) == ("Unmatched", None)
    assert (group["name"], group["description"], group["metadata"]) == (
        "admins",
        "May do all",
        [{"key": "Owner", "value": "Eve"}],
    )
    assert {name: permission[name] for name in ("header", "permission", "riskRating")} == {
        "header": "Ledger",
        "permission": "Post",
        "riskRating": "High",
    }


async def test_earlier_states_are_found_by_import_number_and_by_time(imports: Imports, db: Db) -> None:
    application = await an_application(db)
    first = await imports.finish(application, FIRST)
    between = clock.now()
    second = await imports.finish(application, SECOND)

    path = f"/api/applications/{application}/accounts"
    assert await names(imports, path) == ["ada", "cyd"]
    assert await names(imports, path, asOf=first["number"]) == ["ada", "bob"]
    assert await names(imports, path, asOf=second["number"]) == ["ada", "cyd"]
    assert await names(imports, path, asOf=between.isoformat()) == ["ada", "bob"]
    assert (await imports.client.get(path, params={"asOf": "2020-01-01"})).status_code == 400


async def test_change_list_has_before_and_after(imports: Imports, db: Db) -> None:
    application = await an_application(db)
    await imports.finish(application, FIRST)
    second = await imports.finish(application, SECOND)

    found = await imports.items(f"/api/application-imports/{second['id']}/changes")

    assert [(item["kind"], item["change"], item["name"]) for item in found] == [
        ("Account", "New", "cyd"),
        ("Account", "Altered", "ada"),
        ("Account", "Removed", "bob"),
        ("Assignment", "Altered", "ada: Ledger / Post"),
    ]
    assert (found[1]["before"], found[1]["after"]) == ({"email": "ada@x.test"}, {"email": "ada@y.test"})
    assert (found[3]["before"], found[3]["after"]) == ({"access": "Grant"}, {"access": "Deny"})
    assert found[0]["before"] is None
    assert found[2]["before"]["metadata"] == {"Cost Centre": "8"}


async def test_change_list_can_be_filtered(imports: Imports, db: Db) -> None:
    run = await imports.finish(await an_application(db), FIRST)
    path = f"/api/application-imports/{run['id']}/changes"

    accounts = await imports.items(path, kind="account", change="new")
    altered = await imports.items(path, change="altered")

    assert [item["name"] for item in accounts] == ["ada", "bob"]
    assert altered == []


async def test_rollback_is_a_new_import(imports: Imports, client: httpx2.AsyncClient, db: Db) -> None:
    application = await an_application(db)
    first = await imports.finish(application, FIRST)
    await imports.finish(application, SECOND)

    answer = await client.post(f"/api/applications/{application}/rollback", json={"importNumber": first["number"]})
    await imports.work()

    assert (answer.status_code, answer.json()["status"], answer.json()["type"]) == (201, "Pending", "API")
    run = await imports.get(answer.json()["id"])
    assert run["metrics"]["users"] == {"total": 2, "new": 1, "altered": 1, "removed": 1}
    assert await names(imports, f"/api/applications/{application}/accounts") == ["ada", "bob"]


async def test_files_of_the_restored_state_are_unchanged_after_a_rollback(
    imports: Imports, client: httpx2.AsyncClient, db: Db
) -> None:
    application = await an_application(db)
    first = await imports.finish(application, FIRST)
    await imports.finish(application, SECOND)
    await client.post(f"/api/applications/{application}/rollback", json={"importNumber": first["number"]})
    await imports.work()

    again = await imports.finish(application, FIRST)
    then = await imports.finish(application, SECOND)

    assert "The same files as before" in again["log"]
    assert then["metrics"]["users"] == {"total": 2, "new": 1, "altered": 1, "removed": 1}


async def assignments_elsewhere(db: Db, accounts: int) -> None:
    """Create another application in which some accounts have a hundred assignments each."""
    await execute(
        db,
        """WITH made AS (INSERT INTO accounts (application_id, username)
               SELECT %(elsewhere)s, 'user' || n FROM generate_series(1, %(accounts)s) AS n RETURNING number)
           INSERT INTO assignments (holder_number, permission_number, access, value, from_import)
           SELECT number, 1000000 + n, 'Grant', '', 1 FROM made CROSS JOIN generate_series(1, 100) AS n""",
        accounts=accounts,
        elsewhere=await an_application(db, "Elsewhere"),
    )
    for table in ("accounts", "assignments"):
        await execute(db, f"ANALYZE {table}")
    await execute(db, "SELECT brin_summarize_new_values('assignments_from_import_idx')")


async def assignments_read(db: Db) -> int:
    """Return how many rows of assignments this transaction has read; only the difference of two results is meaningful.

    The rows were read by sequential scans or through an index.
    """
    sql = "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'assignments'"
    return int(await fetch_value(db, sql))


async def test_a_rollback_does_not_read_the_assignments_of_other_applications(imports: Imports, db: Db) -> None:
    application = await an_application(db)
    first = await imports.finish(application, FIRST)
    second = await imports.finish(application, SECOND)
    await assignments_elsewhere(db, 4000)
    number = second["number"] + 1

    async with db.transaction():
        # Rows that parallel workers read are not counted.
        await execute(db, "SET LOCAL max_parallel_workers_per_gather = 0")
        before = await assignments_read(db)
        await restore(db, application, number, first["number"])
        read = await assignments_read(db) - before

    restored = "SELECT count(*) FROM assignments WHERE from_import = %(number)s"
    assert await fetch_value(db, restored, number=number) == 1
    # There are 400,000 assignments. The query plan may vary, but must not read them all.
    assert read < 40_000


async def test_current_assignments_are_read_without_those_of_other_applications(imports: Imports, db: Db) -> None:
    application = await an_application(db)
    await imports.finish(application, FIRST)
    await assignments_elsewhere(db, 4000)

    async with db.transaction():
        await execute(db, "SET LOCAL max_parallel_workers_per_gather = 0")
        before = await assignments_read(db)
        found = await CurrentState(db, application).all_rows(ASSIGNMENTS)
        read = await assignments_read(db) - before

    assert found.heights == [1]
    # There are 400,000 assignments. The query plan may vary, but must not read them all.
    assert read < 40_000


async def test_rollback_to_an_unfinished_import_is_refused(
    imports: Imports, client: httpx2.AsyncClient, db: Db
) -> None:
    application = await an_application(db)
    elsewhere = await imports.finish(await an_application(db, "Elsewhere"), FIRST)

    answer = await client.post(f"/api/applications/{application}/rollback", json={"importNumber": elsewhere["number"]})

    number = elsewhere["number"]
    assert answer.json()["errors"] == [
        {
            "field": "importNumber",
            "message": f"Import {number} is not a finished import of this application; choose one that is",
        }
    ]


async def test_every_page_of_an_earlier_state_is_found_after_later_imports(imports: Imports, db: Db) -> None:
    application = await an_application(db)
    users = [f"u{n:03}" for n in range(120)]
    first = await imports.finish(application, {"Users": "Username\n" + "\n".join(users)})
    path = f"/api/applications/{application}/accounts"
    now = [await names(imports, path, page=n) for n in range(1, 5)]
    await imports.finish(application, {"Users": "Username\n" + "\n".join(users[8:])})

    assert now == [users[:50], users[50:100], users[100:], []]
    assert [await names(imports, path, page=n, asOf=first["number"]) for n in range(1, 5)] == now
    assert [await names(imports, path, page=n) for n in range(1, 3)] == [users[8:58], users[58:108]]


async def test_pages_of_the_change_list_do_not_overlap(imports: Imports, db: Db) -> None:
    application = await an_application(db)
    await imports.finish(application, {"Users": "Username\n" + "\n".join(f"a{n:03}" for n in range(70))})
    users = [f"a{n:03}" for n in range(5, 70)] + [f"b{n:03}" for n in range(80)]
    files = {"Users": "Username\n" + "\n".join(users)}
    second = await imports.finish(application, files)

    path = f"/api/application-imports/{second['id']}/changes"
    found = [item for n in range(1, 5) for item in await imports.items(path, page=n)]

    assert sorted(item["name"] for item in found if item["change"] == "New") == [f"b{n:03}" for n in range(80)]
    assert sorted(item["name"] for item in found if item["change"] == "Removed") == [f"a{n:03}" for n in range(5)]
    assert len(found) == 85


async def test_page_boundaries_expire_after_a_week_and_are_computed_again(imports: Imports, db: Db) -> None:
    application = await an_application(db)
    await imports.finish(application, FIRST)
    path = f"/api/applications/{application}/accounts"
    clock.stop_at(clock.now() + timedelta(days=20))
    before = await names(imports, path)

    await evict_frozen_pages(db, clock.now() + timedelta(days=6))
    assert await fetch_value(db, "SELECT count(*) FROM stored_pages") == 2
    await evict_frozen_pages(db, clock.now() + timedelta(days=8))

    assert await fetch_value(db, "SELECT count(*) FROM stored_pages") == 0
    assert await names(imports, path) == before
