"""The service against its own document, by Schemathesis with all its checks; `make schemathesis` runs the long form."""

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_rows
from tests.builders import an_access_request, an_application, an_identity, an_import
from tests.cli.commands import environment, free_port
from tests.holdings import an_account

HERE = Path(__file__).parent
HOOKS = "tests.contract.schemathesis_hooks"
FORMS = {
    "short": ["--phases", "examples,fuzzing", "--max-examples", "2", "--no-shrink"],
    "long": ["--phases", "examples,coverage,fuzzing,stateful", "--max-examples", "25"],
}
LONG = os.environ.get("ROLECALL_SCHEMATHESIS") == "long"
CASES = {"short": 300, "long": 2000}
EVENTS = ["AccessRequestCreated", "AccessRequestAssigned", "AccessRequestCanceled"]


async def column(db: Db, sql: str) -> list[str]:
    return [str(row[0]) for row in await fetch_rows(db, sql)]


@pytest.fixture
async def records(client: httpx2.AsyncClient, db: Db) -> dict[str, list[str]]:
    """Something of every kind, for requests to refer to."""
    schedule = {"cron": "0 6 * * *", "locations": {}}
    enabled = [{"number": number, "enabled": True} for number in range(1, 10)]
    hook = {"name": "Ticketing", "url": "https://hooks.example.com/rolecall", "events": EVENTS}
    await client.patch("/api/settings", json={"customFields": enabled})
    await client.post("/api/webhooks", json=hook)
    identities = [await an_identity(db, "Ada", f"Lovelace {n}") for n in range(3)]
    application, other, spare = [await an_application(db, name, schedule=schedule) for name in ("A", "B", "Spare")]
    await an_account(db, spare, "ada", identities[0])
    for id in identities:
        await an_access_request(db, identity_id=id, application_id=application)
        body = {"identityId": str(id), "effectiveDate": str(datetime.now(UTC).date() + timedelta(days=2))}
        await client.post("/api/personnel-events/leave-of-absence", json=body)
    return {
        "identities": [str(id) for id in identities],
        "applications": [str(application), str(other)],
        "spare_applications": [str(spare)],
        "imports": [str(await an_import(db, application, status)) for status in ("Pending", "Finished", "Failed")],
        "accounts": await column(db, "SELECT id FROM accounts"),
        "deliveries": await column(db, "SELECT id FROM webhook_deliveries"),
        "models": [str((await client.post("/api/access-models", json={"name": "Clerk"})).json()["id"])],
        "events": await column(db, "SELECT id FROM personnel_events"),
        "file_groups": await column(
            db,
            "SELECT g.id FROM file_groups g JOIN connectors c ON c.id = g.connector_id"
            f" WHERE c.application_id = '{application}' AND g.name = 'Users'",
        ),
        "requests": await column(db, "SELECT id FROM access_requests"),
        "webhooks": await column(db, "SELECT id FROM webhooks"),
    }


@pytest.fixture
async def url(config: Config, tmp_path: Path) -> AsyncIterator[str]:
    """A server of its own: Schemathesis speaks HTTP."""
    port = free_port()
    settings = {"ROLECALL_DATABASE_URL": str(config.database_url), "ROLECALL_DATA_DIR": str(config.data_dir)}
    command = [sys.executable, "-m", "rolecall", "api", "--port", str(port)]
    with (tmp_path / "api.log").open("wb") as log:
        server = await asyncio.create_subprocess_exec(*command, env=environment(**settings), stdout=log, stderr=log)
    try:
        url = f"http://127.0.0.1:{port}"
        async with httpx2.AsyncClient(base_url=url) as client:
            while True:
                try:
                    await client.get("/healthz")
                    break
                except httpx2.TransportError:
                    assert server.returncode is None, (tmp_path / "api.log").read_text()
                    await asyncio.sleep(0.1)
        yield url
    finally:
        server.terminate()
        await server.wait()


@pytest.mark.timeout(1800)
async def test_the_service_answers_as_its_document_says(
    url: str, token: str, records: dict[str, list[str]], tmp_path: Path
) -> None:
    form = "long" if LONG else "short"
    program = str(Path(sys.executable).with_name("schemathesis"))
    process = await asyncio.create_subprocess_exec(
        program, "--config-file", str(HERE / "schemathesis.toml"), "run", f"{url}/openapi.json",
        "--header", f"Authorization: Bearer {token}", "--checks", "all", "--warnings", "off", *FORMS[form],
        cwd=tmp_path,
        env=environment(SCHEMATHESIS_HOOKS=HOOKS, SCHEMATHESIS_RECORDS=json.dumps(records)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    output, _ = await process.communicate()

    said = output.decode()
    print(said[-3000:])
    assert process.returncode == 0, said
    generated = re.search(r"(\d+) generated", said)
    assert generated
    assert int(generated[1]) >= CASES[form]
    assert " status=500" not in (tmp_path / "api.log").read_text()
