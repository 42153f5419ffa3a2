"""Create, change, test and delete webhooks, resend and delete their deliveries, and accept callbacks."""

import hashlib
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from psycopg.errors import UniqueViolation

from rolecall.applications.queries import with_mentioned_applications
from rolecall.audit.actions import record
from rolecall.core import address_check, sealing
from rolecall.core.checking import Addresses, Facts, Json, check
from rolecall.core.config import Config
from rolecall.core.db import Db, Pool, execute, fetch_rows, fetch_value
from rolecall.core.errors import Conflict, Invalid, NotFound, Problem, RateLimited
from rolecall.core.ids import known_guid, new_id
from rolecall.core.nudge import nudge
from rolecall.settings import queries as settings
from rolecall.webhooks import outbox, queries
from rolecall.webhooks.model import (
    CALLBACK_OPEN_FOR,
    CALLBACKS_A_DELIVERY,
    OLD_SECRET_SIGNS_FOR,
    TEST_EVENT,
)
from rolecall.webhooks.sample import sample_request
from rolecall.webhooks.shapes import HookChanges, NewHook, RecoverBody
from rolecall.webhooks.signing import new_secret, shown
from rolecall.work_items.actions import record_activity

# The PostgreSQL NOTIFY channel that wakes the sender; triggers in schema/webhooks.sql use it too.
CHANNEL = "deliveries"
_DELETED_AT_ONCE = 1000


async def create_hook(db: Db, raw: Json, facts: Facts, config: Config) -> tuple[UUID, str]:
    """Create a hook; return its id and its secret, which is shown only here."""
    facts = await with_mentioned_applications(db, facts, raw)
    body = check(NewHook, raw, facts, _url_problems(raw, facts, config))
    id, secret = new_id(), new_secret()
    try:
        await execute(
            db,
            """INSERT INTO webhooks (id, name, url, events, application_id, enabled, secret, created_date)
               VALUES (%(id)s, %(name)s, %(url)s, %(events)s, %(application_id)s, %(enabled)s, %(secret)s, %(now)s)""",
            id=id,
            secret=sealing.seal(sealing.load_key(config), secret, id),
            now=facts.now,
            **body.model_dump(),
        )
    except UniqueViolation:
        raise _taken(body.name) from None
    return id, shown(secret)


async def change_hook(db: Db, id: UUID, raw: Json, facts: Facts, config: Config) -> None:
    """Change the given fields only; `applicationId: null` removes the application filter."""
    was_enabled = await _lock(db, id)
    facts = await with_mentioned_applications(db, facts, raw)
    body = check(HookChanges, raw, facts, _url_problems(raw, facts, config))
    columns = body.model_dump(exclude_none=True)
    if "applicationId" in raw and raw["applicationId"] is None:
        columns["application_id"] = None
    if body.enabled and not was_enabled:
        # Forget earlier failures: otherwise the next one could disable the hook again at once.
        columns |= {"disabled_reason": None, "failures": 0, "failing_since": None}
    if columns:
        assignments = ", ".join(f"{name} = %({name})s" for name in columns)
        try:
            await execute(db, f"UPDATE webhooks SET {assignments} WHERE id = %(id)s", id=id, **columns)
        except UniqueViolation:
            raise _taken(body.name or "") from None
    if body.enabled is False:
        await outbox.park(db, id)
    await nudge(db, CHANNEL)


async def delete_hook(db: Db, id: UUID, now: datetime) -> None:
    """Delete a hook with its secrets; its deliveries can still be read, but accept no more callbacks."""
    await _lock(db, id)
    await execute(
        db,
        """UPDATE webhooks SET deleted_on = %(now)s, enabled = false, disabled_reason = NULL, secret = '',
                               previous_secret = NULL, previous_secret_expires_on = NULL WHERE id = %(id)s""",
        id=id,
        now=now,
    )
    await outbox.park(db, id)


async def rotate_secret(db: Db, id: UUID, config: Config, now: datetime) -> str:
    """Replace the secret and return the new one. For 24 hours, deliveries are signed with both secrets.

    An old secret that cannot be decrypted, because its key was lost, is discarded.
    """
    await _lock(db, id)
    secret, key = new_secret(), sealing.load_key(config)
    old: bytes = await fetch_value(db, "SELECT secret FROM webhooks WHERE id = %(id)s", id=id)
    can_sign = sealing.can_unseal(key, old, id)
    await execute(
        db,
        """UPDATE webhooks SET secret = %(secret)s, previous_secret = %(old)s, previous_secret_expires_on = %(until)s
           WHERE id = %(id)s""",
        id=id,
        secret=sealing.seal(key, secret, id),
        old=old if can_sign else None,
        until=now + OLD_SECRET_SIGNS_FOR if can_sign else None,
    )
    await nudge(db, CHANNEL)
    return shown(secret)


async def names_of_hook(pool: Pool, id: str) -> Addresses:
    """Return the addresses of the hook's host. This can take seconds, so no database connection is held meanwhile."""
    async with pool.connection() as db:
        hook = await queries.get_hook(db, id)
    return await address_check.looked_up([hook.url])


async def test_hook(db: Db, id: UUID, facts: Facts, config: Config) -> UUID:
    """Queue a sample delivery, which is sent once, even to a disabled hook; return the id of the delivery."""
    url = (await queries.get_hook(db, str(id))).url
    if problem := address_check.problem(url, config.webhook_allow, facts.addresses):
        raise Invalid.on("url", problem)
    # Do not use `new_id`, which begins with the time: the id must be hard to guess, because it permits callbacks.
    delivery, now = uuid4(), facts.now
    await execute(
        db,
        """INSERT INTO webhook_deliveries (id, webhook_id, event, status, body, created_date, next_attempt_on)
           VALUES (%(id)s, %(webhook_id)s, %(event)s, 'Pending',
                   webhook_body(%(id)s, %(now)s, %(event)s, %(sample)s::json), %(now)s, %(now)s)""",
        id=delivery,
        webhook_id=id,
        event=TEST_EVENT,
        sample=sample_request(now).decode(),
        now=now,
    )
    await record(db, "Webhook", id, {"testedOn": now.isoformat()})
    await nudge(db, CHANNEL)
    return delivery


async def recover_hook(db: Db, id: UUID, raw: Json, facts: Facts) -> None:
    """Queue the undelivered deliveries that were created since a time, except tests. Their retries start over."""
    if not await _lock(db, id):
        raise Conflict("The webhook is disabled; enable it first")
    body = check(RecoverBody, raw, facts)
    await execute(
        db,
        f"""UPDATE webhook_deliveries SET {_DUE_NOW}
            WHERE webhook_id = %(id)s AND created_date >= %(since)s AND status <> 'Delivered'
              AND event <> 'WebhookTest'""",
        id=id,
        since=body.since,
        now=facts.now,
    )
    await record(db, "Webhook", id, {"recoveredSince": body.since.isoformat()})
    await nudge(db, CHANNEL)


async def resend_delivery(db: Db, id: str, now: datetime) -> None:
    """Queue a delivery again under the same id, even if it was delivered."""
    delivery = known_guid("Delivery", id)
    rows = await fetch_rows(
        db,
        """SELECT h.enabled OR d.event = 'WebhookTest' AND h.deleted_on IS NULL, h.id,
                  jsonb_build_object('event', d.event, 'createdDate', d.created_date,
                                     'accessRequestId', d.access_request_id)
           FROM webhook_deliveries d JOIN webhooks h ON h.id = d.webhook_id WHERE d.id = %(id)s""",
        id=delivery,
    )
    if not rows:
        raise NotFound("Delivery", id)
    is_sendable, hook_id, resent = rows[0]
    if not is_sendable:
        raise Conflict("The webhook is disabled; enable it first")
    # Only one delivery changes, so the hook is not locked.
    await execute(db, f"UPDATE webhook_deliveries SET {_DUE_NOW} WHERE id = %(id)s", id=delivery, now=now)
    # Do not record the id of the delivery: with it, readers of the audit could post callbacks to the delivery.
    await record(db, "Webhook", hook_id, {"resent": resent})
    await nudge(db, CHANNEL)


# A delivery in flight keeps its lease, so that it is not sent a second time meanwhile.
_DUE_NOW = """status = 'Pending', step = 0, next_attempt_on =
    CASE WHEN lease IS NOT NULL AND next_attempt_on > %(now)s THEN next_attempt_on ELSE %(now)s END"""


async def accept_callback(db: Db, id: str, content: str, now: datetime) -> None:
    """Store the receiver's text. If the delivery is about a request, also add the text to the request's activity.

    The same text is stored only once for each delivery.
    """
    delivery = known_guid("Delivery", id)
    rows = await fetch_rows(
        db,
        """SELECT d.access_request_id, d.created_date, h.name
           FROM webhook_deliveries d JOIN webhooks h ON h.id = d.webhook_id
           WHERE d.id = %(id)s AND d.created_date > %(oldest)s AND h.deleted_on IS NULL FOR NO KEY UPDATE OF d""",
        id=delivery,
        oldest=now - CALLBACK_OPEN_FOR,
    )
    if not rows:
        raise NotFound("Delivery", id)
    request_id, created, hook_name = rows[0]
    if await _keep_callback(db, delivery, content, created, now) and request_id:
        await record_activity(
            db, request_id, author=f"Webhook - {hook_name}", action="Webhook Response", content=content, now=now
        )


async def _keep_callback(db: Db, delivery: UUID, content: str, created: datetime, now: datetime) -> bool:
    """Store a callback and return whether it is new.

    The calling code must have locked the delivery, so that concurrent callbacks cannot exceed the limit.
    """
    sha256 = hashlib.sha256(content.encode()).digest()
    known = await fetch_rows(db, "SELECT sha256 FROM webhook_callbacks WHERE delivery_id = %(id)s", id=delivery)
    if (sha256,) in known:
        return False
    if len(known) >= CALLBACKS_A_DELIVERY:
        # The limit is never lifted, so `Retry-After` is the time until callbacks are closed.
        raise RateLimited(
            int((created + CALLBACK_OPEN_FOR - now).total_seconds()),
            f"A delivery accepts at most {CALLBACKS_A_DELIVERY} callbacks",
        )
    await execute(
        db,
        """INSERT INTO webhook_callbacks (delivery_id, sha256, received_on, content)
           VALUES (%(id)s, %(sha256)s, %(now)s, %(content)s)""",
        id=delivery,
        sha256=sha256,
        now=now,
        content=content,
    )
    return True


async def delete_old_deliveries(db: Db, now: datetime) -> int:
    """Delete a batch of old deliveries, except those still to be sent; return how many were deleted."""
    # `list_key` begins with the time of creation, so that its index finds old deliveries.
    days = (await settings.get(db)).webhook_retention_days
    return await execute(
        db,
        """DELETE FROM webhook_deliveries WHERE id IN (
               SELECT id FROM webhook_deliveries WHERE list_key < time_key(%(oldest)s, 0) AND status <> 'Pending'
               LIMIT %(batch)s FOR UPDATE SKIP LOCKED)""",
        oldest=now - timedelta(days=days),
        batch=_DELETED_AT_ONCE,
    )


async def park_stray_deliveries(db: Db) -> None:
    """Park the pending deliveries of disabled hooks: an event may create some while a hook is being disabled."""
    for (id,) in await fetch_rows(
        db,
        """SELECT h.id FROM webhooks h WHERE NOT h.enabled AND EXISTS (
               SELECT FROM webhook_deliveries d
               WHERE d.webhook_id = h.id AND d.status = 'Pending' AND d.event <> 'WebhookTest')
           FOR NO KEY UPDATE SKIP LOCKED""",
    ):
        await outbox.park(db, id)


async def _lock(db: Db, id: UUID) -> bool:
    """Lock the hook before its deliveries (the lock order of `outbox`) and return whether it is enabled."""
    enabled: bool | None = await fetch_value(
        db, "SELECT enabled FROM webhooks WHERE id = %(id)s AND deleted_on IS NULL FOR NO KEY UPDATE", id=id
    )
    if enabled is None:
        raise NotFound("Webhook", id)
    return enabled


def _url_problems(raw: Json, facts: Facts, config: Config) -> list[Problem]:
    url = raw.get("url")
    if not isinstance(url, str) or not url.strip() or len(url) > address_check.LONGEST_URL:
        # The check of the body reports these problems.
        return []
    problem = address_check.problem(url, config.webhook_allow, facts.addresses)
    return [Problem("url", problem)] if problem else []


def _taken(name: str) -> Invalid:
    return Invalid.on("name", f"A webhook named {name} already exists; choose another name")
