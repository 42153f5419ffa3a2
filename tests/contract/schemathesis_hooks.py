"""Adapt generated requests to facts that a schema cannot express: existing records, today's date, taken names.

Schemathesis loads this module (SCHEMATHESIS_HOOKS). Requests that are valid by the OpenAPI document are made valid for
the records too, so that rejecting one is a failure. Invalid requests stay invalid.
"""

import itertools
import json
import os
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import schemathesis
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation import GenerationMode

from rolecall.core.text import is_blank

# The ids of records created before the run, by kind.
RECORDS: dict[str, list[str]] = json.loads(os.environ["SCHEMATHESIS_RECORDS"])


def one(kind: str) -> Callable[[Any], str]:
    return lambda _: random.choice(RECORDS[kind])


def in_days(low: int, high: int) -> Callable[[Any], str]:
    return lambda _: (datetime.now(UTC) + timedelta(days=random.randint(low, high))).isoformat()


def another(_: Any) -> str:
    return uuid4().hex


def an_address(_: Any) -> str:
    return f"https://hooks.example.com/{uuid4().hex}"


def a_mailbox(_: Any) -> str:
    return "ada@example.com"


def several(kind: str) -> Callable[[Any], list[str]]:
    return lambda value: [one(kind)(each) for each in value]


def at_most_one(value: Any) -> Any:
    return fit(value[:1]) if isinstance(value, list) else value


FITTING: dict[str, Callable[[Any], Any]] = {
    "access": at_most_one,
    "applicationId": one("applications"),
    "applicationIds": several("applications"),
    "applicationImportId": one("imports"),
    "approvalPolicy": lambda _: [{"type": "Approve", "reason": "So it is", "responder": "Supervisor"}],
    "assigneeId": one("identities"),
    "columns": lambda _: {},
    # `columnStarts` needs one header for each position, and no `aligned` or `delimiter`.
    "columnStarts": lambda _: [],
    "approverId": lambda _: RECORDS["rule_owner"][0],
    "conflicts": lambda _: RECORDS["duties"][:2],
    "controlOwnerId": lambda _: RECORDS["rule_owner"][0],
    "conditions": lambda _: [[{"field": "department", "operator": "is", "value": "Research"}]],
    "content": lambda _: "users",
    "cron": lambda _: "0 6 * * *",
    "dueOn": in_days(1, 99),
    "effectiveDate": in_days(1, 9),
    "enabled": lambda _: True,
    "encoding": lambda _: "windows-1252",
    "endDate": in_days(10, 99),
    "entitlementIds": several("entitlements"),
    "entitlementOwnerIds": several("identities"),
    "files": at_most_one,
    "from": in_days(-99, -1),
    "groups": lambda _: ["Clerks"],
    "identityId": one("identities"),
    "identityIds": several("identities"),
    "isIdentitySource": lambda _: False,
    "locations": lambda _: {},
    "modelIds": several("models"),
    "name": another,
    "ownerId": one("identities"),
    "permissions": lambda _: [{"header": "Ledger", "permission": "Post"}],
    "privileges": lambda _: [{"header": "Ledger", "permission": "Post"}],
    "provisionerIds": several("identities"),
    # A condition must have exactly one of five keys, so send no conditions.
    "skipRowsWhere": lambda _: [],
    # No entitlement was renamed, so there is no former name to refer to.
    "sameAs": lambda _: "",
    "patterns": lambda _: [{"permission": "Post*"}],
    "tags": lambda _: ["SOX"],
    "reviewerId": one("identities"),
    "reviewerIds": several("identities"),
    "sender": a_mailbox,
    "slackUrl": an_address,
    # The first identity changes its role, so it cannot be its own supervisor.
    "supervisorId": lambda _: random.choice(RECORDS["identities"][1:]),
    "teamsUrl": an_address,
    "until": in_days(1, 99),
    "without": lambda _: RECORDS["duties"][2],
    "url": an_address,
    "zone": lambda _: "Europe/Zurich",
}
# The kind of record whose id is `{id}` in each path.
PATHS = {
    "/api/access-requests/{id}": "requests",
    "/api/access-models/{id}": "models",
    "/api/accounts/{id}": "accounts",
    "/api/application-imports/{id}": "imports",
    # Do not use the spare application, because other operations rename its file groups.
    "/api/applications/{id}/source": "sourced_applications",
    "/api/applications/{id}": "spare_applications",
    "/api/conflicts/{id}": "conflicts",
    "/api/dry-runs/{id}": "dry_runs",
    "/api/duties/{id}": "duties",
    "/api/duty-rules/{id}": "duty_rules",
    "/api/entitlements/{id}": "entitlements",
    "/api/identities/{id}": "identities",
    "/api/personnel-events/{id}": "events",
    "/api/reports/{id}": "reports",
    "/api/review-templates/{id}": "review_templates",
    "/api/review-items/{id}": "review_items",
    "/api/reviews/{id}": "reviews",
    "/api/webhook-deliveries/{id}": "deliveries",
    "/api/webhooks/{id}": "webhooks",
    "/webhooks/callback/{id}": "deliveries",
}


def decided(body: dict[str, Any]) -> dict[str, Any]:
    """Return a decision that fits every item."""
    return without(fit(body), "access") | {"decision": "Keep"} if body["decision"] == "Change" else fit(body)


def a_request(body: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a request for a person, without a group."""
    target = {"identityId": one("identities")(None), "action": possible(body.get("action"))}
    return without(fit(body), "group") | target


A_SOURCE = {"kind": "REST", "url": "https://hooks.example.com/v1", "contents": {"Users": {"path": "users"}}}
SETTINGS = {
    "email": {"transport": "Outbox"},
    "kinds": [{"kind": "Waiting", "channel": "Email"}],
    "reminders": {"remindAfterDays": 2, "escalateAfterDays": 5},
    "templates": [{"kind": "Waiting", "subject": "Something waits", "body": "Please look."}],
}
# Replacements for bodies whose rules the schema cannot express.
WHOLE: dict[str, Callable[[Any], Any]] = {
    # A configuration with unknown fields is rejected, although the schemas of bodies allow unknown fields.
    "applyConfiguration": lambda _: {"settings": {"approvalLeadDays": random.randint(1, 99)}},
    "planConfiguration": lambda _: {"settings": {"approvalLeadDays": random.randint(1, 99)}},
    "createAccessRequest": a_request,
    "previewAccessRequest": a_request,
    # A valid source needs a host in the allow-list, and only the keys of its kind.
    "putSource": lambda _: dict(A_SOURCE),
    "testSource": lambda _: {"source": dict(A_SOURCE)},
    "putCarrier": lambda _: {"kind": "SCIM", "url": "https://hooks.example.com/scim", "mode": "Off"},
    # The valid channels, encryption, days and placeholders of templates depend on other settings.
    "changeNotificationSettings": lambda body: fit(body) | SETTINGS,
    "changeNotificationPreferences": lambda body: fit(body) | {"kinds": SETTINGS["kinds"]},
    # The application must have a connector.
    "saveConnectorTemplate": lambda _: {"applicationId": RECORDS["applications"][0], "name": another(None)},
    # Filters and columns depend on the list, so always use the same one. Omit the schedule: it depends on the settings.
    "createReport": lambda _: {"name": another(None), "list": "identities", "ownerId": one("identities")(None)},
    "changeReport": lambda _: {"description": another(None), "columns": ["lastName"]},
    "runReport": lambda body: {"format": body.get("format") or "csv"},
    # The fields of the review depend on its type.
    "createReviewTemplate": lambda body: fit(body) | {"review": {"type": "Application"}},
    "changeReviewTemplate": lambda body: fit(body) | {"review": {"type": "Application"}},
    # `standInId` must be a stand-in of the approver, so omit it.
    "approveException": lambda body: without(fit(body), "standInId"),
    # The decision Change is not possible for memberships in groups.
    "decideReviewItem": decided,
    # A body contains either the ids of the items or filters.
    "decideReviewItems": lambda body: without(decided(body), "itemIds") | {"filters": {}},
    # Periods of one person must not overlap.
    "createStandIn": lambda _: a_day_away(),
    "transitionRole": lambda body: fit(body) | {"identityId": RECORDS["identities"][0]},
    # An address is required for e-mail.
    "testNotifications": lambda body: fit(body) | {"address": a_mailbox(None)},
    "pinAccount": lambda body: {"never": True} if body.get("never") else {"identityId": one("identities")(None)},
    "previewEvent": lambda body: fit(body) | {"type": "Offboard", "identityId": one("identities")(None)},
    "proposeShapes": lambda _: {"file": b"Username\nada\n"},
    "startDryRun": lambda _: {"Users": b"Username\nada\n"},
    "uploadImport": lambda _: {
        "applicationId": RECORDS["applications"][0],
        RECORDS["file_groups"][0]: b"Username\nada\n",
    },
}


DAYS = itertools.count(1)


def a_day_away() -> dict[str, Any]:
    day = datetime.now(UTC).replace(microsecond=0) + timedelta(days=next(DAYS))
    people = dict(zip(("identityId", "standInId"), random.sample(RECORDS["identities"], 2), strict=True))
    return people | {"startsOn": day.isoformat(), "endsOn": (day + timedelta(hours=1)).isoformat()}


def possible(action: Any) -> Any:
    """Replace the action Restore, because no access is suspended."""
    return "Add" if str(action).strip().lower() == "restore" else action


def without(body: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in body.items() if key != name}


def fit(value: Any) -> Any:
    match value:
        case dict():
            return {
                name: FITTING[name](inner) if name in FITTING and inner is not None else fit(inner)
                for name, inner in value.items()
            }
        case list():
            return [fit(inner) for inner in value]
    return value


def still_broken(value: Any) -> Any:
    """Keep an invalid body invalid where the service is more lenient than the schema.

    The service strips white space, so replace it with a control character, which names must not contain. It treats a
    blank optional value as absent, so replace it with a value that no field accepts.
    """
    match value:
        case dict():
            return {name: still_broken(inner) for name, inner in value.items()}
        case list():
            return [still_broken(inner) for inner in value]
        case str() if is_blank(value):
            return [[]]
        case str():
            core = value.strip()
            before, after = value.split(core, 1)
            return "\x01" * len(before) + core + "\x01" * len(after)
    return value


def is_positive(case: Any, location: ParameterLocation) -> bool:
    """Return whether a part of a case was generated as valid; a part without a mode has the mode of the case."""
    info = case.meta.components.get(location)
    return (info.mode if info else case.meta.generation.mode) is GenerationMode.POSITIVE


@schemathesis.hook
def before_call(_: Any, case: Any, **__: Any) -> None:
    if case.meta is None:
        return
    kind = next((kind for path, kind in PATHS.items() if case.path.startswith(path)), None)
    if kind and is_positive(case, ParameterLocation.PATH):
        case.path_parameters["id"] = one(kind)(None)
    if case.query and "applicationId" in case.query and case.method == "POST":
        # The form contains the application too; if the query had another one, the request would be invalid.
        del case.query["applicationId"]
    if case.query and "asOf" in case.query and is_positive(case, ParameterLocation.QUERY):
        case.query["asOf"] = in_days(-99, -1)(None)
    if isinstance(case.body, dict) and not is_positive(case, ParameterLocation.BODY):
        case.body = still_broken(case.body)
    elif isinstance(case.body, dict):
        case.body = WHOLE.get(case.operation.definition.raw["operationId"], fit)(case.body)
