"""Perform the steps of a flow over HTTP: a blocking client and an async one."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from typing import Any, BinaryIO, Self, TypeVar

import httpx2

from rolecall import __version__
from rolecall.client import answers, flows
from rolecall.client.answers import Json, Page
from rolecall.client.calls import Call, Id
from rolecall.client.errors import Failed, Unavailable
from rolecall.client.flows import (
    Done,
    Files,
    Flow,
    Item,
    Lost,
    Outcome,
    Pause,
    Progress,
    Reply,
    Request,
    Stream,
    advance,
)

T = TypeVar("T")
PATIENCE_SECONDS = 30.0
_TIMEOUT = httpx2.Timeout(60, connect=5)


class Client:
    """The blocking client.

    While the service is unavailable, the client retries a call, for about `patience` seconds in total. `stream` and
    `export` do not retry.
    """

    def __init__(self, url: str, token: str, *, patience: float = PATIENCE_SECONDS) -> None:
        self._http = httpx2.Client(**_options(url, token))
        self._patience = patience

    def send(self, call: Call[T]) -> T:
        return self._run(flows.perform(call, self._patience))

    def each(self, call: Call[Page[T]]) -> Iterator[T]:
        """Yield the items of a list, fetching each page when it is needed."""
        return self._stream(flows.each(call, self._patience))

    def export(self, call: Call[Page[T]], format: str) -> Iterator[bytes]:
        """Stream the whole list as a file in the format `csv`, `xlsx`, `jsonl` or `parquet`."""
        return self.stream(_as_file(call, format))

    def stream(self, call: Call[bytes]) -> Iterator[bytes]:
        """Stream the file that a call returns, such as `calls.run_report`."""
        begun = False
        try:
            with self._http.stream(call.method, call.path, params=dict(call.query), json=call.body) as response:
                begun = True
                if response.status_code != 200:
                    response.read()
                    raise flows.error_in(_reply(response))
                yield from response.iter_bytes()
        except httpx2.TransportError as error:
            raise _broken_stream(error, begun=begun) from error

    def upload(self, application_id: Id, files: Files, *, progress: Progress | None = None) -> answers.NewImport:
        """Upload `files`, a mapping from file group names to paths, and return the staged import.

        `progress` is called with the bytes sent so far and in total.
        """
        return self._run(flows.upload(application_id, files, self._patience), progress)

    def dry_run(self, application_id: Id, files: Files, *, connector: Json | None = None) -> answers.DryRun:
        """Dry-run an import of `files`, a mapping from file group names to paths, and return the result.

        `connector` is used instead of the saved connector.
        """
        return self._run(flows.dry_run(application_id, files, connector, self._patience))

    def watch(self, import_id: Id) -> Iterator[answers.Import]:
        """Yield the import whenever its status or log changes, until it ends."""
        return self._stream(flows.watch(import_id, self._patience))

    def wait(self, import_id: Id) -> answers.Import:
        """Wait until an import is Finished, Failed or Canceled, and return it."""
        *_, run = self.watch(import_id)
        return run

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def _run(self, flow: Flow[T], progress: Progress | None = None) -> T:
        step = advance(flow)
        while not isinstance(step, Done):
            step = advance(flow, self._take(step, progress))
        return step.value

    def _stream(self, flow: Stream[T]) -> Iterator[T]:
        step = advance(flow)
        while not isinstance(step, Done):
            # Yield an item to the caller; only other steps have an outcome.
            outcome = None if isinstance(step, Item) else self._take(step)
            if isinstance(step, Item):
                yield step.value
            step = advance(flow, outcome)

    def _take(self, step: Request | Pause, progress: Progress | None = None) -> Outcome:
        if isinstance(step, Pause):
            time.sleep(step.seconds)
            return None
        with ExitStack() as stack:
            try:
                return _reply(self._http.request(**_parts(step, stack, progress)))
            except httpx2.TransportError as error:
                return _lost(error)


class AsyncClient:
    """The async client. It has the methods of `Client`."""

    def __init__(self, url: str, token: str, *, patience: float = PATIENCE_SECONDS) -> None:
        self._http = httpx2.AsyncClient(**_options(url, token))
        self._patience = patience

    async def send(self, call: Call[T]) -> T:
        return await self._run(flows.perform(call, self._patience))

    def each(self, call: Call[Page[T]]) -> AsyncIterator[T]:
        return self._stream(flows.each(call, self._patience))

    def export(self, call: Call[Page[T]], format: str) -> AsyncIterator[bytes]:
        return self.stream(_as_file(call, format))

    async def stream(self, call: Call[bytes]) -> AsyncIterator[bytes]:
        begun = False
        try:
            async with self._http.stream(call.method, call.path, params=dict(call.query), json=call.body) as response:
                begun = True
                if response.status_code != 200:
                    await response.aread()
                    raise flows.error_in(_reply(response))
                async for piece in response.aiter_bytes():
                    yield piece
        except httpx2.TransportError as error:
            raise _broken_stream(error, begun=begun) from error

    async def upload(self, application_id: Id, files: Files, *, progress: Progress | None = None) -> answers.NewImport:
        return await self._run(flows.upload(application_id, files, self._patience), progress)

    async def dry_run(self, application_id: Id, files: Files, *, connector: Json | None = None) -> answers.DryRun:
        return await self._run(flows.dry_run(application_id, files, connector, self._patience))

    def watch(self, import_id: Id) -> AsyncIterator[answers.Import]:
        return self._stream(flows.watch(import_id, self._patience))

    async def wait(self, import_id: Id) -> answers.Import:
        runs = [run async for run in self.watch(import_id)]
        return runs[-1]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def _run(self, flow: Flow[T], progress: Progress | None = None) -> T:
        step = advance(flow)
        while not isinstance(step, Done):
            step = advance(flow, await self._take(step, progress))
        return step.value

    async def _stream(self, flow: Stream[T]) -> AsyncIterator[T]:
        step = advance(flow)
        while not isinstance(step, Done):
            outcome = None if isinstance(step, Item) else await self._take(step)
            if isinstance(step, Item):
                yield step.value
            step = advance(flow, outcome)

    async def _take(self, step: Request | Pause, progress: Progress | None = None) -> Outcome:
        if isinstance(step, Pause):
            await asyncio.sleep(step.seconds)
            return None
        with ExitStack() as stack:
            try:
                return _reply(await self._http.request(**_parts(step, stack, progress)))
            except httpx2.TransportError as error:
                return _lost(error)


def _broken_stream(error: httpx2.TransportError, *, begun: bool) -> Unavailable:
    reason = _lost(error).reason
    return Unavailable(f"The download was interrupted: {reason}" if begun else f"The service is unreachable: {reason}")


def _as_file(call: Call[Page[T]], format: str) -> Call[bytes]:
    return Call(method="GET", path=call.path, answer=bytes, query={**call.query, "format": format})


def _options(url: str, token: str) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {token}", "User-Agent": f"rolecall-client/{__version__}"}
    # Loading the system's certificates takes 0.1 s, so skip it if TLS is not used.
    secure = not url.startswith("http://")
    try:
        return {"base_url": httpx2.URL(url), "headers": headers, "timeout": _TIMEOUT, "verify": secure}
    except httpx2.InvalidURL as error:
        raise Failed(f"{url} is not a URL: {error}") from None


def _parts(step: Request, stack: ExitStack, progress: Progress | None) -> dict[str, Any]:
    """Return the arguments of an HTTP request; files are streamed, and opened again for each attempt."""
    parts: dict[str, Any] = {
        "method": step.method,
        "url": step.path,
        "params": dict(step.query),
        "headers": dict(step.headers),
    }
    if not step.files:
        return {**parts, "content": step.content}
    total, sent = sum(path.stat().st_size for _, path in step.files), _Count()
    files = [
        (field, (path.name, _Watched(stack.enter_context(path.open("rb")), sent, total, progress)))
        for field, path in step.files
    ]
    return {**parts, "files": files, "data": dict(step.form)}


class _Count:
    bytes = 0


class _Watched:
    """A file that reports each read to `progress`, with the bytes read from all files so far."""

    def __init__(self, file: BinaryIO, sent: _Count, total: int, progress: Progress | None) -> None:
        self._file, self._sent, self._total, self._progress = file, sent, total, progress

    def read(self, size: int = -1) -> bytes:
        chunk = self._file.read(size)
        self._sent.bytes += len(chunk)
        if self._progress:
            self._progress(self._sent.bytes, self._total)
        return chunk

    # httpx finds the size of the file through its descriptor, so that the request has a Content-Length.
    def fileno(self) -> int:
        return self._file.fileno()


def _reply(response: httpx2.Response) -> Reply:
    return Reply(
        response.status_code,
        response.content,
        response.headers.get("x-correlation-id", ""),
        response.headers.get("retry-after", ""),
    )


def _lost(error: httpx2.TransportError) -> Lost:
    # Do not retry: a URL without `http://` or `https://` stays invalid.
    if isinstance(error, httpx2.UnsupportedProtocol):
        raise Failed(str(error)) from error
    return Lost(str(error) or type(error).__name__)
