"""A process that changes a review in a transaction and waits before the commit, to be killed: URL, verb, review."""

import asyncio
import sys
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import msgspec
import psycopg

from rolecall.core.caller import Caller
from rolecall.core.checking import Facts
from rolecall.core.db import session_options
from rolecall.reviews import actions, closing, deciding
from tests.builders import ADA

_BY = Caller(ADA.id, ADA.name, frozenset())


async def change(url: str, verb: str, review: str, reviewer: str) -> None:
    now = datetime.now(UTC)
    async with (
        await psycopg.AsyncConnection.connect(url, autocommit=True, options=session_options("http://x")) as db,
        db.transaction(),
    ):
        match verb:
            case "open":
                await actions.open_review(db, _BY, review, now)
            case "decide":
                raw = {"decision": "Keep", "filters": {}, "reviewerId": reviewer, "comment": "as agreed"}
                await deciding.decide_several(db, _BY, review, raw, Facts(now=now, zone=ZoneInfo("UTC")))
            case "close":
                await closing.close_review(db, msgspec.structs.replace(_BY, is_person=True), review, True, now)
        print("changed", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(change(*sys.argv[1:]))
