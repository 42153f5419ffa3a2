"""Run the worker's loops in a test."""

from datetime import datetime

from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import make_pool
from rolecall.worker import LOOPS

ROUNDS = 3


async def let_the_worker_work(config: Config, at: datetime | None = None) -> None:
    """Run each loop until it has no work, in several rounds, because a loop can create work for another one.

    `at` sets the clock first.
    """
    if at:
        clock.travel_to(at)
    async with make_pool(config) as pool:
        for _ in range(ROUNDS):
            # Run each function once, although some have several concurrent loops.
            for run in dict.fromkeys(loop.run for loop in LOOPS):
                while await run(pool, config, clock.now()):
                    pass
