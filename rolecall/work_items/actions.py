"""Record activity and comments."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from rolecall.core.db import Db, execute


async def record_activity(
    db: Db, item_id: UUID, *, author: str, action: str | None, content: str, now: datetime
) -> None:
    await execute(
        db,
        # `item_id` has no foreign key, because the items are in several tables.
        "INSERT INTO activity (item_id, created_date, author, action, content)"
        " VALUES (%(item_id)s, %(now)s, %(author)s, %(action)s, %(content)s)",
        item_id=item_id,
        author=author,
        action=action,
        content=content,
        now=now,
    )


async def add_comment(db: Db, item_id: UUID, *, author: str, content: str, now: datetime) -> None:
    await execute(
        db,
        "INSERT INTO comments (item_id, created_date, author, content)"
        " VALUES (%(item_id)s, %(now)s, %(author)s, %(content)s)",
        item_id=item_id,
        author=author,
        content=content,
        now=now,
    )


async def record_activity_of(
    db: Db,
    item_ids: Sequence[UUID],
    *,
    author: str,
    action: str | None,
    content: str | Mapping[UUID, str],
    now: datetime,
) -> None:
    """Record an activity entry for each item; `content` is the same for all items, or maps each item to its content."""
    await execute(
        db,
        "INSERT INTO activity (item_id, created_date, author, action, content)"
        " SELECT id, %(now)s, %(author)s, %(action)s, content"
        " FROM unnest(%(ids)s::uuid[], %(contents)s::text[]) AS entry(id, content)",
        ids=list(item_ids),
        contents=[content if isinstance(content, str) else content[id] for id in item_ids],
        author=author,
        action=action,
        now=now,
    )
