import os
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import msgspec
import pytest

from rolecall.application_imports.queries import failing_schedules
from rolecall.application_imports.run.schedule import fire_schedules
from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.heartbeat import beat
from rolecall.core.ids import new_id
from tests.application_imports.running import Imports
from tests.builders import an_application


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "exports"
    made.mkdir()
    return made


@pytest.fixture
def scheduled(client: httpx2.AsyncClient, config: Config, folder: Path) -> Imports:
    return Imports(client, msgspec.structs.replace(config, import_roots=(str(folder),)))


async def an_application_with(db: Db, location: object, cron: str = "0 6 * * *") -> UUID:
    return await an_application(db, schedule={"cron": cron, "locations": {"Users": str(location)}})


async def staged(imports: Imports, application: UUID) -> dict[str, Any]:
    answer = await imports.client.post("/api/application-imports/stage", json={"applicationId": str(application)})
    await imports.work()
    return await imports.get(answer.json()["id"])


async def test_staging_fetches_the_newest_match(scheduled: Imports, folder: Path, db: Db) -> None:
    for age, name in ((200, "users-1.csv"), (100, "users-2.csv"), (300, "users-3.csv")):
        (folder / name).write_text(f"Username\n{name}\n")
        moment = (clock.now() - timedelta(seconds=age)).timestamp()
        os.utime(folder / name, (moment, moment))
    application = await an_application_with(db, folder / "users-*.csv")

    run = await staged(scheduled, application)

    assert run["status"] == "Finished", run["log"]
    assert [file["name"] for file in run["files"]] == ["users-2.csv"]
    (account,) = await scheduled.items(f"/api/applications/{application}/accounts")
    assert account["username"] == "users-2.csv"


async def test_missing_file_fails_the_import(scheduled: Imports, folder: Path, db: Db) -> None:
    run = await staged(scheduled, await an_application_with(db, folder / "nothing.csv"))

    assert run["status"] == "Failed"
    assert run["log"].splitlines()[-1][21:] == (
        f"Failed: Users: {folder / 'nothing.csv'} cannot be read: there is no such file"
    )


@pytest.mark.parametrize(
    "location",
    [
        "{folder}/../secret.csv",
        "{folder}/link.csv",
        "file://{folder}/a.csv",
        "s3://b/c",
        "simplecache::file://{folder}/a.csv",
    ],
)
async def test_path_outside_the_roots_is_refused(scheduled: Imports, folder: Path, db: Db, location: str) -> None:
    (folder.parent / "secret.csv").write_text("Username\nada\n")
    (folder / "link.csv").symlink_to(folder.parent / "secret.csv")

    run = await staged(scheduled, await an_application_with(db, location.format(folder=folder)))

    assert run["status"] == "Failed"
    assert "it is outside of ROLECALL_IMPORT_ROOTS" in run["log"]


async def test_url_inside_a_root_is_read(client: httpx2.AsyncClient, config: Config, folder: Path, db: Db) -> None:
    (folder / "users.csv").write_text("Username\nada\n")
    imports = Imports(client, msgspec.structs.replace(config, import_roots=(f"file://{folder}",)))

    run = await staged(imports, await an_application_with(db, f"file://{folder}/u*.csv"))

    assert run["status"] == "Finished", run["log"]


async def test_schedule_fires_once_when_it_is_due(scheduled: Imports, folder: Path, db: Db) -> None:
    (folder / "users.csv").write_text("Username\nada\n")
    application = await an_application_with(db, folder / "users.csv", "*/5 * * * *")
    start = clock.now().replace(minute=2, second=0, microsecond=0)

    made = []
    for minutes in (0, 1, 4, 4, 5, 30):
        await fire_schedules(db, scheduled.config, start + timedelta(minutes=minutes))
        items = await scheduled.items("/api/application-imports", applicationId=str(application))
        made.append(len(items))
        await scheduled.work()

    assert made == [0, 0, 1, 1, 1, 2]
    (first, _) = await scheduled.items("/api/application-imports", applicationId=str(application))
    assert (first["type"], first["status"]) == ("Scheduled", "Finished")


async def test_schedule_is_skipped_while_its_last_import_is_unfinished(
    scheduled: Imports, folder: Path, db: Db
) -> None:
    (folder / "users.csv").write_text("Username\nada\nbob\n")
    application = await an_application(
        db,
        schedule={"cron": "* * * * *", "locations": {"Users": str(folder / "users.csv")}},
        guard={"minCount": 1, "maxRemovedPercent": 0},
    )
    start = clock.now()

    async def after(minutes: int) -> list[str]:
        await fire_schedules(db, scheduled.config, start + timedelta(minutes=minutes))
        items = await scheduled.items("/api/application-imports", applicationId=str(application))
        return sorted(item["status"] for item in items)

    assert [await after(0), await after(2), await after(4)] == [[], ["Pending"], ["Pending"]]
    await scheduled.work()
    (folder / "users.csv").write_text("Username\nada\n")
    assert await after(6) == ["Finished", "Pending"]
    await scheduled.work()
    # The guard holds the import, which stays unfinished until a person decides.
    assert [await after(8), await after(10)] == [["Finished", "Running"]] * 2

    runs = await scheduled.items("/api/application-imports", applicationId=str(application))
    logs = [(await scheduled.get(run["id"]))["log"] for run in runs]
    assert [log.count("The schedule was due again and was skipped") for log in logs] == [2, 1]
    metrics = (await scheduled.client.get("/metrics", headers={"Host": "localhost"})).text
    assert "schedules_skipped_total 3" in metrics


async def test_schedule_with_three_failures_in_a_row_is_reported(scheduled: Imports, folder: Path, db: Db) -> None:
    application = await an_application_with(db, folder / "users.csv", "* * * * *")
    start = clock.now()
    told = []
    for minutes in range(0, 8, 2):
        await fire_schedules(db, scheduled.config, start + timedelta(minutes=minutes))
        await scheduled.work()
        told.append([found.application_id for found in await failing_schedules(db)])

    assert told == [[], [], [], [application]]
    await beat(db, new_id())
    health = await scheduled.client.get("/readyz")
    assert (health.status_code, health.json()) == (200, {"status": "degraded", "failingSchedules": "1"})


def add_links_out_of(folder: Path) -> None:
    (folder.parent / "secret.csv").write_text("Username\nada\n")
    (folder / "out").symlink_to(folder.parent)
    (folder / "link.csv").symlink_to(folder.parent / "secret.csv")
    (folder / "dangling.csv").symlink_to(folder.parent / "no-such-file.csv")


@pytest.mark.parametrize(
    "location",
    [
        "/etc/passwd",
        "/etc/no-such-file",
        "{folder}/../secret.csv",
        "{folder}/../no-such-file.csv",
        "{folder}/../*.csv",
        "{folder}/*/../../secret.csv",
        "{folder}/out/secret.csv",
        "{folder}/out/no-such-file.csv",
        "{folder}/out/*",
        "{folder}/link.csv",
        "{folder}/dangling.csv",
        "{folder}/loop/x.csv",
        "relative.csv",
    ],
)
async def test_every_location_outside_the_roots_gives_the_same_error(
    scheduled: Imports, folder: Path, db: Db, location: str
) -> None:
    add_links_out_of(folder)
    (folder / "loop").symlink_to(folder / "loop")
    location = location.format(folder=folder)

    run = await staged(scheduled, await an_application_with(db, location))

    assert run["log"].splitlines()[-1][21:] == (
        f"Failed: Users: {location} cannot be read: it is outside of ROLECALL_IMPORT_ROOTS"
    )


@pytest.mark.parametrize("pattern", ["link*.csv", "dangling*.csv", "*/secret.csv", "*/no-such-file.csv"])
async def test_pattern_does_not_reveal_the_target_of_a_link(
    scheduled: Imports, folder: Path, db: Db, pattern: str
) -> None:
    add_links_out_of(folder)

    run = await staged(scheduled, await an_application_with(db, folder / pattern))

    assert run["log"].endswith("cannot be read: there is no such file")
