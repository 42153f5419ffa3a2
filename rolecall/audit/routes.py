from typing import Any

from litestar import Router

from rolecall.audit import queries
from rolecall.audit.shapes import AuditEventItem, Verdict
from rolecall.core.caller import Scope
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.paging import Page
from rolecall.web.bodies import Reader, a_guid
from rolecall.web.operations import operation
from rolecall.web.periods import A_PERIOD, end_of, start_of

_LONGEST_ACTION = 128


def _action(text: str) -> str:
    if not text or len(text) > _LONGEST_ACTION or "\x00" in text:
        raise ValueError(f"must be 1 to {_LONGEST_ACTION} characters")
    return text


AN_ACTION = Reader(_action, {"type": "string", "minLength": 1, "maxLength": _LONGEST_ACTION})
FILTERS = {"entityId": a_guid, "callerId": a_guid, "action": AN_ACTION, **A_PERIOD}


@operation("GET", "/", scope=Scope.AUDIT_READ, query=FILTERS)
async def list_audit_events(db: Db, query: dict[str, Any], config: Config) -> Page[AuditEventItem]:
    """List who changed what, newest first.

    `from` is inclusive. `until` is exclusive if it is a time; a date includes the whole day. `action` ignores case.
    """
    which = queries.Filter(
        entity_id=query.get("entityId"),
        caller_id=query.get("callerId"),
        action=query.get("action"),
        since=start_of(query, config),
        until=end_of(query, config),
    )
    return await queries.newest_first(db, query["page"], which)


@operation("GET", "/verify", scope=Scope.AUDIT_READ)
async def verify_audit_events(db: Db) -> Verdict:
    """Verify the audit hash chains, entry by entry."""
    return await queries.verify(db)


router = Router("/api/audit-events", route_handlers=[list_audit_events, verify_audit_events], tags=["Administration"])
