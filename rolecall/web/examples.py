"""Generate examples for the OpenAPI document from its schemas and field names."""

from typing import Any

from rolecall.core.checking import Json

_ID = "0192e4a0-7c1e-7000-8000-{:012d}"
_FORMATS = {"date-time": "2026-12-01T00:00:00Z", "date": "2026-12-01"}
_KINDS: dict[str, Any] = {"string": str, "integer": int, "number": float, "boolean": bool}
_PLAIN: Json = {"string": "text", "integer": 1, "number": 1.0, "boolean": False}

# Example values, keyed by field name or by schema and field name. Any other field gets a value only if it is required
# and cannot be null.
_KNOWN: Json = {
    "ActivityEntry.action": "Created",
    "ApprovalRule.reason": "The supervisor approves added and changed access",
    "ConflictDetail.since": "2026-12-01T00:00:00Z",
    "ConflictDetail.until": "2030-01-01T00:00:00Z",
    "ConflictException.until": "2030-01-01T00:00:00Z",
    "ConflictItem.since": "2026-12-01T00:00:00Z",
    "ReviewItem.until": "2030-01-01T00:00:00Z",
    "ReviewItemDetail.until": "2030-01-01T00:00:00Z",
    "DecideBody.decision": "KeepUntil",
    "DecideSeveralBody.decision": "KeepUntil",
    "DecisionEntry.until": "2030-01-01T00:00:00Z",
    "Acceptance.until": "2030-01-01T00:00:00Z",
    "ReviewPeriod.until": "2030-01-01T00:00:00Z",
    "ConflictItem.until": "2030-01-01T00:00:00Z",
    "EventDetail.status": "Scheduled",
    "FileGroup.name": "Users",
    "FileGroupBody.name": "Users",
    "Import.type": "API",
    "ImportDetail.type": "API",
    "ImportFile.name": "users.csv",
    "ModelReason.committedBy": {},
    "ModelReason.committedOn": "2026-12-01T00:00:00Z",
    "ModelReason.version": 1,
    "PersonReference.name": "API Token - ci",
    "PinBody.identityId": _ID.format(7),
    "RequestApprover.standIn": {},
    "ReviewerResponse.standIn": {},
    "ExceptionApproval.standIn": {},
    "SettingsBody.approvalLeadDays": 14,
    "SourceBody.contents": {"Users": {"path": "users"}},
    "Stage.status": "Scheduled",
    "author": "API Token - ci",
    "callback": "https://rolecall.example/webhooks/callback/" + _ID.format(205),
    "comment": "Starts in the Zurich office",
    "company": "Example Ltd",
    "connector": {},
    "content": "Starts in the Zurich office",
    "createdBy": "API Token - ci",
    "cron": "0 6 * * 1-5",
    "department": "Research",
    "description": "Pays everyone on the 25th",
    "division": "Engineering",
    "effectiveDate": "2030-01-01",
    "email": "ada.lovelace@example.com",
    "emailAddress": "ada.lovelace@example.com",
    "endDate": "2030-07-01",
    "expiresInDays": 90,
    "fileGroup": "Users",
    "firstName": "Ada",
    "header": "Payments",
    "key": "Cost center",
    "label": "Badge color",
    "lastName": "Lovelace",
    "log": "2026-12-01T08:00:00Z Import 7 started",
    "name": "Payroll",
    "nomenclature": "Role",
    "office": "Zurich",
    "pageSize": 50,
    "permission": "Approve payment",
    "section": "Approvals",
    "secret": "rct_8kT0aW2mXq4Z_…",
    "since": "2026-12-01",
    "supervisorName": "Babbage, Charles",
    "title": "Analyst",
    "until": "2030-01-01",
    "url": "https://hooks.example.com/rolecall",
    "username": "ada",
    "value": "1200",
    "vendor": "Rolecall",
}


def example_of(schema: Json, schemas: Json, *, asked: bool = False, field: str = "") -> Any:
    """Return an example; for a request body (`asked`), optional fields without a known value are omitted, not null."""
    schema_name = schema["$ref"].rpartition("/")[2] if "$ref" in schema else ""
    schema = schemas[schema_name] if schema_name else schema
    known = _KNOWN.get(field, _KNOWN.get(field.partition(".")[2]))
    match schema:
        case {"anyOf": [first, *_]} | {"oneOf": [first, *_]}:
            return example_of(first, schemas, asked=asked, field=field)
        case {"properties": fields}:
            made = {name: _value_of(schema_name, name, schema, schemas, asked) for name in fields}
            return {name: value for name, value in made.items() if value is not None or not asked}
        case {"items": items}:
            return [example_of(items, schemas, asked=asked, field=field)]
        case {"type": "object"}:
            return known if isinstance(known, dict) else {}
        case {"const": value} | {"enum": [value, *_]}:
            return known if known in schema.get("enum", ()) else value
        case {"format": "uuid"}:
            # Do not use `hash`: its results for strings differ between runs.
            return known or _ID.format(sum(field.encode()) % 1000)
        case {"format": format}:
            return known or _FORMATS[format]
    kind = schema["type"] if isinstance(schema.get("type"), str) else schema.get("type", ["string"])[0]
    return known if isinstance(known, _KINDS[kind]) else schema.get("minimum", _PLAIN[kind])


def _value_of(schema_name: str, name: str, schema: Json, schemas: Json, asked: bool) -> Any:
    inner = schema["properties"][name]
    nullable = "null" in inner.get("type", ()) or {"type": "null"} in inner.get("anyOf", ())
    wanted = name in schema.get("required", ()) and not nullable
    if wanted or name in _KNOWN or f"{schema_name}.{name}" in _KNOWN:
        return example_of(inner, schemas, asked=asked, field=f"{schema_name}.{name}")
    return None
