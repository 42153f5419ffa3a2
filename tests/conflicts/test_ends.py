"""Test conflicts that end when a duty, a rule or a match changes: the change is recorded, and the sides are kept."""

from typing import Any
from uuid import UUID

import httpx2

from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows
from tests.access_requests.test_moved_people import match
from tests.builders import an_identity
from tests.conflicts.test_exceptions import notifications_about
from tests.duties.separating import a_company, a_duty, conflict_of, leave
from tests.working import let_the_worker_work

BOTH = ["Prepare payments", "Release payments"]
NOTHING = {"patterns": [{"permission": "Nothing"}]}


async def read(client: httpx2.AsyncClient, id: UUID) -> dict[str, Any]:
    found: dict[str, Any] = (await client.get(f"/api/conflicts/{id}")).json()
    return found


def sides(conflict: dict[str, Any]) -> list[str]:
    assert all(side["access"] for side in conflict["sides"])
    return [side["duty"]["name"] for side in conflict["sides"]]


async def test_change_of_a_duty_that_ends_a_conflict_is_recorded(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    id = await conflict_of(db, company.sofia)
    before = await read(client, id)

    await client.patch(f"/api/duties/{company.release}", json=NOTHING)

    conflict = await read(client, id)
    assert (conflict["status"], conflict["sides"]) == ("Ended", before["sides"])
    [entry] = conflict["activity"]
    said = "The conflict ended: what the duty Release payments covers was changed"
    assert (entry["action"], entry["content"], entry["author"] != "System") == ("Ended", said, True)
    rows = await fetch_rows(db, "SELECT identity_id FROM notifications WHERE kind = 'Conflict Ended'")
    assert rows == [(company.owner,)]
    assert await notifications_about(db, "Conflict Ended") == [("", "1 conflict ended by a change", True)]


async def test_ended_conflict_keeps_its_sides_when_the_rule_names_other_duties(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db)
    id = await conflict_of(db, company.sofia)
    others = [await a_duty(db, "X", {"group": "Nope"}), await a_duty(db, "Y", {"group": "Juniors"})]
    rule = f"/api/duty-rules/{company.rule}"

    await client.patch(rule, json={"conflicts": [str(other) for other in others]})
    await client.post(f"{rule}/commit")
    deleted = [await client.delete(f"/api/duties/{duty}") for duty in (company.prepare, company.release)]

    conflict = await read(client, id)
    assert (conflict["status"], sides(conflict)) == ("Ended", BOTH)
    assert [each["content"] for each in conflict["activity"]] == [
        "The conflict ended: a new version of the rule was committed"
    ]
    assert [each.status_code for each in deleted] == [409, 409]


async def test_conflict_that_an_import_ended_keeps_its_sides_when_a_duty_changes(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db)
    id = await conflict_of(db, company.sofia)
    await leave(db, company, "sofia", "Approvers")

    await client.patch(f"/api/duties/{company.release}", json=NOTHING)

    conflict = await read(client, id)
    assert (sides(conflict), conflict["activity"]) == (BOTH, [])
    assert await fetch_rows(db, "SELECT FROM notifications WHERE kind = 'Conflict Ended'") == []


async def test_sides_of_a_conflict_that_continues_follow_the_access(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    id = await conflict_of(db, company.sofia)

    patterns = [{"permission": "Release run"}, {"group": "Approvers"}]
    await client.patch(f"/api/duties/{company.release}", json={"patterns": patterns})

    conflict = await read(client, id)
    assert (conflict["status"], [len(side["access"]) for side in conflict["sides"]]) == ("Open", [1, 2])
    await execute(db, "SELECT evaluate_everything(now())")
    assert (await read(client, id))["activity"] == []


async def test_ended_conflict_keeps_the_name_and_risk_of_the_rule(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    ended = await conflict_of(db, company.sofia)
    rule = f"/api/duty-rules/{company.rule}"
    await client.patch(f"/api/duties/{company.release}", json=NOTHING)

    await client.patch(rule, json={"name": "Payments", "risk": "Low"})
    await client.post(f"{rule}/commit")
    await client.patch(f"/api/duties/{company.release}", json={"patterns": [{"permission": "Release run"}]})

    listed = (await client.get("/api/conflicts")).json()["items"]
    shown = {each["id"]: (each["rule"]["name"], each["rule"]["risk"]) for each in listed}
    assert shown == {
        str(ended): ("Prepare and release", "Critical"),
        str(await conflict_of(db, company.sofia)): ("Payments", "Low"),
    }
    kept = (await read(client, ended))["rule"]
    assert (kept["name"], kept["risk"]) == ("Prepare and release", "Critical")


async def test_conflict_that_a_new_version_ends_keeps_the_former_name(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    id = await conflict_of(db, company.sofia)
    rule = f"/api/duty-rules/{company.rule}"

    await client.patch(rule, json={"name": "Off", "risk": "Low", "enabled": False})
    await client.post(f"{rule}/commit")

    kept = await read(client, id)
    assert (kept["status"], kept["rule"]["name"]) == ("Ended", "Prepare and release")


async def test_match_that_ends_a_conflict_is_recorded(client: httpx2.AsyncClient, db: Db, config: Config) -> None:
    company = await a_company(db)
    finn = await an_identity(db, "Finn", "Santos")
    id = await conflict_of(db, company.sofia)
    before = await read(client, id)

    await match(client, db, "sofia", finn)
    await let_the_worker_work(config)

    conflict = await read(client, id)
    assert (conflict["status"], conflict["sides"]) == ("Ended", before["sides"])
    said = "The conflict ended: an account no longer matches the person"
    assert [each["content"] for each in conflict["activity"]] == [said]
    assert await notifications_about(db, "Conflict Ended") == [("", "1 conflict ended by a change", True)]
    assert sides(await read(client, await conflict_of(db, finn))) == BOTH


async def test_simulation_of_a_duty_counts_conflicts_by_rule_and_changes_nothing(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db)
    id = await conflict_of(db, company.sofia)
    duty = f"/api/duties/{company.release}"

    less = (await client.post(f"{duty}/simulate", json=NOTHING)).json()
    more = (await client.post(f"{duty}/simulate", json={"patterns": [{"group": "Officers"}]})).json()
    wrong = await client.post(f"{duty}/simulate", json={"patterns": [{}]})

    assert (less["holders"], less["beginning"], less["ending"], less["staying"]) == (0, 0, 1, 0)
    assert less["warnings"]
    assert less["rules"] == [
        {"id": str(company.rule), "name": "Prepare and release", "beginning": 0, "ending": 1, "staying": 0}
    ]
    # Noor is in Officers directly, and Sofia through Juniors.
    assert (more["holders"], more["beginning"], more["ending"], more["staying"]) == (2, 1, 0, 1)
    assert wrong.status_code == 400
    assert ((await read(client, id))["status"], await notifications_about(db, "Conflict Ended")) == ("Open", [])
