"""Change a review in a transaction, as a process that a test kills.

Arguments: database URL, verb, review, reviewer, and when to wait. With `before-commit` the process waits between the
change and its commit. Otherwise it prints the pid of its database session, and does not wait.
"""

import asyncio
import sys
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import msgspec
import psycopg

from rolecall.core.caller import Caller
from rolecall.core.checking import Facts
from rolecall.core.db import Db, session_options, transaction
from rolecall.reviews import actions, closing, deciding
from tests.builders import ADA

_BY = Caller(ADA.id, ADA.name, frozenset())
_ZONE = ZoneInfo("UTC")


async def change(url: str, verb: str, review: str, reviewer: str, waits: str = "before-commit") -> None:
    now = datetime.now(UTC)
    async with await psycopg.AsyncConnection.connect(url, autocommit=True, options=session_options("http://x")) as db:
        if waits != "before-commit":
            print(db.info.backend_pid, flush=True)
        async with transaction(db, "request"):
            await _change(db, verb, review, reviewer, now)
            if waits == "before-commit":
                print("changed", flush=True)
                await asyncio.Event().wait()


async def _change(db: Db, verb: str, review: str, reviewer: str, now: datetime) -> None:
    match verb:
        case "open":
            await actions.open_review(db, _BY, review, now)
        case "decide":
            raw = {"decision": "Keep", "filters": {}, "reviewerId": reviewer, "comment": "as agreed"}
            await deciding.decide_several(db, _BY, review, raw, Facts(now=now, zone=_ZONE))
        case "close":
            by = msgspec.structs.replace(_BY, is_person=True)
            await closing.close_review(db, by, review, True, now, _ZONE)


if __name__ == "__main__":
    asyncio.run(change(*sys.argv[1:]))
