"""Test the audit entries of records that a transaction creates: schema/audit.sql has a fast path for them."""

import httpx2
import msgspec
import pytest

from rolecall.core.db import Db, execute, fetch_rows, fetch_value

_ADA = """INSERT INTO identities (
        id, first_name, last_name, first_name_key, last_name_key, custom_fields, created_date, updated_date,
        first_seen_date)
    VALUES (gen_random_uuid(), 'Ada', 'Lovelace', 'ada', 'lovelace', '{"1": null}', now(), now(), now())"""
_EVENT = """INSERT INTO personnel_events (id, type, reporter_id, reporter_name, identity_id, needed_on)
    SELECT gen_random_uuid(), 'Onboard', id, 'Ada', id, now() FROM identities WHERE first_name = 'Ada'"""
_STAGES = """INSERT INTO stages (event_id, sequence, name, status)
    SELECT id, n, 'Approval', 'Scheduled' FROM personnel_events, generate_series(1, 3) AS n"""
_SHORT = "SELECT kind, id, NULL::jsonb, after FROM new_records_in({notes})"
_GENERAL = "SELECT kind, id, before, after FROM changes_in({notes})"
_NOTES = "('[' || current_setting('rolecall.notes') || ']')::jsonb"


async def test_short_way_gives_the_same_changes_and_names(db: Db) -> None:
    async with db.transaction():
        for statement in (_ADA, _EVENT, _STAGES):
            await execute(db, statement)
        short = await fetch_rows(db, _SHORT.format(notes=_NOTES))
        general = await fetch_rows(db, _GENERAL.format(notes=_NOTES))
        names = await fetch_rows(db, f"SELECT name, name_of(kind, id) FROM new_records_in({_NOTES})")

    assert short == general
    assert [kind for kind, *_ in short] == ["Identity", "Personnel Event"]
    assert sorted(key for key in short[1][3] if key.startswith("stages.")) == ["stages.1", "stages.2", "stages.3"]
    assert [name for name, _ in names] == [name for _, name in names]
    assert names[0][0] == "Ada Lovelace"


async def test_null_inside_a_new_record_stays_in_its_entry(db: Db) -> None:
    await execute(db, _ADA)

    entry = msgspec.json.decode(await fetch_value(db, "SELECT entry FROM audit_events"))

    assert entry["after"]["customFields"] == {"1": None}
    assert "department" not in entry["after"]
    assert "supervisorId" not in entry["after"]


async def test_new_record_that_is_renamed_at_once_has_its_last_name(db: Db) -> None:
    async with db.transaction():
        await execute(db, _ADA)
        await execute(db, "UPDATE identities SET last_name = 'Byron'")

    [(entry,)] = await fetch_rows(db, "SELECT entry FROM audit_events")

    assert msgspec.json.decode(entry)["entity"]["name"] == "Ada Byron"
    assert msgspec.json.decode(entry)["after"]["lastName"] == "Byron"


@pytest.mark.parametrize("count", [300, 2001])
async def test_total_of_the_list_has_all_entries_of_a_large_transaction(
    client: httpx2.AsyncClient, db: Db, count: int
) -> None:
    """For up to twice `list_stride()` entries, `chain_notes` writes the list changes; for more, the trigger does."""
    await execute(db, _ADA.replace("VALUES (", "SELECT ").replace("now())", f"now() FROM generate_series(1, {count})"))

    found = (await client.get("/api/audit-events", params={"page": 6})).json()

    assert found["totalCount"] == await fetch_value(db, "SELECT count(*) FROM audit_events") >= count
    assert len(found["items"]) == 50
    assert (await client.get("/api/audit-events/verify")).json()["ok"] is True


async def test_head_that_is_missing_from_a_checkpoint_is_not_added(db: Db) -> None:
    """If a write added the missing head, it would hide that the head was removed from the checkpoint."""
    await execute(db, _ADA)
    await execute(db, "UPDATE audit_checkpoints SET chains = '{}', numbers = '{}', hashes = '{}'")

    await execute(db, _ADA)

    assert await fetch_value(db, "SELECT bool_and(cardinality(chains) = 0) FROM audit_checkpoints")
