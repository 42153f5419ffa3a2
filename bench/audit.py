"""Measure the cost of the audit chain: onboardings in plain SQL from 1 and from 16 connections, with fsync on."""

import re
import subprocess
import tempfile
from pathlib import Path

import psycopg

from bench.figures import Found, tell
from rolecall.core.migrate import migrate
from rolecall.core.postgres import BIN, embedded

SECONDS = 8
CONNECTIONS = (1, 16)
_AUTHOR = """SELECT set_config('rolecall.author', jsonb_build_object(
    'action', 'Onboard', 'correlationId', 'c', 'createdDate', now(),
    'caller', jsonb_build_object('id', NULL, 'kind', 'Token', 'name', 'bench'))::text, true);"""
_ONBOARD = """
BEGIN;
{author}
INSERT INTO identities (
    id, first_name, last_name, created_date, updated_date, first_seen_date, last_name_key, first_name_key)
SELECT id, 'Ada', left(id::text, 8), now(), now(), now(), left(id::text, 8), 'ada' FROM gen_random_uuid() AS id
RETURNING id AS person \\gset
INSERT INTO personnel_events (id, type, reporter_id, reporter_name, identity_id, needed_on)
VALUES (gen_random_uuid(), 'Onboard', :person::uuid, 'bench', :person::uuid, now()) RETURNING id AS event \\gset
INSERT INTO stages (event_id, sequence, name, status)
SELECT :event::uuid, n, 'Approval', 'Scheduled' FROM generate_series(1, 3) AS n;
INSERT INTO activity (item_id, created_date, author, action, content)
VALUES (:event::uuid, now(), 'bench', 'Created', 'Created');
COMMIT;
"""
_TABLES = ("identities", "personnel_events", "stages")
# The variants, in this order: no audit, one chain, 16 chains. The statements switch the audit triggers off and on;
# `main` sets the number of chains.
_WAYS = {
    "without": [f"ALTER TABLE {table} DISABLE TRIGGER note_insert" for table in _TABLES],
    "one chain": [f"ALTER TABLE {table} ENABLE TRIGGER note_insert" for table in _TABLES],
    "16 chains": [],
}


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="rolecall-bench-") as folder, embedded(Path(folder)) as url:
        migrate(url)
        with psycopg.connect(url, autocommit=True) as db:
            row = db.execute("SELECT pg_get_functiondef('take_chain'::regproc)").fetchone()
            assert row
            print(f"{'':12}" + "".join(f"{n:>4} connections" + " " * 12 for n in CONNECTIONS))
            most: dict[str, float] = {}
            for way, statements in _WAYS.items():
                for statement in statements:
                    db.execute(statement)
                chains = "1" if way == "one chain" else "16"
                db.execute(re.sub(r"chains CONSTANT int := \d+", f"chains CONSTANT int := {chains}", row[0]))
                rates = [_run(url, Path(folder), clients, way != "without") for clients in CONNECTIONS]
                most[way] = rates[-1]
                each = [
                    f"{rate:>7,.0f}/s {n / rate * 1000:>6.2f} ms each"
                    for n, rate in zip(CONNECTIONS, rates, strict=True)
                ]
                print(f"{way:12}" + "   ".join(each))
    share = most["16 chains"] / most["without"]
    tell(Found("audit", f"onboardings in SQL from {CONNECTIONS[-1]} connections, relative to no audit", share, "×"))


def _run(url: str, folder: Path, clients: int, signed: bool) -> float:
    script = folder / "onboard.sql"
    script.write_text(_ONBOARD.format(author=_AUTHOR if signed else ""))
    threads = min(2, clients)
    said = subprocess.run(
        [str(BIN / "pgbench"), "-n", "-M", "prepared", "-c", str(clients), "-j", str(threads), "-T", str(SECONDS),
         "-f", str(script), url],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    return float(re.search(r"tps = ([\d.]+)", said)[1])  # type: ignore[index]


if __name__ == "__main__":
    main()
