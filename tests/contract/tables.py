"""Repeat the tables of the specification, field by field and in order, and check values against them."""

import re
from collections.abc import Callable
from typing import Any


class Words(tuple[str, ...]):
    """Match one of these strings."""


class Nullable:
    def __init__(self, expected: Any) -> None:
        self.expected = expected


def GUID(value: Any) -> bool:  # noqa: N802
    return isinstance(value, str) and bool(re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", value))


def TIME(value: Any) -> bool:  # noqa: N802
    """Match ISO 8601 in UTC, with microseconds only when they are not zero."""
    pattern = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z"
    return isinstance(value, str) and bool(re.fullmatch(pattern, value)) and not value.endswith(".000000Z")


def TEXT(value: Any) -> bool:  # noqa: N802
    return isinstance(value, str)


def NUMBER(value: Any) -> bool:  # noqa: N802
    return isinstance(value, int) and not isinstance(value, bool)


def FLAG(value: Any) -> bool:  # noqa: N802
    return isinstance(value, bool)


def mismatches(value: Any, expected: Any, path: str = "answer") -> list[str]:
    """Return the places where a value differs from the expected type, words or fields."""
    match expected:
        case Nullable():
            return [] if value is None else mismatches(value, expected.expected, path)
        case Words():
            return [] if value in expected else [f"{path} is {value!r}, not one of {', '.join(expected)}"]
        case dict() if not isinstance(value, dict):
            return [f"{path} is no object"]
        case dict() if list(value) != list(expected):
            return [f"{path} has {list(value)}, the specification {list(expected)}"]
        case dict():
            return [found for name in expected for found in mismatches(value[name], expected[name], f"{path}.{name}")]
        case [inner]:
            if not isinstance(value, list):
                return [f"{path} is no list"]
            return [found for n, each in enumerate(value) for found in mismatches(each, inner, f"{path}[{n}]")]
        case Callable():
            return [] if expected(value) else [f"{path} is {value!r}, not a {expected.__name__}"]
    raise TypeError(expected)


PRIORITY = Words(["None", "Low", "Moderate", "High", "Critical"])
STATUS = Words(["Pending", "Open", "Resolved", "Completed", "Canceled", "Scheduled", "Snoozed"])
ACCESS = Words(["None", "Unrestricted", "Grant", "Deny", "Modify"])
PERSON = {"id": GUID, "name": TEXT}
PAIR = {"key": TEXT, "value": TEXT}
ACTIVITY = {"createdDate": TIME, "author": TEXT, "action": Nullable(TEXT), "content": TEXT}
COMMENT = {"createdDate": TIME, "author": TEXT, "content": TEXT}

IDENTITY = {
    "id": GUID,
    "kind": Words(["Identity"]),
    "firstName": TEXT,
    "lastName": TEXT,
    "emailAddress": TEXT,
    "type": Words(
        [
            "Employee",
            "Service Account",
            "Vendor",
            "Shared",
            "Mailbox",
            "Client",
            "Temporary",
            "Administrator",
            "Auditor",
            "Unknown",
        ]
    ),
    "title": TEXT,
    "company": TEXT,
    "division": TEXT,
    "department": TEXT,
    "office": TEXT,
    "supervisorName": TEXT,
    "createdDate": TIME,
    "updatedDate": TIME,
    "firstSeenDate": TIME,
    "inactivatedDate": Nullable(TIME),
    "status": Words(["Active", "Disabled", "Removed"]),
}
WEBHOOK_IDENTITY = {**IDENTITY, "type": Words(["Employee", "ServiceAccount", "Bot", "VendorAccount"])}

APPLICATION_SUMMARY = {
    "id": GUID,
    "kind": Words(["Application"]),
    "name": TEXT,
    "priority": PRIORITY,
    "isArchived": FLAG,
    "lastUpdated": TIME,
}

_COUNTS = {"total": NUMBER, "new": NUMBER, "altered": NUMBER, "removed": NUMBER}
_IMPORT_KIND = {
    "id": GUID,
    "kind": Words(["Application Import"]),
    "number": NUMBER,
    "type": Words(["Scheduled", "Manual", "API"]),
    "status": Words(["Pending", "Running", "Finished", "Failed", "Canceled", "Canceling"]),
}
IMPORT = {
    **_IMPORT_KIND,
    "createdBy": TEXT,
    "buildStart": Nullable(TIME),
    "buildEnd": Nullable(TIME),
    "log": Nullable(TEXT),
    "files": [{"id": GUID, "fileGroupId": GUID, "fileGroup": TEXT, "name": TEXT}],
    "metrics": Nullable({"users": _COUNTS, "groups": _COUNTS, "permissions": {"total": NUMBER, "new": NUMBER}}),
}
IMPORT_DETAIL = {**IMPORT, "application": APPLICATION_SUMMARY}
IMPORT_ITEM = {
    **_IMPORT_KIND,
    "buildStart": Nullable(TIME),
    "buildEnd": Nullable(TIME),
    "application": APPLICATION_SUMMARY,
}

_FILE_GROUP = {"fileGroupId": GUID, "name": TEXT, "isOptional": FLAG, "isMultiple": FLAG}
APPLICATION = {
    **APPLICATION_SUMMARY,
    "connector": Nullable({"id": GUID, "name": TEXT, "vendor": TEXT, "files": Nullable([_FILE_GROUP])}),
    "lastImport": Nullable(IMPORT),
}

_PRIVILEGE = {
    "initialAccess": ACCESS,
    "requestedAccess": ACCESS,
    "approvedAccess": ACCESS,
    "permission": {
        "header": TEXT,
        "section": TEXT,
        "permission": TEXT,
        "description": TEXT,
        "riskRating": PRIORITY,
        "metadata": [PAIR],
        "value": TEXT,
    },
    "sources": [TEXT],
    "origins": [TEXT],
}
_RESPONSE = {"reviewer": PERSON, "response": Words(["Pending", "Approved", "Rejected"])}
_MILESTONES = {
    name: Nullable(TIME)
    for name in (
        "scheduledStart",
        "startedOn",
        "approvedOn",
        "resolvedOn",
        "verifiedOn",
        "completedOn",
        "canceledOn",
    )
}
_REQUEST_ENDS = {
    "activity": [ACTIVITY],
    "comments": [COMMENT],
    "relatedItems": [{"id": GUID, "kind": Words(["Review Item", "Personnel Event"]), "number": NUMBER, "status": TEXT}],
    "requirements": [{"type": TEXT, "description": TEXT, "rules": [{"reason": TEXT, "responses": [_RESPONSE]}]}],
    "accessModels": [{"id": GUID, "name": TEXT, "description": TEXT, "willBeInEffect": FLAG}],
}


def request_shape(target: dict[str, Any], ends: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": GUID,
        "kind": Words(["Access Request"]),
        "number": NUMBER,
        "action": Words(["Add", "Change", "Remove", "Suspend", "Restore"]),
        "status": STATUS,
        "reporter": PERSON,
        "assignee": Nullable(PERSON),
        "target": target,
        **_MILESTONES,
        **ends,
    }


def target_shape(kind: str, identity: Any, details: dict[str, Any]) -> dict[str, Any]:
    group = {"nomenclature": TEXT, "affectedIdentity": lambda value: value is None}
    return {
        "type": Words([kind]),
        "name": TEXT,
        **(group if kind == "Group" else {"affectedIdentity": identity}),
        "application": APPLICATION_SUMMARY,
        **details,
    }


_DETAILS = {"privileges": [_PRIVILEGE], "metadata": [PAIR]}
REQUEST_ITEM = {kind: request_shape(target_shape(kind, IDENTITY, {}), {}) for kind in ("User", "Group")}
REQUEST_DETAIL = {
    kind: request_shape(target_shape(kind, IDENTITY, _DETAILS), _REQUEST_ENDS) for kind in ("User", "Group")
}
REQUEST_SUMMARY = request_shape(target_shape("User", IDENTITY, {}), {})
WEBHOOK_REQUEST = request_shape(target_shape("User", WEBHOOK_IDENTITY, _DETAILS), _REQUEST_ENDS)

EVENT_ITEM = {
    "id": GUID,
    "kind": Words(["Personnel Event"]),
    "number": NUMBER,
    "type": Words(["Onboard", "Offboard", "Role Transition", "Absence"]),
    "status": STATUS,
    "reporter": PERSON,
    "assignee": Nullable(PERSON),
    "affectedIdentity": IDENTITY,
    "neededOn": TIME,
    "neededUntil": Nullable(TIME),
    "completedOn": Nullable(TIME),
}
EVENT_DETAIL = {
    **EVENT_ITEM,
    "stages": [
        {
            "name": Words(["Approval", "Provision", "Verification", "Transition", "Removal"]),
            "status": STATUS,
            "startedOn": Nullable(TIME),
            "scheduledStart": Nullable(TIME),
            "completedOn": Nullable(TIME),
            "completedBy": Nullable(PERSON),
            "accessRequests": [REQUEST_SUMMARY],
        }
    ],
    "activity": [ACTIVITY],
    "comments": [COMMENT],
}

DELIVERY = {
    "id": GUID,
    "createdDate": TIME,
    "callback": TEXT,
    "event": {"name": TEXT, "display": TEXT, "description": TEXT, "request": WEBHOOK_REQUEST},
}


def page_of(item: Any) -> dict[str, Any]:
    return {"items": [item], "totalCount": NUMBER, "page": NUMBER, "pageSize": NUMBER, "totalPages": NUMBER}


# The name of each event with its display name and description.
EVENTS = {
    "AccessRequestCreated": ("Access Request Created", "An access request is created"),
    "AccessRequestAssigned": ("Access Request Assigned", "An access request is assigned to a person"),
    "AccessRequestApproved": ("Access Request Approved", "Approved by all required reviewers"),
    "AccessRequestProvisioning": ("Access Request Provisioning", "A request to automate a provision step is made"),
    "AccessRequestResolved": ("Access Request Resolved", "Resolved by a provision engineer"),
    "AccessRequestReopened": ("Access Request Reopened", "Reopened for provisioning"),
    "AccessRequestCompleted": ("Access Request Completed", "Successfully completed"),
    "AccessRequestCanceled": ("Access Request Canceled", "Canceled"),
}
