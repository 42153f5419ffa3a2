"""Send many notifications while a tenth of the addresses is refused and workers are killed: none is lost.

A notification may arrive twice only if a killed worker left the outcome unknown. `ROLECALL_MESSAGES=10000` sends more;
`ROLECALL_WORKER_KILLS` kills more often.
"""

import asyncio
import os
import time
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from email.message import EmailMessage
from functools import partial
from typing import Any
from uuid import UUID

import msgspec
import pytest

from rolecall.access_requests import creation, moving
from rolecall.access_requests.model import NewPrivilege, NewRequest
from rolecall.core import clock
from rolecall.core.caller import SYSTEM
from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.notifications.model import LEASE
from rolecall.settings.policy import RequestAction
from tests.builders import an_application, an_identity
from tests.figures import measured
from tests.notifications.mailbox import Mailbox
from tests.notifications.notifying import Desk
from tests.webhooks.test_endure import Worker, both_live, until

MESSAGES = int(os.environ.get("ROLECALL_MESSAGES", "300"))
KILLS = int(os.environ.get("ROLECALL_WORKER_KILLS", "2"))
PEOPLE, AT_ONCE = 100, 100
# Every tenth request is canceled before the workers can send its notification.
CANCELED_EVERY = 10
# A tenth of the requests is created while the workers send.
CREATED_MEANWHILE = 10


class Sent(msgspec.Struct, frozen=True):
    """A notification as stored: its status and address, and the outcome and start of each message."""

    status: str
    address: str
    outcomes: list[str]
    begun_on: list[datetime]


async def people_with_reviewers(db: Db) -> list[UUID]:
    """Create people; the addresses of a tenth of their supervisors are refused, and some are greylisted at first."""
    people = []
    for n in range(PEOPLE):
        word = "unknown" if n % 10 == 5 else "grey" if n % 50 == 1 else "boss"
        boss = await an_identity(db, "Boss", f"Number {n}", email=f"{word}{n}@test.example")
        people.append(await an_identity(db, "Ada", f"Number {n}", email=f"a{n}@x.example", supervisorId=str(boss)))
    return people


async def ask(db: Db, application: UUID, people: list[UUID], number: int) -> None:
    """Create requests, and cancel every tenth in the same transaction."""
    privileges = [NewPrivilege(header="Ledger", permission="Post entries")]
    requests = [
        NewRequest(
            action=RequestAction.ADD, application_id=application, identity_id=people[n % PEOPLE], privileges=privileges
        )
        for n in range(number)
    ]
    async with db.transaction():
        created = await creation.create_requests(db, SYSTEM, requests, clock.now())
        await moving.cancel(db, list(created)[::CANCELED_EVERY], SYSTEM, clock.now())


async def nothing_waits(db: Db) -> bool:
    """Return whether everything is sent; ignore deferred messages and leases older than 10 s (of killed workers)."""
    waiting = await fetch_value(
        db,
        """SELECT count(*) FROM notifications
           WHERE status = 'New' OR status = 'Pending' AND (next_attempt_on <= %(now)s
               OR lease IS NOT NULL AND next_attempt_on > %(now)s + interval '50 seconds')""",
        now=clock.now(),
    )
    return bool(waiting == 0)


@pytest.mark.timeout(600 + MESSAGES // 5)
async def test_each_notification_arrives_once_and_none_for_finished_work(
    db: Db, config: Config, mail: Mailbox, desk: Desk
) -> None:
    application, people = await an_application(db, "Payroll"), await people_with_reviewers(db)
    workers = [Worker(config), Worker(config)]
    # Create most requests before the workers start, so that the workers and not this process limit the measured rate.
    before = MESSAGES - MESSAGES // CREATED_MEANWHILE
    for asked in range(0, before, AT_ONCE):
        await ask(db, application, people, min(AT_ONCE, before - asked))
    for worker in workers:
        await worker.start()
    await until(lambda: both_live(db))
    started = time.monotonic()
    async with asyncio.TaskGroup() as tasks:
        killing = tasks.create_task(kill_while_sending(mail, workers))
        for asked in range(before, MESSAGES, AT_ONCE):
            await ask(db, application, people, min(AT_ONCE, MESSAGES - asked))
    await until(lambda: nothing_waits(db))
    seconds = time.monotonic() - started
    for worker in workers:
        await worker.kill()
    for wait in (LEASE, timedelta(minutes=10)):
        clock.travel_to(clock.now() + wait)
        await desk.work()

    rows = await notifications(db)
    figures = check(rows, mail.messages, killing.result())
    the_check_would_notice(rows, mail.messages, killing.result())
    measured(f"{figures}; {KILLS} kills; {len(mail.messages) / seconds:,.0f} a second")


async def kill_while_sending(mail: Mailbox, workers: list[Worker]) -> list[datetime]:
    """Kill workers while they send; return the time of each kill."""
    kills = []
    for n in range(KILLS):
        enough: int = MESSAGES * 8 // 10 * (n + 1) // (KILLS + 1)
        await until(partial(arrived, mail, enough))
        await workers[n % 2].kill()
        kills.append(clock.now())
        await workers[n % 2].start()
    return kills


async def arrived(mail: Mailbox, number: int) -> bool:
    return mail.count >= number


async def notifications(db: Db) -> dict[str, Sent]:
    """Return the stored notification of each request, by the id of the request."""
    found = await fetch_rows(
        db,
        """SELECT n.item_id::text, n.status, i.email_address,
                  coalesce(m.outcomes, '{}'), coalesce(m.begun_on, '{}')
           FROM notifications n JOIN identities i ON i.id = n.identity_id
           LEFT JOIN (SELECT substring(text FROM '/requests/([0-9a-f-]{36})') AS request, identity_id,
                             array_agg(outcome ORDER BY number) AS outcomes,
                             array_agg(started_on ORDER BY number) AS begun_on
                      FROM notification_messages GROUP BY 1, 2) AS m
                  ON m.request = n.item_id::text AND m.identity_id = n.identity_id
           WHERE n.kind = 'Waiting'""",
    )
    assert len(found) == MESSAGES
    return {request: Sent(*known) for request, *known in found}


def text_of(message: EmailMessage) -> str:
    body = message.get_body(("plain",))
    return str(body.get_content()) if body else ""


def check(rows: dict[str, Sent], messages: list[EmailMessage], kills: list[datetime]) -> str:
    received: dict[str, list[EmailMessage]] = defaultdict(list)
    for message in messages:
        received[text_of(message).partition("/requests/")[2][:36]].append(message)
    assert set(received) <= set(rows), "a message is about nothing known"
    counts: Counter[str] = Counter()
    for request, sent in rows.items():
        copies, unknown = received[request], sent.outcomes.count("unknown")
        counts[sent.status] += 1
        counts["twice"] += len(copies) == 2
        for begun_on in begun_without_outcome(sent):
            assert any(begun_on <= kill < begun_on + LEASE for kill in kills), "an outcome is unknown without a kill"
        assert {copy["To"] for copy in copies} <= {sent.address}
        assert len({copy["Message-ID"] for copy in copies}) <= 1
        match sent.status:
            case "Sent":
                assert 1 <= len(copies) <= 1 + unknown, f"{len(copies)} copies after {sent.outcomes}"
                assert sent.outcomes.count("sent") == 1
            case "Failed":
                assert sent.address.startswith("unknown")
                assert (copies, sent.outcomes[-1]) == ([], "refused")
            case status:
                assert status == "Withdrawn"
                assert (copies, sent.outcomes) == ([], [])
    assert counts["Withdrawn"] == counts["Failed"] == len(rows) // CANCELED_EVERY
    assert counts["Sent"] + counts["Failed"] + counts["Withdrawn"] == len(rows)
    return (
        f"{len(rows):,} notifications: {counts['Sent']:,} arrived, {counts['twice']} of them twice after an unknown"
        f" outcome; {counts['Failed']:,} addresses refused; none of {counts['Withdrawn']:,} for finished work"
    )


def begun_without_outcome(sent: Sent) -> list[datetime]:
    return [on for outcome, on in zip(sent.outcomes, sent.begun_on, strict=True) if outcome == "unknown"]


def the_check_would_notice(rows: dict[str, Sent], messages: list[EmailMessage], kills: list[datetime]) -> None:
    """Verify that the check detects needless duplicates, missing messages and messages for finished work."""
    once = next(request for request, sent in rows.items() if sent.outcomes == ["sent"])
    [copy] = [message for message in messages if once in text_of(message)]
    others = [message for message in messages if message is not copy]
    finished: dict[str, Any] = {
        **rows,
        once: msgspec.structs.replace(rows[once], status="Withdrawn", outcomes=[], begun_on=[]),
    }
    begun_on = [max(kills) + timedelta(seconds=1), *rows[once].begun_on]
    alive = {**rows, once: msgspec.structs.replace(rows[once], outcomes=["unknown", "sent"], begun_on=begun_on)}
    for known, received in (
        (rows, [*messages, copy]),
        (rows, others),
        (finished, messages),
        (alive, [*messages, copy]),
    ):
        with pytest.raises(AssertionError):
            check(known, received, kills)
