from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from rolecall.core.db import Db, fetch_all, fetch_one, fetch_rows, fetch_value
from rolecall.core.errors import NotFound
from rolecall.core.ids import known_guid
from rolecall.core.paging import Page, fetch_page, kept_total
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


async def hooks_by_name(db: Db, page: int) -> Page[HookDetail]:
    return await fetch_page(
        db,
        lambda row: HookDetail(*row),
        page,
        total="SELECT count(*) FROM webhooks WHERE deleted_on IS NULL",
        items=f"SELECT {_HOOK} FROM webhooks WHERE deleted_on IS NULL ORDER BY name",
    )


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
    given = {"webhook_id": webhook_id, "access_request_id": access_request_id, "status": status}
    filters = {name: value for name, value in given.items() if value is not None}
    conditions = " AND ".join(f"{name} = %({name})s" for name in filters) or "true"
    return await fetch_page(
        db,
        lambda row: DeliveryItem(*row),
        page,
        total=_total(filters, conditions),
        items=f"SELECT {_ITEM} FROM webhook_deliveries WHERE {conditions} ORDER BY number DESC",
        **filters,
    )


def _total(filters: dict[str, Any], conditions: str) -> str:
    if "access_request_id" in filters:
        return f"SELECT count(*) FROM webhook_deliveries WHERE {conditions}"
    facets = {"webhook_id": "facet[1] = %(webhook_id)s::text", "status": "facet[2] = %(status)s"}
    return kept_total("webhook_deliveries", *(facets[name] for name in filters))


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
    by_status = await fetch_rows(
        db,
        "SELECT facet[2], sum(rows)::bigint FROM list_totals WHERE list = 'webhook_deliveries' GROUP BY 1",
    )
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
    counts = {str(status): 0 for status in DeliveryStatus} | dict(by_status)
    return DeliveryNumbers(counts, late, lag)
