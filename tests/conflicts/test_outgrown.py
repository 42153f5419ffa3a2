"""Test that an exception ends when the conflict grows beyond what was approved."""

from typing import Any

import httpx2
import pytest

from rolecall.core.db import Db
from tests.conflicts.test_exceptions import Cast, a_cast, act, except_sofia
from tests.duties.separating import a_duty, conflict_of, join, leave
from tests.nesting import some_groups
from tests.notifications.notifying import notified


async def shown(client: httpx2.AsyncClient, db: Db, cast: Cast) -> tuple[str, str]:
    """Return the status of Sofia's conflict and of her last exception."""
    conflict = (await client.get(f"/api/conflicts/{await conflict_of(db, cast.company.sofia)}")).json()
    return conflict["status"], conflict["exceptions"][0]["status"]


async def add_to_rule(client: httpx2.AsyncClient, cast: Cast, *duties: object) -> None:
    conflicts = [str(id) for id in (cast.company.prepare, cast.company.release, *duties)]
    await client.patch(f"/api/duty-rules/{cast.company.rule}", json={"conflicts": conflicts})
    committed = await client.post(f"/api/duty-rules/{cast.company.rule}/commit")
    assert committed.status_code == 200, committed.text


@pytest.mark.parametrize(("group", "expected"), [("Juniors", "Outgrown"), ("Auditors", "Approved")])
async def test_duty_added_to_the_rule_ends_the_exception_if_the_person_holds_it(
    client: httpx2.AsyncClient, db: Db, group: str, expected: str
) -> None:
    cast = await a_cast(db)
    await some_groups(db, cast.company.ledger, {"Auditors": ""}, cast.company.run)
    await except_sofia(client, db, cast)

    await add_to_rule(client, cast, await a_duty(db, "Collect", {"group": group}))

    status = "Open" if expected == "Outgrown" else "Excepted"
    assert await shown(client, db, cast) == (status, expected)


async def test_another_duty_of_the_rule_that_the_person_gets_ends_the_exception(
    client: httpx2.AsyncClient, db: Db
) -> None:
    cast = await a_cast(db)
    await some_groups(db, cast.company.ledger, {"Auditors": ""}, cast.company.run)
    await add_to_rule(client, cast, await a_duty(db, "Audit", {"group": "Auditors"}))
    await except_sofia(client, db, cast)

    await join(db, cast.company, "sofia", "Auditors")

    assert await shown(client, db, cast) == ("Open", "Outgrown")
    conflict = (await client.get(f"/api/conflicts/{cast.conflict}")).json()
    assert conflict["activity"][-1]["content"] == (
        "The exception ended: the person holds another duty of the rule, which was not approved;"
        " the conflict is open again"
    )
    assert ("Conflict Exception", "New") in await notified(db, cast.una)


async def test_exception_does_not_cover_a_later_conflict_of_other_duties(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    await some_groups(db, cast.company.ledger, {"Auditors": ""}, cast.company.run)
    await add_to_rule(client, cast, await a_duty(db, "Audit", {"group": "Auditors"}))
    await except_sofia(client, db, cast)

    await leave(db, cast.company, "sofia", "Approvers")
    await join(db, cast.company, "sofia", "Auditors")

    assert await shown(client, db, cast) == ("Open", "Outgrown")


_PREPARE: dict[str, Any] = {"header": "Wires", "permission": "prepare*"}


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ([_PREPARE, {"permission": "Not there yet"}], ("Open", "Outgrown")),
        ([{"permission": "*"}], ("Open", "Outgrown")),
        ([_PREPARE], ("Excepted", "Approved")),
    ],
)
async def test_new_pattern_of_a_duty_ends_the_exception(
    client: httpx2.AsyncClient, db: Db, patterns: list[dict[str, Any]], expected: tuple[str, str]
) -> None:
    cast = await a_cast(db)
    await except_sofia(client, db, cast)

    await client.patch(f"/api/duties/{cast.company.prepare}", json={"patterns": patterns})

    assert await shown(client, db, cast) == expected


async def test_pending_exception_is_outgrown_too(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    await act(client, cast.conflict, "except", cast.wish())

    await client.patch(f"/api/duties/{cast.company.prepare}", json={"patterns": [{"permission": "*"}]})

    assert await shown(client, db, cast) == ("Open", "Outgrown")
