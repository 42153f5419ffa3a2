"""Build an office where some people stand in for others, and approve as one of them."""

from datetime import datetime
from typing import Any
from uuid import UUID

from rolecall.access_requests import actions
from rolecall.core.db import Db
from rolecall.core.errors import Conflict
from tests.builders import an_access_request, facts
from tests.stand_ins.standing_in import caller_of

APPROVED = {"type": "Approve", "response": "Approved"}


class Office:
    """Ada reports to Grace, who reports to Rosa. Sam is a colleague who stands in for Grace in some tests."""

    def __init__(self, ada: UUID, grace: UUID, rosa: UUID, sam: UUID, application: UUID) -> None:
        self.ada, self.grace, self.rosa, self.sam, self.application = ada, grace, rosa, sam, application

    async def request(self, db: Db, **fields: Any) -> UUID:
        return await an_access_request(db, identity_id=self.ada, application_id=self.application, **fields)


async def approve(db: Db, person: UUID, request: UUID, reviewer: UUID, now: datetime | None = None) -> str:
    """Approve as a signed-in person; return the text of the activity entry, or the reason for the refusal."""
    caller = await caller_of(db, person, now)
    try:
        async with db.transaction():
            detail = await actions.respond(db, caller, str(request), {**APPROVED, "reviewerId": str(reviewer)}, facts())
    except Conflict as error:
        return str(error)
    return next(entry.content for entry in detail.activity if entry.action == "Approved")
