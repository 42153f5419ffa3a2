"""Compare the cost of later pages, with every filter, to the cost of page 1; measure how much lists slow down writes.

    [ROLECALL_BENCH_ROWS=1000000] python -m bench.lists

Requests go to the ASGI application in this process, including the token check; the database is embedded, with fsync on.
A transaction commits before each request, so that no page can come from a cache.
"""

import asyncio
import statistics
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import msgspec
import psycopg
import structlog
import uvloop

from bench.figures import MISSED, Found, tell
from bench.seeding import LISTINGS, company, id_of
from rolecall.app import create_app
from rolecall.core.caller import Scope
from rolecall.core.checking import Facts
from rolecall.core.config import Config
from rolecall.core.db import fetch_rows
from rolecall.core.paging import PAGE_SIZE
from rolecall.tokens import actions as tokens

BAR_DEPTH, BAR_SIZE, BAR_UPKEEP, BAR_WRITES = 1.5, 1.3, 0.25, 300
ROUNDS = 30
WRITERS = 16
PAGES = ("first", "middle", "3/4", "last", "beyond")

# The filters of each list: column and query parameter. The benchmark measures the most and the least frequent value of
# each, and a combination of the most frequent values. Of `identity_id` it measures only the most frequent value, and
# not in the combination.
FILTERS: dict[str, dict[str, str]] = {
    "identities": {},
    "access_requests": {
        "status": "status",
        "action": "type",
        "application_id": "applicationId",
        "identity_id": "identityId",
    },
    "personnel_events": {"type": "type", "status": "status", "identity_id": "identityId"},
    "application_imports": {"application_id": "applicationId"},
    "waiting_requests": {},
    "access_model_members": {},
    "accounts": {"match": "match"},
}
# Lists whose path is not derived from the name of their table.
PATHS = {
    "waiting_requests": "/api/access-requests/stalled",
    "access_model_members": f"/api/access-models/{id_of('model', 1)}/members",
    "accounts": f"/api/applications/{id_of('application', 1)}/accounts",
}


class Api:
    """Call the ASGI application directly, to leave out the cost of an HTTP client."""

    def __init__(self, app: Any, token: str) -> None:
        self.app = app
        self.headers = [(b"authorization", f"Bearer {token}".encode()), (b"content-type", b"application/json")]

    async def ask(self, method: str, path: str, query: dict[str, Any] | None = None, body: bytes = b"") -> Any:
        status, chunks = 0, []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            nonlocal status
            status = message.get("status", status)
            chunks.append(message.get("body", b""))

        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": path, "raw_path": path.encode(), "root_path": "", "query_string": urlencode(query or {}).encode(),
            "headers": self.headers, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80), "state": {},
        }  # fmt: skip
        await self.app(scope, receive, send)
        assert status < 300, (status, chunks)
        return b"".join(chunks)


@asynccontextmanager
async def api(url: str, connections: int) -> AsyncIterator[Api]:
    config = Config(database_url=url, pool_size=connections)
    app: Any = create_app(config)
    to_app: asyncio.Queue[Any] = asyncio.Queue()
    from_app: asyncio.Queue[Any] = asyncio.Queue()
    life = asyncio.create_task(app({"type": "lifespan", "asgi": {"version": "3.0"}}, to_app.get, from_app.put))
    await to_app.put({"type": "lifespan.startup"})
    await from_app.get()
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as db:
        facts = Facts(now=datetime.now(UTC), zone=ZoneInfo("UTC"))
        made = await tokens.create_token(db, None, {"name": f"bench {uuid4()}", "scopes": list(Scope)}, facts)
    yield Api(app, made.secret)
    await to_app.put({"type": "lifespan.shutdown"})
    await life


class Case(msgspec.Struct):
    """A list, perhaps with filters; `took` has the milliseconds of CPU time for each measured page."""

    table: str
    filter: str
    query: dict[str, Any]
    total: int = 0
    pages: dict[str, int] = {}
    took: dict[str, list[float]] = {}

    @property
    def path(self) -> str:
        return PATHS.get(self.table, f"/api/{self.table.replace('_', '-')}")

    def median(self, page: str) -> float:
        return statistics.median(self.took[page])


async def cases(url: str) -> list[Case]:
    found = []
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as db:
        for table, filters in FILTERS.items():
            found.append(Case(table, "", {}))
            combined: dict[str, Any] = {}
            for column, parameter in filters.items():
                rows = await fetch_rows(
                    db,
                    f"SELECT {column}, count(*) FROM {table} WHERE {column} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1",
                )
                ends = [rows[0][0]] if column == "identity_id" else [rows[0][0], rows[-1][0]]
                found += [Case(table, f"{parameter}={_short(value)}", {parameter: str(value)}) for value in ends]
                if column != "identity_id":
                    combined[parameter] = str(rows[0][0])
            if len(combined) > 1:
                found.append(Case(table, "&".join(combined), combined))
    return found


def _short(value: object) -> str:
    return f"{str(value)[:4]}…" if isinstance(value, UUID) else str(value)


class Reader(msgspec.Struct):
    """Reads lists of the service on one database and measures the cost.

    `server` is the `schedstat` file of the only PostgreSQL backend, which contains its CPU time.
    """

    api: Api
    server: Path

    def cost(self) -> float:
        """Return the CPU time so far in milliseconds, of this process and its PostgreSQL backend."""
        return time.process_time() * 1000 + int(self.server.read_text().split()[0]) / 1e6


@asynccontextmanager
async def reading(url: str) -> AsyncIterator[Reader]:
    async with api(url, 1) as one:
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as db:
            rows = await fetch_rows(
                db,
                "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
                " AND backend_type = 'client backend' AND pid <> pg_backend_pid()",
            )
        assert len(rows) == 1, rows
        yield Reader(one, Path(f"/proc/{rows[0][0]}/schedstat"))


async def time_pages(writer: psycopg.AsyncConnection, big: tuple[Reader, Case], small: tuple[Reader, Case]) -> None:
    """Time the pages of a list in both databases in turn, so that other programs slow down both equally."""
    await look_at(*big)
    await look_at(*small)
    if small[1].total < PAGE_SIZE:
        # The filtered list does not fill a page, which makes it cheaper, so measure the unfiltered list instead.
        small[1].query = {}
        await look_at(*small)
    # Ten rounds warm up the caches and are not counted.
    for n in range(ROUNDS + 10):
        for name in PAGES:
            for reader, case in (big, small):
                await writer.execute("SELECT pg_current_xact_id()")
                started = reader.cost()
                await reader.api.ask("GET", case.path, {**case.query, "page": case.pages[name]})
                if n >= 10:
                    case.took[name].append(reader.cost() - started)


async def look_at(reader: Reader, case: Case) -> None:
    """Read the length of the list, and choose the pages to measure."""
    first = msgspec.json.decode(await reader.api.ask("GET", case.path, case.query))
    case.total, last = first["totalCount"], max(1, first["totalPages"])
    case.pages = dict(zip(PAGES, (1, (last + 1) // 2, max(1, last * 3 // 4), last, last + 10**6), strict=True))
    case.took = {name: [] for name in PAGES}


def report(pairs: Sequence[tuple[Case, Case]]) -> bool:
    print(f"{'list':20} {'filter':28} {'rows':>9}", *(f"{name:>7}" for name in PAGES), " / first  / small")
    whole: dict[str, Case] = {}
    depths: dict[str, float] = {}
    growths: dict[str, float] = {}
    for big, small in pairs:
        unfiltered = whole.setdefault(big.table, big)
        first = (big if big.total >= PAGE_SIZE else unfiltered).median("first")
        slowest = max(big.median(name) for name in PAGES)
        depth, size = slowest / first, slowest / max(small.median(name) for name in PAGES)
        depths[big.table] = max(depth, depths.get(big.table, 0))
        growths[big.table] = max(size, growths.get(big.table, 0))
        verdict = "" if depth <= BAR_DEPTH and size <= BAR_SIZE else "  over the bar"
        figures = " ".join(f"{big.median(name):7.2f}" for name in PAGES)
        print(f"{big.table:20} {big.filter:28} {big.total:9,} {figures} {depth:8.2f} {size:8.2f}{verdict}")
    held = True
    for table in whole:
        slowest_page = f"{table.replace('_', ' ')}, the slowest page under any filter"
        held &= tell(Found("lists", f"{slowest_page}, relative to page 1", depths[table], "×", BAR_DEPTH, at_most=True))
        held &= tell(
            Found("lists", f"{slowest_page}, relative to a small company", growths[table], "×", BAR_SIZE, at_most=True)
        )
    return held


async def time_writes(api: Api, count: int) -> float:
    left = iter(range(count))
    effective = (datetime.now(UTC) + timedelta(days=30)).date().isoformat()

    async def write() -> None:
        for n in left:
            person = {"firstName": f"New {n % 100}", "lastName": f"Person {n}", "email": f"new{n}@example.com"}
            body = msgspec.json.encode({"identity": person, "effectiveDate": effective, "comment": "Welcome"})
            await api.ask("POST", "/api/personnel-events/onboard", body=body)

    started = time.perf_counter()
    await asyncio.gather(*(write() for _ in range(WRITERS)))
    return count / (time.perf_counter() - started)


async def time_upkeep(api: Api, url: str, count: int) -> tuple[float, float]:
    """Write with and without list triggers in turn; return the best rate with triggers, and their overhead."""
    on, off = [], []
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as db:
        await time_writes(api, count // 4)
        for _ in range(3):
            on.append(await time_writes(api, count))
            await _switch(db, "DISABLE")
            off.append(await time_writes(api, count))
            await _switch(db, "ENABLE")
        for table in ("identities", "personnel_events"):
            await db.execute("SELECT recount_list(%s, %s)", (table, list(LISTINGS[table].facets)))
    return max(on), statistics.median(off) / statistics.median(on) - 1


async def _switch(db: psycopg.AsyncConnection, state: str) -> None:
    for table in ("identities", "personnel_events"):
        await db.execute(f"ALTER TABLE {table} {state} TRIGGER keep_list_on_insert")


async def run(urls: dict[str, str]) -> bool:
    pairs = list(zip(await cases(urls["big"]), await cases(urls["small"]), strict=True))
    # `time_pages` commits a transaction before each request, so that no page can come from a cache. The transaction is
    # in another database, because `reading` requires that the application has the only backend of its own. This still
    # invalidates the caches, because all databases of a server share their transaction ids.
    elsewhere = psycopg.conninfo.make_conninfo(urls["big"], dbname="postgres")
    async with (
        await psycopg.AsyncConnection.connect(elsewhere, autocommit=True) as writer,
        reading(urls["big"]) as big,
        reading(urls["small"]) as small,
    ):
        for one, other in pairs:
            await time_pages(writer, (big, one), (small, other))
    held = report(pairs)
    async with api(urls["big"], WRITERS) as busy:
        rate, upkeep = await time_upkeep(busy, urls["big"], 1000)
    written = f"onboardings from {WRITERS} connections"
    return all(
        [
            held,
            tell(Found("lists", written, rate, "/s", BAR_WRITES)),
            tell(Found("lists", f"overhead of list triggers in {written}", upkeep, "", BAR_UPKEEP, at_most=True)),
        ]
    )


def main() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    with company() as urls:
        held = uvloop.run(run(urls))
    sys.exit(0 if held else MISSED)


if __name__ == "__main__":
    main()
