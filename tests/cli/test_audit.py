import json
from pathlib import Path

import psycopg

from rolecall.core.postgres import embedded
from tests.cli.commands import typed


def test_chain_is_verified_exported_and_compared_with_a_saved_head(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    here = ("--data-dir", folder)
    with embedded(folder) as url:
        for name in ("one", "two", "three"):
            typed("token", "create", name, *here)
        kept = tmp_path / "head.json"
        kept.write_text(typed("audit", "head", *here).stdout)

        whole = typed("audit", "verify", "--head", kept, *here)
        assert (whole.returncode, whole.stdout.split()[:2]) == (0, ["3", "entries"])

        lines = [json.loads(line) for line in typed("audit", "export", *here).stdout.splitlines()]
        assert [line["entry"]["entity"]["name"] for line in lines] == ["one", "two", "three"]
        assert lines[0]["entry"]["caller"]["kind"] == "Command Line"
        assert lines[0]["entry"]["action"] == "rolecall token create"
        assert lines[1]["previousHash"] == lines[0]["hash"]

        with psycopg.connect(url, autocommit=True) as db:
            db.execute("DELETE FROM audit_events WHERE number = 3")
            db.execute(
                "UPDATE audit_heads SET (number, count, hash) = (SELECT 2, 2, hash FROM audit_events WHERE number = 2)"
            )
        noticed = typed("audit", "verify", *here)
        assert (noticed.returncode, "Entry 3 (chain 1)" in noticed.stdout) == (1, True)
        with psycopg.connect(url, autocommit=True) as db:
            # A head saved elsewhere exposes an attacker who also forges the heads and checkpoints in the database.
            db.execute(
                """UPDATE audit_checkpoints SET numbers = ARRAY[2::bigint],
                   hashes = ARRAY(SELECT hash FROM audit_heads) WHERE chains <> '{}'"""
            )
        assert typed("audit", "verify", *here).returncode == 0
        cut = typed("audit", "verify", "--head", kept, *here)
        assert (cut.returncode, "Entry 3 (chain 1)" in cut.stdout, "cut off" in cut.stdout) == (1, True, True)

        unfit = typed("audit", "verify", "--head", __file__, *here)
        assert unfit.returncode == 2
