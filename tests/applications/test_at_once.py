"""Test rules across records of an application: of two changes at once that exclude each other, one is refused."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from rolecall.applications.actions import change_application
from rolecall.carriers.actions import put_carrier
from rolecall.core.caller import Caller, Scope
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value, make_pool
from rolecall.core.errors import Invalid, NotFound
from rolecall.scim_server.actions import create_push_token
from rolecall.sources.actions import delete_source, put_source
from tests.builders import FILES, an_application, facts
from tests.carriers.carrying import SCIM
from tests.interleaving import overlapping
from tests.scim_server.pushing import CONNECTOR as PUSHED
from tests.scim_server.pushing import SOURCE as PUSH
from tests.sources.sourcing import allowing

CLERK = Caller(UUID(int=5), "Clerk", frozenset(Scope))
SCHEDULE = {"schedule": {"cron": "0 6 * * *", "locations": {"Users": "users.csv"}}}
CONNECTOR = {"name": "Users only", "vendor": "Rolecall", "files": FILES[:1]}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_identity_source_gets_no_carrier(db: Db, config: Config, order: tuple[int, int]) -> None:
    id = await an_application(db)

    async def make_source(db: Db) -> None:
        await change_application(db, id, {"isIdentitySource": True}, facts())

    async def carry(db: Db) -> None:
        body = {"url": "http://127.0.0.1:9/scim/v2", **SCIM}
        await put_carrier(db, id, body, facts(), allowing(config))

    both = make_source, carry
    with pytest.raises(Invalid):
        await overlapping(config, db, *(both[n] for n in order))


async def test_application_with_a_push_does_not_become_an_identity_source(db: Db, config: Config) -> None:
    """Otherwise, tokens that were created without `identities:write` would create people."""
    id = await an_application(db, connector=PUSHED)

    async def push(db: Db) -> None:
        await put_source(db, CLERK, id, PUSH, facts(), config)

    async def make_source(db: Db) -> None:
        await change_application(db, id, {"isIdentitySource": True}, facts())

    with pytest.raises(Invalid):
        await overlapping(config, db, push, make_source)


async def test_schedule_keeps_its_file_groups(db: Db, config: Config) -> None:
    id = await an_application(db, connector=CONNECTOR)

    async def schedule(db: Db) -> None:
        await change_application(db, id, SCHEDULE, facts())

    async def replace(db: Db) -> None:
        files = [{**FILES[0], "name": "People"}]
        await change_application(db, id, {"connector": {**CONNECTOR, "files": files}}, facts())

    with pytest.raises(Invalid):
        await overlapping(config, db, schedule, replace)


async def test_push_gets_no_token_after_it_has_ended(db: Db, config: Config) -> None:
    """Otherwise, the token would be valid again when the next push begins."""
    id = await an_application(db, connector=PUSHED)
    async with db.transaction():
        await put_source(db, CLERK, id, PUSH, facts(), config)

    async def end(db: Db) -> None:
        await delete_source(db, CLERK, id, datetime.now(UTC))

    async def create(db: Db) -> None:
        await create_push_token(db, CLERK, id, {"name": "Okta"}, facts())

    with pytest.raises(NotFound):
        await overlapping(config, db, end, create)


async def test_new_requests_do_not_wait_for_a_change_of_their_application(db: Db, config: Config) -> None:
    id = await an_application(db)
    async with make_pool(config) as pool, pool.connection() as changing, changing.transaction():
        await change_application(changing, id, {"priority": "Low"}, facts())
        async with db.transaction():
            await execute(db, "SET LOCAL lock_timeout = '5s'")
            assert await fetch_value(db, "SELECT true FROM applications WHERE id = %(id)s FOR KEY SHARE", id=id)
