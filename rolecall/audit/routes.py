from datetime import UTC, datetime, timedelta
from typing import Any

from litestar import Router

from rolecall.audit import queries
from rolecall.audit.shapes import AuditEventItem, Verdict
from rolecall.core import clock
from rolecall.core.caller import Scope
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.errors import Invalid
from rolecall.core.paging import Page
from rolecall.web.bodies import Reader, a_guid
from rolecall.web.operations import operation

_LONGEST_ACTION = 128


def _action(text: str) -> str:
    if not text or len(text) > _LONGEST_ACTION or "\x00" in text:
        raise ValueError(f"must be 1 to {_LONGEST_ACTION} characters")
    return text


AN_ACTION = Reader(_action, {"type": "string", "minLength": 1, "maxLength": _LONGEST_ACTION})
A_TIME = Reader(str, {"type": "string", "anyOf": [{"format": "date"}, {"format": "date-time"}]})
FILTERS = {"entityId": a_guid, "callerId": a_guid, "action": AN_ACTION, "from": A_TIME, "until": A_TIME}


def _bound(query: dict[str, Any], name: str, config: Config, a_day: timedelta) -> datetime | None:
    """Parse a bound; a date means midnight in the service's time zone, plus `a_day`."""
    text: str | None = query.get(name)
    if text is None:
        return None
    try:
        moment = clock.parse(text, config.timezone)
        is_day = len(text) == len("2026-12-01") and "T" not in text
        return (moment.astimezone(config.timezone) + a_day).astimezone(UTC) if is_day else moment
    except (ValueError, OverflowError):
        raise Invalid.on(name, f"{name.capitalize()} must be an ISO 8601 date or date-time") from None


@operation("GET", "/", scope=Scope.AUDIT_READ, query=FILTERS)
async def list_audit_events(db: Db, query: dict[str, Any], config: Config) -> Page[AuditEventItem]:
    """List who changed what, newest first.

    `from` is inclusive and `until` exclusive; a date includes the whole day. `action` ignores case.
    """
    which = queries.Filter(
        entity_id=query.get("entityId"),
        caller_id=query.get("callerId"),
        action=query.get("action"),
        since=_bound(query, "from", config, timedelta()),
        until=_bound(query, "until", config, timedelta(days=1)),
    )
    return await queries.newest_first(db, query["page"], which)


@operation("GET", "/verify", scope=Scope.AUDIT_READ)
async def verify_audit_events(db: Db) -> Verdict:
    """Verify the audit hash chains, entry by entry."""
    return await queries.verify(db)


router = Router("/api/audit-events", route_handlers=[list_audit_events, verify_audit_events], tags=["Administration"])
