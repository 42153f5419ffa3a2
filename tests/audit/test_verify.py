import asyncio
import json
from typing import Any

import httpx2
import psycopg
import pytest

from rolecall.core.db import Db, execute, fetch_rows, fetch_value

PATH = "/api/audit-events"


async def some_entries(client: httpx2.AsyncClient, count: int = 4) -> None:
    for n in range(count):
        answer = await client.patch("/api/settings", json={"approvalLeadDays": 10 + n})
        assert answer.status_code == 200


async def verdict(client: httpx2.AsyncClient) -> dict[str, Any]:
    answer = await client.get(f"{PATH}/verify")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_untouched_chain_is_verified(client: httpx2.AsyncClient, db: Db) -> None:
    await some_entries(client)

    found = await verdict(client)

    count = await fetch_value(db, "SELECT count(*) FROM audit_events")
    assert (found["ok"], found["count"], found["broken"]) == (True, count, None)
    assert sum(head["count"] for head in found["heads"]) == count
    assert len(found["head"]) == 64


ALTERATIONS = {
    "altered": ("UPDATE audit_events SET entry = replace(entry, ': 11', ': 99') WHERE number = 3", 3, "altered"),
    "altered, its hash too": (
        """UPDATE audit_events SET entry = other, hash = audit_hash(previous, number, other)
           FROM (SELECT replace(entry, ': 11', ': 99') AS other FROM audit_events WHERE number = 3) o
           WHERE number = 3""",
        4,
        "does not follow entry 3",
    ),
    "deleted": ("DELETE FROM audit_events WHERE number = 3", 4, "does not follow entry 2"),
    "the first deleted": ("DELETE FROM audit_events WHERE number = 1", 2, "the beginning of its chain"),
    "cut off": ("DELETE FROM audit_events WHERE number >= 4", 5, "cut off"),
    "inserted": (
        """INSERT INTO audit_events
               (number, chain, entry, previous, hash, action_key, created_key, caller_id, entity_id)
               OVERRIDING SYSTEM VALUE
           SELECT 100, chain, entry, hash, audit_hash(hash, 100, entry), action_key, created_key, caller_id, entity_id
           FROM audit_events WHERE number = 3""",
        100,
        "does not follow entry 5",
    ),
    "swapped": (
        """UPDATE audit_events a SET (entry, previous, hash) = (b.entry, b.previous, b.hash)
           FROM audit_events b WHERE a.number IN (3, 4) AND b.number = 7 - a.number""",
        3,
        "altered",
    ),
}


@pytest.mark.parametrize("how", ALTERATIONS)
async def test_verification_names_the_first_broken_entry(client: httpx2.AsyncClient, db: Db, how: str) -> None:
    await some_entries(client)
    tampering, number, reason = ALTERATIONS[how]

    await execute(db, tampering)

    found = await verdict(client)
    assert (found["ok"], found["broken"]["number"]) == (False, number)
    assert reason in found["broken"]["reason"]


async def test_rejected_request_leaves_no_entry(client: httpx2.AsyncClient, db: Db) -> None:
    before = await fetch_value(db, "SELECT count(*) FROM audit_events")

    answer = await client.post("/api/applications", json={"name": ""})

    assert answer.status_code == 400
    assert await fetch_value(db, "SELECT count(*) FROM audit_events") == before
    assert await fetch_value(db, "SELECT count(*) FROM audit_pending") == 0


async def test_rolled_back_savepoint_leaves_no_entry(db: Db) -> None:
    async with db.transaction():
        async with db.transaction(force_rollback=True):
            await execute(db, "INSERT INTO settings (name, value) VALUES ('a', '1')")
        await execute(db, "INSERT INTO settings (name, value) VALUES ('b', '1')")

    rows = await fetch_rows(db, "SELECT entry FROM audit_events")
    assert [json.loads(entry)["after"] for (entry,) in rows] == [{"b": {"value": 1}}]


async def test_changes_of_one_record_in_a_transaction_are_one_entry(db: Db) -> None:
    await execute(db, "INSERT INTO settings (name, value) VALUES ('a', '1')")
    async with db.transaction():
        await execute(db, "UPDATE settings SET value = '2'")
        await execute(db, "UPDATE settings SET value = '3'")
        await execute(db, "INSERT INTO settings (name, value) VALUES ('b', '1')")
        await execute(db, "DELETE FROM settings WHERE name = 'b'")

    rows = await fetch_rows(db, "SELECT entry FROM audit_events ORDER BY number DESC")
    entry = json.loads(rows[0][0])
    assert len(rows) == 2
    assert (entry["before"], entry["after"]) == ({"a": {"value": 1}}, {"a": {"value": 3}})


_TEMPLATE = """INSERT INTO connector_templates (id, name, vendor, description, files, created_by, created_date)
    VALUES ('00000000-0000-7000-8000-000000000001', 'A "was" \\', %(vendor)s, '', %(files)s, 'Ada', '2026-01-02')"""
_CREATED = {"name": 'A "was" \\', "createdBy": "Ada", "createdDate": "2026-01-02T00:00:00+00:00"}


async def test_entry_of_a_new_record_omits_empty_fields_but_nothing_inside_of_them(db: Db) -> None:
    await execute(db, _TEMPLATE, vendor="", files='{"a": null}')
    await execute(db, "DELETE FROM connector_templates")
    await execute(db, _TEMPLATE, vendor="Oak", files="[]")

    rows = await fetch_rows(db, "SELECT entry FROM audit_events ORDER BY number")
    created, deleted, again = [json.loads(entry) for (entry,) in rows]
    first = {**_CREATED, "files": {"a": None}}
    assert (created["before"], created["after"]) == (None, first)
    assert (deleted["before"], deleted["after"]) == (first, None)
    assert (again["before"], again["after"]) == (None, {**_CREATED, "vendor": "Oak"})


async def test_record_that_replaces_a_deleted_one_is_compared_with_it(db: Db) -> None:
    await execute(db, _TEMPLATE, vendor="Oak", files="[]")
    async with db.transaction():
        await execute(db, "DELETE FROM connector_templates")
        await execute(db, _TEMPLATE, vendor="", files="[]")

    rows = await fetch_rows(db, "SELECT entry FROM audit_events ORDER BY number DESC LIMIT 1")
    entry = json.loads(rows[0][0])
    assert (entry["before"], entry["after"]) == ({"vendor": "Oak"}, {"vendor": ""})


async def test_concurrent_writers_keep_every_chain_intact(
    client: httpx2.AsyncClient, db: Db, clean_database: str
) -> None:
    async def write(writer: int) -> None:
        async with await psycopg.AsyncConnection.connect(clean_database, autocommit=True) as own:
            for n in range(10):
                async with own.transaction():
                    name = f"{writer} {n}"
                    await own.execute("INSERT INTO settings (name, value) VALUES (%s, '1')", (name,))

    before = await fetch_value(db, "SELECT count(*) FROM audit_events")
    await asyncio.gather(*(write(n) for n in range(20)))

    found = await verdict(client)
    assert (found["ok"], found["count"]) == (True, before + 200)


async def test_writer_uses_another_chain_if_one_is_locked(
    client: httpx2.AsyncClient, db: Db, clean_database: str
) -> None:
    before = len((await verdict(client))["heads"])
    async with await psycopg.AsyncConnection.connect(clean_database) as other:
        await other.execute("SELECT pg_advisory_xact_lock(hashtext('audit chain'), 1)")
        await execute(db, "INSERT INTO settings (name, value) VALUES ('a', '1')")

    found = await verdict(client)
    assert (found["ok"], before, len(found["heads"])) == (True, 1, 2)


def in_order(value: Any) -> Any:
    match value:
        case dict():
            return {
                key: in_order(value[key]) for key in sorted(value, key=lambda key: (len(key.encode()), key.encode()))
            }
        case list():
            return [in_order(item) for item in value]
    return value


async def test_hashed_text_is_json_with_sorted_keys(db: Db) -> None:
    """The text must have a form that any JSON library can reproduce."""
    value = json.dumps({"é\u2028": [1, {"b": '\t\x01"\\', "a": None}, []], "Z": {}, "a": 1.5, "ab": True})
    await execute(db, "INSERT INTO settings (name, value) VALUES ('a', %(value)s)", value=value)

    entry = await fetch_value(db, "SELECT entry FROM audit_events")

    assert entry == json.dumps(in_order(json.loads(entry)), ensure_ascii=False)


async def test_large_transaction_is_chained_in_parts(client: httpx2.AsyncClient, db: Db) -> None:
    large = json.dumps("x" * 1024 * 1024)
    async with db.transaction():
        for n in range(36):
            await execute(
                db, "INSERT INTO settings (name, value) VALUES (%(name)s, %(value)s)", name=f"n{n}", value=large
            )

    rows = await fetch_rows(db, "SELECT entry FROM audit_events WHERE action_key = 'change' ORDER BY number")
    parts = [json.loads(entry)["after"].keys() for (entry,) in rows]

    assert sum(len(part) for part in parts[-2:]) == 36
    assert (await verdict(client))["ok"]
