from typing import Any

import httpx2

from rolecall.core.db import Db, fetch_value
from rolecall.core.secret_names import HIDDEN
from tests.application_imports.running import Imports
from tests.builders import FILES, an_application

LENIENT: dict[str, Any] = {"name": "Lenient", "files": [{**file, "allowRejects": True} for file in FILES]}
USERS = "Username,Active\nada,Yes\nbob,perhaps\n,Yes\ncyd,Yes,more\nada,No\ndee,\ndee,\n"


async def test_malformed_rows_are_rejected_with_reasons(imports: Imports, db: Db) -> None:
    run = await imports.finish(await an_application(db, connector=LENIENT), {"Users": USERS})

    found = await imports.items(f"/api/application-imports/{run['id']}/rejects")
    assert [(item["line"], item["reason"], item["row"]) for item in found] == [
        (
            3,
            "Active is perhaps: expected True/False, Yes/No, Y/N or 1/0; set shape.values for other words",
            ["bob", "perhaps"],
        ),
        (4, "Username is blank", ["", "Yes"]),
        (5, "the row has 3 fields, the header has 2", ["cyd", "Yes", "more"]),
        (6, "line 2 has the same Username with other values", ["ada", "No"]),
    ]
    assert run["metrics"]["users"]["total"] == 2
    assert "users.csv: 7 rows read = 2 applied + 1 unchanged + 4 rejected" in run["log"]
    assert "Users: 1 repeated row merged" in run["log"]


async def test_rejected_rows_are_stored_without_secrets(imports: Imports, db: Db) -> None:
    """A row with too many fields is hidden, because its secret may be in any field."""
    users = "Username,PIN,Active,Note\nbob,4471,perhaps,new\ncyd,,perhaps,old\ndee,9021,Yes,a,b\n"
    shaped = {**LENIENT, "files": [{**file, "shape": {"ignore": ["Note"]}} for file in LENIENT["files"]]}

    run = await imports.finish(await an_application(db, connector=shaped), {"Users": users})

    found = await imports.items(f"/api/application-imports/{run['id']}/rejects")
    shown = [["bob", HIDDEN, "perhaps", HIDDEN], ["cyd", "", "perhaps", HIDDEN], [HIDDEN] * 5]
    assert [item["row"] for item in found] == shown


async def test_rejected_rows_are_stored_without_secrets_inside_cells(imports: Imports, db: Db) -> None:
    users = (
        'Username,Active,Keys\nbob,perhaps,"[{""id"": 1, ""password"": ""hush""}]"\ncyd,Yes,"{""pin"": 4471}",extra\n'
    )

    run = await imports.finish(await an_application(db, connector=LENIENT), {"Users": users})

    found = await imports.items(f"/api/application-imports/{run['id']}/rejects")
    shown = [
        ["bob", "perhaps", f'[{{"id":1,"password":"{HIDDEN}"}}]'],
        ["cyd", "Yes", f'{{"pin":"{HIDDEN}"}}', "extra"],
    ]
    assert [item["row"] for item in found] == shown


async def test_control_totals_are_stored_with_the_import(imports: Imports, db: Db) -> None:
    run = await imports.finish(await an_application(db, connector=LENIENT), {"Users": USERS})

    totals = await fetch_value(db, "SELECT totals FROM import_runs WHERE import_id = %(id)s", id=run["id"])

    assert totals == [
        {"fileId": run["files"][0]["id"], "name": "users.csv", "read": 7, "applied": 2, "unchanged": 1, "rejected": 4}
    ]


async def test_rejected_row_is_imported_once_its_user_exists(
    imports: Imports, client: httpx2.AsyncClient, db: Db
) -> None:
    application = await an_application(db, connector=LENIENT)
    members = "Username,Group\nada,staff\nbob,staff\n"
    first = await imports.finish(application, {"Users": "Username\nada\n", "Memberships": members})

    second = await imports.finish(application, {"Users": "Username\nada\nbob\n", "Memberships": members})

    rejected = await imports.items(f"/api/application-imports/{first['id']}/rejects")
    assert [item["reason"] for item in rejected] == ["Username bob is not among the users"]
    assert await imports.items(f"/api/application-imports/{second['id']}/rejects") == []
    added = await imports.items(f"/api/application-imports/{second['id']}/changes", kind="membership")
    assert [item["name"] for item in added] == ["bob in staff"]


async def test_malformed_row_fails_the_import_unless_rejects_are_allowed(imports: Imports, db: Db) -> None:
    run = await imports.run(await an_application(db), {"Users": USERS})

    assert run["status"] == "Failed"
    assert run["log"].splitlines()[-1][21:] == (
        "Failed: users.csv, line 3: Active is perhaps: expected True/False, Yes/No, Y/N or 1/0; set shape.values for"
        " other words (and 3 more malformed rows)"
    )


async def test_accounts_that_were_written_are_rolled_back_after_a_broken_file(imports: Imports, db: Db) -> None:
    application = await an_application(db)
    many = "".join(f"user{n}\n" for n in range(30_000))
    files = {"Users": f"Username\n{many}", "Permissions": "Username,Permission\nuser1,Read\nnobody,Read\n"}

    run = await imports.run(application, files)

    assert run["log"].splitlines()[-1][21:] == "Failed: permissions.csv, line 3: Username nobody is not among the users"
    assert await imports.items(f"/api/applications/{application}/accounts") == []
    assert await fetch_value(db, "SELECT count(*) FROM accounts") == 0
    mended = await imports.finish(application, {**files, "Permissions": "Username,Permission\nuser1,Read\n"})
    assert (mended["metrics"]["users"]["new"], mended["metrics"]["permissions"]["new"]) == (30_000, 1)
