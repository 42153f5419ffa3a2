"""Define the resources that all requests of a process share, such as the connection pool; `app.py` creates them."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.core.authors import Author
from rolecall.core.caller import Caller
from rolecall.core.config import Config
from rolecall.core.db import Db, Pool
from rolecall.core.exporting import Outcome, Plan
from rolecall.web.limits import Counter, Slots, Turns
from rolecall.web.replica import Replica
from rolecall.web.request_times import RequestTimes

# `app.py` injects functions of higher packages, which this package must not import.
Authenticate = Callable[[Pool, str, datetime], Awaitable[Caller]]
# Authorize the token in the transaction that writes, and set the author.
SignAsToken = Callable[[Db, Caller, Author], Awaitable[Caller]]
# Record the start and the end of an export.
StartExport = Callable[[Db, Plan, Author], Awaitable[None]]
FinishExport = Callable[[Db, UUID, Outcome, datetime], Awaitable[None]]
CountFailing = Callable[[Db], Awaitable[int]]


class Services(msgspec.Struct, frozen=True):
    config: Config
    pool: Pool
    authenticate: Authenticate
    sign_as_token: SignAsToken
    failing_schedules: CountFailing
    request_times: RequestTimes
    start_export: StartExport
    finish_export: FinishExport
    replica: Replica | None = None
    failures: Counter = msgspec.field(default_factory=Counter)
    requests: Counter = msgspec.field(default_factory=Counter)
    sign_ins: Counter = msgspec.field(default_factory=Counter)
    exports: Slots = msgspec.field(default_factory=Slots)
    # Limits concurrent SCIM queries whose filter cannot use an index and must scan every resource.
    searches: Slots = msgspec.field(default_factory=Slots)
    # Runs the SCIM writes of an application one after another; otherwise they would wait for its lock in the database.
    pushes: Turns = msgspec.field(default_factory=Turns)
