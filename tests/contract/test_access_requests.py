from typing import Any
from uuid import UUID

import httpx2
import pytest
from psycopg.types.json import Jsonb

from rolecall.access_requests.model import NewPrivilege, RelatedItem
from rolecall.core.db import Db, execute
from rolecall.core.ids import new_id
from tests.builders import an_access_request, an_application, an_identity
from tests.contract.tables import REQUEST_DETAIL, REQUEST_ITEM, mismatches, page_of

REQUESTS = "/api/access-requests"
GROUP: dict[str, Any] = {"identity_id": None, "target_name": "Clerks", "nomenclature": "Role"}


async def a_full_request(db: Db, **fields: Any) -> UUID:
    """Create a request with at least one entry in every list of its detail."""
    boss = await an_identity(db, "Grace", "Hopper")
    ada = await an_identity(db, "Ada", "Lovelace", supervisorId=str(boss))
    event = RelatedItem(id=new_id(), kind="Personnel Event", number=12, status="Pending", stage="Approval")
    given = {
        "identity_id": ada,
        "application_id": await an_application(
            db, f"Ledger {new_id()}", provisionerIds=[str(boss)], ownerId=str(boss), priority="High"
        ),
        "privileges": [NewPrivilege(header="Ledger", permission="Post", sources=["Clerks"], origins=["HR"])],
        "metadata": [("Cost center", "42")],
        "related": event,
        "comment": "Please",
        **fields,
    }
    id = await an_access_request(db, **given)
    models = [{"id": str(new_id()), "name": "Clerk", "description": "Books", "willBeInEffect": True}]
    await execute(db, "UPDATE access_requests SET access_models = %(m)s WHERE id = %(id)s", id=id, m=Jsonb(models))
    return id


@pytest.mark.parametrize(("kind", "target"), [("User", {}), ("Group", GROUP)])
async def test_list_of_access_requests_matches_the_specification(
    client: httpx2.AsyncClient, db: Db, kind: str, target: dict[str, Any]
) -> None:
    await a_full_request(db, **target)

    answer = await client.get(REQUESTS)

    assert answer.status_code == 200
    assert mismatches(answer.json(), page_of(REQUEST_ITEM[kind])) == []
    assert len(answer.json()["items"]) == 1


@pytest.mark.parametrize(("kind", "target"), [("User", {}), ("Group", GROUP)])
async def test_access_request_matches_the_specification(
    client: httpx2.AsyncClient, db: Db, kind: str, target: dict[str, Any]
) -> None:
    id = await a_full_request(db, **target)

    answer = await client.get(f"{REQUESTS}/{id}")

    detail = answer.json()
    assert answer.status_code == 200
    assert mismatches(detail, REQUEST_DETAIL[kind]) == []
    assert all(detail[name] for name in ("activity", "comments", "relatedItems", "requirements", "accessModels"))
    assert all(rule["responses"] for requirement in detail["requirements"] for rule in requirement["rules"])
    assert detail["target"]["privileges"]
    assert detail["target"]["metadata"]


async def test_list_filters_by_identity_application_status_and_type(client: httpx2.AsyncClient, db: Db) -> None:
    id = await a_full_request(db)
    made = (await client.get(f"{REQUESTS}/{id}")).json()
    everything = {
        "identityId": made["target"]["affectedIdentity"]["id"],
        "applicationId": made["target"]["application"]["id"],
        "status": made["status"].upper(),
        "type": "aDD",
    }

    async def count(**filters: str) -> int:
        return int((await client.get(REQUESTS, params=filters)).json()["totalCount"])

    assert await count(**everything) == 1
    assert await count(**{**everything, "type": "Remove"}) == 0
    assert await count(**{**everything, "status": "Snoozed"}) == 0
    assert await count(**{**everything, "identityId": str(new_id())}) == 0
    assert await count(**{**everything, "applicationId": str(new_id())}) == 0
