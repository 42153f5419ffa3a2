"""Carry out due requests. Each carrier loop of a worker handles one application after the other.

The worker holds an advisory lock for the application, so that no other worker carries out the same request.
If the worker dies, PostgreSQL releases the lock, and another worker continues at the first step without a response.
"""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import datetime
from typing import Self, TypeVar
from uuid import UUID

import structlog

from rolecall.application_imports.actions import create_import
from rolecall.application_imports.model import ImportType
from rolecall.application_imports.run.job import build_lock
from rolecall.application_imports.run.next_import import locked
from rolecall.application_imports.run.schedule import RETRY_PAUSE
from rolecall.carriers import queries, recording, undoing
from rolecall.carriers.model import (
    CannotCarryOut,
    CarriedState,
    Carrier,
    CarrierMode,
    RecordedStep,
    TargetConnection,
    Verification,
)
from rolecall.carriers.recording import NotNow
from rolecall.carriers.targets import open_target
from rolecall.core import clock
from rolecall.core.authors import by_system, written_by
from rolecall.core.caller import SYSTEM
from rolecall.core.config import Config
from rolecall.core.db import Db, Pool, execute
from rolecall.core.faults import fault
from rolecall.sources.model import SourceFailed

log = structlog.get_logger("rolecall.carriers")

_AT_ONCE = 50
T = TypeVar("T")


def carrier_lock(application_id: UUID) -> int:
    """Return the key of the advisory lock that a worker holds while it carries out requests of an application."""
    # Do not use the lock of a build: a carrier and an import of the same application may run at the same time.
    return build_lock(application_id) ^ (1 << 62)


async def carry_out_next(pool: Pool, config: Config, now: datetime) -> bool:
    """Carry out the due requests of each application. Stop after a full batch and return True: more may be due."""
    async with pool.connection() as db:
        for application_id in await queries.applications_with_work(db, now):
            async with locked(db, carrier_lock(application_id)) as is_mine:
                if is_mine and await _carry_out_requests(pool, config, application_id):
                    return True
    return False


async def _carry_out_requests(pool: Pool, config: Config, application_id: UUID) -> bool:
    """Carry out a batch of requests, undo canceled ones and start the verifying import if it is due.

    Return whether the batch was full.
    """
    async with pool.connection() as db:
        carrier = await queries.find(db, application_id)
        # Read the clock again, because the applications before this one may have taken minutes.
        due = await queries.due_requests(db, application_id, clock.now(), _AT_ONCE)
        canceled = await queries.canceled_requests(db, application_id, _AT_ONCE)
    if carrier and due:
        # The database connection was released before, because the application may respond slowly.
        async with _Connection(pool, config, application_id, carrier) as connection:
            for request_id in due:
                await _carry_out(pool, connection, request_id)
    for request_id in canceled:
        await _undo(pool, request_id)
    await _write(pool, _stage_verification, application_id)
    return len(due) == _AT_ONCE


class _Connection:
    """A lazy connection to the application: opened for the first step, and again after a failure."""

    def __init__(self, pool: Pool, config: Config, application_id: UUID, carrier: Carrier) -> None:
        self.application_id, self.carrier = application_id, carrier
        self._pool, self._config = pool, config
        self._target: TargetConnection | None = None
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def target(self) -> TargetConnection:
        if self._target is None:
            opening = open_target(self._pool, self._config, self.application_id, self.carrier)
            self._target = await self._stack.enter_async_context(opening)
        return self._target

    async def close(self) -> None:
        self._target = None
        await self._stack.aclose()
        self._stack = AsyncExitStack()


async def _carry_out(pool: Pool, connection: _Connection, request_id: UUID) -> None:
    try:
        await _write(pool, recording.begin, connection.application_id, connection.carrier, request_id)
        if connection.carrier.mode is CarrierMode.ON:
            await _take_steps(pool, connection, request_id)
    except NotNow:
        return
    except CannotCarryOut as refused:
        await _close(pool, recording.leave, request_id, str(refused))
    except SourceFailed as failed:
        await connection.close()
        await _close(pool, recording.postpone, request_id, str(failed))
    except Exception as error:
        # One request must not stop the others of its batch.
        log.error("work failed", work="carry out", id=str(request_id), exc_info=error)
        await connection.close()
        await _close(pool, recording.postpone, request_id, "an error in Rolecall; see the log of the worker")


async def _take_steps(pool: Pool, connection: _Connection, request_id: UUID) -> None:
    async with pool.connection() as db:
        steps = await queries.unfinished_steps(db, request_id)
        carried = await queries.carried(db, request_id)
    # `begin` may have held the request or left it to a person.
    if carried is None or carried.state != CarriedState.WAITING:
        return
    for recorded in steps:
        if not await _take_step(pool, connection, request_id, recorded):
            return
    await _write(pool, recording.finish, connection.application_id, request_id)


async def _take_step(pool: Pool, connection: _Connection, request_id: UUID, recorded: RecordedStep) -> bool:
    """Record a step, send it and record the response; return False if the rate limit postponed it."""
    # Connect first, so that a failed connection leaves no step recorded as sent.
    target = await connection.target()
    if not await _write(
        pool, recording.begin_step, connection.application_id, connection.carrier, request_id, recorded
    ):
        return False
    fault("carrier.before-send")
    try:
        answer = await target.carry_out(recorded.step, was_sent=recorded.was_sent)
    except (CannotCarryOut, SourceFailed) as failed:
        # Record a refusal only if nothing changed: after a temporary failure, a sent step may have taken effect.
        if isinstance(failed, CannotCarryOut) or not (target.has_sent or recorded.was_sent):
            await _write(pool, recording.refuse_step, request_id, recorded, str(failed))
        raise
    fault("carrier.after-send")
    await _write(pool, recording.end_step, request_id, recorded, answer)
    return True


async def _undo(pool: Pool, request_id: UUID) -> None:
    try:
        await _write(pool, undoing.undo, request_id)
    except NotNow:
        return
    except Exception as error:
        # One request must not stop the others of its batch.
        log.error("work failed", work="undo canceled request", id=str(request_id), exc_info=error)


async def _close(pool: Pool, act: Callable[..., Awaitable[None]], request_id: UUID, reason: str) -> None:
    try:
        # If the request is no longer open, do not leave it to a person or postpone it.
        await _write(pool, act, request_id, reason)
    except NotNow:
        return


async def _write(pool: Pool, act: Callable[..., Awaitable[T]], *args: object) -> T:
    """Run an action in its own transaction and return its result. The fault points are named after the action."""
    now = clock.now()
    name = act.__name__.strip("_").replace("_", "-")
    async with pool.connection() as db, written_by(db, f"carrier-{name}", by_system("carry_out_request", now)):
        return await act(db, *args, now)


async def _stage_verification(db: Db, application_id: UUID, now: datetime) -> None:
    """Create an import of the live source if changes must be verified. After a failed import, wait before the next one.

    Clear `unverified_on` of the carrier if nothing is left to verify.
    """
    match await queries.verification(db, application_id, now - RETRY_PAUSE):
        case Verification.DUE:
            await create_import(db, application_id, SYSTEM, type=ImportType.SCHEDULED, now=now)
        case Verification.ENDED:
            await execute(
                db, "UPDATE carriers SET unverified_on = NULL WHERE application_id = %(id)s", id=application_id
            )
        case Verification.WAITING:
            pass
