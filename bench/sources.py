"""Compare a fetch from a live source with a bare client, and the import of a snapshot with a raw COPY.

LDAP: a fetch from a slapd on loopback, which writes users and groups as JSON lines, and the same search with the
library bonsai alone. SCIM: a fetch from a server on loopback with prepared pages, and a client that only reads and
decodes them. Import: a snapshot with 1 % changes, and a raw COPY of the same bytes. `make bench-sources ARGS=20000`
uses fewer users.
"""

import asyncio
import importlib
import multiprocessing
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager
from ipaddress import ip_network
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
from aiohttp import web

from bench.figures import MISSED, Found, tell
from bench.import_service import make_application, run_import, service
from bench.other_imports import raw_copy
from rolecall.console.live_systems import SCIM_USERS
from rolecall.core.config import AllowedHosts, Config
from rolecall.core.postgres import embedded
from rolecall.sources.fetching import fetch_file
from rolecall.sources.kinds import connect
from rolecall.sources.model import Source, SourceAccess, SourceContent, SourceKind
from tests.sources.peers import ADMIN, PASSWORD, SUFFIX, a_directory, needs_ldap

USERS = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
_PAGE = 200
# The minimum rate of a SCIM fetch, relative to the baseline.
SCIM_BAR = 0.8
# The maximum times of an LDAP fetch and of an import, relative to the baselines.
LDAP_BAR, COPY_BAR = 1.5, 1.2
# The maximum memory in MiB that a fetch may add, for any number of records.
MEMORY_BAR = 64
ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
SNAPSHOT_FILE = {
    "name": "Users",
    "content": "users",
    "columns": SCIM_USERS["columns"],
    "shape": {"ignore": ["schemas", "emails", "phoneNumbers"]},
}
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
        return (await fetch_file(connection, content, "x", "Users", config)).records


async def timed(work: Callable[[], Awaitable[int]]) -> tuple[float, int]:
    """Return the seconds of the faster of two runs, and the number of records."""
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


async def ldap(folder: Path) -> bool:
    needs_ldap()
    config = a_config(folder)
    with a_directory(folder, entries(), member_of=False) as directory:
        source = Source(SourceKind.LDAP, directory.url, {}, username=ADMIN)
        alone, count = await timed(lambda: asyncio.to_thread(by_bonsai, directory.url))
        ours, same = await timed(lambda: fetched(config, source, SourceContent(path=SUFFIX)))
    assert count == same
    print(f"LDAP: {count:,} entries, bonsai alone {alone:.2f} s, fetch {ours:.2f} s")
    return tell(Found("sources", "LDAP, relative to bonsai alone", ours / alone, "×", LDAP_BAR, at_most=True))


def a_user(n: int) -> dict[str, Any]:
    """Return a user with the attributes that identity providers send."""
    first, last = f"First{n % 5000}", f"Last{n}"
    id = f"{n:08d}-1e34-4c1d-9fd6-b5d1b0b7c0aa"
    return {
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User", ENTERPRISE],
        "id": id,
        "externalId": f"00u{n:017d}",
        "meta": {
            "resourceType": "User",
            "created": "2024-03-01T08:00:00Z",
            "lastModified": f"2026-{n % 12 + 1:02d}-{n % 28 + 1:02d}T08:00:00Z",
            "location": f"https://identity.example.com/scim/v2/Users/{id}",
            "version": f'W/"{n}"',
        },
        "userName": f"user{n}@corp.example.com",
        "name": {"givenName": first, "familyName": last, "formatted": f"{first} {last}"},
        "displayName": f"{first} {last}",
        "title": "Clerk",
        "locale": "en-GB",
        "timezone": "Europe/London",
        "emails": [{"type": "work", "value": f"user{n}@corp.example.com", "primary": True}],
        "phoneNumbers": [{"type": "work", "value": f"+44 20 7946 {n % 10000:04d}"}],
        "active": True,
        ENTERPRISE: {
            "employeeNumber": f"E{n:07d}",
            "costCenter": f"CC-{n % 300}",
            "department": f"Department {n % 40}",
            "manager": {"value": f"{n // 10:08d}-1e34-4c1d-9fd6-b5d1b0b7c0aa"},
        },
    }


def scim_app() -> web.Application:
    """Return an application that serves pages encoded in advance, so that the server is as fast as possible."""
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
    """Read and decode all pages, without checks and without writing a file; return the number of records."""
    count = 0
    async with aiohttp.ClientSession() as session:
        while count < USERS:
            async with session.get(f"{url}/Users?startIndex={count + 1}&count={_PAGE}") as answer:
                count += len(msgspec.json.decode(await answer.read())["Resources"])
    return count


@contextmanager
def a_scim_server() -> Iterator[str]:
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    server = context.Process(target=serve_scim, args=(sender,), daemon=True)
    server.start()
    try:
        yield receiver.recv()
    finally:
        server.terminate()
        server.join()


def serve_scim(ready: Connection) -> None:
    async def serve() -> None:
        runner = web.AppRunner(scim_app())
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        ready.send(f"http://127.0.0.1:{runner.addresses[0][1]}")
        await asyncio.Event().wait()

    asyncio.run(serve())


async def scim(folder: Path) -> bool:
    with a_scim_server() as url:
        source = Source(SourceKind.SCIM, url, {})
        alone, count = await timed(lambda: read_only(url))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        ours, _ = await timed(lambda: fetched(a_config(folder), source, SourceContent(path="Users")))
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"SCIM: {count:,} users, server {count / alone:,.0f}/s, fetch {count / ours:,.0f}/s; {grown:.0f} MiB more")
    is_flat = tell(Found("sources", "memory that a SCIM fetch adds", grown, "MiB", MEMORY_BAR, at_most=True))
    return tell(Found("sources", "SCIM, relative to the rate of the server", alone / ours, "×", SCIM_BAR)) and is_flat


def write_snapshot(path: Path, changed: Collection[int] = ()) -> Path:
    """Write the JSON lines of a fetch; `changed` users have a different title."""
    users = ({**a_user(n), "title": "Lead" if n in changed else "Clerk"} for n in range(USERS))
    path.write_bytes(b"".join(msgspec.json.encode(user) + b"\n" for user in users))
    return path


async def import_snapshots(url: str, token: str, first: Path, changed: Path) -> float:
    """Import a first snapshot and a changed one; return how many seconds the changed one takes."""
    async with aiohttp.ClientSession(url, headers={"Authorization": f"Bearer {token}"}) as session:
        application = await make_application(session, connector={"name": "SCIM", "files": [SNAPSHOT_FILE]})
        await run_import(session, application, {"Users": first})
        return float((await run_import(session, application, {"Users": changed}))["import"])


def imports(folder: Path) -> bool:
    """Time the import of a snapshot with 1 % changes, and a raw COPY of it; return whether the bar is met."""
    first = write_snapshot(folder / "first.jsonl")
    changed = write_snapshot(folder / "changed.jsonl", set(random.Random(7).sample(range(USERS), USERS // 100)))
    data_dir = folder / "rolecall"
    with service(data_dir) as (url, token, _), embedded(data_dir) as database:
        copies = [raw_copy(database, {"Users": changed}) for _ in range(2)]
        took = asyncio.run(import_snapshots(url, token, first, changed))
        copies.append(raw_copy(database, {"Users": changed}))
    raw = statistics.median(copies)
    print(f"import of {USERS:,} users with 1 % changed {took:.2f} s, raw COPY {raw:.2f} s")
    return tell(
        Found("sources", "import of 1 % changed, relative to a raw COPY", took / raw, "×", COPY_BAR, at_most=True)
    )


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="rolecall-bench-") as name:
        folder = Path(name)
        held = [asyncio.run(scim(folder)), asyncio.run(ldap(folder)), imports(folder)]
    sys.exit(0 if all(held) else MISSED)


if __name__ == "__main__":
    main()
