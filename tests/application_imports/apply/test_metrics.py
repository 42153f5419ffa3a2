import pytest

from rolecall.core.db import Db, fetch_value
from tests.application_imports.running import Files, Imports
from tests.builders import an_application

USERS = "Username,Email,Active\nada,ada@x.test,Yes\nbob,bob@x.test,\ncyd,cyd@x.test,No\n"
GROUPS = "Group,Description\nadmins,May do all\nstaff,\n"
MEMBERSHIPS = "Username,Group\nada,admins\nbob,staff\ncyd,staff\n"
PERMISSIONS = (
    "Username,Group,Header,Section,Permission,Access\n"
    "ada,,Ledger,,Post,Y\n"
    ",admins,Ledger,,Close,Grant\n"
    "bob,,Ledger,Reports,,\n"
)
ALL = {"Users": USERS, "Groups": GROUPS, "Memberships": MEMBERSHIPS, "Permissions": PERMISSIONS}


def changes(total: int = 0, new: int = 0, altered: int = 0, removed: int = 0) -> dict[str, int]:
    return {"total": total, "new": new, "altered": altered, "removed": removed}


async def test_first_import_counts_everything_as_new(imports: Imports, db: Db) -> None:
    run = await imports.finish(await an_application(db), ALL)

    assert run["metrics"] == {
        "users": changes(3, new=3),
        "groups": changes(2, new=2),
        "permissions": {"total": 3, "new": 3},
    }


async def test_unchanged_files_keep_the_totals(imports: Imports, db: Db) -> None:
    application = await an_application(db)
    await imports.finish(application, ALL)

    run = await imports.finish(application, ALL)

    assert run["metrics"] == {"users": changes(3), "groups": changes(2), "permissions": {"total": 3, "new": 0}}


async def test_account_with_several_changes_counts_once(imports: Imports, db: Db) -> None:
    application = await an_application(db)
    await imports.finish(application, ALL)

    run = await imports.finish(
        application,
        {
            "Users": USERS.replace("ada@x.test", "ada@y.test").replace("cyd,cyd@x.test,No\n", "dee,,\n"),
            "Groups": GROUPS,
            "Memberships": "Username,Group\nada,admins\nada,staff\nbob,staff\ndee,auditors\n",
            "Permissions": PERMISSIONS.replace("Y\n", "N\n").replace("Close,Grant", "Open,Grant"),
        },
    )

    assert run["metrics"] == {
        "users": changes(3, new=1, altered=1, removed=1),
        "groups": changes(3, new=1, altered=1),
        "permissions": {"total": 3, "new": 1},
    }


async def test_change_list_of_a_large_import_does_not_scan_whole_tables(imports: Imports, db: Db) -> None:
    # Create more rows than the first page range of the BRIN index holds.
    names = [f"u{n}" for n in range(30_000)]
    files: Files = {
        "Users": "\n".join(["Username", *names, ""]),
        "Memberships": "\n".join(["Username,Group", *(f"{name},staff" for name in names), ""]),
    }

    await imports.finish(await an_application(db), files)

    rows = await fetch_value(db, "SELECT reltuples::int FROM pg_class WHERE relname = 'memberships'")
    assert rows == pytest.approx(len(names), rel=0.2)
    assert await fetch_value(db, "SELECT brin_summarize_new_values('memberships_from_import_idx')") == 0


@pytest.mark.parametrize(
    "changed",
    [
        {"Users": USERS.replace("ada@x.test", "ada@y.test")},
        {"Memberships": MEMBERSHIPS + "ada,staff\n"},
        {"Permissions": PERMISSIONS + "cyd,,Ledger,,Post,Y\n"},
        {"Permissions": PERMISSIONS.replace("ada,,Ledger,,Post,Y\n", "")},
        {"Permissions": PERMISSIONS + ",staff,Ledger,,Post,Y\n"},
    ],
    ids=["email", "membership", "permission", "permission taken", "permission of a group"],
)
async def test_log_and_metrics_count_the_same_users_and_groups_as_altered(
    imports: Imports, db: Db, changed: Files
) -> None:
    application = await an_application(db)
    await imports.finish(application, ALL)

    run = await imports.finish(application, {**ALL, **changed})

    metrics = run["metrics"]
    assert metrics["users"]["altered"] + metrics["groups"]["altered"] == 1
    for kind, name in (("users", "Accounts"), ("groups", "Groups")):
        line = f"{name}: 0 new, {metrics[kind]['altered']} altered, 0 removed"
        assert (line in run["log"]) == bool(metrics[kind]["altered"]), run["log"]


async def test_log_and_metrics_of_an_identity_source_count_the_same_people_as_altered(imports: Imports, db: Db) -> None:
    source = await an_application(
        db,
        "HR",
        isIdentitySource=True,
        connector={"name": "HR file", "files": [{"name": "People", "content": "identities"}]},
    )
    people = "Employee ID,First Name,Last Name,Title\nE1,Ada,Lovelace,Analyst\nE2,Bob,Stone,Clerk\n"
    await imports.finish(source, {"People": people})

    run = await imports.finish(source, {"People": people.replace("Clerk", "Chief").replace("E1,", "E3,")})

    assert run["metrics"]["users"] == changes(2, new=1, altered=1, removed=1)
    assert "Identities: 1 new, 1 altered, 1 removed" in run["log"]
