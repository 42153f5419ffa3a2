"""Live sources: the rate of a fetch beside what the library or the server can give alone, and memory.

LDAP: users and groups of a slapd on loopback, by bonsai alone and as a fetch that writes JSON lines. SCIM: the pages of
a server on loopback that has its answers ready, read with decoding only and as a fetch. `make bench-sources`.
"""

import asyncio
import importlib
import resource
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
from aiohttp import web

from rolecall.core.config import AllowedHosts, Config
from rolecall.sources.fetching import fetch_file
from rolecall.sources.kinds import connect
from rolecall.sources.model import Source, SourceAccess, SourceContent, SourceKind
from tests.sources.peers import ADMIN, PASSWORD, SUFFIX, a_directory, needs_ldap

USERS = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
_PAGE = 200
PEOPLE = f"ou=people,{SUFFIX}"


def entries() -> str:
    people = (
        f"dn: uid=user{n},{PEOPLE}\nobjectClass: inetOrgPerson\ncn: User {n}\nsn: {n}\nmail: user{n}@example.com\n"
        f"employeeNumber: {n}\ndepartmentNumber: {n % 40}\ntitle: Clerk\n"
        for n in range(USERS)
    )
    groups = (
        f"dn: cn=Group {n},{SUFFIX}\nobjectClass: groupOfNames\nmember: uid=user{n},{PEOPLE}\n"
        for n in range(USERS // 10)
    )
    return "\n".join([f"dn: {PEOPLE}\nobjectClass: organizationalUnit\n", *people, *groups])


def a_config(folder: Path) -> Config:
    hosts = AllowedHosts(networks=(ip_network("127.0.0.0/8"),))
    return Config(data_dir=folder / "store", source_hosts=hosts)


async def fetched(config: Config, source: Source, content: SourceContent) -> int:
    async with connect(SourceAccess(source, PASSWORD, config, 60)) as connection:
        found = await fetch_file(connection, content, "x", "Users", config)
    found.file.discard()
    return found.records


async def timed(work: Callable[[], Awaitable[int]]) -> tuple[float, int]:
    """Return the best of two runs, in seconds, and the records."""
    best, count = float("inf"), 0
    for _ in range(2):
        started = time.perf_counter()
        count = await work()
        best = min(best, time.perf_counter() - started)
    return best, count


def by_bonsai(url: str) -> int:
    bonsai = importlib.import_module("bonsai")

    client = bonsai.LDAPClient(url)
    client.set_credentials("SIMPLE", user=ADMIN, password=PASSWORD)
    with client.connect() as connection:
        scope = bonsai.LDAPSearchScope.SUBTREE
        found = connection.paged_search(SUFFIX, scope, "(objectClass=*)", ["*", "memberOf"], page_size=500)
        return sum(1 for _ in found)


async def ldap(folder: Path) -> None:
    needs_ldap()
    config = a_config(folder)
    with a_directory(folder, entries(), member_of=False) as directory:
        source = Source(SourceKind.LDAP, directory.url, {}, username=ADMIN)
        alone, count = await timed(lambda: asyncio.to_thread(by_bonsai, directory.url))
        ours, same = await timed(lambda: fetched(config, source, SourceContent(path=SUFFIX)))
    assert count == same
    print(f"LDAP: {count:,} entries, bonsai alone {alone:.2f} s, fetch {ours:.2f} s = {ours / alone:.2f} ×")


def a_user(n: int) -> dict[str, Any]:
    return {
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"],
        "id": f"u{n:08d}",
        "userName": f"user{n}",
        "name": {"givenName": "User", "familyName": str(n)},
        "emails": [{"type": "work", "value": f"user{n}@example.com"}],
        "active": True,
    }


def scim_app() -> web.Application:
    """Serve pages that are encoded already, so that the server is as fast as it can be."""
    pages = {
        first: msgspec.json.encode(
            {"totalResults": USERS, "Resources": [a_user(n) for n in range(first - 1, min(first - 1 + _PAGE, USERS))]}
        )
        for first in range(1, USERS + 1, _PAGE)
    }

    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=pages[int(request.query["startIndex"])], content_type="application/scim+json")

    app = web.Application()
    app.router.add_get("/Users", answer)
    return app


async def read_only(url: str) -> int:
    """Read all pages and decode them, without any check or file."""
    count = 0
    async with aiohttp.ClientSession() as session:
        while count < USERS:
            async with session.get(f"{url}/Users?startIndex={count + 1}&count={_PAGE}") as answer:
                count += len(msgspec.json.decode(await answer.read())["Resources"])
    return count


async def scim(folder: Path) -> None:
    runner = web.AppRunner(scim_app())
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    source = Source(SourceKind.SCIM, url, {})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    alone, count = await timed(lambda: read_only(url))
    ours, _ = await timed(lambda: fetched(a_config(folder), source, SourceContent(path="Users")))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    await runner.cleanup()
    rate = alone / ours
    print(f"SCIM: {count:,} users, server {count / alone:,.0f}/s, fetch {count / ours:,.0f}/s = {rate:.2f} of it")
    print(f"      memory grew by {grown:.0f} MiB")


async def main() -> None:
    with tempfile.TemporaryDirectory(prefix="rolecall-bench-") as folder:
        await scim(Path(folder))
        await ldap(Path(folder))


if __name__ == "__main__":
    asyncio.run(main())
