"""Compare the CPU time of the request list for people without a role and for an administrator.

    [ROLECALL_BENCH_ROWS=1000000] python -m bench.scoped

There are a million requests by default. The pages of the console are rendered in this process; the cost is the CPU time
of this process and of the single PostgreSQL backend that serves it.
"""

import statistics
import sys
from uuid import UUID

import psycopg
import structlog
import uvloop

from bench.figures import MISSED, Found, tell
from bench.lists import Api, Reader, reading
from bench.seeding import ROWS, company, id_of
from rolecall.console import actions
from rolecall.core import clock
from rolecall.core.checking import Facts
from rolecall.core.config import Config
from rolecall.core.db import session_options

BAR = 1.5
ROUNDS = 30
WARM = 5
# Identity n supervises the identities n*100 to n*100+99.
PEOPLE = {"supervisor of 100": ROWS // 200, "head of many": 50, "employee": ROWS // 2}
OWNER = 7000


async def session_of(db: psycopg.AsyncConnection, person: UUID) -> str:
    link = await actions.create_link(db, person, clock.now())
    secret = await actions.sign_in_by_link(db, link, clock.now())
    assert secret
    return secret


async def sessions(url: str) -> dict[str, str]:
    """Return sessions of an administrator, people of several kinds, and the owner of the largest application."""
    options = session_options(Config().base_url)
    async with await psycopg.AsyncConnection.connect(url, autocommit=True, options=options) as db:
        facts = Facts(now=clock.now(), zone=Config().timezone)
        link = await actions.create_administrator(db, "bench.scoped@example.com", facts)
        unscoped = await actions.sign_in_by_link(db, link, clock.now())
        assert unscoped
        owner = id_of("identity", OWNER)
        await db.execute("UPDATE applications SET owner_id = %s WHERE id = %s", (owner, id_of("application", 1)))
        found = {name: await session_of(db, id_of("identity", n)) for name, n in PEOPLE.items()}
        return {"administrator": unscoped, **found, "owner of the largest application": await session_of(db, owner)}


async def costs_of(reader: Reader, people: dict[str, str]) -> dict[str, float]:
    """Return the median cost of a page for each person. Measure in turns, so that other load affects all equally."""
    took: dict[str, list[float]] = {name: [] for name in people}
    for _ in range(ROUNDS + WARM):
        for name, cookie in people.items():
            reader.api.headers = [(b"cookie", f"rolecall={cookie}".encode())]
            started = reader.cost()
            await reader.api.ask("GET", "/requests")
            took[name].append(reader.cost() - started)
    return {name: statistics.median(each[WARM:]) for name, each in took.items()}


async def run(url: str) -> bool:
    people = await sessions(url)
    async with reading(url) as reader:
        assert isinstance(reader.api, Api)
        costs = await costs_of(reader, people)
    unscoped = costs.pop("administrator")
    print(f"administrator: {unscoped:.1f} ms a page")
    held = True
    for name, cost in costs.items():
        print(f"{name}: {cost:.1f} ms a page")
        figure = f"page of requests of a person without a role ({name}), relative to an administrator"
        held &= tell(Found("scoped", figure, cost / unscoped, "×", BAR, at_most=True))
    return held


def main() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    with company() as urls:
        held = uvloop.run(run(urls["big"]))
    sys.exit(0 if held else MISSED)


if __name__ == "__main__":
    main()
