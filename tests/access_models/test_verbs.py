"""Test drafting, changing, committing, listing and reading access models."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx2

from rolecall.access_models import actions
from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_value, make_pool
from tests.builders import an_access_model, an_application, an_identity, facts
from tests.interleaving import Crew
from tests.nesting import some_groups

PATH = "/api/access-models"
FINANCE = [[{"field": "department", "operator": "is", "value": "Finance"}]]


async def made(client: httpx2.AsyncClient, **body: Any) -> dict[str, Any]:
    answer = await client.post(PATH, json={"name": "Clerks", "conditions": FINANCE, **body})
    assert answer.status_code == 201, answer.text
    model: dict[str, Any] = answer.json()
    return model


async def sent(client: httpx2.AsyncClient, method: str, path: str, **body: Any) -> dict[str, Any]:
    answer = await client.request(method, f"{PATH}/{path}", json=body)
    assert answer.status_code == 200, answer.text
    answered: dict[str, Any] = answer.json()
    return answered


async def test_a_new_model_is_a_draft_without_effect(client: httpx2.AsyncClient, db: Db) -> None:
    owner, crm = str(await an_identity(db, department="Finance")), str(await an_application(db))
    access = [
        {
            "applicationId": crm,
            "groups": ["Clerks"],
            "permissions": [{"header": "Ledger", "permission": "Post", "access": "modify"}],
        }
    ]

    model = await made(client, description="They keep the books", ownerId=owner, access=access)

    assert list(model) == [
        "id", "kind", "version", "memberCount", "committed", "draft", "createdDate", "updatedDate",
        "unknownNames",
    ]  # fmt: skip
    assert (model["kind"], model["version"], model["memberCount"], model["committed"]) == ("Access Model", 0, 0, None)
    assert model["draft"] == {
        "name": "Clerks",
        "description": "They keep the books",
        "ownerId": owner,
        "enabled": True,
        "conditions": FINANCE,
        "access": [
            {
                "applicationId": crm,
                "groups": ["Clerks"],
                "permissions": [{"header": "Ledger", "section": "", "permission": "Post", "access": "Modify"}],
            }
        ],
    }
    assert await sent(client, "GET", model["id"]) == model


async def test_a_commit_makes_the_draft_the_next_version(client: httpx2.AsyncClient, db: Db) -> None:
    await an_identity(db, department="Finance")
    model = await made(client)

    first = await sent(client, "POST", f"{model['id']}/commit")
    assert (first["version"], first["memberCount"], first["draft"]) == (1, 1, None)
    assert first["committed"] == model["draft"]

    changed = await sent(client, "PATCH", model["id"], description="New words", conditions=[])
    assert (changed["version"], changed["memberCount"], changed["committed"]) == (1, 1, first["committed"])
    assert changed["draft"] == {**model["draft"], "description": "New words", "conditions": []}

    second = await sent(client, "POST", f"{model['id']}/commit")
    assert (second["version"], second["memberCount"], second["draft"]) == (2, 0, None)
    rows = await db.execute("SELECT version, definition ->> 'description' FROM access_model_versions ORDER BY version")
    assert await rows.fetchall() == [(1, ""), (2, "New words")]


async def test_disabled_model_matches_nobody_until_it_is_enabled(client: httpx2.AsyncClient, db: Db) -> None:
    await an_identity(db, department="Finance")
    id = await an_access_model(db)

    await sent(client, "PATCH", str(id), enabled=False)
    assert (await sent(client, "GET", str(id)))["memberCount"] == 1
    assert (await sent(client, "POST", f"{id}/commit"))["memberCount"] == 0

    await an_identity(db, department="Finance")
    await sent(client, "PATCH", str(id), enabled=True)
    assert (await sent(client, "POST", f"{id}/commit"))["memberCount"] == 2


async def test_without_a_draft_there_is_nothing_to_commit_or_simulate(client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_access_model(db)

    for verb in ("commit", "simulate"):
        answer = await client.post(f"{PATH}/{id}/{verb}")
        assert answer.status_code == 409
        assert answer.json()["message"] == "The access model has no draft. Change the model first"


async def test_models_are_listed_by_name(client: httpx2.AsyncClient, db: Db) -> None:
    await an_access_model(db, "élan")
    await an_access_model(db, "Zebra", enabled=False)
    await an_access_model(db, "Early", committed=False, description="Soon")

    page = await sent(client, "GET", "")

    assert [(item["name"], item["description"], item["enabled"], item["version"], item["hasDraft"])
            for item in page["items"]] == [
        ("Early", "Soon", False, 0, True),
        ("élan", "", True, 1, False),
        ("Zebra", "", False, 1, False),
    ]  # fmt: skip
    assert list(page["items"][0]) == ["id", "kind", "name", "description", "enabled", "version", "hasDraft"]
    assert page["totalCount"] == 3


async def test_members_are_listed_by_name(client: httpx2.AsyncClient, db: Db) -> None:
    for first, last in [("Bob", "Zed"), ("Ada", "Abel"), ("Cleo", "Zed")]:
        await an_identity(db, first, last, department="Finance")
    await an_identity(db, "Dan", "Dale")
    id = await an_access_model(db)

    page = await sent(client, "GET", f"{id}/members")

    assert [item["firstName"] for item in page["items"]] == ["Ada", "Bob", "Cleo"]
    assert page["totalCount"] == 3


async def test_member_pages_are_exact_after_thousands_of_changes(client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_access_model(db)
    await db.execute(
        """INSERT INTO identities (id, first_name, last_name, department, created_date, updated_date, first_seen_date,
                                   last_name_key, first_name_key)
           SELECT md5(n::text)::uuid, 'Ada', 'Last ' || n, CASE n % 3 WHEN 0 THEN 'IT' ELSE 'Finance' END, now(), now(),
                  now(), 'last ' || n, 'ada' FROM generate_series(1, 4500) AS n"""
    )
    await db.execute(
        """UPDATE identities SET department = CASE WHEN right(last_name, 1) = '7' THEN 'IT' ELSE 'Finance' END,
                                 last_name_key = reverse(last_name_key)"""
    )
    rows = await db.execute("SELECT id FROM identities WHERE department = 'Finance' ORDER BY list_key")
    expected = [str(id) for (id,) in await rows.fetchall()]

    for page in (1, 40, 81, 82):
        found = await sent(client, "GET", f"{id}/members?page={page}")
        assert [item["id"] for item in found["items"]] == expected[(page - 1) * 50 : page * 50]
        assert (found["totalCount"], found["totalPages"]) == (len(expected), 81)
    assert (await sent(client, "GET", str(id)))["memberCount"] == len(expected)


async def test_all_validation_errors_are_reported_at_once(client: httpx2.AsyncClient, db: Db) -> None:
    await an_access_model(db, "Taken")
    nobody, nothing, crm = str(uuid4()), str(uuid4()), str(await an_application(db))
    answer = await client.post(
        PATH,
        json={
            "name": "Taken",
            "ownerId": nobody,
            "enabled": "yes",
            "conditions": [
                [],
                [
                    {"field": "shoeSize", "operator": "is", "value": "44"},
                    {"field": "title", "operator": "is one of", "value": "Clerk"},
                    {"field": "title", "operator": "is", "value": ["Clerk"]},
                    {"field": "title", "operator": "is one of", "value": []},
                    {"field": "type", "operator": "is", "value": "Robot"},
                    {"field": "title"},
                ],
            ],
            "access": [
                {"applicationId": nothing},
                {"applicationId": crm, "groups": ["A", "A", " "], "permissions": [{"access": "None"}]},
            ],
        },
    )

    assert answer.status_code == 400
    fields = "customField1, customField2, customField3, customField4, customField5, customField6, customField7"
    assert [(problem["field"], problem["message"]) for problem in answer.json()["errors"]] == [
        ("ownerId", f"Identity with id {nobody} not found"),
        ("enabled", "Enabled must be true or false"),
        ("conditions.0", "Conditions must have at least 1 entry"),
        ("conditions.1.0.field", "Field must be one of type, title, company, division, department, office, "
                                 f"{fields}, customField8, customField9"),
        ("conditions.1.1.value", "Value must be a list of strings"),
        ("conditions.1.2.value", "Value must be a string"),
        ("conditions.1.3.value", "Value must have 1 to 1000 entries"),
        ("conditions.1.4.value", "Value must be one of Employee, Service Account, Vendor, Shared, Mailbox, Client, "
                                 "Temporary, Administrator, Auditor, Unknown"),
        ("conditions.1.5.operator", "Operator is required"),
        ("conditions.1.5.value", "Value is required"),
        ("access.0.applicationId", f"Application with id {nothing} not found"),
        ("access.1.groups.2", "Groups is required"),
        ("access.1.permissions.0.permission", "Permission is required"),
        ("access.1.permissions.0.access", "Access must not be None"),
        ("name", "An access model named Taken already exists; choose another name"),
    ]  # fmt: skip


async def test_duplicate_names_are_rejected(client: httpx2.AsyncClient, db: Db) -> None:
    crm = str(await an_application(db))
    twice = {
        "applicationId": crm,
        "groups": ["A", "A"],
        "permissions": [{"permission": "P"}, {"permission": "P", "access": "Deny"}],
    }

    answer = await client.post(PATH, json={"name": "x", "access": [twice]})
    again = await client.post(PATH, json={"name": "x", "access": [{"applicationId": crm}, {"applicationId": crm}]})

    assert [problem["message"] for problem in answer.json()["errors"]] == [
        "Groups must not name a group twice",
        "Permissions must not name a permission twice",
    ]
    assert again.json()["errors"] == [{"field": "access", "message": "Access must not name an application twice"}]


async def test_name_in_another_models_draft_is_taken(client: httpx2.AsyncClient, db: Db) -> None:
    first, second = await an_access_model(db, "First"), await an_access_model(db, "Second")
    await sent(client, "PATCH", str(first), name="Third")

    taken = await client.patch(f"{PATH}/{second}", json={"name": "Third"})
    own = await sent(client, "PATCH", str(first), name="First")

    assert taken.json()["errors"] == [
        {"field": "name", "message": "An access model named Third already exists; choose another name"}
    ]
    assert own["draft"]["name"] == "First"


async def test_an_unknown_model_is_not_found(client: httpx2.AsyncClient) -> None:
    for method, path in [("GET", ""), ("PATCH", ""), ("GET", "/members"), ("POST", "/simulate"), ("POST", "/commit")]:
        answer = await client.request(method, f"{PATH}/seven{path}", json={})
        assert (path, answer.status_code) == (path, 404)
        assert answer.json()["message"] == "Access model with id seven not found"


async def test_name_with_nul_character_is_rejected(client: httpx2.AsyncClient) -> None:
    answer = await client.post(PATH, json={"name": "Cl\x00rks"})

    assert answer.status_code == 400
    assert answer.json()["errors"] == [{"field": "name", "message": "Name must not contain NUL characters"}]


async def test_names_cannot_differ_only_by_surrounding_spaces(client: httpx2.AsyncClient) -> None:
    first = await client.post(PATH, json={"name": " Clerks "})
    again = await client.post(PATH, json={"name": "Clerks\t"})

    assert first.json()["draft"]["name"] == "Clerks"
    assert again.json()["errors"] == [
        {"field": "name", "message": "An access model named Clerks already exists; choose another name"}
    ]


async def test_membership_starts_at_the_time_of_the_writing_transaction(client: httpx2.AsyncClient, db: Db) -> None:
    await an_access_model(db)
    then = clock.now() + timedelta(days=20)
    clock.stop_at(then)

    person = {"firstName": "Ada", "lastName": "Lovelace", "department": "Finance"}
    body = {"identity": person, "effectiveDate": "2035-06-01"}
    answer = await client.post("/api/personnel-events/onboard", json=body)

    assert answer.status_code == 201, answer.text
    assert await fetch_value(db, "SELECT since FROM access_model_members") == then


async def test_unknown_names_are_listed_and_must_be_allowed_for_a_commit(client: httpx2.AsyncClient, db: Db) -> None:
    ledger = await an_application(db, "Ledger")
    await some_groups(db, ledger, {"Clerks": ""})
    access = [{"applicationId": str(ledger), "groups": ["Clerk"], "permissions": [{"permission": "Post"}]}]
    model = (await client.post("/api/access-models", json={"name": "Clerks", "access": access})).json()
    path = f"/api/access-models/{model['id']}/commit"

    refused = await client.post(path)
    allowed = await client.post(path, json={"allowUnknown": True})

    # The application has no permissions, so their names are not checked.
    assert model["unknownNames"] == ["Group Clerk is not known in Ledger; did you mean Clerks?"]
    assert refused.status_code == 400
    assert refused.json()["errors"][0]["field"] == "allowUnknown"
    assert (allowed.status_code, allowed.json()["unknownNames"]) == (200, [])


async def test_configurations_that_replace_drafts_do_not_deadlock(db: Db, config: Config) -> None:
    """Each discards the draft of another person before it changes the model."""
    models = [await an_access_model(db, name) for name in ("Clerks", "Sellers")]

    async def replace(db: Db) -> None:
        await actions.discard_draft(db, models[1])
        await actions.change_model(db, str(models[1]), {"description": "New"}, facts())

    async with make_pool(config) as pool:
        async with pool.connection() as one, one.transaction():
            await actions.discard_draft(one, models[0])
            crew = Crew(pool, db)
            await crew.begin(replace)
            await actions.change_model(one, str(models[0]), {"description": "New"}, facts())
        await crew.end()

    assert await fetch_value(db, "SELECT count(*) FROM access_models WHERE draft ->> 'description' = 'New'") == 2
