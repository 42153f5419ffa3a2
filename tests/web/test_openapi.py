import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx2
import jsonschema_rs
import pytest

from rolecall.app import create_app
from rolecall.core.config import Config
from rolecall.personnel_events.shapes import BODIES
from rolecall.settings.policy import EventType
from rolecall.web.openapi import document, routes_of
from rolecall.webhooks.payload import DESCRIBED

APP = create_app(Config(database_url="postgresql://")).app
DOCUMENT = document(APP, "https://rolecall.example", DESCRIBED)
OPERATIONS = [
    pytest.param(path, method, described, id=described["operationId"])
    for path, methods in DOCUMENT["paths"].items()
    for method, described in methods.items()
]
SPECIFIED = {
    ("post", "/api/application-imports/upload"),
    ("post", "/api/application-imports/stage"),
    ("post", "/api/application-imports/cancel"),
    ("get", "/api/application-imports"),
    ("get", "/api/application-imports/{id}"),
    ("get", "/api/applications/{id}"),
    ("get", "/api/identities"),
    ("get", "/api/identities/{id}"),
    ("post", "/api/personnel-events/onboard"),
    ("post", "/api/personnel-events/offboard"),
    ("post", "/api/personnel-events/role-transition"),
    ("post", "/api/personnel-events/leave-of-absence"),
    ("get", "/api/personnel-events"),
    ("get", "/api/personnel-events/{id}"),
    ("get", "/api/access-requests"),
    ("get", "/api/access-requests/{id}"),
}


def validates(schema: dict[str, Any], instance: Any) -> list[str]:
    whole = {"components": DOCUMENT["components"], **schema}
    checker = jsonschema_rs.Draft202012Validator(whole, validate_formats=True)
    return [error.message for error in checker.iter_errors(instance)]


def contents(described: dict[str, Any]) -> list[dict[str, Any]]:
    holders = [described.get("requestBody", {}), *described["responses"].values()]
    return [content for holder in holders for content in holder.get("content", {}).values()]


async def test_document_needs_no_token_and_is_deterministic(anonymous: httpx2.AsyncClient) -> None:
    first, second = await anonymous.get("/openapi.json"), await anonymous.get("/openapi.json")

    assert first.status_code == 200
    assert first.headers["content-type"] == "application/json"
    assert first.content == second.content
    assert first.json()["openapi"] == "3.1.0"
    assert first.json()["servers"] == [{"url": "http://rolecall.test"}]


def test_every_operation_is_in_the_document_once() -> None:
    served = [route for route in routes_of(APP) if route.operation]

    assert {(route.method.lower(), route.path) for route in served} == {(p.values[1], p.values[0]) for p in OPERATIONS}
    ids = [param.id for param in OPERATIONS]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(("path", "method", "described"), OPERATIONS)
def test_every_operation_has_a_tag_a_summary_and_error_responses(
    path: str, method: str, described: dict[str, Any]
) -> None:
    expected = "Access governance" if (method, path) in SPECIFIED or "callback" in path else "Administration"
    assert described["tags"] == [expected]
    assert described["summary"]
    assert not described["summary"].endswith(".")
    assert {"429", "500", "503"} < described["responses"].keys()
    if described["security"]:
        assert {"401", "403"} < described["responses"].keys()


@pytest.mark.parametrize(("path", "method", "described"), OPERATIONS)
def test_every_example_matches_its_schema(path: str, method: str, described: dict[str, Any]) -> None:
    for content in contents(described):
        if "example" in content:
            assert validates(content["schema"], content["example"]) == []


@pytest.mark.parametrize("code", DOCUMENT["components"]["responses"])
def test_every_error_example_matches_its_schema(code: str) -> None:
    content = DOCUMENT["components"]["responses"][code]["content"]["application/json"]

    assert validates(content["schema"], content["example"]) == []
    assert content["example"]["error"] == code


# Configuration that is returned as it was sent, without unset fields.
ONLY_WHAT_IS_SET = {
    "FileShape",
    "GroupShape",
    "ContentShape",
    "RowCondition",
    "Source",
    "SourceContent",
    "Carrier",
    "Unpivot",
}


@pytest.mark.parametrize("name", [n for n in DOCUMENT["components"]["schemas"] if not n.endswith("Body")])
def test_response_schemas_allow_no_extra_fields_and_require_all(name: str) -> None:
    schema = DOCUMENT["components"]["schemas"][name]
    if "additionalProperties" in schema:
        optional = set(schema["properties"]) - set(schema["required"])
        assert schema["additionalProperties"] is False
        assert optional <= {"nomenclature", "standIn"} or name in ONLY_WHAT_IS_SET


def test_schema_of_an_identity_has_the_specified_types() -> None:
    identity = DOCUMENT["components"]["schemas"]["IdentityDetail"]["properties"]

    assert identity["inactivatedDate"] == {"type": ["string", "null"], "format": "date-time"}
    assert identity["createdDate"] == {"type": "string", "format": "date-time"}
    assert identity["id"] == {"type": "string", "format": "uuid"}
    assert identity["kind"] == {"type": "string", "const": "Identity"}
    assert identity["title"] == {"type": "string"}
    assert DOCUMENT["components"]["schemas"]["IdentityStatus"]["enum"] == ["Active", "Disabled", "Removed"]


def test_enum_values_are_accepted_without_spaces_and_returned_with_them() -> None:
    parameters = {p["name"]: p["schema"] for p in DOCUMENT["paths"]["/api/personnel-events"]["get"]["parameters"]}

    assert parameters["type"]["enum"] == ["Onboard", "Offboard", "RoleTransition", "Absence"]
    assert DOCUMENT["components"]["schemas"]["EventType"]["enum"] == [
        "Onboard",
        "Offboard",
        "Role Transition",
        "Absence",
    ]


def schemas_within(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from schemas_within(inner)


def test_enum_of_a_field_that_may_be_null_contains_null() -> None:
    found = [each for each in schemas_within(DOCUMENT["components"]) if "enum" in each and "null" in each["type"]]

    assert len(found) > 10
    assert all(None in each["enum"] for each in found)


@pytest.mark.parametrize(
    ("decision", "is_valid"),
    [
        ({"decision": "Keep"}, True),
        ({"decision": "Keep", "until": "2030-01-01"}, False),
        ({"decision": "KeepUntil", "until": "2030-01-01", "access": None}, True),
        ({"decision": "KeepUntil"}, False),
        ({"decision": "Change", "access": "Grant"}, True),
        ({"decision": "Change", "access": None}, False),
    ],
)
@pytest.mark.parametrize("name", ["DecideBody", "DecideSeveralBody"])
def test_decision_is_valid_only_with_its_own_fields(decision: dict[str, Any], is_valid: bool, name: str) -> None:
    schema, reviewer = {"$ref": f"#/components/schemas/{name}"}, {"reviewerId": str(uuid4())}

    assert (validates(schema, decision | reviewer) == []) is is_valid
    assert validates(schema, decision)


@pytest.mark.parametrize(
    "path", ["/api/reviews/{id}/submit", "/api/review-items/{id}/undo", "/api/conflicts/{id}/approve"]
)
def test_body_that_must_name_the_person_is_required(path: str) -> None:
    assert DOCUMENT["paths"][path]["post"]["requestBody"]["required"] is True


def test_operation_that_answers_with_a_file_takes_no_idempotency_key() -> None:
    run, write = [DOCUMENT["paths"][f"/api/reports/{{id}}/{verb}"]["post"] for verb in ("run", "write")]

    assert "Idempotency-Key" not in [parameter["name"] for parameter in run["parameters"]]
    assert "Idempotency-Key" in [parameter["name"] for parameter in write["parameters"]]


def test_body_schemas_have_the_specified_limits() -> None:
    fields = DOCUMENT["components"]["schemas"]["NewIdentity"]["properties"]

    limits = {name: field["maxLength"] for name, field in fields.items() if "maxLength" in field}
    assert limits == {
        **dict.fromkeys(["email", "company", "division", "office", "title", "firstName", "lastName"], 256),
        "department": 128,
        **{f"customField{n}": 2048 for n in range(1, 10)},
    }


@pytest.mark.parametrize("type", EventType)
def test_preview_accepts_the_fields_of_its_event(type: EventType) -> None:
    schemas = DOCUMENT["components"]["schemas"]
    options = [schemas[option["$ref"].rpartition("/")[2]] for option in schemas["PreviewBody"]["oneOf"]]
    [told] = [option for option in options if option["properties"]["type"]["const"] == type]
    checked = schemas[BODIES[type].__name__]

    assert told["properties"] == {**checked["properties"], "type": {"const": type, "type": "string"}}
    assert set(told["required"]) == {*checked["required"], "type"}


def test_upload_is_described_as_multipart() -> None:
    body = DOCUMENT["paths"]["/api/application-imports/upload"]["post"]["requestBody"]

    assert list(body["content"]) == ["multipart/form-data"]


def test_every_reference_resolves_and_every_schema_is_used() -> None:
    used = set(re.findall(r"#/components/schemas/(\w+)", str(DOCUMENT)))

    assert used == set(DOCUMENT["components"]["schemas"])


def test_webhook_events_have_the_specified_texts() -> None:
    webhooks = {name: hook["post"] for name, hook in DOCUMENT["webhooks"].items() if not name.startswith("Review")}

    assert {name: (hook["summary"], hook["description"]) for name, hook in webhooks.items()} == {
        "AccessRequestCreated": ("Access Request Created", "An access request is created"),
        "AccessRequestAssigned": ("Access Request Assigned", "An access request is assigned to a person"),
        "AccessRequestApproved": ("Access Request Approved", "Approved by all required reviewers"),
        "AccessRequestProvisioning": (
            "Access Request Provisioning",
            "A request to automate a provision step is made",
        ),
        "AccessRequestResolved": ("Access Request Resolved", "Resolved by a provision engineer"),
        "AccessRequestReopened": ("Access Request Reopened", "Reopened for provisioning"),
        "AccessRequestCompleted": ("Access Request Completed", "Successfully completed"),
        "AccessRequestCanceled": ("Access Request Canceled", "Canceled"),
    }
    for hook in webhooks.values():
        content = hook["requestBody"]["content"]["application/json"]
        assert validates(content["schema"], content["example"]) == []
