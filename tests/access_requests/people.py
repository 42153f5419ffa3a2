"""Helpers that create callers for people who use the console."""

from rolecall.console import actions as console
from rolecall.core.caller import Caller
from rolecall.core.db import Db
from rolecall.core.roles import SCOPES, Role
from tests.builders import an_identity


async def a_person(db: Db, name: str, role: Role) -> Caller:
    id = await an_identity(db, name, "Hopper")
    await console.set_role(db, id, role, f"{name}@example.com")
    return Caller(id, f"{name} Hopper", SCOPES[role])
