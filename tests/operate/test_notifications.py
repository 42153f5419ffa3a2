"""Test what the doctor and the metrics report about notifications."""

from datetime import UTC, datetime, timedelta

import httpx2
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db, execute
from rolecall.operate import doctor
from rolecall.operate.check_results import CheckResult, CheckState
from tests.notifications.notifying import a_company, ask, change
from tests.operate.test_metrics import asked, labels


async def found(db: Db, config: Config, check: str) -> CheckResult:
    return next(each for each in await doctor.examine(db, config) if each.check == check)


async def test_failing_channel_is_reported_as_trouble_with_the_reason(db: Db, config: Config) -> None:
    assert (await found(db, config, "notifications")).state is CheckState.OK
    await execute(
        db,
        """INSERT INTO notification_channels (channel, failing_since, last_error)
           VALUES ('Email', now(), 'The mail server refused the user name or password: 535')""",
    )

    problem = await found(db, config, "notifications")

    assert problem.state is CheckState.TROUBLE
    assert "refused the user name or password: 535" in problem.detail
    assert "rolecall notify test" in problem.advice


async def test_overdue_message_is_reported_as_trouble_unless_its_channel_is_paused(db: Db, config: Config) -> None:
    await ask(db, await a_company(db))
    await execute(db, "UPDATE notifications SET next_attempt_on = now() - interval '6 minutes'")

    assert "because no worker sends them" in (await found(db, config, "notifications")).detail
    await execute(db, "UPDATE notifications SET status = 'Pending', bundle = 'x', channel = 'Email'")
    await execute(
        db, "INSERT INTO notification_channels (channel, paused_until) VALUES ('Email', now() + interval '1 hour')"
    )
    assert (await found(db, config, "notifications")).state is CheckState.OK


@pytest.mark.parametrize(("days", "state"), [(1, CheckState.WARNING), (8, CheckState.OK)])
async def test_refused_address_is_a_warning_for_a_week(db: Db, config: Config, days: int, state: CheckState) -> None:
    when = datetime.now(UTC) - timedelta(days=days)
    await execute(
        db,
        """INSERT INTO notification_messages (id, channel, kind, recipient, address, subject, text, html, attempt,
                                              outcome, response, started_on, ended_on)
           VALUES (gen_random_uuid(), 'Email', 'Waiting', 'Grace', 'grace@x.example', '', '', '', 1, 'refused',
                   '550 No such user', %(when)s, %(when)s)""",
        when=when,
    )

    result = await found(db, config, "messages")

    assert result.state is state
    assert ("grace@x.example (550 No such user)" in result.detail) == (state is CheckState.WARNING)


async def test_secret_of_a_channel_that_cannot_be_decrypted_is_named(db: Db, config: Config) -> None:
    await change(db, config, email={"password": "hunter2"})
    assert (await found(db, config, "secrets")).state is CheckState.OK
    await execute(db, "UPDATE notification_secrets SET secret = set_byte(secret, 20, get_byte(secret, 20) # 1)")

    assert "notifications by Email" in (await found(db, config, "secrets")).detail


async def test_metrics_show_messages_by_outcome_and_the_age_of_the_oldest_unsent_message(
    client: httpx2.AsyncClient, db: Db
) -> None:
    await ask(db, await a_company(db))
    await execute(db, "UPDATE notifications SET created_date = now() - interval '90 seconds'")
    await execute(db, "INSERT INTO notification_channels (channel, failing_since) VALUES ('Slack', now())")

    told, _ = await asked(client)

    assert told["notifications_unsent"] == {frozenset(): 1.0}
    assert 90 <= told["notification_unsent_seconds"][frozenset()] < 120
    assert told["notification_messages"][labels(outcome="refused")] == 0
    assert told["notification_channel_failing"] == {
        labels(channel="Email"): 0,
        labels(channel="Slack"): 1,
        labels(channel="Teams"): 0,
    }
