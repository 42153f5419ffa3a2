"""Run webhook receivers of the sample company on loopback while the company is created.

The address check blocks later deliveries to the receivers, because loopback is not in `ROLECALL_WEBHOOK_ALLOW`.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_network
from uuid import UUID

import msgspec
from aiohttp import web

from rolecall.core import clock
from rolecall.core.authors import AuthorKind
from rolecall.core.caller import NOBODY, Caller
from rolecall.core.checking import Facts
from rolecall.core.config import Config
from rolecall.core.db import Pool
from rolecall.demo.signing import signed
from rolecall.demo.story import HOOKS, Hook
from rolecall.webhooks import actions, queries
from rolecall.webhooks.model import DeliveryStatus
from rolecall.webhooks.sender import Sender


class Hooks:
    def __init__(self, config: Config, pool: Pool, url: str, sender: Sender) -> None:
        self.config, self.pool, self.url, self.sender = config, pool, url, sender
        self.ids: dict[Hook, UUID] = {}

    async def create(self, clerk: Caller) -> None:
        for hook in HOOKS:
            raw = {"name": hook.name, "url": f"{self.url}/{hook.path}", "events": list(hook.events)}
            async with signed(self.pool, clerk, "create_webhook", AuthorKind.TOKEN) as db:
                self.ids[hook], _ = await actions.create_hook(db, raw, self._facts(), self.config)

    async def deliver(self) -> None:
        await self.sender.turn(self.pool, self.config, clock.now())
        while not self.sender.is_idle:
            await self.sender.rest()
            await self.sender.turn(self.pool, self.config, clock.now())

    async def finish(self, clerk: Caller) -> None:
        """Send test deliveries, post the receivers' callbacks, and disable the webhooks that are marked as paused."""
        for id in self.ids.values():
            async with signed(self.pool, clerk, "test_webhook", AuthorKind.TOKEN) as db:
                await actions.test_hook(db, id, self._facts(), self.config)
        await self.deliver()
        for hook, id in self.ids.items():
            async with signed(self.pool, NOBODY, "accept_callback") as db:
                page = await queries.newest_first(db, 1, webhook_id=id, status=DeliveryStatus.DELIVERED)
                # Skip test deliveries: they belong to no request, so no activity could show their callbacks.
                arrived = [item for item in page.items if item.access_request_id]
                for item, content in zip(arrived, hook.callbacks, strict=False):
                    await actions.accept_callback(db, str(item.id), content, clock.now())
            if hook.paused:
                async with signed(self.pool, clerk, "change_webhook", AuthorKind.TOKEN) as db:
                    await actions.change_hook(db, id, {"enabled": False}, self._facts(), self.config)

    def _facts(self) -> Facts:
        return Facts(now=clock.now(), zone=self.config.timezone)


async def _answer(request: web.Request) -> web.Response:
    hook = next(hook for hook in HOOKS if hook.path == request.match_info["path"])
    return web.Response(status=hook.status, text=hook.answer)


@asynccontextmanager
async def receiving(config: Config, pool: Pool) -> AsyncIterator[Hooks]:
    app = web.Application()
    app.router.add_post("/{path}", _answer)
    # By default, the server would wait up to a minute for open connections.
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port = runner.addresses[0][1]
        reaching = msgspec.structs.replace(config, webhook_allow=(ip_network("127.0.0.1/32"),))
        async with Sender(pool, reaching, wake=lambda: None) as sender:
            yield Hooks(reaching, pool, f"http://127.0.0.1:{port}", sender)
    finally:
        await runner.cleanup()
