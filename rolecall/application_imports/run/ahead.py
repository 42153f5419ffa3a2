"""Run a generator in a thread, ahead of its consumer, so that the CPU and the database work at the same time."""

import asyncio
import queue
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import NamedTuple, TypeVar

Item = TypeVar("Item")


class _End(NamedTuple):
    error: BaseException | None


async def ahead(make: Callable[[], AsyncIterator[Item]]) -> AsyncGenerator[Item]:
    """Yield the items of a generator that runs in an event loop of its own, at most two items ahead."""
    items: queue.Queue[Item | _End] = queue.Queue(maxsize=1)
    is_left = threading.Event()

    async def produce() -> None:
        async for item in make():
            if is_left.is_set():
                return
            items.put(item)

    def run() -> None:
        try:
            asyncio.run(produce())
            items.put(_End(None))
        except BaseException as error:
            items.put(_End(error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    item: Item | _End | None = None
    try:
        while not isinstance(item := await asyncio.to_thread(items.get), _End):
            yield item
        if item.error:
            raise item.error
    finally:
        # Wait for the end of the generator, because it may still use resources that the consumer is about to close.
        is_left.set()
        while not isinstance(item, _End):
            item = await asyncio.to_thread(items.get)
        thread.join()
