"""Send server-sent events to pages that follow a record while a worker changes it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable

from litestar.response.base import ASGIResponse
from litestar.response.streaming import ASGIStreamingResponse

from rolecall.core.db import Db, Pool

LOOK_EVERY = 0.5
# End the stream after 20 s; the browser reconnects, which checks the session again and lets the process shut down.
STREAM_LOOKS = 40
RETRY = b"retry: 500\n\n"
# Tells the page that it is out of date, so that it reloads itself.
LOOK = b"event: look\ndata: \n\n"


def stream_response(events: AsyncIterator[bytes]) -> ASGIResponse:
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return ASGIStreamingResponse(iterator=events, media_type="text/event-stream", headers=headers)


async def changes(pool: Pool, shown: str, current: Callable[[Db], Awaitable[str]]) -> AsyncGenerator[bytes]:
    """Send the event `look` when the current state differs from the shown one."""
    yield RETRY
    for _ in range(STREAM_LOOKS):
        async with pool.connection() as db:
            now = await current(db)
        if now != shown:
            yield LOOK
            return
        await asyncio.sleep(LOOK_EVERY)
