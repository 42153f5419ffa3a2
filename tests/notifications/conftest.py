from collections.abc import AsyncIterator, Iterator
from ipaddress import ip_network

import msgspec
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db, make_pool
from tests.notifications.mailbox import Mailbox, receiving
from tests.notifications.notifying import Company, Desk, a_company, set_up_mail


@pytest.fixture
def config(config: Config) -> Config:
    """Allow loopback addresses, where the receivers of chat messages listen."""
    return msgspec.structs.replace(config, webhook_allow=(ip_network("127.0.0.0/8"),))


@pytest.fixture
def mailbox() -> Mailbox:
    return Mailbox()


@pytest.fixture
def mail_port(mailbox: Mailbox) -> Iterator[int]:
    with receiving(mailbox) as port:
        yield port


@pytest.fixture
async def company(db: Db) -> Company:
    return await a_company(db)


@pytest.fixture
async def mail(db: Db, config: Config, mail_port: int, mailbox: Mailbox) -> Mailbox:
    """Return a mailbox that receives the mail of the service."""
    await set_up_mail(db, config, mail_port)
    return mailbox


@pytest.fixture
async def desk(config: Config) -> AsyncIterator[Desk]:
    async with make_pool(config) as pool:
        yield Desk(pool, config)
