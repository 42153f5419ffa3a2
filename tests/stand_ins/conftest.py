"""Provide an office where people stand in for each other, and a console."""

import pytest

from rolecall.core.db import Db
from tests.builders import an_application, an_identity
from tests.console.conftest import administrator, visitor
from tests.stand_ins.office import Office

__all__ = ["administrator", "visitor"]


@pytest.fixture
async def office(db: Db) -> Office:
    rosa = await an_identity(db, "Rosa", "Far", email="rosa@example.com")
    grace = await an_identity(db, "Grace", "Hopper", email="grace@example.com", supervisorId=str(rosa))
    ada = await an_identity(db, "Ada", "Lovelace", supervisorId=str(grace))
    sam = await an_identity(db, "Sam", "Else", email="sam@example.com")
    return Office(ada, grace, rosa, sam, await an_application(db, "Payroll"))
