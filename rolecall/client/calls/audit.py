"""Calls about audit."""

from rolecall.client import answers
from rolecall.client.answers import Page
from rolecall.client.calls import describe
from rolecall.client.calls.call import Call, Id


def list_audit_events(
    *,
    entity_id: Id | None = None,
    caller_id: Id | None = None,
    action: str | None = None,
    from_: str | None = None,
    until: str | None = None,
) -> Call[Page[answers.AuditEvent]]:
    """List who changed what, newest first."""
    filters = {"entity_id": entity_id, "caller_id": caller_id, "action": action, "from": from_, "until": until}
    return describe.get(Page[answers.AuditEvent], "/api/audit-events", **filters)


def verify_audit_events() -> Call[answers.AuditVerdict]:
    """Verify the audit hash chain, entry by entry."""
    return describe.get(answers.AuditVerdict, "/api/audit-events/verify")
