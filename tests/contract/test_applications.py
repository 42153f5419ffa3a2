import httpx2
import pytest

from rolecall.core.db import Db
from tests.builders import an_application, an_import
from tests.contract.tables import APPLICATION, mismatches


async def test_application_matches_the_specification(client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_application(db)
    await an_import(db, id, "Finished")

    answer = await client.get(f"/api/applications/{id}")

    assert answer.status_code == 200
    assert mismatches(answer.json(), APPLICATION) == []
    assert [group["name"] for group in answer.json()["connector"]["files"]] == [
        "Users",
        "Groups",
        "Memberships",
        "Permissions",
    ]
    assert answer.json()["lastImport"]["metrics"] is not None


@pytest.mark.parametrize("connector", [None, {"name": "Directory", "vendor": "Example", "files": None}])
async def test_application_without_files_or_connector_matches_the_specification(
    client: httpx2.AsyncClient, db: Db, connector: dict[str, object] | None
) -> None:
    id = await an_application(db, connector=connector)

    answer = await client.get(f"/api/applications/{id}")

    assert mismatches(answer.json(), APPLICATION) == []
    shown = answer.json()["connector"]
    assert shown is None if connector is None else shown["files"] is None
    assert answer.json()["lastImport"] is None
