"""Test the migration that adds the reports on conflicts to older databases."""

from importlib.resources import files

from rolecall.core.db import Db, execute, fetch_rows
from rolecall.core.ids import new_id

_MIGRATION = files("rolecall") / "migrations" / "0039_pinned_exceptions.sql"


async def test_migration_adds_reports_on_conflicts_once_and_does_not_restore_deleted_ones(db: Db) -> None:
    statements = _MIGRATION.read_text().partition("ALTER TABLE reports DISABLE TRIGGER USER;")[2]
    insert = statements.partition("ALTER TABLE reports ENABLE")[0]
    await execute(
        db,
        """INSERT INTO reports (id, name, list, created_date, deleted_on)
           VALUES (%(id)s, 'Exceptions of conflicts', 'conflict-exceptions', now(), now())""",
        id=new_id(),
    )

    for _ in range(2):
        await db.execute(insert)

    assert await fetch_rows(db, "SELECT name, list FROM reports WHERE deleted_on IS NULL") == [
        ("Open conflicts of duties", "conflicts")
    ]
