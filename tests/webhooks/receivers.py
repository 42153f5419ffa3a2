"""Run webhook receivers: real servers on 127.0.0.1 that record requests and respond as configured."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import msgspec
from aiohttp import web

from tests.local_server import local_server

Answering = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Received(msgspec.Struct, frozen=True):
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def event(self) -> str:
        name: str = msgspec.json.decode(self.body)["event"]["name"]
        return name


async def accept(_: web.Request) -> web.StreamResponse:
    return web.Response(status=204)


def answering(status: int, text: str = "", **headers: str) -> Answering:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(status=status, text=text, headers=headers)

    return answer


async def hang(_: web.Request) -> web.StreamResponse:
    await asyncio.sleep(3600)
    return web.Response()


async def hang_up(request: web.Request) -> web.StreamResponse:
    assert request.transport
    request.transport.abort()
    return web.Response()


class Receiver:
    def __init__(self) -> None:
        self.received: list[Received] = []
        self.answer: Answering = accept
        self.url = ""

    @property
    def events(self) -> list[str]:
        return [each.event for each in self.received]

    async def receive(self, request: web.Request) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.received.append(Received(headers, await request.read()))
        return await self.answer(request)


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    app = web.Application()
    app.router.add_post("/hook", receiver.receive)
    async with local_server(app, "0.0.0.0", handler_cancellation=True, shutdown_timeout=0.01) as port:
        receiver.url = f"http://127.0.0.1:{port}/hook"
        yield receiver
