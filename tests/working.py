"""Run the worker's loops in a test until no work is left."""

from datetime import datetime

from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import make_pool
from rolecall.worker import LOOPS

ROUNDS = 3


async def let_the_worker_work(config: Config, at: datetime | None = None) -> None:
    """Run the loops at the time `at`. Loops wake each other, so each runs more than once."""
    if at:
        clock.travel_to(at)
    async with make_pool(config) as pool:
        for _ in range(ROUNDS):
            # Run each function once, although some have several concurrent loops.
            for run in dict.fromkeys(loop.run for loop in LOOPS):
                while await run(pool, config, clock.now()):
                    pass
