"""Test the bell, the list of notifications and the outbox."""

from uuid import UUID

import httpx2

from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value, make_pool
from tests.builders import an_access_request, an_identity
from tests.console.test_matrix import sign_in
from tests.notifications.notifying import Desk, a_company, change
from tests.stand_ins.standing_in import a_leave


async def test_bell_links_to_notifications_and_is_cleared_when_they_are_read(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    assert 'aria-label="Notifications"' in (await administrator.get("/")).text
    assert "No notifications" in (await administrator.get("/notifications")).text
    me: UUID = await fetch_value(db, "SELECT identity_id FROM console_roles")
    kit = await an_identity(db, "Kit", "Keys", supervisorId=str(me))
    await an_access_request(db, identity_id=kit)

    assert 'aria-label="Notifications, 1 unread"' in (await administrator.get("/")).text
    page = (await administrator.get("/notifications?isRead=false")).text
    assert "for Kit Keys</strong>" in page
    answer = await administrator.post("/notifications/read")

    assert answer.headers["location"] == "/notifications"
    assert 'aria-label="Notifications"' in (await administrator.get("/")).text


async def test_outbox_shows_messages_and_problems(administrator: httpx2.AsyncClient, db: Db, config: Config) -> None:
    assert "Neither a mail server nor a chat is configured" in (await administrator.get("/settings/outbox")).text
    await change(db, config, email={"transport": "Outbox"})
    me: UUID = await fetch_value(db, "SELECT identity_id FROM console_roles")
    await execute(db, "UPDATE console_roles SET email = 'me@example.com'")
    kit = await an_identity(db, "Kit", "Keys", supervisorId=str(me))
    await an_access_request(db, identity_id=kit)
    async with make_pool(config) as pool:
        await Desk(pool, config).work()
    await execute(
        db,
        """INSERT INTO notification_channels (channel, failing_since, last_error)
           VALUES ('Email', now(), 'The mail server refused the user name or password')""",
    )

    page = (await administrator.get("/settings/outbox?outcome=kept")).text

    assert "me@example.com" in page
    assert "Person: Kit Keys" in page
    assert "E-mail has not worked since" in page
    assert "The mail server refused the user name or password" in page
    assert "Kept here, not sent" in page


async def test_bell_does_not_name_a_record_that_the_person_may_not_see(
    administrator: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    company = await a_company(db)
    await a_leave(db, company.ada)
    await execute(db, "UPDATE identities SET supervisor_id = NULL WHERE id = %(id)s", id=company.ada)
    await sign_in(administrator, db, company.grace)

    page = (await administrator.get("/notifications")).text

    assert "A record that you can no longer see" in page
    assert "Lovelace" not in page


async def test_home_shows_problems_of_notifications_to_administrators(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    assert "cannot send notifications" not in (await administrator.get("/")).text
    await execute(db, "INSERT INTO notification_channels (channel, failing_since) VALUES ('Email', now())")

    assert "<strong>1</strong>Channels that cannot send notifications" in (await administrator.get("/")).text
    await execute(db, "UPDATE console_roles SET role = 'Operator'")
    assert "cannot send notifications" not in (await administrator.get("/")).text
