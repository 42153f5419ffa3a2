from datetime import UTC, datetime
from random import Random

from rolecall.core.computed_lists import fetch_computed, list_name, store_texts, stored_texts
from rolecall.core.db import Db

NOW = datetime(2026, 3, 1, tzinfo=UTC)


async def test_a_list_with_a_very_long_name_is_stored(db: Db) -> None:
    """A name may contain a number for each of thousands of applications, and is then too long for an index key."""
    numbers = Random(1)
    name = " ".join(str(numbers.randrange(10**9)) for _ in range(5000))

    found = [
        await fetch_computed(db, each, "SELECT 'a' AS key, 0 AS place", 1, NOW) for each in (name, name, name[:-1])
    ]

    assert [each.keys for each in found] == [["a"]] * 3
    assert len({list_name(name), list_name(name[:-1])}) == 2


async def test_texts_are_stored_once(db: Db) -> None:
    texts = "SELECT name AS list, upper(name) || %(end)s AS key FROM unnest(%(names)s::text[]) AS name"

    await store_texts(db, texts, NOW, names=["b", "a"], end="1")
    await store_texts(db, texts, NOW, names=["c", "b"], end="2")

    assert await stored_texts(db, ["a", "b", "c", "d"]) == {"a": "A1", "b": "B1", "c": "C2"}
