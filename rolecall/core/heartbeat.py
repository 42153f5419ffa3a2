"""Record worker heartbeats for readiness, timed by the database's clock, because the clocks of machines differ."""

from uuid import UUID

from rolecall.core.db import Db, execute, fetch_value

EVERY_SECONDS = 5
_STALE_SECONDS = 20


async def beat(db: Db, worker_id: UUID) -> None:
    await execute(
        db,
        "INSERT INTO heartbeats (worker_id) VALUES (%(id)s) ON CONFLICT (worker_id) DO UPDATE SET beaten_at = now()",
        id=worker_id,
    )


async def delete_stale_heartbeats(db: Db) -> None:
    await execute(db, "DELETE FROM heartbeats WHERE beaten_at < now() - interval '1 day'")


async def some_worker_lives(db: Db) -> bool:
    return await living_workers(db) > 0


async def living_workers(db: Db) -> int:
    count: int = await fetch_value(
        db,
        "SELECT count(*) FROM heartbeats WHERE beaten_at > now() - make_interval(secs => %(stale)s)",
        stale=_STALE_SECONDS,
    )
    return count
