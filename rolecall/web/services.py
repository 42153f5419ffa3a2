"""The resources of a process that requests share (pool, file store, limits), created in `app.py`."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.core.authors import Author
from rolecall.core.caller import Caller
from rolecall.core.config import Config
from rolecall.core.db import Db, Pool
from rolecall.core.exporting import Outcome, Plan
from rolecall.web.limits import Counter, Slots
from rolecall.web.replica import Replica
from rolecall.web.request_times import RequestTimes

# `app.py` injects what lives in higher packages.
Authenticate = Callable[[Pool, str, datetime], Awaitable[Caller]]
# Authorizes the token inside the writing transaction, and sets the author.
SignAsToken = Callable[[Db, Caller, Author], Awaitable[Caller]]
# Record that an export begins and how it ends.
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
    # Filters of identity providers that read every resource.
    searches: Slots = msgspec.field(default_factory=Slots)
