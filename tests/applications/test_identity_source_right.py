"""Test that changing how people are imported needs `identities:write` in addition to `config:manage`."""

import httpx2
import pytest

from rolecall.core.caller import Scope
from rolecall.core.db import Db
from tests.builders import a_token, an_application

FILES = [{"name": "People", "content": "Identities"}]
SOURCE = {"isIdentitySource": True, "connector": {"name": "HR", "vendor": "HR", "files": FILES}}


@pytest.fixture
async def configurer(db: Db) -> dict[str, str]:
    token = await a_token(db, scopes=[Scope.CONFIG_MANAGE, Scope.APPLICATIONS_READ])
    return {"Authorization": f"Bearer {token.secret}"}


async def test_identity_source_cannot_be_created_without_the_scope(
    client: httpx2.AsyncClient, configurer: dict[str, str]
) -> None:
    answer = await client.post("/api/applications", json={"name": "HR", **SOURCE}, headers=configurer)

    assert answer.status_code == 403
    assert (await client.post("/api/applications", json={"name": "HR", **SOURCE})).status_code == 201


async def test_application_cannot_become_an_identity_source_without_the_scope(
    client: httpx2.AsyncClient, db: Db, configurer: dict[str, str]
) -> None:
    id = await an_application(db, "Ledger")

    answer = await client.patch(f"/api/applications/{id}", json=SOURCE, headers=configurer)
    renamed = await client.patch(f"/api/applications/{id}", json={"name": "Books"}, headers=configurer)

    assert (answer.status_code, renamed.status_code) == (403, 200)


@pytest.mark.parametrize(
    "change",
    [
        {"connector": None},
        {"schedule": None},
        {"isIdentitySource": False},
        {"isArchived": True},
        {"guard": {"maxRemovedPercent": 100}},
        {"guard": None},
    ],
)
async def test_imports_of_an_identity_source_cannot_be_changed_without_the_scope(
    client: httpx2.AsyncClient, configurer: dict[str, str], change: dict[str, object]
) -> None:
    made = await client.post("/api/applications", json={"name": "HR", **SOURCE})
    path = f"/api/applications/{made.json()['id']}"

    answer = await client.patch(path, json=change, headers=configurer)
    priority = await client.patch(path, json={"priority": "High"}, headers=configurer)

    assert (answer.status_code, priority.status_code) == (403, 200)
