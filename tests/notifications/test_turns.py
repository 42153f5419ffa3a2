"""Test who is notified that they must respond next, stand-ins included, and when a notification is still current."""

from datetime import UTC, datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

import httpx2
import pytest

from rolecall.access_requests import actions as requests
from rolecall.conflicts import actions as conflicts
from rolecall.core import clock
from rolecall.core.authors import AuthorKind, by, by_system, sign
from rolecall.core.caller import SYSTEM
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_rows
from rolecall.notifications import queries
from rolecall.notifications.reminders import remind_and_escalate
from rolecall.notifications.shapes import NotificationItem
from tests.builders import an_application, an_identity, facts, own_tokens
from tests.conflicts.test_exceptions import Cast, a_cast, act, approve, owner_of_ledger
from tests.notifications.notifying import Company, an_administrator, ask, change, notified
from tests.reviews.company import a_reviewed_company, follow
from tests.reviews.reviewing import an_open_review, decide, items_of, keep_all, post
from tests.stand_ins.standing_in import a_leave, a_stand_in, caller_of

EXCEPTION, REVIEW = "Conflict Exception", "Review"


async def shown(db: Db, config: Config, person: UUID, kind: str) -> list[NotificationItem]:
    """Return the notifications of a kind that a person sees in the console, newest first."""
    page = await queries.newest_first(db, person, 1, config, datetime.now(UTC))
    return [item for item in page.items if item.kind == kind]


async def current(db: Db, config: Config, person: UUID, kind: str) -> list[str]:
    """Return the subjects of a person's notifications of this kind that are still current."""
    return [item.subject for item in await shown(db, config, person, kind) if item.is_current]


async def pass_time(db: Db, days: float = 0) -> None:
    now = datetime.now(UTC) + timedelta(days=days)
    async with db.transaction():
        await sign(db, by_system("remind_and_escalate", now))
        while await remind_and_escalate(db, ZoneInfo("UTC"), now):
            pass


class Wish:
    """A requested exception for Sofia's conflict. Hana owns the rule, Carla the ledger, and Sam is Carla's stand-in."""

    def __init__(self, cast: Cast, carla: UUID, sam: UUID) -> None:
        self.cast, self.hana, self.carla, self.sam = cast, cast.company.owner, carla, sam
        self.sofia, self.conflict = cast.company.sofia, cast.conflict


@pytest.fixture
async def wish(client: httpx2.AsyncClient, db: Db) -> Wish:
    cast = await a_cast(db)
    carla, sam = UUID(await owner_of_ledger(db)), await an_identity(db, "Sam", "Else")
    await a_stand_in(db, carla, sam)
    assert (await act(client, cast.conflict, "except", cast.wish())).status_code == 200
    return Wish(cast, carla, sam)


async def test_second_approver_and_stand_in_are_notified_after_the_rule_owner_approved(
    client: httpx2.AsyncClient, db: Db, config: Config, wish: Wish
) -> None:
    said = "Exception to Prepare and release for Sofia Dubois is waiting for your approval"
    assert await current(db, config, wish.hana, EXCEPTION) == [said]
    assert await notified(db, wish.carla) == [("Stand-In", "New")]

    await approve(client, db, wish.conflict, wish.hana)

    assert await current(db, config, wish.hana, EXCEPTION) == []
    for person, why in ((wish.carla, "You own Finance Ledger"), (wish.sam, "You stand in for Carla Abadi, who owns")):
        [item] = await shown(db, config, person, EXCEPTION)
        assert (item.subject, item.is_current, item.why.startswith(why)) == (said, True, True)
    assert await shown(db, config, wish.sofia, EXCEPTION) == []


async def test_notifications_of_an_approved_exception_are_not_current(
    client: httpx2.AsyncClient, db: Db, config: Config, wish: Wish
) -> None:
    await approve(client, db, wish.conflict, wish.hana)
    await approve(client, db, wish.conflict, wish.carla)

    for person in (wish.hana, wish.carla, wish.sam):
        assert await current(db, config, person, EXCEPTION) == []
    unread = await fetch_rows(db, "SELECT part FROM notifications WHERE kind = 'Conflict Exception' AND NOT is_read")
    assert unread == []


async def test_people_who_can_approve_an_exception_are_reminded(
    client: httpx2.AsyncClient, db: Db, config: Config, wish: Wish
) -> None:
    await change(db, config, reminders={"days": "Calendar Days"})

    async def counts() -> list[int]:
        return [
            len([kind for kind, _ in await notified(db, who) if kind == EXCEPTION]) for who in (wish.hana, wish.carla)
        ]

    before = await counts()
    for days in (2, 4, 5):
        await pass_time(db, days)
    first = await counts()
    await approve(client, db, wish.conflict, wish.hana)
    await approve(client, db, wish.conflict, wish.carla)
    await pass_time(db, 20)

    assert (before, first) == ([1, 0], [2, 0])
    assert await counts() == [2, 1]
    rows = await fetch_rows(db, "SELECT content FROM activity WHERE action = 'Reminded'")
    assert rows == [("The people who can approve the exception were reminded",)]


async def test_administrators_are_notified_if_the_rules_owner_requests_an_exception(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    cast = await a_cast(db)
    alan = await an_identity(db, "Alan", "Turing")
    await an_administrator(db, alan)
    await own_tokens(db, cast.company.owner)

    await act(client, cast.conflict, "except", cast.wish())

    assert await shown(db, config, cast.company.owner, EXCEPTION) == []
    [item] = await shown(db, config, alan, EXCEPTION)
    assert (item.is_current, item.why) == (True, "You are an administrator")


@pytest.mark.parametrize(("verb", "said"), [("approve", "was approved until "), ("withdraw", "was rejected")])
async def test_person_who_requested_an_exception_is_notified_of_the_decision(
    client: httpx2.AsyncClient, db: Db, config: Config, verb: str, said: str
) -> None:
    cast = await a_cast(db)
    sofia = await caller_of(db, cast.company.sofia)
    async with db.transaction():
        await sign(db, by(AuthorKind.PERSON, sofia, "request_exception", datetime.now(UTC), "test"))
        await conflicts.request_exception(db, sofia, str(cast.conflict), cast.wish(), facts())

    await approve(client, db, cast.conflict, cast.company.owner)
    if verb == "approve":
        await approve(client, db, cast.conflict, await owner_of_ledger(db))
    else:
        await act(client, cast.conflict, "withdraw")

    [item] = await shown(db, config, cast.company.sofia, EXCEPTION)
    assert f"Exception to Prepare and release for Sofia Dubois {said}" in item.subject
    assert item.why == "You requested it"


async def test_stand_in_whom_the_person_in_conflict_chose_is_not_notified(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    cast = await a_cast(db)
    sam = await an_identity(db, "Sam", "Else")
    await a_stand_in(db, cast.company.owner, cast.company.sofia)
    await a_stand_in(db, cast.company.sofia, sam)

    await act(client, cast.conflict, "except", cast.wish())

    assert await shown(db, config, sam, EXCEPTION) == []


async def test_reviewers_of_the_next_stage_are_notified_with_their_stand_ins(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_reviewed_company(db)
    sam = await an_identity(db, "Sam", "Else")
    await a_stand_in(db, company.owen, sam)
    stages = [{"reviewer": "Supervisor"}, {"reviewer": "Application Owner"}]
    review = await an_open_review(client, stages=stages)
    before = await current(db, config, company.carla, REVIEW)
    await execute(db, "DELETE FROM notifications WHERE identity_id IN (%(o)s, %(s)s)", o=company.owen, s=sam)

    for item in await items_of(client, review, reviewerId=str(company.carla)):
        await decide(client, item, "Keep")
    await post(client, f"/api/reviews/{review}/submit", {"reviewerId": str(company.carla)})

    assert len(before) == 1
    assert await current(db, config, company.carla, REVIEW) == []
    for person, why in ((company.owen, "You review access"), (sam, "You stand in for Owen Park")):
        [note] = await shown(db, config, person, REVIEW)
        assert (note.is_current, note.why) == (True, why)
        assert note.subject.endswith("items wait for your decision")
        assert note.link == f"/reviews/{review}/work"


async def test_person_to_whom_an_item_is_reassigned_is_notified_once(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_reviewed_company(db)
    review = await an_open_review(client)
    mine = [item for item in await items_of(client, review) if item["reviewer"]["id"] == str(company.carla)]
    assert len(mine) > 1

    for item in mine:
        body = {"identityId": str(company.owen), "comment": "On leave"}
        await post(client, f"/api/review-items/{item['id']}/reassign", body)

    moved = "SELECT identity_id FROM notifications WHERE part = 'ReviewItemsMoved'"
    assert await fetch_rows(db, moved) == [(company.owen,)]
    assert await current(db, config, company.carla, REVIEW) == []


async def test_fallback_of_a_reviewer_who_left_is_notified(client: httpx2.AsyncClient, db: Db, config: Config) -> None:
    company = await a_reviewed_company(db)
    await an_open_review(client)
    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=company.carla)

    await follow(db)

    moved = await fetch_rows(db, "SELECT identity_id FROM notifications WHERE part = 'ReviewItemsMoved'")
    assert (company.greta,) in moved


async def test_reviewers_are_reminded_before_the_due_date_and_again_until_they_submit(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_reviewed_company(db)
    await change(db, config, reminders={"days": "Calendar Days"})
    review = await an_open_review(client)

    async def reminders() -> int:
        due = await fetch_rows(
            db,
            "SELECT FROM notifications WHERE part = 'ReviewDue' AND identity_id = %(id)s",
            id=company.carla,
        )
        return len(due)

    counts = []
    for day in (1, 9, 12, 13, 16):
        await pass_time(db, day)
        counts.append(await reminders())
    await keep_all(client, review)
    await pass_time(db, 20)

    assert counts == [0, 0, 1, 1, 2]
    assert await reminders() == 2
    said = await fetch_rows(db, "SELECT content FROM activity WHERE item_id = %(id)s", id=UUID(review))
    assert said == [("The reviewers who have items left were reminded",)] * 2


async def test_person_who_provisioned_a_request_is_not_asked_to_verify_it(
    db: Db, config: Config, company: Company
) -> None:
    joan = await an_identity(db, "Joan", "Clarke")
    await execute(
        db,
        """UPDATE applications SET priority = 'High', owner_id = %(grace)s,
                                   provisioner_ids = ARRAY[%(grace)s, %(joan)s]::uuid[]""",
        grace=company.grace,
        joan=joan,
    )
    request = await ask(db, company)
    await requests.respond(
        db, await caller_of(db, company.grace), str(request), {"type": "Approve", "response": "Approved"}, facts()
    )
    async with db.transaction():
        await requests.assign(db, SYSTEM, str(request), {"assigneeId": str(joan)}, facts())
        await requests.resolve(db, await caller_of(db, company.grace), str(request), {}, facts())

    verify = await fetch_rows(
        db, "SELECT identity_id FROM notifications WHERE kind = 'Waiting' AND part = 'Verify' AND identity_id <> %(j)s",
        j=joan,
    )  # fmt: skip
    assert company.grace not in {id for (id,) in verify}
    assert await current(db, config, joan, "Waiting") == []
    assert (await current(db, config, company.alan, "Waiting"))[0].startswith("Verify: ")


async def test_stand_in_whom_the_affected_person_chose_is_not_notified(db: Db, company: Company) -> None:
    sam = await an_identity(db, "Sam", "Else")
    await a_stand_in(db, company.grace, company.ada)
    await a_stand_in(db, company.ada, sam)

    await ask(db, company)

    assert await notified(db, sam) == [("Stand-In", "New")]
    assert ("Waiting", "New") in await notified(db, company.grace)


async def test_stand_in_of_a_further_reviewer_is_notified_of_the_escalation(
    db: Db, config: Config, company: Company
) -> None:
    await change(db, config, reminders={"days": "Calendar Days", "remindAfterDays": 0})
    sam = await an_identity(db, "Sam", "Else")
    await a_stand_in(db, company.alan, sam, endsOn=(clock.now() + timedelta(days=30)).isoformat())
    await ask(db, company)

    await pass_time(db, 8)

    assert ("Escalated", "New") in await notified(db, company.alan)
    assert ("Escalated", "New") in await notified(db, sam)


async def test_supervisor_is_notified_once_when_a_leave_begins(db: Db, config: Config, company: Company) -> None:
    await ask(db, company)
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()
    await a_leave(db, company.grace, effectiveDate=tomorrow)
    await pass_time(db)
    assert await shown(db, config, company.alan, "Stand-In") == []

    await execute(db, "UPDATE absences SET starts_on = now() - interval '1 hour'")
    for _ in range(2):
        await pass_time(db)

    [item] = await shown(db, config, company.alan, "Stand-In")
    assert item.subject.startswith("You stand in for Grace Hopper from ")
    assert item.why == "Grace Hopper is on leave and named no other stand-in"
    [own] = await shown(db, config, company.grace, "Stand-In")
    assert own.subject.startswith("Alan Turing stands in for you from ")


async def test_supervisor_is_not_notified_of_a_leave_with_a_named_stand_in(db: Db, company: Company) -> None:
    sam = await an_identity(db, "Sam", "Else")
    await a_stand_in(db, company.grace, sam)
    await a_leave(db, company.grace)

    await pass_time(db)

    assert ("Stand-In", "New") not in await notified(db, company.alan)


async def test_assigned_request_that_was_canceled_is_not_current(db: Db, config: Config, company: Company) -> None:
    application = await an_application(db, "Ledger")
    request = await ask(db, Company(company.ada, company.grace, company.alan, application))
    async with db.transaction():
        await requests.assign(db, SYSTEM, str(request), {"assigneeId": str(company.alan)}, facts())
    before = await current(db, config, company.alan, "Assigned")
    async with db.transaction():
        await requests.cancel(db, SYSTEM, str(request), {}, facts())

    assert (len(before), await current(db, config, company.alan, "Assigned")) == (1, [])
