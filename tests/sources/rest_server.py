"""Run a JSON API on loopback with every paging style and every kind of failure."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from aiohttp import web

Person = dict[str, Any]


def people(count: int) -> list[Person]:
    return [
        {
            "id": f"u{n:06d}",
            "Username": f"user{n}",
            "Name": f"User {n}",
            "Active": n % 2 == 0,
            "contact": {"mail": f"user{n}@example.com"},
        }
        for n in range(count)
    ]


class RestServer(msgspec.Struct):
    """Serve `records`. `before` is called first, and may replace the response or change the records."""

    records: list[Person]
    page_size: int = 10
    url: str = ""
    asked: list[str] = []
    headers: list[dict[str, str]] = []
    before: Callable[["RestServer", web.Request], web.StreamResponse | None] | None = None

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.raw_path)
        self.headers.append(dict(request.headers))
        if self.before and (instead := self.before(self, request)):
            return instead
        return _STYLES[request.path](self, request)

    def part(self, first: int) -> list[Person]:
        return self.records[first : first + self.page_size]


def _all(server: RestServer, _: web.Request) -> web.Response:
    return web.json_response(server.records)


def _page(server: RestServer, request: web.Request) -> web.Response:
    number = int(request.query["page"])
    found = server.part((number - 1) * server.page_size)
    return web.json_response({"data": {"users": found}, "meta": {"total": len(server.records)}})


def _offset(server: RestServer, request: web.Request) -> web.Response:
    return web.json_response({"items": server.part(int(request.query["offset"]))})


def _cursor(server: RestServer, request: web.Request) -> web.Response:
    first = int(request.query.get("cursor", "c0")[1:])
    last = first + server.page_size
    following = f"c{last}" if last < len(server.records) else ""
    return web.json_response({"items": server.part(first), "meta": {"next": following}})


def _next(server: RestServer, request: web.Request) -> web.Response:
    first = int(request.query.get("from", "0"))
    last = first + server.page_size
    following = {"@odata.nextLink": f"{server.url}/next?from={last}"} if last < len(server.records) else {}
    return web.json_response({"value": server.part(first), **following})


def _link(server: RestServer, request: web.Request) -> web.Response:
    first = int(request.query.get("from", "0"))
    last = first + server.page_size
    links = [f'<{server.url}/link?from=0>; rel="first"']
    links += [f'<{server.url}/link?from={last}>; rel="next"'] if last < len(server.records) else []
    return web.json_response(server.part(first), headers={"Link": ", ".join(links)})


_STYLES: dict[str, Callable[[RestServer, web.Request], web.Response]] = {
    "/all": _all,
    "/page": _page,
    "/offset": _offset,
    "/cursor": _cursor,
    "/next": _next,
    "/link": _link,
}
# The content of a source for each paging style.
CONTENTS: dict[str, dict[str, Any]] = {
    "None": {"path": "all"},
    "Page": {"path": "page", "paging": "Page", "records": "data.users", "total": "meta.total"},
    "Offset": {"path": "offset", "paging": "Offset", "records": "items"},
    "Cursor": {"path": "cursor", "paging": "Cursor", "records": "items", "next": "meta.next"},
    "Next": {"path": "next", "paging": "Next", "records": "value", "next": "@odata.nextLink"},
    "Link": {"path": "link", "paging": "Link"},
}


@asynccontextmanager
async def serving(count: int, tls: ssl.SSLContext | None = None) -> AsyncIterator[RestServer]:
    server = RestServer(people(count), asked=[], headers=[])
    app = web.Application()
    app.router.add_get("/{path:.*}", server.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    server.url = f"http{'s' if tls else ''}://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()


class HangUp(web.StreamResponse):
    """A response that announces a page and closes the connection in the middle of it."""

    async def prepare(self, request: web.BaseRequest) -> None:
        assert request.transport
        request.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n[{")
        await asyncio.sleep(0)
        request.transport.close()
        raise ConnectionResetError
