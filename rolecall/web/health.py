"""Serve liveness and readiness probes, which need no token."""

from litestar import Response, Router, get
from psycopg import Error
from psycopg_pool import PoolTimeout

from rolecall.core.db import Db, fetch_value
from rolecall.core.heartbeat import some_worker_lives
from rolecall.core.migrate import is_current
from rolecall.web.bodies import AnyRequest
from rolecall.web.errors import ErrorBody, answer
from rolecall.web.services import Services

_PATIENCE_SECONDS = 2


@get("/healthz", sync_to_thread=False)
def alive() -> dict[str, str]:
    # Do not ask the database: a restart of this process would not repair it.
    return {"status": "alive"}


@get("/readyz")
async def ready(request: AnyRequest) -> Response[dict[str, str]] | Response[ErrorBody]:
    services: Services = request.app.state.services
    try:
        async with services.pool.connection(_PATIENCE_SECONDS) as db:
            missing = await _missing(db)
            failing = 0 if missing else await services.failing_schedules(db)
    except (Error, PoolTimeout):
        missing = "the database is unreachable"
    if missing:
        return answer(503, "unavailable", f"Not ready: {missing}", {"Retry-After": "1"})
    if failing:
        return Response({"status": "degraded", "failingSchedules": str(failing)})
    return Response({"status": "ready"})


async def _missing(db: Db) -> str | None:
    if await fetch_value(db, "SELECT current_setting('transaction_read_only')") == "on":
        return "the database is read-only"
    if not await is_current(db):
        return "the database is older than this program; run `rolecall migrate`"
    if not await some_worker_lives(db):
        return "no worker is running"
    return None


router = Router("/", route_handlers=[alive, ready], include_in_schema=False)
