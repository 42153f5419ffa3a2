"""Write records that are drafted and then committed, such as access models and rules of separation of duties.

Their tables share the columns `draft` and `definition` (JSON), `name_key`, `created_at` and `changed_at`.
"""

from datetime import datetime
from typing import Protocol
from uuid import UUID

import msgspec
from psycopg.types.json import Jsonb

from rolecall.core.db import Db, execute, fetch_value
from rolecall.core.ids import new_id
from rolecall.core.text import sort_key


class NamedDraft(Protocol):
    @property
    def name(self) -> str: ...


async def insert_draft(db: Db, table: str, draft: NamedDraft, now: datetime) -> UUID:
    """Create a record that has only a draft."""
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
