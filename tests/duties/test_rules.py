import asyncio
from datetime import UTC, datetime
from typing import Any

import httpx2
import psycopg

from rolecall.accounts.matching import take_turn
from rolecall.core.caller import SYSTEM
from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_value, make_pool
from rolecall.duties import actions
from tests.accounts.test_match_again import until_one_waits
from tests.builders import facts
from tests.duties.separating import a_company, a_duty, a_rule, join
from tests.interleaving import Crew

URL = "/api/duty-rules"


async def test_rule_takes_effect_when_it_is_committed_and_keeps_versions(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    rule = (await client.get(f"{URL}/{company.rule}")).json()

    changed = (await client.patch(f"{URL}/{company.rule}", json={"enabled": False})).json()

    assert (rule["version"], rule["draft"], rule["open"]) == (1, None, 1)
    assert (changed["committed"]["enabled"], changed["draft"]["enabled"], changed["open"]) == (True, False, 1)
    committed = (await client.post(f"{URL}/{company.rule}/commit")).json()
    assert (committed["version"], committed["draft"], committed["open"]) == (2, None, 0)
    again = await client.post(f"{URL}/{company.rule}/commit")
    assert (again.status_code, again.json()["message"]) == (409, "The rule has no draft. Change the rule first")


async def test_control_duty_makes_a_combination_acceptable(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    review = await a_duty(db, "Review", {"group": "Juniors"})

    await client.patch(f"{URL}/{company.rule}", json={"without": str(review)})
    with_control = (await client.post(f"{URL}/{company.rule}/commit")).json()
    await client.patch(f"{URL}/{company.rule}", json={"without": None})
    without = (await client.post(f"{URL}/{company.rule}/commit")).json()

    assert (with_control["open"], without["open"], without["committed"]["without"]) == (0, 1, None)


async def test_simulation_lists_who_would_be_in_conflict_and_changes_nothing(
    client: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db)
    run = await join(db, company, "noor", "Approvers")
    approve = await a_duty(db, "Approve payments", {"group": "Approvers"})
    rule = await a_rule(db, "Prepare and approve", company.prepare, approve, committed=False)

    simulated = (await client.post(f"{URL}/{rule}/simulate")).json()

    assert {name: simulated[name] for name in ("beginning", "ending", "staying", "totalCount")} == {
        "beginning": 2,
        "ending": 0,
        "staying": 0,
        "totalCount": 2,
    }
    people = [(item["identity"]["name"], item["sinceImport"]) for item in simulated["items"]]
    assert people == [("Noor Hansen", run), ("Sofia Dubois", company.run)]
    through = simulated["items"][0]["through"]
    assert (through["accessRequests"], through["accessModels"]) == ([], [])
    assert {each["account"] for each in through["access"]} == {"noor"}
    assert (await client.get("/api/conflicts", params={"ruleId": str(rule)})).json()["totalCount"] == 0


async def test_malformed_rules_are_refused_with_clear_messages(client: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    both = [str(company.prepare), str(company.release)]

    async def problems(**body: Any) -> dict[str, str]:
        answer = await client.post(URL, json={"name": "New", "conflicts": both, **body})
        assert answer.status_code == 400, answer.text
        return {each["field"]: each["message"] for each in answer.json()["errors"]}

    one = "Conflicts must name at least two duties to keep apart"
    assert await problems(conflicts=both[:1]) == {"conflicts": one}
    assert await problems(conflicts=[both[0]] * 2) == {"conflicts": "Conflicts must not name a duty twice"}
    nothing = "00000000-0000-4000-8000-000000000000"
    assert await problems(conflicts=[both[0], nothing]) == {"conflicts": f"Duty with id {nothing} not found"}
    own = "Without must name a duty that is not among the conflicting duties"
    assert await problems(without=both[0]) == {"without": own}
    assert await problems(name="Prepare and release") == {
        "name": "A rule named Prepare and release already exists; choose another name"
    }
    assert await problems(response="Shout") == {"response": "Response must be one of Warn, Approve, Block"}


async def test_contradicting_rules_are_refused_with_the_name_of_the_other(client: httpx2.AsyncClient, db: Db) -> None:
    """The rule in effect keeps apart a duty and the control duty of the first draft, and both duties of the second."""
    company = await a_company(db)
    third = await a_duty(db, "Post journals", {"permission": "Post*"})
    control = await a_rule(db, "Needs a control", company.prepare, third, without=str(company.release), committed=False)
    twin = await a_rule(db, "Only warns", company.release, company.prepare, response="Warn", committed=False)

    for id in (control, twin):
        refused = await client.post(f"{URL}/{id}/commit")

        said = refused.json()["errors"][0]["message"]
        assert refused.status_code == 400
        assert said.startswith("The rule contradicts the rule Prepare and release: ")
    await client.patch(f"{URL}/{company.rule}", json={"enabled": False})
    await client.post(f"{URL}/{company.rule}/commit")
    assert (await client.post(f"{URL}/{twin}/commit")).status_code == 200


async def test_writers_of_rules_and_duties_do_not_deadlock(db: Db, clean_database: str) -> None:
    """A configuration creates and commits rules in one transaction while another transaction creates a duty."""
    company = await a_company(db)
    third = await a_duty(db, "Post journals", {"permission": "Post*"})
    async with await psycopg.AsyncConnection.connect(clean_database) as other:
        raw = {"name": "New", "conflicts": [str(company.prepare), str(third)]}
        rule = await actions.create_rule(other, raw, facts())
        waiting = asyncio.create_task(a_duty(db, "Spare"))
        await until_one_waits(other)

        await actions.commit_rule(other, SYSTEM, str(rule.id), datetime.now(UTC))
        await other.commit()
        await waiting

    assert await fetch_value(db, "SELECT count(*) FROM duties WHERE name = 'Spare'") == 1


async def test_configuration_that_replaces_a_draft_does_not_deadlock_with_a_change(db: Db, config: Config) -> None:
    """It discards the draft of another person before it changes the rule."""
    company = await a_company(db)
    rule = str(company.rule)
    async with db.transaction():
        await actions.change_rule(db, rule, {"risk": "High"}, facts())

    async def replace(db: Db) -> None:
        await actions.discard_rule_draft(db, company.rule)
        await actions.change_rule(db, rule, {"response": "Warn"}, facts())

    async with make_pool(config) as pool:
        crew = Crew(pool, db)
        async with pool.connection() as other, other.transaction():
            await take_turn(other)
            await crew.begin(replace)
            await actions.change_rule(other, rule, {"risk": "Low"}, facts())
        await crew.end()

    assert await fetch_value(db, "SELECT draft ->> 'response' FROM duty_rules") == "Warn"
