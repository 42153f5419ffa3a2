"""Test that one request, or many at once, cannot occupy a process, its memory or its connections."""

import asyncio
import time

import httpx2
import pytest

from rolecall.core.db import Db, execute, fetch_value
from rolecall.core.errors import RateLimited
from rolecall.scim_server import queries
from rolecall.scim_server.projection import read_projection
from rolecall.scim_server.resources import MOST_NAMES
from rolecall.scim_server.schema import USERS
from rolecall.web.limits import Turns
from tests.scim_server.pushing import Pushing


def _refused(answer: httpx2.Response) -> tuple[int, str]:
    assert answer.json()["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"]
    return answer.status_code, answer.json()["status"]


@pytest.mark.parametrize("value", ["[]", "{}", "0"])
async def test_millions_of_small_values_are_refused_before_they_are_decoded(push: Pushing, value: str) -> None:
    body = f'{{"displayName":"x","x":[{value}{f",{value}" * 2_000_000}]}}'
    headers = {"Authorization": f"Bearer {push.secret}", "Content-Type": "application/json"}

    answers = [await push.api.post(f"/scim/v2/{path}", content=body, headers=headers) for path in ("Groups", ".search")]

    assert [_refused(answer) for answer in answers] == [(413, "413")] * 2
    assert "more than 1,000,000 values" in answers[0].json()["detail"]


async def test_number_of_names_is_limited(push: Pushing) -> None:
    names = {f"x{number}": 1 for number in range(MOST_NAMES + 1)}
    for body in ({"userName": "ada", **names}, {"userName": "ada", "x": names}):
        assert _refused(await push.send("POST", "Users", body)) == (413, "413")


def test_many_names_are_selected_quickly() -> None:
    resource = {"id": "x", "schemas": [], **{f"k{number}": {"a": 1} for number in range(MOST_NAMES)}}
    names = ",".join(f"k{number}.a" for number in range(100))
    start = time.process_time()

    for _ in range(10):
        only = read_projection(names, None, USERS).of(resource)
        without = read_projection(None, names, USERS).of(resource)

    assert time.process_time() - start < 2
    assert len(only) == 102
    assert [without["k99"], without["k100"]] == [{}, {"a": 1}]


async def test_page_of_large_resources_ends_early_and_goes_on(push: Pushing, monkeypatch: pytest.MonkeyPatch) -> None:
    users = [await push.user(f"user{number}", title="x" * 1000) for number in range(5)]
    await push.group("Finance", *users)
    monkeypatch.setattr(queries, "LARGEST_PAGE", 2000)

    first = await push.get("Users?count=4")
    second = await push.get(f"Users?count=4&startIndex={1 + first['itemsPerPage']}")
    found, cursor = list[str](), ""
    for _ in range(3):
        page = await push.get(f"Users?count=3&cursor={cursor}")
        found += [each["userName"] for each in page["Resources"]]
        cursor = page.get("nextCursor", "end")
    both = (await push.send("POST", ".search", {"count": 9})).json()
    rest = (await push.send("POST", ".search", {"count": 9, "startIndex": 5})).json()

    assert [page["totalResults"] for page in (first, second, both, rest)] == [5, 5, 6, 6]
    names = [each["userName"] for page in (first, second) for each in page["Resources"]]
    assert names == [f"user{number}" for number in range(4)]
    assert (found, cursor) == ([f"user{number}" for number in range(5)], "end")
    assert [each.get("userName") for each in both["Resources"]] == ["user0", "user1"]
    assert [each.get("displayName") for each in rest["Resources"]] == ["User4", "Finance"]


async def test_writes_of_one_application_wait_without_connections(push: Pushing, db: Db) -> None:
    users = [f"user{number}" for number in range(40)]
    async with asyncio.TaskGroup() as tasks, db.transaction():
        await execute(db, "SELECT FROM scim_pushes FOR UPDATE")
        writes = [tasks.create_task(push.send("POST", "Users", {"userName": name})) for name in users]
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"
        while not await fetch_value(db, waiting):
            pass
        assert (await push.send("GET", "Users")).status_code == 200
        assert await fetch_value(db, waiting) == 1

    assert {(await each).status_code for each in writes} == {201}


async def test_turns_are_taken_in_order_and_limited() -> None:
    turns, done = Turns(), list[int]()

    async def work(number: int) -> None:
        async with turns.turn(9, "writes", "a", 3):
            await asyncio.sleep(0)
            done.append(number)

    async with asyncio.TaskGroup() as tasks:
        first = [tasks.create_task(work(number)) for number in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(RateLimited):
            await work(3)
        async with turns.turn(9, "writes", "b", 3):
            pass

    assert all(each.done() for each in first)
    assert done == [0, 1, 2]
