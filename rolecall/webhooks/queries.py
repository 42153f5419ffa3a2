"""Read webhooks and their deliveries."""

from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.core.db import Db, fetch_all, fetch_one, fetch_rows, fetch_value
from rolecall.core.errors import NotFound
from rolecall.core.ids import known_guid
from rolecall.core.paging import Listing, Page, fetch_listed, fetch_small, totals_by
from rolecall.webhooks.model import DeliveryStatus
from rolecall.webhooks.shapes import (
    Attempt,
    Callback,
    DeliveryDetail,
    DeliveryItem,
    DeliveryNumbers,
    HookDetail,
    LagBucket,
)

_HOOK = """id, 'Webhook' AS kind, name, url, events, application_id, enabled, disabled_reason, failing_since,
           created_date, previous_secret_expires_on"""
_ITEM = "id, webhook_id, access_request_id, event, status, attempt_count, created_date, next_attempt_on"

DELIVERIES = Listing(
    table="webhook_deliveries",
    row="d",
    columns=_ITEM,
    make=lambda row: DeliveryItem(*row),
    facets=("webhook_id", "status"),
    newest_first=True,
)


async def hooks_by_name(db: Db, page: int) -> Page[HookDetail]:
    hooks, order = "FROM webhooks WHERE deleted_on IS NULL", "lower(name), name"
    return await fetch_small(db, lambda row: HookDetail(*row), page, columns=_HOOK, rows=hooks, order=order)


async def get_hook(db: Db, id: str) -> HookDetail:
    found = await fetch_one(
        db,
        HookDetail,
        f"SELECT {_HOOK} FROM webhooks WHERE id = %(id)s AND deleted_on IS NULL",
        id=known_guid("Webhook", id),
    )
    if found:
        return found
    raise NotFound("Webhook", id)


async def newest_first(
    db: Db,
    page: int,
    *,
    webhook_id: UUID | None = None,
    access_request_id: UUID | None = None,
    status: DeliveryStatus | None = None,
) -> Page[DeliveryItem]:
    filters = {"webhook_id": webhook_id, "access_request_id": access_request_id, "status": status}
    return await fetch_listed(db, DELIVERIES, page, **filters)


async def get_delivery(db: Db, id: str) -> DeliveryDetail:
    delivery = known_guid("Delivery", id)
    rows = await fetch_rows(db, f"SELECT {_ITEM}, body FROM webhook_deliveries WHERE id = %(id)s", id=delivery)
    if not rows:
        raise NotFound("Delivery", id)
    return DeliveryDetail(
        **msgspec.structs.asdict(DeliveryItem(*rows[0][:-1])),
        body=msgspec.Raw(rows[0][-1]),
        attempts=await _attempts(db, delivery),
        callbacks=await _callbacks(db, delivery),
    )


async def _attempts(db: Db, delivery_id: UUID) -> list[Attempt]:
    return await fetch_all(
        db,
        Attempt,
        """SELECT number, started_on, ended_on, outcome, status_code, response
           FROM webhook_attempts WHERE delivery_id = %(id)s ORDER BY number""",
        id=delivery_id,
    )


async def _callbacks(db: Db, delivery_id: UUID) -> list[Callback]:
    return await fetch_all(
        db,
        Callback,
        "SELECT received_on, content FROM webhook_callbacks WHERE delivery_id = %(id)s ORDER BY number",
        id=delivery_id,
    )


async def numbers(db: Db, now: datetime) -> DeliveryNumbers:
    waiting = [DeliveryStatus.PENDING, DeliveryStatus.FAILED, DeliveryStatus.PARKED]
    by_status = await totals_by(db, "webhook_deliveries", "status", waiting)
    # LATERAL with LIMIT reads one index entry for each hook, however many deliveries are pending.
    oldest: datetime | None = await fetch_value(
        db,
        """SELECT min(d.next_attempt_on) FROM webhooks h CROSS JOIN LATERAL (
               SELECT next_attempt_on FROM webhook_deliveries
               WHERE webhook_id = h.id AND status = 'Pending' ORDER BY next_attempt_on LIMIT 1) AS d""",
    )
    lag = await fetch_all(
        db,
        LagBucket,
        """SELECT outcome, within, sum(attempts)::bigint AS attempts, sum(seconds) AS seconds
           FROM webhook_tallies GROUP BY outcome, within ORDER BY outcome, within""",
    )
    late = max((now - oldest).total_seconds(), 0.0) if oldest else 0.0
    return DeliveryNumbers(by_status, late, lag)
