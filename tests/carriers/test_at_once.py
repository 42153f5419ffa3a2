"""Test changes of a carrier that run beside changes of its requests."""

from typing import Any
from uuid import UUID

import pytest

from rolecall.access_requests import moving
from rolecall.carriers import actions
from rolecall.core import clock
from rolecall.core.caller import SYSTEM, Caller, Scope
from rolecall.core.db import Db, execute
from rolecall.core.errors import Conflict
from tests.builders import facts
from tests.carriers.carrying import LDAP, NOWHERE, Carrying
from tests.interleaving import overlapping

CLERK = Caller(UUID(int=5), "Clerk", frozenset(Scope))


async def an_open_request(carrying: Carrying) -> str:
    return await carrying.request("Add", await carrying.person("ada"), gives=("Staff",))


async def test_carrier_that_is_switched_off_meanwhile_gets_no_request(carrying: Carrying) -> None:
    await carrying.put(NOWHERE, LDAP, mode="Dry Run")
    id = await an_open_request(carrying)
    await carrying.put(NOWHERE, LDAP)
    config, off = carrying.config, {"url": NOWHERE, **LDAP, "mode": "Off"}

    async def switch_off(db: Db) -> None:
        await actions.put_carrier(db, carrying.id, off, facts(), config)

    async def carry_out(db: Db) -> None:
        await actions.carry_out(db, CLERK, carrying.id, {"accessRequestId": id}, facts())

    with pytest.raises(Conflict, match="The carrier is Off"):
        await overlapping(config, carrying.db, switch_off, carry_out)


async def test_request_that_is_canceled_meanwhile_is_not_released(carrying: Carrying) -> None:
    await carrying.put(NOWHERE, LDAP)
    id = await an_open_request(carrying)
    await execute(
        carrying.db,
        """INSERT INTO carried_requests (request_id, application_id, opened_on, state, next_on, changed_on)
           VALUES (%(id)s, %(application)s, now(), 'Held', now(), now())""",
        id=id,
        application=carrying.id,
    )

    async def cancel(db: Db) -> Any:
        await moving.cancel(db, [UUID(id)], SYSTEM, clock.now())

    async def release(db: Db) -> None:
        await actions.release(db, CLERK, carrying.id, {}, facts())

    with pytest.raises(Conflict, match="holds none of these requests"):
        await overlapping(carrying.config, carrying.db, cancel, release)
