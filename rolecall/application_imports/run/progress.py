"""Record how many bytes of its files a build has read."""

from datetime import datetime
from uuid import UUID

from rolecall.core.db import Db, execute


async def record_progress(db: Db, id: UUID, read: int, total: int, now: datetime) -> None:
    """Record how many bytes a build has read so far; delete progress that is more than a day old."""
    await execute(
        db,
        """WITH old AS (DELETE FROM read_progress WHERE changed_at < %(now)s - interval '1 day' AND id <> %(id)s)
           INSERT INTO read_progress (id, read, total, changed_at) VALUES (%(id)s, %(read)s, %(total)s, %(now)s)
           ON CONFLICT (id) DO UPDATE SET read = excluded.read, total = excluded.total,
                                          changed_at = excluded.changed_at""",
        id=id,
        read=read,
        total=total,
        now=now,
    )
