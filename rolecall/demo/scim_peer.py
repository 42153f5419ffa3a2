"""Run a small SCIM server on loopback: imports fetch accounts from it, and a carrier changes them.

Its resources are stored in a file, so that the demo can be stopped and started again.
"""

import asyncio
import re
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler

from rolecall.core.ids import new_id

Record = dict[str, Any]
_KINDS = ("Users", "Groups")
_FILTER = re.compile(r'(\w+) eq "((?:[^"\\]|\\.)*)"')
_MEMBER = re.compile(r'members\[value eq "([^"]+)"\]')
_LIST = "urn:ietf:params:scim:api:messages:2.0:ListResponse"
_ERROR = "urn:ietf:params:scim:api:messages:2.0:Error"
_TYPE = "application/scim+json"
_MOST = 200


class PeerState(msgspec.Struct):
    """What the peer stores in its file: the bearer token, and the resources of each kind by id."""

    token: str
    resources: dict[str, dict[str, Record]]


class ScimPeer:
    def __init__(self, file: Path) -> None:
        self._file = file
        if file.exists():
            self.state = msgspec.json.decode(file.read_bytes(), type=PeerState)
        else:
            self.state = PeerState(secrets.token_urlsafe(24), {kind: {} for kind in _KINDS})
        self.url = ""

    def clear(self) -> None:
        """Delete all resources, because an unfinished set-up may have left some."""
        self.state.resources = {kind: {} for kind in _KINDS}

    def fill(self, users: list[Record], groups: dict[str, list[str]]) -> None:
        """Create these users and groups; `groups` maps the name of each group to the usernames of its members."""
        ids = {user["userName"]: self.add("Users", user) for user in users}
        for name, members in groups.items():
            listed = [{"value": ids[member], "display": member} for member in members]
            self.add("Groups", {"displayName": name, "members": listed})
        self.save()

    def add(self, kind: str, record: Record) -> str:
        id = str(new_id())
        self.state.resources[kind][id] = {**record, "id": id}
        return id

    def save(self) -> None:
        # Set the mode before writing, so that other users can never read the token.
        self._file.touch(mode=0o600)
        self._file.write_bytes(msgspec.json.encode(self.state))

    def app(self) -> web.Application:
        app = web.Application(middlewares=[self._authenticated])
        app.router.add_get("/{kind:Users|Groups}", self.search)
        app.router.add_post("/{kind:Users|Groups}", self.create)
        for method, answer in (("GET", self.show), ("PATCH", self.change), ("DELETE", self.remove)):
            app.router.add_route(method, "/{kind:Users|Groups}/{id}", answer)
        return app

    @web.middleware
    async def _authenticated(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        given = request.headers.get("Authorization", "")
        if not secrets.compare_digest(given.encode(), f"Bearer {self.state.token}".encode()):
            return _fault(401, "a bearer token is required")
        return await handler(request)

    async def search(self, request: web.Request) -> web.Response:
        found = list(self._of(request).values())
        if asked := _FILTER.fullmatch(request.query.get("filter", "")):
            found = [each for each in found if str(each.get(asked[1])).casefold() == _unquoted(asked[2]).casefold()]
        start, count = int(request.query.get("startIndex", "1")), int(request.query.get("count", str(_MOST)))
        page = found[start - 1 : start - 1 + min(count, _MOST)]
        return _answer({"schemas": [_LIST], "totalResults": len(found), "startIndex": start, "Resources": page})

    async def create(self, request: web.Request) -> web.Response:
        record = await request.json()
        name = record.get("userName", record.get("displayName"))
        if any(name in (each.get("userName"), each.get("displayName")) for each in self._of(request).values()):
            return _fault(409, f"{name} exists")
        id = self.add(request.match_info["kind"], record)
        self.save()
        return _answer(self._of(request)[id], 201)

    async def show(self, request: web.Request) -> web.Response:
        record = self._of(request).get(request.match_info["id"])
        return _answer(record) if record else _fault(404, "there is no such resource")

    async def change(self, request: web.Request) -> web.Response:
        record = self._of(request).get(request.match_info["id"])
        if record is None:
            return _fault(404, "there is no such resource")
        for operation in (await request.json())["Operations"]:
            _apply(record, operation)
        self.save()
        return _answer(record)

    async def remove(self, request: web.Request) -> web.Response:
        id = request.match_info["id"]
        if self._of(request).pop(id, None) is None:
            return _fault(404, "there is no such resource")
        for group in self.state.resources["Groups"].values():
            group["members"] = [each for each in group.get("members", []) if each["value"] != id]
        self.save()
        return web.Response(status=204)

    def _of(self, request: web.Request) -> dict[str, Record]:
        return self.state.resources[request.match_info["kind"]]


def _apply(record: Record, operation: Record) -> None:
    """Apply a PATCH operation that a carrier sends: replace a value, add members, or remove one member."""
    path, value = operation["path"], operation.get("value")
    if operation["op"] == "replace":
        record[path] = value
        return
    members = record.setdefault("members", [])
    if operation["op"] == "add":
        known = {each["value"] for each in members}
        members += [each for each in value or () if each["value"] not in known]
    elif member := _MEMBER.fullmatch(path):
        record["members"] = [each for each in members if each["value"] != member[1]]


def _unquoted(text: str) -> str:
    return str(msgspec.json.decode(f'"{text}"'))


def _answer(value: Record, status: int = 200) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), status=status, content_type=_TYPE)


def _fault(status: int, detail: str) -> web.Response:
    return _answer({"schemas": [_ERROR], "status": str(status), "detail": detail}, status)


@contextmanager
def serving(peer: ScimPeer) -> Iterator[ScimPeer]:
    """Run the server on loopback in its own thread; `peer.url` is its address."""
    loop, ready = asyncio.new_event_loop(), threading.Event()
    runner = web.AppRunner(peer.app(), access_log=None)

    async def start() -> None:
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        peer.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        ready.set()

    def run() -> None:
        asyncio.set_event_loop(loop)
        loop.run_until_complete(start())
        loop.run_forever()

    # Run the server in a thread, because the main thread supervises the processes of the service.
    thread = threading.Thread(target=run, name="scim-peer", daemon=True)
    thread.start()
    ready.wait()
    try:
        yield peer
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
