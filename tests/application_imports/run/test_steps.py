"""Test that the log of an import has the time of each step, and that the times add up to the build time."""

import re
from datetime import datetime
from typing import Any

import httpx2

from rolecall.core.db import Db
from tests.application_imports.apply.test_identity_source import ADA, CHARLES, HEADER, hr
from tests.application_imports.apply.test_metrics import ALL, USERS
from tests.application_imports.running import Imports
from tests.builders import an_application

_STEP = re.compile(r"^\S+ (?P<step>.*) in (?P<seconds>\d+\.\d) s$", re.MULTILINE)


def steps_of(run: dict[str, Any]) -> list[str]:
    """Return the names of the steps, after checking that their times add up to the build time."""
    found = list(_STEP.finditer(run["log"]))
    begin, end = (datetime.fromisoformat(run[name]) for name in ("buildStart", "buildEnd"))
    told = sum(float(step["seconds"]) for step in found)
    # Each time is rounded to a tenth of a second.
    assert abs(told - (end - begin).total_seconds()) <= 0.05 * len(found) + 1, run["log"]
    return [re.sub(r": .* read$", " read", step["step"]) for step in found]


async def test_steps_of_an_account_import_add_up(imports: Imports, db: Db) -> None:
    run = await imports.finish(await an_application(db), ALL)

    found = steps_of(run)

    assert found[:3] == ["Prepared", "Users read", "Accounts compared"]
    assert sorted(found[3:-4]) == ["Groups read", "Memberships read", "Permissions read"]
    assert found[-4:] == ["Access compared", "Changes written", "Changes counted", "Accounts matched"]


async def test_steps_of_an_identity_source_import_add_up(imports: Imports, db: Db) -> None:
    run = await imports.finish(await hr(db), {"People": HEADER + ADA + CHARLES})

    assert steps_of(run) == [
        "Prepared", "Accounts compared", "People read", "Access compared", "Changes written", "Changes counted",
        "Identities updated", "Accounts matched",
    ]  # fmt: skip


async def test_steps_of_unchanged_files_and_of_a_rollback_add_up(
    imports: Imports, client: httpx2.AsyncClient, db: Db
) -> None:
    application = await an_application(db)
    first = await imports.finish(application, ALL)
    same = await imports.finish(application, ALL)
    await imports.finish(application, ALL | {"Users": USERS.replace("ada@x.test", "ada@y.test")})
    answer = await client.post(f"/api/applications/{application}/rollback", json={"importNumber": first["number"]})
    await imports.work()
    back = await imports.get(answer.json()["id"])

    assert steps_of(same) == ["Prepared", "Changes counted", "Accounts matched"]
    assert steps_of(back) == ["Prepared", "Changes written", "Changes counted", "Accounts matched"]
