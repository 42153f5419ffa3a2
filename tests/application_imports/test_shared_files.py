"""Test files in a store at a URL that several machines share, instead of in the data folder."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from rolecall.application_imports.actions import sweep_files
from rolecall.core.config import Config, ConfigError, load
from rolecall.core.db import Db, execute, fetch_value
from tests.application_imports.running import Imports
from tests.asgi import serving
from tests.builders import an_application


@pytest.fixture
def shared(config: Config, tmp_path: Path) -> Config:
    # For fsspec, a chained file system is not local, so files cannot be renamed into it.
    return msgspec.structs.replace(config, files_url=f"dir::file://{tmp_path}/shared")


@pytest.fixture
async def imports(shared: Config, token: str) -> AsyncIterator[Imports]:
    async with serving(shared) as client:
        client.headers["Authorization"] = f"Bearer {token}"
        yield Imports(client, shared)


def kept(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


async def test_imports_read_compare_and_download_files_in_a_shared_store(
    imports: Imports, db: Db, tmp_path: Path
) -> None:
    application = await an_application(db)
    await imports.finish(application, {"Users": "Username\nada\neve\njoan\n"})

    run = await imports.finish(application, {"Users": "Username\nada\neve\njoan\nmary\n"})

    assert run["metrics"]["users"] == {"total": 4, "new": 1, "altered": 0, "removed": 0}
    assert "1 changed line" in run["log"]
    answer = await imports.client.get(f"/api/application-imports/{run['id']}/files/{run['files'][0]['id']}")
    assert answer.content == b"Username\nada\neve\njoan\nmary\n"
    assert len(kept(tmp_path / "shared")) == 2
    assert kept(tmp_path / "files") == []


async def test_stored_file_without_a_row_is_swept(imports: Imports, shared: Config, db: Db, tmp_path: Path) -> None:
    application = await an_application(db)
    await imports.upload(application, {"Users": "Username\nada\n"})
    await imports.upload(application, {"Users": "Username\nmary\n"})
    await execute(
        db, "DELETE FROM import_files WHERE import_id = (SELECT min(id::text)::uuid FROM application_imports)"
    )

    await sweep_files(db, shared.store, datetime.now(UTC) + timedelta(days=3))

    assert [path.read_bytes() for path in kept(tmp_path / "shared")] == [b"Username\nmary\n"]


async def test_refused_upload_leaves_no_file(imports: Imports, db: Db, tmp_path: Path) -> None:
    application = await an_application(db)
    answer = await imports.client.post(
        "/api/application-imports/upload",
        params={"applicationId": str(application)},
        files={"01a1ddd8-4566-7c13-96a9-54620ee7a740": ("users.csv", b"Username\nada\n")},
    )

    assert answer.status_code == 400
    assert await fetch_value(db, "SELECT count(*) FROM import_files") == 0
    assert kept(tmp_path) == []


def test_invalid_location_of_files_is_refused_at_start() -> None:
    with pytest.raises(ConfigError, match="ROLECALL_FILES_URL: Protocol not known: nowhere"):
        load({"ROLECALL_FILES_URL": "nowhere://files"})
