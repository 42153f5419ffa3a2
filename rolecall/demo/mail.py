"""Write messages of the sample company to the outbox instead of sending them."""

from rolecall.core.checking import Facts
from rolecall.core.config import Config
from rolecall.core.db import Db, Pool
from rolecall.demo.people import DOMAIN
from rolecall.notifications import actions
from rolecall.notifications.model import Transport
from rolecall.notifications.sender import MessageSender


async def keep_mail(db: Db, facts: Facts, config: Config) -> None:
    email = {"transport": Transport.OUTBOX, "sender": f"rolecall@{DOMAIN}"}
    await actions.change_settings(db, None, {"email": email}, facts, config)


async def send_mail(pool: Pool, config: Config) -> None:
    """Write due messages to the outbox, as the worker does."""
    async with MessageSender(pool, config, lambda: None) as sender:
        await sender.send_due()
