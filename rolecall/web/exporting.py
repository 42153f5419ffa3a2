"""Export a list as the response: choose the format, record the export, and stream the file."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, aclosing, suppress
from datetime import datetime
from typing import Any
from urllib.parse import quote
from uuid import UUID

import msgspec
import structlog
from litestar.response.base import ASGIResponse
from litestar.types import Receive, Scope, Send

from rolecall.core import clock
from rolecall.core.authors import Author, by_system, written_by
from rolecall.core.db import Db, transaction
from rolecall.core.errors import Invalid
from rolecall.core.exporting import Outcome, Plan, check_size, snapshot, write
from rolecall.core.formats.formats import KINDS, MEDIA_TYPES, Format
from rolecall.core.paging import Page, Whole
from rolecall.web.bodies import AnyRequest, Reader
from rolecall.web.edge import header
from rolecall.web.services import Services

log = structlog.get_logger("rolecall.exports")

# A function that authorizes the caller in the transaction that records the export, and returns the author.
Sign = Callable[[Db], Awaitable[Author]]
# A function that fetches the page `EVERYTHING` of the list.
Find = Callable[[Db], Awaitable[Page[Any]]]

# Limit exports, because each opens a database connection outside of the pool.
MOST_AT_ONCE, MOST_OF_A_CALLER = 4, 2
# Time limits for one chunk and for the whole file, because an open snapshot holds back VACUUM.
PATIENCE_SECONDS = 60.0
LONGEST_SECONDS = 1800.0
# The status that proxies log when a client disconnects early.
_CLIENT_CLOSED = 499
_JSON = "json"
_FORMATS = [_JSON, *Format]
# The media types that are considered in `Accept`. Those that are not export formats select a JSON page.
_KNOWN = {"application/json", "application/*", "*/*", "text/html", *MEDIA_TYPES}


def _format(text: str) -> Format | None:
    if text.lower() not in _FORMATS:
        raise ValueError(f"must be one of {', '.join(_FORMATS)}")
    return None if text.lower() == _JSON else Format(text.lower())


a_format = Reader(_format, {"type": "string", "enum": _FORMATS, "default": _JSON})


def format_asked(request: AnyRequest) -> Format | None:
    """Return the format from `?format=` or, without it, from the `Accept` header; None means a JSON page."""
    format = _format_asked(request)
    # HEAD runs like GET without sending the body, so it would build a whole file that nobody receives.
    if format and request.scope.get("is_head"):
        raise Invalid.on("format", "Format is not allowed in a HEAD request; use GET to export")
    return format


def _format_asked(request: AnyRequest) -> Format | None:
    values = request.query_params.getall("format", [])
    if len(values) > 1:
        raise Invalid.on("format", "Format must be given once")
    if not values:
        return accepted(header(request.scope, b"accept").decode("latin-1"))
    try:
        return _format(values[0])
    except ValueError as error:
        raise Invalid.on("format", f"Format {error}") from None


def accepted(accept: str) -> Format | None:
    """Return the export format that `Accept` prefers; None means a JSON page."""
    wanted = []
    for option in accept.split(","):
        media_type, *parameters = (part.strip().lower() for part in option.split(";"))
        weight = next((part[2:] for part in parameters if part.startswith("q=")), "1")
        wanted.append((-_number(weight), media_type))
    # The sort is stable: of several types with the same weight, the first one in the header wins.
    wanted.sort(key=lambda each: each[0])
    known = [media_type for weight, media_type in wanted if weight and media_type in _KNOWN]
    return MEDIA_TYPES.get(known[0]) if known else None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


async def begin(services: Services, plan: Plan, caller_id: UUID, find: Find, sign: Sign) -> ASGIResponse:
    """Open the list in a snapshot, record the export, and return the response that streams the file."""
    async with AsyncExitStack() as stack:
        stack.enter_context(services.exports.taken(MOST_AT_ONCE, "exports", caller_id, MOST_OF_A_CALLER))
        db = await stack.enter_async_context(snapshot(services.config))
        found = await find(db)
        assert isinstance(found, Whole), plan.list
        await check_size(db, found, plan.format)
        # Record the export only now: a request that is refused earlier leaves no record.
        async with services.pool.connection() as writing, transaction(writing, "export"):
            author = await sign(writing)
            await services.start_export(writing, plan, author)
        # From here on, `Download` releases the resources.
        return Download(services, plan, found, author, db, stack.pop_all())


class Download(ASGIResponse):
    """The response that streams an export. It always closes the snapshot and records how the export ended."""

    def __init__(
        self, services: Services, plan: Plan, whole: Whole[Any], author: Author, db: Db, resources: AsyncExitStack
    ) -> None:
        name = quote(plan.file_name, safe="")
        super().__init__()
        self._start = [
            (b"content-type", KINDS[plan.format].media_type.encode()),
            (b"content-disposition", f"attachment; filename=\"{name}\"; filename*=UTF-8''{name}".encode()),
            (b"x-export-id", str(plan.id).encode()),
        ]
        self._services, self._plan, self._whole, self._author = services, plan, whole, author
        self._db, self._resources = db, resources
        self._outcome = Outcome()
        self._is_started = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gone = asyncio.create_task(_disconnected(receive))
        sending = asyncio.create_task(self._send(send))
        try:
            async with self._resources:
                await asyncio.wait({gone, sending}, return_when=asyncio.FIRST_COMPLETED)
                if not sending.done():
                    self._outcome.status, self._outcome.reason = "Abandoned", "The client disconnected"
                    sending.cancel()
                    await asyncio.wait({sending})
                    await self._close(send)
        finally:
            gone.cancel()
            sending.cancel()
            await asyncio.wait({sending})
            await self._end(sending)

    async def _close(self, send: Send) -> None:
        """Send the status 499 if the response has not started: otherwise the log would show a server error."""
        if not self._is_started:
            with suppress(OSError, RuntimeError):
                await send({"type": "http.response.start", "status": _CLIENT_CLOSED, "headers": []})

    async def _send(self, send: Send) -> None:
        by, now = self._author.caller.name, self._author.created_date
        held = b""
        pieces_of_file = write(self._db, self._whole, self._plan, self._outcome, by, now)
        async with asyncio.timeout(LONGEST_SECONDS), aclosing(pieces_of_file) as pieces:
            async for piece in pieces:
                if held:
                    await self._body(send, held, more=True)
                held = piece
        # Record the export before sending the last byte, so that the manifest exists when a client has the whole file.
        await self._record(clock.now(), "Finished")
        await self._body(send, held, more=False)

    async def _body(self, send: Send, piece: bytes, *, more: bool) -> None:
        """Send a chunk. Send the headers just before the first chunk: until then, an error response is possible."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            if not self._is_started:
                await send({"type": "http.response.start", "status": 200, "headers": self._start})
                self._is_started = True
            await send({"type": "http.response.body", "body": piece, "more_body": more})

    async def _end(self, sending: "asyncio.Task[None]") -> None:
        """Record how an unfinished export ended, and raise its error, if any."""
        error = None if sending.cancelled() else sending.exception()
        if self._outcome.status == "Finished":
            return
        if self._outcome.status == "Running":
            is_slow = isinstance(error, TimeoutError)
            self._outcome.status = "Abandoned" if is_slow or error is None else "Failed"
            self._outcome.reason = "Sending the file took too long" if is_slow else "The service stopped or failed"
        await self._record(clock.now(), self._outcome.status)
        log.warning("export ended early", export=str(self._plan.id), reason=self._outcome.reason)
        if error:
            raise error

    async def _record(self, now: datetime, status: str) -> None:
        author = by_system("finish_export", now)
        outcome = msgspec.structs.replace(self._outcome, status=status)
        async with self._services.pool.connection() as db, written_by(db, "export", author):
            await self._services.finish_export(db, self._plan.id, outcome, now)
        self._outcome = outcome


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
