"""The worker's turn in a test: every loop until nothing is left to do."""

from datetime import datetime

from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import make_pool
from rolecall.worker import LOOPS

ROUNDS = 3


async def let_the_worker_work(config: Config, at: datetime | None = None) -> None:
    """At `at`, from when time then runs on. Loops wake one another, so each has its turn more than once."""
    if at:
        clock.travel_to(at)
    async with make_pool(config) as pool:
        for _ in range(ROUNDS):
            # Some work has several loops to do it side by side.
            for run in dict.fromkeys(loop.run for loop in LOOPS):
                while await run(pool, config, clock.now()):
                    pass
