"""Test that tampering with entries, heads and checkpoints is detected without a saved head."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
import pytest

from rolecall.audit.model import CHAINS
from rolecall.audit.queries import heads, verify
from rolecall.audit.shapes import Verdict
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.core.migrate import FOLDER as MIGRATIONS

# A forged entry with a correct hash.
_FORGED = """INSERT INTO audit_events
        (number, chain, entry, previous, hash, action_key, created_key, caller_id, entity_id) OVERRIDING SYSTEM VALUE
    SELECT {number}, {chain}, e.entry, p.hash, audit_hash(p.hash, {number}, e.entry),
           e.action_key, e.created_key, e.caller_id, e.entity_id
    FROM (SELECT * FROM audit_events ORDER BY number LIMIT 1) e, (SELECT {previous} AS hash) p"""
_START = "decode(repeat('00', 32), 'hex')"
_END_OF_2 = "(SELECT hash FROM audit_heads WHERE chain = 2)"
_CUT = """DELETE FROM audit_events WHERE number = (SELECT number FROM audit_heads WHERE chain = {chain});
    UPDATE audit_heads h SET (number, count, hash) =
        (SELECT e.number, h.count - 1, e.hash FROM audit_events e WHERE e.chain = {chain}
         ORDER BY e.number DESC LIMIT 1)
    WHERE chain = {chain}"""
_REWRITTEN = """UPDATE audit_events e SET entry = o.entry, hash = audit_hash(e.previous, e.number, o.entry)
    FROM (SELECT number, replace(entry, 'Settings', 'Nothing') AS entry FROM audit_events) o
    WHERE o.number = e.number AND e.number = (SELECT number FROM audit_heads WHERE chain = {chain});
    UPDATE audit_heads h SET hash = (SELECT e.hash FROM audit_events e WHERE e.number = h.number)
    WHERE chain = {chain}"""
_OWN = (
    "UPDATE audit_checkpoints SET (numbers, hashes) = (numbers[:0], hashes[:0]), chains = '{{}}' WHERE chain = {chain}"
)

TAMPERINGS = {
    "an entry altered": ("UPDATE audit_events SET entry = replace(entry, '1', '2') WHERE number = 2", "altered"),
    "the action by which an entry is found altered": (
        "UPDATE audit_events SET action_key = 'other' WHERE number = 2",
        "differ from the entry",
    ),
    "the time by which an entry is found altered": (
        "UPDATE audit_events SET created_key = '2000-01-01T00:00:00.000000' WHERE number = 2",
        "differ from the entry",
    ),
    "the caller by whom an entry is found altered": (
        "UPDATE audit_events SET caller_id = gen_random_uuid() WHERE number = 2",
        "differ from the entry",
    ),
    "the entity by which an entry is found altered": (
        "UPDATE audit_events SET entity_id = gen_random_uuid() WHERE number = 2",
        "differ from the entry",
    ),
    "an entry removed": ("DELETE FROM audit_events WHERE number = 2", "does not follow"),
    "entries swapped between chains": (
        """UPDATE audit_events a SET (entry, previous, hash) = (b.entry, b.previous, b.hash) FROM audit_events b
           WHERE a.number IN (2, 5) AND b.number = 7 - a.number""",
        "altered",
    ),
    "an entry moved to another chain": ("UPDATE audit_events SET chain = 2 WHERE number = 2", "does not follow"),
    "an entry added at the end": (_FORGED.format(number=900, chain=2, previous=_END_OF_2), "after the head"),
    "an entry added at the end, and its head": (
        _FORGED.format(number=900, chain=2, previous=_END_OF_2)
        + """; UPDATE audit_heads h SET number = 900, count = count + 1, hash = e.hash
             FROM audit_events e WHERE e.number = 900 AND h.chain = 2""",
        "the head of the chain was changed",
    ),
    "an entry with the number 0": (_FORGED.format(number=0, chain=9, previous=_START), "invalid number or chain"),
    "an entry with a number below 0": (_FORGED.format(number=-1, chain=1, previous=_START), "invalid number or chain"),
    "an entry in a chain without a head": (_FORGED.format(number=900, chain=9, previous=_START), "no head"),
    "an entry in a chain that is none": (_FORGED.format(number=900, chain=17, previous=_START), "invalid number or"),
    "a chain of one's own, with its head": (
        _FORGED.format(number=900, chain=9, previous=_START)
        + "; INSERT INTO audit_heads SELECT 9, 900, 1, hash FROM audit_events WHERE number = 900",
        "the head of the chain was changed",
    ),
    "the end of a chain cut off": ("DELETE FROM audit_events WHERE chain = 2 AND number > 4", "cut off"),
    "the end of a chain cut off, and its head": (_CUT.format(chain=2), "cut off"),
    "the end of the chain written last cut off, and its head": (_CUT.format(chain=3), "cut off"),
    "the same, and its checkpoint": (_CUT.format(chain=2) + ";" + _OWN.format(chain=2), "the head of the chain"),
    "a whole chain removed": ("DELETE FROM audit_events WHERE chain = 2", "cut off"),
    "a whole chain removed, and its head": (
        "DELETE FROM audit_events WHERE chain = 2; DELETE FROM audit_heads WHERE chain = 2",
        "cut off",
    ),
    "the same, and its checkpoint too": (
        """DELETE FROM audit_events WHERE chain = 3; DELETE FROM audit_heads WHERE chain = 3;
           DELETE FROM audit_checkpoints WHERE chain = 3""",
        "no checkpoint",
    ),
    "the end of a chain rewritten, and its head": (_REWRITTEN.format(chain=2), "rewritten"),
    "a head removed": ("DELETE FROM audit_heads WHERE chain = 3", "no head"),
    "a head changed": ("UPDATE audit_heads SET count = count + 1 WHERE chain = 2", "the head counts"),
    "a head set back": (
        "UPDATE audit_heads SET (number, count, hash) = (SELECT 4, 1, hash FROM audit_events WHERE number = 4) WHERE chain = 2",  # noqa: E501
        "after the head",
    ),
    "a head of a chain that is none": ("INSERT INTO audit_heads VALUES (17, 1, 1, '\\x00')", "cut off"),
    "a checkpoint removed": ("DELETE FROM audit_checkpoints WHERE chain = 16", "no checkpoint"),
    "all checkpoints removed": ("DELETE FROM audit_checkpoints", "no checkpoint"),
    "a checkpoint emptied": (_OWN.format(chain=3), "the head of the chain was changed"),
    "a checkpoint changed": ("UPDATE audit_checkpoints SET numbers[1] = 99 WHERE chain = 3", "cut off"),
    "everything removed": ("DELETE FROM audit_events; DELETE FROM audit_heads", "cut off"),
    "everything removed, checkpoints too": (
        "DELETE FROM audit_events; DELETE FROM audit_heads; DELETE FROM audit_checkpoints",
        "no checkpoint",
    ),
}


@asynccontextmanager
async def taken(url: str, *chains: int) -> AsyncIterator[None]:
    async with await psycopg.AsyncConnection.connect(url) as other:
        for chain in chains:
            await other.execute("SELECT pg_advisory_xact_lock(hashtext('audit chain'), %s)", (chain,))
        yield


async def write(db: Db, name: str) -> None:
    await execute(db, "INSERT INTO settings (name, value) VALUES (%(name)s, '1')", name=name)


@pytest.fixture
async def written(db: Db, clean_database: str) -> None:
    """Write entries 1 to 3 to chain 1, 4 to 6 to chain 2 and 7 to 9 to chain 3."""
    for held in ((), (1,), (1, 2)):
        async with taken(clean_database, *held):
            for n in range(3):
                await write(db, f"{len(held)} {n}")
    chains = await fetch_rows(
        db, "SELECT chain, array_agg(number ORDER BY number) FROM audit_events GROUP BY 1 ORDER BY 1"
    )
    assert chains == [(1, [1, 2, 3]), (2, [4, 5, 6]), (3, [7, 8, 9])]


async def verdict(db: Db) -> Verdict:
    return await verify(db)


async def test_untouched_chains_are_intact(written: None, db: Db) -> None:
    found = await verdict(db)

    assert (found.ok, found.count, found.broken) == (True, 9, None)
    assert [head.chain for head in found.heads] == [1, 2, 3]
    assert sum(head.count for head in found.heads) == 9
    assert found.heads == await heads(db)


@pytest.mark.parametrize("how", TAMPERINGS)
async def test_tampering_is_detected_without_a_saved_head(written: None, db: Db, how: str) -> None:
    sql, reason = TAMPERINGS[how]
    for statement in sql.split(";"):
        await execute(db, statement.replace("%", "%%"))

    found = await verdict(db)

    assert not found.ok
    assert found.broken is not None
    assert reason in found.broken.reason, found.broken


@pytest.mark.parametrize("how", TAMPERINGS)
async def test_later_entries_do_not_hide_tampering(written: None, db: Db, clean_database: str, how: str) -> None:
    for statement in TAMPERINGS[how][0].split(";"):
        await execute(db, statement.replace("%", "%%"))
    for held in ((), (1,), (1, 2)):
        async with taken(clean_database, *held):
            await write(db, f"later {len(held)}")

    assert not (await verdict(db)).ok


async def test_every_chain_has_a_checkpoint_from_the_start(db: Db) -> None:
    rows = await fetch_rows(db, "SELECT chain FROM audit_checkpoints ORDER BY chain")

    assert [chain for (chain,) in rows] == list(CHAINS)
    assert (await verdict(db)).ok


async def test_checkpoint_records_the_heads_that_its_writer_saw(written: None, db: Db) -> None:
    for chain, seen in ((1, [3]), (2, [3, 6]), (3, [3, 6, 9])):
        numbers = await fetch_value(db, "SELECT numbers FROM audit_checkpoints WHERE chain = %(chain)s", chain=chain)
        assert sorted(numbers) == seen


async def test_entries_written_during_verification_are_not_reported_as_forged(
    written: None, db: Db, clean_database: str
) -> None:
    """Verification reads heads, checkpoints and entries from one snapshot."""
    async with await psycopg.AsyncConnection.connect(clean_database, autocommit=True) as other:
        for n in range(20):
            found, _ = await asyncio.gather(verify(other), write(db, f"meanwhile {n}"))
            assert found.ok, found.broken


async def test_migration_adds_checkpoints_to_existing_chains(written: None, db: Db) -> None:
    """Run the migration's statement on a database that has entries."""
    sql = (MIGRATIONS / "0015_audit_checkpoints.sql").read_text()
    convert = sql[sql.index("INSERT INTO audit_checkpoints") :]
    await execute(db, "DELETE FROM audit_checkpoints")

    await db.execute(convert.encode())

    assert (await verdict(db)).ok
    assert await fetch_value(db, "SELECT count(*) FROM audit_checkpoints WHERE cardinality(numbers) = 3") == 16
