"""Cause every kind of notification, and collect the e-mails."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import httpx2
import msgspec

from rolecall.access_requests import actions as requests
from rolecall.application_imports.model import ImportType
from rolecall.conflicts import actions as conflicts
from rolecall.conflicts.actions import expire_exceptions
from rolecall.console import sign_in_mail
from rolecall.console.signing_in import scopes_of
from rolecall.core import clock
from rolecall.core.authors import by_system, sign
from rolecall.core.caller import SYSTEM
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.identities.actions import remove_identities
from rolecall.notifications.model import DEFAULT_RULES
from rolecall.notifications.reminders import remind_and_escalate
from rolecall.personnel_events import actions as events
from rolecall.reports.running import run_reports
from rolecall.reviews import following
from rolecall.reviews.events import REOPENED, record_notice
from rolecall.stand_ins.actions import end_stand_in
from rolecall.webhooks.model import FAILURES_UNTIL_PROBED
from tests.builders import an_identity, an_import, facts
from tests.conflicts.test_exceptions import Cast, a_cast, act, approve, owner_of_ledger
from tests.duties.separating import join, leave
from tests.notifications.notifying import Company, Desk, a_company, ask, change
from tests.reports.reporting import a_report
from tests.reviews.reviewing import an_open_review, items_of, post
from tests.stand_ins.standing_in import CLERK, a_leave, a_stand_in, caller_of

APPROVED = {"type": "Approve", "response": "Approved"}


class MailOffice(msgspec.Struct):
    """Two companies in one database: Payroll with Ada, Grace and Alan, and the ledger, where Sofia has a conflict."""

    db: Db
    client: httpx2.AsyncClient
    config: Config
    desk: Desk
    folder: Path
    company: Company
    cast: Cast


class OccurredMail(msgspec.Struct, frozen=True):
    """An e-mail with the occurrence that caused it, and the kind and part of its notification."""

    occurrence: str
    kind: str
    part: str
    subject: str
    text: str
    html: str


async def a_mail_office(db: Db, client: httpx2.AsyncClient, config: Config, desk: Desk, folder: Path) -> MailOffice:
    company, cast = await a_company(db), await a_cast(db)
    await execute(
        db, "UPDATE identities SET email_address = lower(first_name) || '@test.example' WHERE email_address = ''"
    )
    await change(
        db,
        config,
        email={"transport": "Outbox", "sender": "rolecall@test.example"},
        kinds=[{"kind": str(kind), "rhythm": "At Once"} for kind in DEFAULT_RULES],
        reminders={"days": "Calendar Days"},
    )
    return MailOffice(db, client, config, desk, folder, company, cast)


async def _request(office: MailOffice) -> None:
    await ask(office.db, office.company)


async def _request_for_a_stand_in(office: MailOffice) -> None:
    joan = await an_identity(office.db, "Joan", "Clarke", email="joan@test.example")
    made = await a_stand_in(office.db, office.company.grace, joan, type="Approve")
    await ask(office.db, office.company)
    await office.desk.work()
    async with office.db.transaction():
        await end_stand_in(office.db, CLERK, str(made.id), datetime.now(UTC))


async def _decisions(office: MailOffice) -> None:
    grace, alan = [await caller_of(office.db, id) for id in (office.company.grace, office.company.alan)]
    for verbs in (("approve", "resolve"), ("reject",), ("cancel",)):
        request = str(await ask(office.db, office.company))
        owned = "UPDATE access_requests SET reporter_id = %(ada)s, reporter_name = 'Ada Lovelace' WHERE id = %(id)s"
        await execute(office.db, owned, ada=office.company.ada, id=UUID(request))
        async with office.db.transaction():
            for verb in verbs:
                if verb == "approve":
                    await requests.respond(office.db, grace, request, APPROVED, facts())
                elif verb == "reject":
                    body = {"type": "Approve", "response": "Rejected", "comment": "Not needed"}
                    await requests.respond(office.db, grace, request, body, facts())
                else:
                    move = requests.resolve if verb == "resolve" else requests.cancel
                    await move(office.db, alan, request, {}, facts())


async def _assignments(office: MailOffice) -> None:
    request = await ask(office.db, office.company)
    to_alan = {"assigneeId": str(office.company.alan)}
    leaving = {"identityId": str(office.company.ada), "effectiveDate": "2030-01-31"}
    async with office.db.transaction():
        await requests.assign(office.db, SYSTEM, str(request), to_alan, facts())
        event = await events.offboard(office.db, SYSTEM, leaving, facts())
        await events.assign_event(office.db, SYSTEM, event, to_alan, facts())
    await office.desk.work()
    async with office.db.transaction():
        await events.cancel_event(office.db, SYSTEM, event, {}, facts())


async def _imports(office: MailOffice) -> None:
    failure = "users.csv, line 3: Username ada is there twice"
    for type in (ImportType.API, ImportType.SCHEDULED):
        run = await an_import(office.db, office.company.payroll, "Running", type=type)
        failed = (
            "UPDATE application_imports SET status = 'Failed', failure = %(why)s, build_end = now() WHERE id = %(id)s"
        )
        await execute(office.db, failed, id=run, why=failure)
    held = await an_import(office.db, office.company.payroll, "Running")
    await execute(office.db, "INSERT INTO import_runs (import_id) VALUES (%(id)s)", id=held)
    why = "412 of 1,030 accounts would be closed (40 %), more than the limit of 20 %"
    await execute(office.db, "UPDATE import_runs SET held = %(why)s WHERE import_id = %(id)s", id=held, why=why)


async def _webhooks(office: MailOffice) -> None:
    hook = {"name": "Tickets", "url": "https://tickets.example.com/hook", "events": ["AccessRequestCreated"]}
    id = UUID((await office.client.post("/api/webhooks", json=hook)).json()["id"])
    failing = "UPDATE webhooks SET failures = %(count)s, failing_since = now() WHERE id = %(id)s"
    await execute(office.db, failing, id=id, count=FAILURES_UNTIL_PROBED)
    await office.desk.work()
    disabled = "UPDATE webhooks SET enabled = false, disabled_reason = 'Failing' WHERE id = %(id)s"
    await execute(office.db, disabled, id=id)


async def _conflict(office: MailOffice) -> None:
    await join(office.db, office.cast.company, "noor", "Approvers")


async def _exceptions(office: MailOffice) -> None:
    cast, sofia = office.cast, await caller_of(office.db, office.cast.company.sofia)
    for is_approved in (False, True):
        async with office.db.transaction():
            await conflicts.request_exception(office.db, sofia, str(cast.conflict), cast.wish(days=5), facts())
        await office.desk.work()
        await approve(office.client, office.db, cast.conflict, cast.company.owner)
        await office.desk.work()
        if is_approved:
            await approve(office.client, office.db, cast.conflict, await owner_of_ledger(office.db))
        else:
            await act(office.client, cast.conflict, "withdraw")
        await office.desk.work()
    await _pass_time(office, 0)
    await office.desk.work()
    async with office.db.transaction():
        await expire_exceptions(office.db, datetime.now(UTC) + timedelta(days=6))


async def _outgrown_exception(office: MailOffice) -> None:
    cast = office.cast
    await act(office.client, cast.conflict, "except", cast.wish())
    await execute(
        office.db,
        """UPDATE duties SET patterns = patterns || '[{"header": "Wires", "permission": "draft*"}]'::jsonb
           WHERE name = 'Prepare payments'""",
    )
    await leave(office.db, cast.company, "noor", "Approvers")


async def _ended_conflicts(office: MailOffice) -> None:
    nothing = {"patterns": [{"permission": "Nothing"}]}
    await office.client.patch(f"/api/duties/{office.cast.company.prepare}", json=nothing)


async def _reports(office: MailOffice) -> None:
    await execute(office.db, "INSERT INTO console_roles VALUES (%(id)s, 'Auditor')", id=office.company.grace)
    schedule = {"cron": "0 6 * * *", "location": str(office.folder)}
    people: dict[str, Any] = {"recipientIds": [str(office.company.alan)], "ownerId": str(office.company.alan)}
    await a_report(office.client, schedule=schedule, **people)
    for days, is_gone in ((0, False), (1, False), (1, True)):
        if is_gone:
            office.folder.rename(office.folder.with_name("gone"))
        _go_on(days)
        await run_reports(office.desk.pool, office.config, clock.now(), scopes_of)
        await office.desk.work()


async def _ownership(office: MailOffice) -> None:
    owner = await an_identity(office.db, "Greta", "Das")
    id = await fetch_value(office.db, "SELECT id FROM entitlements WHERE kind = 'Group' LIMIT 1")
    answer = await office.client.patch(f"/api/entitlements/{id}", json={"ownerId": str(owner)})
    assert answer.status_code == 200, answer.text
    async with office.db.transaction():
        await remove_identities(office.db, [owner], datetime.now(UTC))


async def _leave_of_a_reviewer(office: MailOffice) -> None:
    await a_leave(office.db, office.company.grace)
    await _pass_time(office, 0)


async def _review(office: MailOffice) -> None:
    stages = [{"reviewer": "Application Owner"}, {"reviewer": "Identity", "identityId": str(office.company.alan)}]
    scope = {"applicationIds": [str(office.cast.company.ledger)]}
    fields: dict[str, Any] = {"stages": stages, "scope": scope, "ownerId": str(office.company.alan)}
    review = await an_open_review(office.client, "Application", **fields)
    await office.desk.work()
    item = (await items_of(office.client, review))[0]
    body = {"identityId": str(office.cast.una), "comment": "Knows the ledger"}
    await post(office.client, f"/api/review-items/{item['id']}/reassign", body)
    await office.desk.work()
    await _pass_time(office, 12)
    await office.desk.work()
    _go_on(days=3)
    async with office.db.transaction():
        await following.follow_due(office.db, clock.now())
        await record_notice(office.db, REOPENED, UUID(review), clock.now())


async def _silence(office: MailOffice) -> None:
    await ask(office.db, office.company)
    for days in (4, 4):
        await _pass_time(office, days)
        await office.desk.work()


async def _digest(office: MailOffice) -> None:
    digest = [{"kind": str(kind), "rhythm": "Digest"} for kind in DEFAULT_RULES]
    await change(office.db, office.config, kinds=digest)
    for _ in range(2):
        await ask(office.db, office.company)
    starting = {"identityId": str(office.company.ada), "effectiveDate": "2030-03-01"}
    await events.begin_absence(office.db, SYSTEM, starting, facts())
    await office.desk.work()
    _go_on(days=1)


async def _sign_in_link(office: MailOffice) -> None:
    async with office.db.transaction():
        await sign_in_mail.ask(office.db, "ada@test.example", clock.now())
    await sign_in_mail.send_links(office.desk.pool, office.config, clock.now())


def _go_on(days: float) -> None:
    clock.travel_to(clock.now() + timedelta(days=days))


async def _pass_time(office: MailOffice, days: float) -> None:
    """Move the clock, then remind and escalate as the worker does."""
    _go_on(days)
    async with office.db.transaction():
        await sign(office.db, by_system("remind_and_escalate", clock.now()))
        while await remind_and_escalate(office.db, ZoneInfo("UTC"), clock.now()):
            pass


# The order matters, because the later functions move the clock.
OCCURRENCES: dict[str, Callable[[MailOffice], Awaitable[None]]] = {
    "request": _request,
    "request for a stand-in": _request_for_a_stand_in,
    "decisions": _decisions,
    "assignments": _assignments,
    "imports": _imports,
    "webhooks": _webhooks,
    "conflict": _conflict,
    "exceptions": _exceptions,
    "outgrown exception": _outgrown_exception,
    "ended conflicts": _ended_conflicts,
    "ownership": _ownership,
    "leave of a reviewer": _leave_of_a_reviewer,
    "sign-in link": _sign_in_link,
    "reports": _reports,
    "review": _review,
    "silence": _silence,
    "digest": _digest,
}


async def every_mail(office: MailOffice) -> list[OccurredMail]:
    """Cause every event that people are notified of; return each e-mail."""
    mails, last = [], 0
    await office.desk.work()
    for name, occur in OCCURRENCES.items():
        await occur(office)
        await office.desk.work()
        rows = await fetch_rows(
            office.db,
            """SELECT m.number, m.kind, coalesce(min(n.part), ''), m.subject, m.text, m.html
               FROM notification_messages m LEFT JOIN notifications n ON n.message_id = m.id
               WHERE m.number > %(last)s GROUP BY m.id ORDER BY m.number""",
            last=last,
        )
        mails += [OccurredMail(name, kind, part, subject, text, html) for _, kind, part, subject, text, html in rows]
        last = max((row[0] for row in rows), default=last)
    return mails
