"""Create stand-ins, leaves, and callers for people who are signed in to the console."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from rolecall.console import signing_in
from rolecall.core.caller import Caller, Scope
from rolecall.core.db import Db
from rolecall.personnel_events import actions as events
from rolecall.stand_ins import actions
from rolecall.stand_ins.shapes import StandInItem
from tests.builders import facts

CLERK = Caller(UUID(int=5), "Clerk", frozenset(Scope))


def days(count: float) -> str:
    return (datetime.now(UTC) + timedelta(days=count)).isoformat()


async def a_stand_in(db: Db, person: UUID, stand_in: UUID, **fields: Any) -> StandInItem:
    """Name a stand-in from now for a week, unless other dates are given."""
    raw = {"identityId": str(person), "standInId": str(stand_in), "endsOn": days(7), **fields}
    async with db.transaction():
        return await actions.create_stand_in(db, CLERK, raw, facts())


async def a_leave(db: Db, person: UUID, **fields: Any) -> UUID:
    """Send a person on leave from today."""
    today = datetime.now(UTC).date().isoformat()
    return await events.begin_absence(db, CLERK, {"identityId": str(person), "effectiveDate": today, **fields}, facts())


async def caller_of(db: Db, person: UUID, now: datetime | None = None) -> Caller:
    """Return the caller that the console would create for a signed-in person."""
    now = now or datetime.now(UTC)
    found = await signing_in.person_of(db, person, now)
    assert found
    return found.caller()
