from datetime import datetime
from uuid import uuid4

import httpx2
from psycopg.types.json import Jsonb

from rolecall.core.db import Db, execute
from tests.builders import an_application
from tests.contract.tables import IMPORT

FIELDS = ["id", "kind", "name", "priority", "isArchived", "lastUpdated", "connector", "lastImport"]


async def test_application_has_exactly_the_specified_fields_in_order(client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_application(db, "Payroll", priority="High")

    answer = await client.get(f"/api/applications/{id}")

    assert answer.status_code == 200
    application = answer.json()
    assert list(application) == FIELDS
    assert (application["id"], application["kind"]) == (str(id), "Application")
    assert (application["name"], application["priority"], application["isArchived"]) == ("Payroll", "High", False)
    assert application["lastUpdated"].endswith("Z")
    assert datetime.fromisoformat(application["lastUpdated"]).tzinfo
    assert list(application["connector"]) == ["id", "name", "vendor", "files"]
    assert list(application["connector"]["files"][0]) == ["fileGroupId", "name", "isOptional", "isMultiple"]
    groups = [(file["name"], file["isOptional"], file["isMultiple"]) for file in application["connector"]["files"]]
    assert groups == [
        ("Users", False, False),
        ("Groups", True, False),
        ("Memberships", True, False),
        ("Permissions", True, True),
    ]
    assert application["lastImport"] is None


async def test_connector_is_null_if_the_application_has_none(client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_application(db, connector=None)

    assert (await client.get(f"/api/applications/{id}")).json()["connector"] is None


async def test_files_are_null_if_the_connector_takes_no_files(client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_application(db, connector={"name": "Directory", "vendor": "Acme", "files": None})

    connector = (await client.get(f"/api/applications/{id}")).json()["connector"]

    assert (connector["name"], connector["vendor"], connector["files"]) == ("Directory", "Acme", None)


async def test_unknown_id_is_not_found(client: httpx2.AsyncClient) -> None:
    for id in (str(uuid4()), "nonsense"):
        answer = await client.get(f"/api/applications/{id}")

        assert answer.status_code == 404
        assert answer.json()["error"] == "not_found"
        assert answer.json()["message"] == f"Application with id {id} not found"


async def test_last_import_is_the_newest_and_has_no_application_field(client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_application(db)
    await execute(
        db,
        """INSERT INTO application_imports
               (id, application_id, type, status, created_by, created_at, build_end, metrics)
           VALUES (%(failed)s, %(id)s, 'API', 'Failed', 'x', now(), now(), NULL),
                  (%(finished)s, %(id)s, 'Manual', 'Finished', 'Ada', now(), now(), %(metrics)s)""",
        id=id,
        failed=uuid4(),
        finished=uuid4(),
        metrics=Jsonb(
            {
                "users": {"total": 4, "new": 3, "altered": 2, "removed": 1},
                "groups": {"total": 8, "new": 7, "altered": 6, "removed": 5},
                "permissions": {"total": 10, "new": 9},
            }
        ),
    )

    run = (await client.get(f"/api/applications/{id}")).json()["lastImport"]

    assert list(run) == list(IMPORT)
    assert (run["kind"], run["number"], run["type"], run["status"]) == ("Application Import", 2, "Manual", "Finished")
    assert (run["log"], run["files"]) == (None, [])
    assert list(run["metrics"]) == ["users", "groups", "permissions"]
    assert list(run["metrics"]["users"]) == ["total", "new", "altered", "removed"]
    assert run["metrics"]["permissions"] == {"total": 10, "new": 9}
