"""Test the service against its OpenAPI document with Schemathesis; `make schemathesis` runs the long form."""

import asyncio
import json
import os
import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows
from tests.builders import an_access_request, an_application, an_identity, an_import
from tests.cli.commands import environment
from tests.duties.separating import a_company, a_duty
from tests.figures import measured
from tests.holdings import an_account
from tests.listening import Api, an_api

HERE = Path(__file__).parent
HOOKS = "tests.contract.schemathesis_hooks"
QUICK, THOROUGH = "examples,fuzzing", "examples,coverage,fuzzing,stateful"
# The phases, the number of examples for each, and the minimum number of cases that they must generate in total.
FORMS = {
    "short": (QUICK, 2, 300),
    "ci": (QUICK, 17, 1400),
    "long": (THOROUGH, 25, 2000),
    "full": (THOROUGH, 250, 20000),
}
FORM = os.environ.get("ROLECALL_SCHEMATHESIS", "short")
EVENTS = ["AccessRequestCreated", "AccessRequestAssigned", "AccessRequestCanceled"]


async def column(db: Db, sql: str) -> list[str]:
    return [str(row[0]) for row in await fetch_rows(db, sql)]


@pytest.fixture
async def records(client: httpx2.AsyncClient, db: Db) -> dict[str, list[str]]:
    """Create records that requests can refer to; return their ids by kind."""
    schedule = {"cron": "0 6 * * *", "locations": {}}
    enabled = [{"number": number, "enabled": True} for number in range(1, 10)]
    hook = {"name": "Ticketing", "url": "https://hooks.example.com/rolecall", "events": EVENTS}
    await client.patch("/api/settings", json={"customFields": enabled})
    await client.post("/api/webhooks", json=hook)
    identities = [await an_identity(db, "Ada", f"Lovelace {n}") for n in range(3)]
    application, other, spare = [await an_application(db, name, schedule=schedule) for name in ("A", "B", "Spare")]
    await an_account(db, spare, "ada", identities[0], groups=("Clerks",))
    for id in identities:
        await an_access_request(db, identity_id=id, application_id=application)
        body = {"identityId": str(id), "effectiveDate": str(datetime.now(UTC).date() + timedelta(days=2))}
        await client.post("/api/personnel-events/leave-of-absence", json=body)
    sent = [("Users", ("users.csv", b"Username\nada\n"))]
    company = await a_company(db)
    body = {"name": "Ledger", "type": "Application", "dueOn": str(datetime.now(UTC).date() + timedelta(days=30))}
    drafts = [(await client.post("/api/reviews", json=body)).json()["id"] for _ in range(3)]
    await client.post(f"/api/reviews/{drafts[0]}/open")
    repeat = {"name": "Quarterly", "everyMonths": 3, "review": {"type": "Application"}}
    template = (await client.post("/api/review-templates", json=repeat)).json()["id"]
    imports = [str(await an_import(db, application, status)) for status in ("Pending", "Finished", "Failed")]
    # There is data about every past day that a request may name.
    await execute(db, "UPDATE application_imports SET build_end = build_end - interval '100 days'")
    spare_duties = [await a_duty(db, f"Duty {n}") for n in range(3)]
    return {
        "conflicts": await column(db, "SELECT id FROM conflicts"),
        "duties": [str(id) for id in spare_duties],
        "duty_rules": [str(company.rule)],
        "rule_owner": [str(company.owner)],
        "identities": [str(id) for id in identities],
        "applications": [str(application), str(other)],
        "sourced_applications": [str(other)],
        "spare_applications": [str(spare)],
        "imports": imports,
        "accounts": await column(db, "SELECT id FROM accounts"),
        # Use only entitlements of Spare, which was imported first: as of the first imports, the others have no data.
        "entitlements": await column(db, f"SELECT id FROM entitlements WHERE application_id = '{spare}'"),
        "dry_runs": [str((await client.post(f"/api/applications/{spare}/dry-run", files=sent)).json()["id"])],
        "deliveries": await column(db, "SELECT id FROM webhook_deliveries"),
        "models": [str((await client.post("/api/access-models", json={"name": "Clerk"})).json()["id"])],
        "events": await column(db, "SELECT id FROM personnel_events"),
        "file_groups": await column(
            db,
            "SELECT g.id FROM file_groups g JOIN connectors c ON c.id = g.connector_id"
            f" WHERE c.application_id = '{application}' AND g.name = 'Users'",
        ),
        "reports": [str((await client.post("/api/reports", json={"name": "All", "list": "identities"})).json()["id"])],
        "review_items": await column(db, "SELECT id FROM review_items"),
        "review_templates": [template],
        "reviews": drafts,
        "requests": await column(db, "SELECT id FROM access_requests"),
        "webhooks": await column(db, "SELECT id FROM webhooks"),
    }


@pytest.mark.timeout(1800)
async def test_responses_conform_to_the_openapi_document(
    config: Config, token: str, records: dict[str, list[str]], tmp_path: Path
) -> None:
    async with an_api(config, ROLECALL_SOURCE_HOSTS="hooks.example.com") as api:
        await hold_to_the_document(api, token, records, tmp_path)


async def hold_to_the_document(api: Api, token: str, records: dict[str, list[str]], tmp_path: Path) -> None:
    phases, examples, cases = FORMS[FORM]
    program = str(Path(sys.executable).with_name("schemathesis"))
    process = await asyncio.create_subprocess_exec(
        program, "--config-file", str(HERE / "schemathesis.toml"), "run", f"{api.url}/openapi.json",
        "--header", f"Authorization: Bearer {token}", "--checks", "all", "--warnings", "off",
        # Slow generation of data on a busy machine is no failure.
        "--suppress-health-check", "too_slow",
        "--phases", phases, "--max-examples", str(examples), *(["--no-shrink"] if phases == QUICK else []),
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
    measured(f"{int(generated[1]):,} cases, 0 failures, 0 responses with status 500")
    assert int(generated[1]) >= cases
    assert not api.crashes()
