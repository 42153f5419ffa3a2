"""Process notifications as the worker does, and create the people who receive them."""

from typing import Any
from uuid import UUID

import msgspec

from rolecall.core.config import Config
from rolecall.core.db import Db, Pool, execute, fetch_rows, fetch_value
from rolecall.notifications import actions
from rolecall.notifications.sender import MessageSender
from tests.builders import an_access_request, an_application, an_identity, facts


class Desk:
    """A sender that works only when the test calls it."""

    def __init__(self, pool: Pool, config: Config) -> None:
        self.pool, self.config = pool, config

    async def work(self) -> None:
        """Send everything that is due."""
        async with MessageSender(self.pool, self.config, lambda: None) as sender:
            await sender.send_due()


async def set_up_mail(db: Db, config: Config, port: int, **email: Any) -> None:
    given = {
        "transport": "SMTP",
        "host": "127.0.0.1",
        "port": port,
        "security": "None",
        "sender": "rolecall@test.example",
    }
    await change(db, config, email={**given, **email})


async def change(db: Db, config: Config, **settings: Any) -> None:
    async with db.transaction():
        await actions.change_settings(db, None, settings, facts(), config)


class Company(msgspec.Struct, frozen=True):
    """People for tests: Grace supervises Ada and approves her requests for Payroll; Alan is the administrator."""

    ada: UUID
    grace: UUID
    alan: UUID
    payroll: UUID


async def a_company(db: Db, grace: str = "grace@test.example") -> Company:
    alan = await an_identity(db, "Alan", "Turing", email="alan@test.example")
    await an_administrator(db, alan)
    boss = await an_identity(db, "Grace", "Hopper", email=grace, supervisorId=str(alan))
    ada = await an_identity(db, "Ada", "Lovelace", email="ada@test.example", supervisorId=str(boss))
    return Company(ada, boss, alan, await an_application(db, "Payroll"))


async def an_administrator(db: Db, identity_id: UUID) -> None:
    await execute(db, "INSERT INTO console_roles (identity_id, role) VALUES (%(id)s, 'Administrator')", id=identity_id)


async def ask(db: Db, company: Company, **fields: Any) -> UUID:
    async with db.transaction():
        return await an_access_request(db, identity_id=company.ada, application_id=company.payroll, **fields)


async def notified(db: Db, identity_id: UUID | None = None) -> list[tuple[str, str]]:
    """Return the kind and status of each notification, oldest first."""
    return [
        (kind, status)
        for kind, status in await fetch_rows(
            db,
            """SELECT kind, status FROM notifications WHERE %(id)s::uuid IS NULL OR identity_id = %(id)s
               ORDER BY number""",
            id=identity_id,
        )
    ]


async def outcomes(db: Db) -> list[str]:
    return [outcome for (outcome,) in await fetch_rows(db, "SELECT outcome FROM notification_messages ORDER BY number")]


async def channel_error(db: Db, channel: str = "Email") -> str | None:
    error: str | None = await fetch_value(
        db, "SELECT last_error FROM notification_channels WHERE channel = %(c)s", c=channel
    )
    return error
