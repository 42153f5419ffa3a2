"""Test the counts and problems in the list of webhooks."""

from uuid import UUID

import httpx2
import pytest

from rolecall.console import queries
from rolecall.core.config import Config
from rolecall.core.db import Db, execute
from rolecall.webhooks import actions
from tests.builders import facts


@pytest.fixture
async def hook(db: Db, config: Config) -> UUID:
    raw = {"name": "Desk", "url": "https://desk.example.com/", "events": ["AccessRequestCreated"]}
    id, _ = await actions.create_hook(db, raw, facts(), config)
    return id


async def deliveries(db: Db, hook: UUID, *rows: tuple[str, str | None]) -> None:
    """Create deliveries, oldest first, each with a status and the outcome of its only attempt, if any."""
    for status, outcome in rows:
        await execute(
            db,
            """WITH made AS (
                   INSERT INTO webhook_deliveries
                       (id, webhook_id, event, status, body, created_date, next_attempt_on, untried)
                   VALUES (gen_random_uuid(), %(hook)s, 'AccessRequestCreated', %(status)s, '{}', now(),
                           CASE WHEN %(status)s = 'Pending' THEN now() END, %(outcome)s::text IS NULL) RETURNING id)
               INSERT INTO webhook_attempts (delivery_id, number, started_on, ended_on, outcome, status_code)
               SELECT id, 1, now(), now(), %(outcome)s, CASE WHEN %(outcome)s = 'status' THEN 500 END
               FROM made WHERE %(outcome)s::text IS NOT NULL""",
            hook=hook,
            status=status,
            outcome=outcome,
        )


async def test_webhook_shows_its_deliveries_by_status(administrator: httpx2.AsyncClient, db: Db, hook: UUID) -> None:
    await deliveries(
        db, hook, ("Delivered", "delivered"), ("Failed", "dns"), ("Failed", "status"), ("Parked", None),
        ("Pending", None),
    )  # fmt: skip

    numbers = await queries.hook_numbers(db, [hook])
    screen = (await administrator.get(f"/webhooks/{hook}")).text

    assert numbers == {hook: queries.HookNumbers(delivered=1, failed=2, waiting=2, last_problem="status 500")}
    assert "1 delivered, 2 failed, 2 waiting" in screen


async def test_newest_problem_is_shown_regardless_of_delivery_status(db: Db, hook: UUID) -> None:
    await deliveries(db, hook, ("Failed", "dns"), ("Pending", "timeout"), ("Delivered", "delivered"), ("Pending", None))

    assert (await queries.hook_numbers(db, [hook]))[hook].last_problem == "timeout"


async def test_screen_uses_the_stored_totals_of_deliveries(db: Db, hook: UUID) -> None:
    """The screen must not count the deliveries each time, because that would be slow."""
    await deliveries(db, hook, ("Delivered", "delivered"))
    await execute(db, "SELECT fold_lists()")

    await execute(db, "UPDATE list_contents SET total = total + 1000000 WHERE list = 'webhook_deliveries'")

    assert (await queries.hook_numbers(db, [hook]))[hook].delivered == 1_000_001


async def test_webhook_without_deliveries_has_no_problem(db: Db, hook: UUID) -> None:
    assert await queries.hook_numbers(db, [hook]) == {hook: queries.HookNumbers(0, 0, 0, None)}


async def test_screens_say_what_the_last_problem_means(administrator: httpx2.AsyncClient, db: Db, hook: UUID) -> None:
    await deliveries(db, hook, ("Failed", "blocked"))
    await execute(db, "UPDATE webhooks SET failing_since = now() WHERE id = %(id)s", id=hook)

    said = "blocked (deliveries to this address are not allowed)"
    assert f"the last problem is {said}" in (await administrator.get(f"/webhooks/{hook}")).text
    assert said in (await administrator.get("/webhooks")).text


async def test_form_of_a_webhook_says_which_addresses_are_blocked(
    administrator: httpx2.AsyncClient, db: Db, hook: UUID, config: Config
) -> None:
    form = (await administrator.get("/webhooks/new")).text
    reached = (await administrator.get(f"/webhooks/{hook}")).text
    await execute(db, "UPDATE webhooks SET url = 'http://127.0.0.1:9000/desk' WHERE id = %(id)s", id=hook)
    blocked = (await administrator.get(f"/webhooks/{hook}")).text

    assert "Addresses of this machine (localhost) and of private networks are blocked." in form
    assert "Deliveries to this address are blocked" not in reached
    assert "Deliveries to this address are blocked: URL must not point to a private, local" in blocked
