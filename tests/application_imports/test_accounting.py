"""Test that the log of an import says what becomes of columns and rows, and warns of new columns with access."""

from typing import Any

from rolecall.core.db import Db
from tests.application_imports.running import Imports
from tests.application_imports.test_shapes import ADA, OLD, STAFF, connector, staff
from tests.builders import an_application

PAIRS: dict[str, Any] = {"name": "Pairs", "content": "memberships"}


def lines(run: dict[str, Any]) -> list[str]:
    log = run["log"] if isinstance(run["log"], list) else run["log"].splitlines()
    return [line.partition("Z ")[2] or line for line in log]


async def test_log_says_what_becomes_of_columns_and_rows(imports: Imports, db: Db) -> None:
    application = await an_application(db, connector=connector(STAFF))

    log = lines(await imports.finish(application, {"Staff": staff(ADA, OLD)}))

    assert "Staff: staff.csv: columns read: login, state, teams; columns ignored: pwd" in log
    assert "Staff (memberships): staff.csv: 1 of 2 rows left out, because teams is blank" in log


async def test_columns_that_are_not_read_are_named_with_the_number_of_their_values(imports: Imports, db: Db) -> None:
    application = await an_application(db, connector=connector({"name": "Users", "content": "users"}, PAIRS))

    log = lines(
        await imports.finish(
            application,
            {
                "Users": "Username,Desk\nada,7\nbob,8\n",
                "Pairs": "Username,Group,Level\nada,A,high\nbob,A,low\nada,B,high\n",
            },
        )
    )

    assert "Users: users.csv: columns read: Username; columns kept: Desk" in log
    assert "Pairs: pairs.csv: columns read: Username, Group; columns not read: Level (2 different values)" in log


async def test_log_names_new_columns_and_warns_of_those_that_may_contain_access(imports: Imports, db: Db) -> None:
    application = await an_application(db, connector=connector({"name": "Users", "content": "users"}))
    first = await imports.finish(application, {"Users": "Username\nada\nbob\ncy\n"})

    run = await imports.finish(application, {"Users": "Username,Desk,Super User\nada,1,Yes\nbob,2,No\ncy,3,No\n"})

    assert not [line for line in lines(first) if "new column" in line]
    new = [line for line in lines(run) if "new column" in line]
    warning = (
        "Users: users.csv: new column Super User is kept (detail of accounts) and has yes and no; it may be access: "
        "read it as groups or permissions, or name it in shape.ignore"
    )
    assert new == ["Users: users.csv: new column Desk is kept (detail of accounts)", f"Warning: {warning}"]


async def test_dry_run_states_how_rows_are_read(imports: Imports, db: Db) -> None:
    application = await an_application(db, connector=connector(STAFF))

    log = lines(await imports.dry_run(application, {"Staff": staff(ADA, OLD)}))

    assert "Staff: staff.csv: state is read as follows: Active (1) as active; Former employee (1) as not active" in log
    assert "Staff (memberships): staff.csv: 2 rows give 2 memberships of 1 account in 2 groups" in log
    assert "Staff (memberships): staff.csv: 1 of 2 rows left out, because teams is blank" in log


async def test_accounts_with_a_blank_list_are_read(imports: Imports, db: Db) -> None:
    users = {"name": "Users", "content": "users", "shape": {"split": {"Nick": ";"}}}
    application = await an_application(db, connector=connector(users))

    await imports.finish(application, {"Users": "Username,Nick\nada,a\nbob,\n"})

    accounts = await imports.items(f"/api/applications/{application}/accounts")
    assert {each["username"] for each in accounts} == {"ada", "bob"}


async def test_totals_of_a_dry_run_add_up(imports: Imports, db: Db) -> None:
    application = await an_application(db, connector=connector(STAFF))

    run = await imports.dry_run(application, {"Staff": staff(ADA, OLD)})

    assert run["totals"] == {
        "accounts": 2,
        "active": 1,
        "inactive": 1,
        "groups": 2,
        "memberships": 2,
        "permissions": 0,
        "assignments": 0,
    }
    of_users, of_memberships = run["readings"]
    assert (of_users["rows"], of_users["read"], of_users["leftOut"]) == (2, 2, {})
    assert (of_memberships["rows"], of_memberships["read"]) == (2, 1)
    assert of_memberships["leftOut"] == {"teams is blank": 1}


async def test_dry_run_counts_cells_that_are_not_read(imports: Imports, db: Db) -> None:
    application = await an_application(db, connector=connector({"name": "Users", "content": "users"}, PAIRS))
    pairs = "Username,Group,Level\nada,A,high\nbob,A,\nada,B,high\n"

    run = await imports.dry_run(application, {"Users": "Username\nada\nbob\n", "Pairs": pairs})

    (reading,) = [each for each in run["readings"] if each["content"] == "memberships"]
    assert (reading["columnsNotRead"], reading["cellsNotRead"]) == (["Level"], 2)


async def test_dry_run_names_the_columns_that_are_left_out_on_purpose(imports: Imports, db: Db) -> None:
    users = {"name": "Users", "content": "users", "shape": {"ignore": ["Desk"]}}
    application = await an_application(db, connector=connector(users))

    run = await imports.dry_run(application, {"Users": "Username,Password,Desk,Team\nada,hunter2,7,A\n"})

    (reading,) = run["readings"]
    assert reading["columnsIgnored"] == {"Password": "it looks like a secret", "Desk": "it is left out"}
    assert reading["columnsNotRead"] == []


async def test_log_warns_of_usernames_that_differ_only_in_case(imports: Imports, db: Db) -> None:
    application = await an_application(db, connector=connector({"name": "Users", "content": "users"}))
    files: dict[str, Any] = {"Users": "Username\nAda\nbob\nada\n"}
    warning = "Warning: Users: users.csv: 2 usernames differ only in case: Ada, ada. Each of them is a separate account"

    assert warning in lines(await imports.dry_run(application, files))
    assert warning in lines(await imports.finish(application, files))
