"""Write records that are drafted and then committed, such as access models and rules for the separation of duties.

The tables of such records share the columns `draft` and `definition` (JSON), `version`, `name_key`, `created_at` and
`changed_at`. A second table has one row for each committed version.
"""

from datetime import datetime
from typing import Protocol
from uuid import UUID

import msgspec
from psycopg.types.json import Jsonb

from rolecall.core.caller import Caller
from rolecall.core.db import Db, execute, fetch_value
from rolecall.core.ids import new_id
from rolecall.core.text import sort_key


class NamedDraft(Protocol):
    @property
    def name(self) -> str: ...


async def insert_draft(db: Db, table: str, draft: NamedDraft, now: datetime) -> UUID:
    """Create a record that has only a draft; return its id."""
    id = new_id()
    await execute(
        db,
        f"""INSERT INTO {table} (id, draft, name_key, created_at, changed_at)
            VALUES (%(id)s, %(draft)s, %(name_key)s, %(now)s, %(now)s)""",
        id=id,
        draft=Jsonb(msgspec.to_builtins(draft)),
        name_key=sort_key(draft.name),
        now=now,
    )
    return id


async def update_draft(db: Db, table: str, id: UUID, draft: NamedDraft, now: datetime) -> None:
    """Replace the draft; a committed record keeps its place in the list until the draft is committed."""
    await execute(
        db,
        f"""UPDATE {table} SET draft = %(draft)s, changed_at = %(now)s,
                   name_key = CASE WHEN definition IS NULL THEN %(name_key)s ELSE name_key END
            WHERE id = %(id)s""",
        id=id,
        draft=Jsonb(msgspec.to_builtins(draft)),
        name_key=sort_key(draft.name),
        now=now,
    )


async def commit_draft(
    db: Db, table: str, add_version: str, id: UUID, draft: NamedDraft, caller: Caller, now: datetime
) -> None:
    """Make the draft the next version; `add_version` is an INSERT without its rows, such as `INSERT INTO t (…)`."""
    await execute(
        db,
        f"""UPDATE {table} SET definition = draft, draft = NULL, version = version + 1, changed_at = %(now)s,
                   name_key = %(name_key)s WHERE id = %(id)s""",
        id=id,
        name_key=sort_key(draft.name),
        now=now,
    )
    await execute(
        db,
        f"""{add_version}
            SELECT id, version, definition, %(now)s, %(caller_id)s, %(caller_name)s FROM {table} WHERE id = %(id)s""",
        id=id,
        now=now,
        caller_id=caller.id,
        caller_name=caller.name,
    )


async def is_name_taken(db: Db, table: str, name: str, *, other_than: UUID | None = None) -> bool:
    """Return whether another record has this name, or has it in its draft."""
    taken: bool = await fetch_value(
        db,
        f"""SELECT EXISTS (SELECT FROM {table} WHERE (name = %(name)s OR draft ->> 'name' = %(name)s)
                                                 AND id IS DISTINCT FROM %(id)s)""",
        name=name,
        id=other_than,
    )
    return taken
