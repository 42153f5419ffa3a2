"""Test review templates in a configuration: they have names instead of ids, and no date of the next review."""

from typing import Any

import httpx2

from rolecall.core.db import Db, fetch_rows
from tests.builders import an_access_model, an_identity
from tests.reviews.company import a_reviewed_company

QUARTERLY = {
    "name": "Quarterly finance",
    "everyMonths": 3,
    "daysToReview": 20,
    "opens": True,
    "nextOn": "2031-01-01T00:00:00Z",
    "review": {
        "type": "Application",
        "scope": {
            "applications": ["Finance Ledger"],
            "entitlements": [
                {"application": "Finance Ledger", "group": "Bookkeeper"},
                {"application": "Finance Ledger", "header": "Payments", "permission": "Release run"},
            ],
            "accessModels": ["Accounting"],
            "minRisk": "High",
        },
        "stages": [{"reviewer": "Identity", "identity": "ada@example.com"}, {"reviewer": "Supervisor"}],
        "fallback": {"reviewer": "Application Owner"},
        "onSilence": "flag",
        "owner": "ada@example.com",
    },
}


async def apply(client: httpx2.AsyncClient, *templates: dict[str, Any], path: str = "/api/configuration") -> Any:
    method = "PUT" if path == "/api/configuration" else "POST"
    return (await client.request(method, path, json={"reviewTemplates": list(templates)})).json()


async def a_company(db: Db) -> None:
    company = await a_reviewed_company(db)
    await an_identity(db, "Ada", "Lovelace", email="ada@example.com")
    granted = [{"applicationId": str(company.ledger), "groups": ["Bookkeeper"]}]
    await an_access_model(db, "Accounting", access=granted)


async def test_templates_are_created_changed_and_exported_by_name(client: httpx2.AsyncClient, db: Db) -> None:
    await a_company(db)

    made = await apply(client, QUARTERLY)
    again = await apply(client, QUARTERLY)
    narrower = {"name": "Quarterly finance", "everyMonths": 6, "review": {"scope": {"minRisk": "Critical"}}}
    changed = await apply(client, narrower, path="/api/configuration/plan")
    [entry] = (await client.get("/api/configuration")).json()["reviewTemplates"]

    assert made["changes"] == [
        {"section": "reviewTemplates", "name": "Quarterly finance", "change": "New", "fields": []}
    ]
    assert again["changes"] == []
    assert [(one["field"], one["before"], one["after"]) for one in changed["changes"][0]["fields"]] == [
        ("everyMonths", 3, 6),
        ("review.scope.minRisk", "High", "Critical"),
    ]
    assert entry == {name: value for name, value in QUARTERLY.items() if name != "nextOn"}
    assert (await apply(client, entry))["changes"] == []


async def test_date_of_the_next_review_stays_when_a_file_is_applied_again(client: httpx2.AsyncClient, db: Db) -> None:
    await a_company(db)
    await apply(client, QUARTERLY)
    await db.execute("UPDATE review_templates SET next_on = '2031-04-01T00:00:00Z'")

    await apply(client, {**QUARTERLY, "everyMonths": 12})

    rows = await fetch_rows(db, "SELECT every_months, next_on::date::text FROM review_templates")
    assert rows == [(12, "2031-04-01")]


async def test_problems_of_templates_name_their_place_in_the_file(client: httpx2.AsyncClient, db: Db) -> None:
    await a_company(db)
    review: dict[str, Any] = {
        "type": "Sometimes",
        "scope": {
            "applications": ["Nowhere"],
            "entitlements": [
                {"application": "Finance Ledger", "group": "Nothing"},
                {"application": "Finance Ledger", "header": "Reports", "permission": "Release run"},
            ],
            "colour": "red",
        },
        "stages": [{"reviewer": "Identity"}],
    }

    wrong = await apply(client, {"name": "A", "everyMonths": 3, "review": {"type": "Application", **review["scope"]}})
    named = {**review, "type": "Application", "scope": {**review["scope"], "colour": None}}
    del named["scope"]["colour"]
    missing = await apply(client, {"name": "A", "everyMonths": 3, "review": named})
    unstaged = await apply(client, {"name": "A", "everyMonths": 3, "review": {**review, "scope": {}}})
    whole = await apply(client, {"name": "A", "everyMonths": 3})

    assert "reviewTemplates.0.review.colour" in {problem["field"] for problem in wrong["errors"]}
    problems = {problem["field"]: problem["message"] for problem in missing["errors"]}
    assert problems.keys() == {
        "reviewTemplates.0.review.scope.applications.0",
        "reviewTemplates.0.review.scope.entitlements.0",
        "reviewTemplates.0.review.scope.entitlements.1",
        "reviewTemplates.0.review.stages.0.identity",
    }
    assert problems["reviewTemplates.0.review.scope.entitlements.1"] == (
        "Finance Ledger has no permission Reports / Release run; correct its header, section or name, "
        "or import it first"
    )
    assert {problem["field"] for problem in unstaged["errors"]} == {"reviewTemplates.0.review.type"}
    assert {problem["field"] for problem in whole["errors"]} == {"reviewTemplates.0.review"}


async def test_templates_need_the_scope_of_reviews(client: httpx2.AsyncClient, db: Db) -> None:
    await db.execute("UPDATE tokens SET scopes = array_remove(array_remove(scopes, 'reviews:write'), 'reviews:read')")

    answer = await client.put("/api/configuration", json={"reviewTemplates": []})

    assert answer.status_code == 403
    assert (await client.get("/api/configuration")).json()["reviewTemplates"] is None
