from uuid import UUID, uuid4

import httpx2

from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_rows, fetch_value
from tests.builders import an_application, an_import

CONTENT = bytes(range(256)) * 4000


async def an_upload(client: httpx2.AsyncClient, db: Db, name: str = "users.csv") -> tuple[str, str]:
    """Upload a file; return the ids of the import and of the file."""
    application_id = await an_application(db)
    group = await fetch_value(db, "SELECT id FROM file_groups WHERE name = 'Users'")
    answer = await client.post(
        "/api/application-imports/upload",
        params={"applicationId": str(application_id)},
        files={str(group): (name, CONTENT)},
    )
    return answer.json()["id"], answer.json()["files"][0]["id"]


async def test_file_is_downloaded_as_it_was_uploaded(client: httpx2.AsyncClient, db: Db) -> None:
    run, file = await an_upload(client, db)

    answer = await client.get(f"/api/application-imports/{run}/files/{file}")

    assert answer.status_code == 200
    assert answer.content == CONTENT
    assert answer.headers["Content-Length"] == str(len(CONTENT))
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.headers["Content-Disposition"] == "attachment; filename=\"users.csv\"; filename*=UTF-8''users.csv"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def test_file_name_cannot_inject_headers(client: httpx2.AsyncClient, db: Db) -> None:
    run, file = await an_upload(client, db, 'Ü";x="1.csv')

    answer = await client.get(f"/api/application-imports/{run}/files/{file}")

    assert answer.headers["Content-Disposition"] == (
        "attachment; filename=\"__;x=_1.csv\"; filename*=UTF-8''%C3%9C%22%3Bx%3D%221.csv"
    )


async def test_file_of_another_import_is_not_found(client: httpx2.AsyncClient, db: Db) -> None:
    run, file = await an_upload(client, db)
    other = await an_import(db)

    for path, missing in [
        (f"{other}/files/{file}", f"Import file with id {file}"),
        (f"{run}/files/nonsense", "Import file with id nonsense"),
        (f"{run}/files/{run}", f"Import file with id {run}"),
        (f"nonsense/files/{file}", "ApplicationImport with id nonsense"),
        (f"{uuid4()}/files/{file}", f"Import file with id {file}"),
    ]:
        answer = await client.get(f"/api/application-imports/{path}")

        assert answer.status_code == 404
        assert answer.json()["message"] == f"{missing} not found"


async def test_file_missing_in_the_store_is_not_found(client: httpx2.AsyncClient, db: Db, config: Config) -> None:
    run, file = await an_upload(client, db)
    rows = await fetch_rows(db, "SELECT location FROM import_files WHERE id = %(id)s", id=UUID(file))
    (config.store.folder / rows[0][0]).unlink()

    answer = await client.get(f"/api/application-imports/{run}/files/{file}")

    assert answer.status_code == 404
