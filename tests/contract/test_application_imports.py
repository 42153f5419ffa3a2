from typing import Any

import httpx2
import pytest

from rolecall.core.db import Db
from tests.builders import an_application, an_import
from tests.contract.tables import IMPORT, IMPORT_DETAIL, IMPORT_ITEM, mismatches, page_of

SCHEDULE = {"cron": "0 6 * * *", "locations": {}}


async def users_group(client: httpx2.AsyncClient, application_id: object) -> str:
    application = (await client.get(f"/api/applications/{application_id}")).json()
    return str(application["connector"]["files"][0]["fileGroupId"])


async def upload(client: httpx2.AsyncClient, application_id: object) -> httpx2.Response:
    file = ("users.csv", b"Username\nada\n", "text/csv")
    return await client.post(
        "/api/application-imports/upload",
        data={"applicationId": str(application_id)},
        files={await users_group(client, application_id): file},
    )


def is_new(run: dict[str, Any]) -> bool:
    nothing = all(run[name] is None for name in ("buildStart", "buildEnd", "log", "metrics"))
    return nothing and (run["type"], run["status"], run["createdBy"]) == ("API", "Pending", "API Token - tests")


async def test_uploaded_import_matches_the_specification(client: httpx2.AsyncClient, db: Db) -> None:
    answer = await upload(client, await an_application(db))

    assert answer.status_code == 201
    assert mismatches(answer.json(), IMPORT) == []
    assert is_new(answer.json())
    assert [(file["fileGroup"], file["name"]) for file in answer.json()["files"]] == [("Users", "users.csv")]


async def test_staged_import_matches_the_specification(client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_application(db, schedule=SCHEDULE)

    answer = await client.post("/api/application-imports/stage", json={"applicationId": str(id)})

    assert answer.status_code == 201
    assert mismatches(answer.json(), IMPORT) == []
    assert is_new(answer.json())
    assert answer.json()["files"] == []


@pytest.mark.parametrize("status", ["Pending", "Running"])
async def test_canceled_import_matches_the_specification(client: httpx2.AsyncClient, db: Db, status: str) -> None:
    id = await an_import(db, status=status)

    answer = await client.post("/api/application-imports/cancel", json={"applicationImportId": str(id)})

    assert answer.status_code == 200
    assert mismatches(answer.json(), IMPORT_DETAIL) == []
    assert (answer.json()["id"], answer.json()["status"]) == (str(id), "Canceling")
    assert answer.json()["metrics"] is None


async def test_list_of_imports_matches_the_specification(client: httpx2.AsyncClient, db: Db) -> None:
    application = await an_application(db)
    await upload(client, application)
    await an_import(db, application, "Finished")

    answer = await client.get("/api/application-imports", params={"applicationId": str(application)})

    assert answer.status_code == 200
    assert mismatches(answer.json(), page_of(IMPORT_ITEM)) == []
    assert [item["status"] for item in answer.json()["items"]] == ["Pending", "Finished"]


@pytest.mark.parametrize("status", ["Pending", "Running", "Finished", "Failed", "Canceled", "Canceling"])
async def test_import_matches_the_specification(client: httpx2.AsyncClient, db: Db, status: str) -> None:
    id = await an_import(db, status=status)

    answer = await client.get(f"/api/application-imports/{id}")

    assert answer.status_code == 200
    assert mismatches(answer.json(), IMPORT_DETAIL) == []
    assert answer.json()["status"] == status
    assert (answer.json()["metrics"] is not None) == (status == "Finished")


async def test_import_with_files_matches_the_specification(client: httpx2.AsyncClient, db: Db) -> None:
    uploaded = (await upload(client, await an_application(db))).json()

    answer = await client.get(f"/api/application-imports/{uploaded['id']}")

    assert mismatches(answer.json(), IMPORT_DETAIL) == []
    assert answer.json()["files"] == uploaded["files"]
