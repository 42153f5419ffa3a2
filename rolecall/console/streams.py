"""Send server-sent events to pages, so that they update while a worker changes a record."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable

from litestar.response.base import ASGIResponse
from litestar.response.streaming import ASGIStreamingResponse

from rolecall.core.db import Db, Pool

LOOK_EVERY = 0.5
# End the stream after 20 s, so that the process can shut down; the browser reconnects, which checks the session again.
STREAM_LOOKS = 40
# Let the browser reconnect after half a second.
RETRY = b"retry: 500\n\n"
# The event that tells a page to reload itself, because it is out of date.
LOOK = b"event: look\ndata: \n\n"


def stream_response(events: AsyncIterator[bytes]) -> ASGIResponse:
    # The second header keeps proxies such as nginx from buffering the events.
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return ASGIStreamingResponse(iterator=events, media_type="text/event-stream", headers=headers)


async def changes(pool: Pool, shown: str, current: Callable[[Db], Awaitable[str]]) -> AsyncGenerator[bytes]:
    """Yield the event `look` and end when the state differs from what the page shows; otherwise end after 20 s."""
    yield RETRY
    for _ in range(STREAM_LOOKS):
        # Return the connection after each query: open pages would otherwise use up the pool.
        async with pool.connection() as db:
            now = await current(db)
        if now != shown:
            yield LOOK
            return
        await asyncio.sleep(LOOK_EVERY)
