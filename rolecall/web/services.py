"""What a process has at hand for its requests, made in `app.py`."""

from collections.abc import Awaitable, Callable
from datetime import datetime

import msgspec

from rolecall.core.caller import Caller
from rolecall.core.config import Config
from rolecall.core.db import Pool
from rolecall.web.limits import Counter

# The lookup lives in `tokens`, above this package; `app.py` hands it down.
Authenticate = Callable[[Pool, str, datetime], Awaitable[Caller]]


class Services(msgspec.Struct, frozen=True):
    config: Config
    pool: Pool
    authenticate: Authenticate
    failures: Counter = msgspec.field(default_factory=Counter)
    requests: Counter = msgspec.field(default_factory=Counter)
