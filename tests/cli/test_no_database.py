"""Test commands that find no database: some create one, the others report the problem."""

from pathlib import Path

import psycopg
import pytest

from rolecall.core.postgres import embedded
from tests.cli.commands import rolecall, typed

FINDING = [
    ("token", "list"),
    ("token", "revoke", "ci"),
    ("audit", "verify"),
    ("audit", "head"),
    ("audit", "export"),
    ("evidence", "ada@example.com"),
    ("lake", "sync", "/dev/null/lake"),
    ("doctor",),
    ("purge-secrets", "Payroll"),
    ("backup", "/dev/null/backup.tar"),
]


@pytest.mark.parametrize("words", FINDING, ids=" ".join)
def test_commands_that_need_existing_data_do_not_create_a_database(words: tuple[str, ...], tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "mistyped"):
        refused = typed(*words, "--data-dir", folder)

        assert (refused.returncode, refused.stdout) == (1, "")
        assert refused.stderr == (
            f"Error: There is no database in the folder {folder};"
            " name another with --data-dir or ROLECALL_DATA_DIR, or create one with `rolecall serve`\n"
        )
    assert list(tmp_path.iterdir()) == []


def test_creating_the_first_token_or_administrator_creates_the_database(tmp_path: Path) -> None:
    said = f"There was no Rolecall data in the folder {tmp_path / 'here'}; empty tables were created\n"
    with embedded(tmp_path / "here"):
        before = typed("token", "list", "--data-dir", tmp_path / "here")
        first = typed("token", "create", "ci", "--data-dir", tmp_path / "here")
        second = typed("admin", "create", "ada@example.com", "--data-dir", tmp_path / "here")

    assert (before.returncode, "the database is empty" in before.stderr) == (1, True)
    assert (first.returncode, first.stderr.startswith(said)) == (0, True)
    assert (second.returncode, "an empty one" in second.stderr) == (0, False)


def test_reading_commands_do_not_migrate_an_empty_external_database(empty_database: str, tmp_path: Path) -> None:
    listed = rolecall("token", "list", ROLECALL_DATABASE_URL=empty_database)
    copied = rolecall("lake", "sync", tmp_path / "lake", ROLECALL_DATABASE_URL=empty_database)
    saved = rolecall("backup", tmp_path / "x.tar", ROLECALL_DATABASE_URL=empty_database)

    assert (copied.returncode, "is empty" in copied.stderr, (tmp_path / "lake").exists()) == (1, True, False)
    assert (listed.returncode, listed.stderr.count("\n"), "is empty" in listed.stderr) == (1, 1, True)
    assert (saved.returncode, saved.stderr) == (1, "Error: The database is empty; there is nothing to back up\n")
    with psycopg.connect(empty_database) as db:
        assert db.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (0,)
    made = rolecall("token", "create", "ci", ROLECALL_DATABASE_URL=empty_database)
    assert "There was no Rolecall data in the database of ROLECALL_DATABASE_URL" in made.stderr


def test_commands_report_an_unreachable_database_in_one_line(tmp_path: Path) -> None:
    nowhere = "postgresql://127.0.0.1:1/none"

    for words in (("token", "list"), ("backup", tmp_path / "x.tar")):
        failed = rolecall(*words, "--data-dir", tmp_path, ROLECALL_DATABASE_URL=nowhere)

        assert (failed.returncode, failed.stderr.count("\n")) == (1, 1)
        assert failed.stderr.startswith("Error: The database is unreachable: ")
