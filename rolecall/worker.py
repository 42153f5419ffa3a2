"""Run background work in loops, each woken by a database notification or by the clock.

Each loop finds its work in the tables, so a notification may be lost or repeated, and a process may die.
"""

import asyncio
import contextlib
import gc
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial
from uuid import UUID

import msgspec
import structlog
from psycopg import Error
from psycopg_pool import PoolTimeout

# Importing these packages registers their lists for reports; `reports` itself must not import them.
import rolecall.notifications.routes
import rolecall.reports.routes
import rolecall.reviews.routes  # noqa: F401
from rolecall.access_requests import opening as access_requests
from rolecall.access_requests.closed_loop import close_loop, finished_imports
from rolecall.accounts import matching
from rolecall.application_imports import actions as imports
from rolecall.application_imports.dry_runs import actions as dry_runs
from rolecall.application_imports.dry_runs.model import CHANNEL as DRY_RUNS_CHANNEL
from rolecall.application_imports.run.finish import FINISHED_CHANNEL
from rolecall.application_imports.run.next_dry_run import run_next_dry_run
from rolecall.application_imports.run.next_import import run_next_import
from rolecall.application_imports.run.schedule import fire_schedules, import_pushes
from rolecall.carriers.carrying import carry_out_next
from rolecall.carriers.model import CHANNEL as CARRIERS_CHANNEL
from rolecall.conflicts.actions import expire_exceptions
from rolecall.console import sign_in_mail
from rolecall.console.actions import delete_old_sessions
from rolecall.console.signing_in import scopes_of
from rolecall.core import clock
from rolecall.core.authors import by_system, written_by
from rolecall.core.checking import Facts
from rolecall.core.config import Config
from rolecall.core.db import Db, Pool, make_pool, transaction
from rolecall.core.heartbeat import EVERY_SECONDS, beat, delete_stale_heartbeats
from rolecall.core.ids import new_id
from rolecall.core.nudge import listen
from rolecall.core.paging import evict_frozen_pages, tidy_lists
from rolecall.duties.actions import evaluate_waiting
from rolecall.exports.actions import close_lost_exports
from rolecall.notifications import actions as notifications
from rolecall.notifications import model as notification_model
from rolecall.notifications import reminders
from rolecall.notifications.sender import MessageSender
from rolecall.personnel_events import queries as personnel_events
from rolecall.personnel_events.model import CHANNEL as PERSONNEL_EVENTS_CHANNEL
from rolecall.personnel_events.stages import follow_event
from rolecall.reports.model import CHANNEL as REPORTS_CHANNEL
from rolecall.reports.running import run_reports
from rolecall.reviews import comparing, reason_lists, templates
from rolecall.reviews import following as reviews
from rolecall.reviews.model import CHANNEL as REVIEWS_CHANNEL
from rolecall.web.idempotency import delete_old_answers
from rolecall.webhooks import actions as webhooks
from rolecall.webhooks.sender import Sender

log = structlog.get_logger("rolecall.worker")

_PAUSE_AFTER_FAULT = 1.0
_BATCH = 1000
_LAST_TURN_SECONDS = 8.0
# How many imports of different applications one worker runs at once; imports of one application run in sequence.
_IMPORTS_AT_ONCE = 2
# How many carriers of different applications one worker runs at once. With more than one, a slow system does not delay
# all others.
_CARRIERS_AT_ONCE = 2


class Loop(msgspec.Struct, frozen=True):
    """A loop of the worker; `run` does the work that is due and returns whether more is due."""

    name: str
    run: Callable[[Pool, Config, datetime], Awaitable[bool]]
    # The longest pause in seconds before the loop looks for work again; `None` means `config.tick_seconds`.
    every: float | None = None
    # The NOTIFY channel that wakes the loop. A loop without a channel looks for work only at intervals.
    channel: str | None = None


async def _delete_old_sessions(db: Db, _: Config, now: datetime) -> None:
    async with written_by(db, "sessions", by_system("delete_old_sessions", now)):
        await delete_old_sessions(db, now)


async def _park_stray_deliveries(db: Db, _: Config, now: datetime) -> None:
    async with written_by(db, "parking", by_system("park_stray_deliveries", now)):
        await webhooks.park_stray_deliveries(db)


async def _close_lost_exports(db: Db, _: Config, now: datetime) -> None:
    async with written_by(db, "exports", by_system("close_lost_exports", now)):
        await close_lost_exports(db, now)


async def _expire_exceptions(db: Db, _: Config, now: datetime) -> None:
    async with written_by(db, "exceptions", by_system("expire_exceptions", now)):
        await expire_exceptions(db, now)


CHORES: dict[str, Callable[[Db, Config, datetime], Awaitable[object]]] = {
    "delete old answers": lambda db, _, now: delete_old_answers(db, now),
    "evict pages of frozen listings": lambda db, _, now: evict_frozen_pages(db, now),
    "delete old sessions": _delete_old_sessions,
    "fire schedules": fire_schedules,
    "import pushes": import_pushes,
    "sweep files": lambda db, config, now: imports.sweep_files(db, config.store, now),
    "delete old dry runs": lambda db, config, now: dry_runs.delete_old_dry_runs(db, config.store, now),
    "delete old deliveries": lambda db, _, now: webhooks.delete_old_deliveries(db, now),
    "park stray deliveries": _park_stray_deliveries,
    "close lost exports": _close_lost_exports,
    "expire exceptions": _expire_exceptions,
    "delete old notifications": lambda db, _, now: notifications.delete_old(db, now),
    "delete stale heartbeats": lambda db, _, __: delete_stale_heartbeats(db),
}


async def tick(pool: Pool, config: Config, now: datetime) -> bool:
    """Run all chores; a failing chore does not block the others."""
    for name, chore in CHORES.items():
        try:
            async with pool.connection() as db:
                await chore(db, config, now)
        except Exception as fault:
            log.error("chore failed", chore=name, exc_info=fault)
    return False


async def keep_lists(pool: Pool, _: Config, __: datetime) -> bool:
    async with pool.connection() as db:
        await tidy_lists(db)
    return False


async def open_due_requests(pool: Pool, _: Config, now: datetime) -> bool:
    async with pool.connection() as db, written_by(db, "due-requests", by_system("open_due_requests", now)):
        return await access_requests.move_due(db, now)


async def recheck_requests(pool: Pool, _: Config, now: datetime) -> bool:
    """Check requests again after a change that may alter the result."""
    async with pool.connection() as db, written_by(db, "rechecks", by_system("recheck_requests", now)):
        return await access_requests.recheck_waiting(db, now)


async def remind_and_escalate(pool: Pool, config: Config, now: datetime) -> bool:
    """Send reminders, and escalate requests that have waited too long; return whether more may be due."""
    async with pool.connection() as db, written_by(db, "reminders", by_system("remind_and_escalate", now)):
        return await reminders.remind_and_escalate(db, config.timezone, now)


async def match_accounts(pool: Pool, _: Config, now: datetime) -> bool:
    """Match accounts again after identities changed."""
    async with pool.connection() as db, transaction(db, "matching"):
        await matching.match_changed_identities(db, now)
    return False


async def evaluate_conflicts(pool: Pool, _: Config, now: datetime) -> bool:
    """Evaluate the conflicts of people who gained or lost an account, by matching or by a pin."""
    async with pool.connection() as db, transaction(db, "conflicts"):
        await evaluate_waiting(db, now)
    return False


async def follow_events(pool: Pool, _: Config, now: datetime) -> bool:
    async with pool.connection() as db:
        found = await personnel_events.to_follow(db, now, _BATCH)
    return await _each(pool, found, follow_event, now) and len(found) == _BATCH


async def close_loops(pool: Pool, _: Config, now: datetime) -> bool:
    """Reconcile finished imports with access requests."""
    async with pool.connection() as db:
        found = await finished_imports(db)
    await _each(pool, found, close_loop, now)
    return False


_FOLLOWED = (
    reviews.follow_due,
    reviews.replace_unavailable,
    reviews.withdraw_archived,
    reviews.retire_unknown,
)


async def follow_reviews(pool: Pool, config: Config, now: datetime) -> bool:
    """Apply requests, imports and due dates to reviews; a failing step does not block the others."""
    async with pool.connection() as db:
        numbers = await comparing.imports_to_review(db)
        due = await templates.due_templates(db, now)
        closing = await reviews.due_reviews(db, now)
    facts = Facts(now=now, zone=config.timezone)
    steps: list[Callable[..., Awaitable[None]]] = [
        partial(reviews.follow_requests, zone=config.timezone),
        *(partial(reviews.close_due, id=id, zone=config.timezone) for id in closing),
        *_FOLLOWED,
        *(partial(comparing.follow_import, import_number=number) for number in numbers),
        *(partial(templates.follow_template, id=id, facts=facts) for id in due),
    ]
    for step in steps:
        try:
            async with pool.connection() as db, written_by(db, "reviews", by_system("follow_reviews", now)):
                await step(db, now=now)
        except Exception as fault:
            log.error("work failed", work="follow reviews", exc_info=fault)
    return False


async def list_review_reasons(pool: Pool, _: Config, now: datetime) -> bool:
    """Store the reasons of a batch of review items, for lists filtered by reason; return whether there may be more."""
    async with pool.connection() as db, transaction(db, "reviews"):
        return await reason_lists.list_next(db)


async def write_reports(pool: Pool, config: Config, now: datetime) -> bool:
    return await run_reports(pool, config, now, scopes_of)


async def _each(
    pool: Pool, ids: Sequence[UUID], work: Callable[[Db, UUID, datetime], Awaitable[None]], now: datetime
) -> bool:
    """Run `work` for each item in its own transaction, so that a failure does not block the others.

    Return whether all succeeded.
    """
    well = True
    for id in ids:
        try:
            async with pool.connection() as db, written_by(db, "step", by_system(work.__name__, now)):
                await work(db, id, now)
        except Exception as fault:
            well = False
            log.error("work failed", work=work.__name__, id=str(id), exc_info=fault)
    return well


LOOPS = [
    Loop("tick", tick),
    Loop("lists", keep_lists, every=5),
    Loop("canceling imports", imports.finish_canceling, channel=imports.CHANNEL),
    *[Loop("imports", run_next_import, every=5, channel=imports.CHANNEL) for _ in range(_IMPORTS_AT_ONCE)],
    Loop("dry runs", run_next_dry_run, every=5, channel=DRY_RUNS_CHANNEL),
    Loop("matching", match_accounts, every=1),
    Loop("conflicts", evaluate_conflicts, every=1),
    Loop("rechecks", recheck_requests, every=1),
    Loop("access requests", open_due_requests),
    *[Loop("carriers", carry_out_next, every=5, channel=CARRIERS_CHANNEL) for _ in range(_CARRIERS_AT_ONCE)],
    Loop("reminders", remind_and_escalate),
    Loop("finished imports", close_loops, channel=FINISHED_CHANNEL),
    Loop("personnel events", follow_events, channel=PERSONNEL_EVENTS_CHANNEL),
    Loop("reviews", follow_reviews, channel=REVIEWS_CHANNEL),
    Loop("review reasons", list_review_reasons, every=5, channel=REVIEWS_CHANNEL),
    Loop("reports", write_reports, channel=REPORTS_CHANNEL),
    Loop("sign-in mails", sign_in_mail.send_links, every=5, channel=sign_in_mail.CHANNEL),
]


async def work(config: Config, stop: asyncio.Event) -> None:
    """Run all loops until `stop`, then give them a few seconds to finish. A later worker picks up unfinished work."""
    assert config.database_url
    # Exclude start-up objects from garbage collection: examining them each time doubles the time of a report.
    gc.freeze()
    pool = make_pool(config)
    delivering, notifying = asyncio.Event(), asyncio.Event()
    # Close the senders after their loops end, so that attempts in flight can finish.
    async with (
        pool,
        Sender(pool, config, delivering.set) as sender,
        MessageSender(pool, config, notifying.set) as messages,
        asyncio.TaskGroup() as tasks,
    ):
        loops = [(loop, asyncio.Event()) for loop in LOOPS]
        loops.append((Loop("deliveries", sender.turn, channel=webhooks.CHANNEL), delivering))
        loops.append((Loop("notifications", messages.turn, channel=notification_model.CHANNEL), notifying))
        heard = [(loop.channel, waker) for loop, waker in loops if loop.channel]
        ears = tasks.create_task(listen(config.database_url, heard))
        pulse = tasks.create_task(_pulse(pool))
        turns = [tasks.create_task(_turn(loop, waker, stop, pool, config)) for loop, waker in loops]
        await stop.wait()
        for _, waker in loops:
            waker.set()
        await asyncio.wait(turns, timeout=_LAST_TURN_SECONDS)
        for task in (ears, pulse, *turns):
            task.cancel()


async def _turn(loop: Loop, waker: asyncio.Event, stop: asyncio.Event, pool: Pool, config: Config) -> None:
    while not stop.is_set():
        waker.clear()
        try:
            while await loop.run(pool, config, clock.now()) and not stop.is_set():
                pass
        except Exception as fault:
            log.error("loop failed", loop=loop.name, exc_info=fault)
            await asyncio.sleep(_PAUSE_AFTER_FAULT)
        if stop.is_set():
            return
        # Do not use `wait_for`: in Python 3.11 it can swallow a cancellation that arrives with the wake-up.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(loop.every or config.tick_seconds, config.tick_seconds)):
                await waker.wait()


async def _pulse(pool: Pool) -> None:
    worker_id = new_id()
    while True:
        try:
            async with pool.connection() as db:
                await beat(db, worker_id)
        except (Error, PoolTimeout) as fault:
            log.warning("no heartbeat", reason=str(fault))
        await asyncio.sleep(EVERY_SECONDS)
