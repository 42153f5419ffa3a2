"""Run a worker in its own process, which dies at armed fault points."""

import asyncio
import multiprocessing

from rolecall.carriers import queries
from rolecall.carriers.carrying import carry_out_next
from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import make_pool

_PAUSE = 0.02


def carry_out_everything(config: Config) -> int:
    """Carry out due requests in a child process; return its exit code."""
    context = multiprocessing.get_context("forkserver")
    # The fork server starts with the first child, and children inherit the environment that it had then. So the folder
    # of armed fault points must be set before the first call.
    context.set_forkserver_preload([__name__])
    child = context.Process(target=_carry_out, args=(config,))
    child.start()
    child.join()
    assert child.exitcode is not None
    return child.exitcode


def _carry_out(config: Config) -> None:
    asyncio.run(_until_done(config))


async def _until_done(config: Config) -> None:
    async with make_pool(config) as pool:
        while True:
            await carry_out_next(pool, config, clock.now())
            async with pool.connection() as db:
                if not await queries.applications_with_work(db, clock.now()):
                    return
            # Try again later, because the database takes a moment to release the lock of a killed worker.
            await asyncio.sleep(_PAUSE)
