"""Test that the current relations of a person decide which notifications they can read."""

import re
from uuid import UUID

import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value
from rolecall.notifications import queries
from rolecall.notifications.shapes import NotificationItem
from rolecall.notifications.visibility import READ, ROLES
from tests.builders import an_identity, facts
from tests.notifications.notifying import Company, a_company, ask
from tests.stand_ins.standing_in import a_leave


async def bell(db: Db, config: Config, person: UUID) -> list[NotificationItem]:
    return (await queries.newest_first(db, person, 1, config, facts().now)).items


async def test_former_supervisor_reads_nothing_about_an_event(db: Db, config: Config, company: Company) -> None:
    await a_leave(db, company.ada)
    (before,) = await bell(db, config, company.grace)
    other = await an_identity(db, "Other", "Boss")

    await execute(db, "UPDATE identities SET supervisor_id = %(b)s WHERE id = %(a)s", a=company.ada, b=other)
    (after,) = await bell(db, config, company.grace)

    assert "Ada Lovelace" in before.subject
    assert (after.subject, after.link) == ("A record that you can no longer see", "/notifications")
    assert "Ada" not in after.why
    assert not after.is_current


async def test_former_reviewer_reads_nothing_about_a_request(db: Db, config: Config, company: Company) -> None:
    await ask(db, company)
    other = await an_identity(db, "Other", "Boss")
    await execute(db, "UPDATE responses SET reviewer_id = %(b)s WHERE reviewer_id = %(g)s", b=other, g=company.grace)
    await execute(db, "UPDATE identities SET supervisor_id = %(b)s WHERE id = %(a)s", a=company.ada, b=other)

    (item,) = await bell(db, config, company.grace)

    assert item.subject == "A record that you can no longer see"


async def test_reviewer_and_administrator_read_what_concerns_them(db: Db, config: Config, company: Company) -> None:
    await ask(db, company)
    await execute(
        db,
        """INSERT INTO notifications (id, identity_id, kind, item_kind, item_id, part, created_date, next_attempt_on)
           SELECT gen_random_uuid(), %(id)s, kind, item_kind, item_id, part, created_date, next_attempt_on
           FROM notifications""",
        id=company.alan,
    )

    (grace,) = await bell(db, config, company.grace)
    (alan,) = await bell(db, config, company.alan)

    assert "Ada Lovelace" in grace.subject
    assert "Ada Lovelace" in alan.subject


@pytest.mark.parametrize(("role", "is_shown"), [("Administrator", True), ("Reviewer", False)])
async def test_person_who_lost_the_role_reads_nothing_about_channels(
    db: Db, config: Config, role: str, is_shown: bool
) -> None:
    company = await a_company(db)
    await execute(db, "INSERT INTO notification_channels (channel) VALUES ('Email')")
    await execute(db, "UPDATE notification_channels SET failing_since = now(), last_error = 'mail.example refused'")
    await execute(db, "UPDATE console_roles SET role = %(role)s", role=role)

    (item,) = await bell(db, config, company.alan)

    assert (item.subject != "A record that you can no longer see") is is_shown


async def test_every_kind_of_record_defines_who_may_read_it(db: Db) -> None:
    """A new kind of record must define who may read its notifications."""
    check = await fetch_value(
        db,
        """SELECT pg_get_constraintdef(oid) FROM pg_constraint
           WHERE conname = 'item_kind_is_known' AND conrelid = 'notifications'::regclass""",
    )

    assert set(re.findall(r"'([^']+)'::text", check)) == READ.keys() | ROLES.keys()
