"""Create an application with a SCIM push, and send requests as an identity provider does."""

from typing import Any
from uuid import UUID

import httpx2

from rolecall.core.db import Db
from tests.builders import an_application
from tests.sources.sourcing import SCIM_USER_COLUMNS

CONNECTOR: dict[str, Any] = {
    "name": "Push",
    "files": [
        {
            "name": "Users",
            "content": "users",
            "columns": SCIM_USER_COLUMNS,
            "shape": {
                "ignore": ["id", "schemas", "emails", "groups", "externalId"],
                "contents": [
                    {
                        "content": "memberships",
                        "columns": {"userName": "Username"},
                        "shape": {"split": {"groups[].display": "json"}, "join": {"Group": "{groups[].display}"}},
                    }
                ],
            },
        },
    ],
}
SOURCE = {"kind": "SCIM Push", "contents": {"Users": {"path": "Users"}}}
USER = "urn:ietf:params:scim:schemas:core:2.0:User"
GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group"
ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"


class Pushing:
    """Send requests with the token of one application."""

    def __init__(self, api: httpx2.AsyncClient, id: UUID, secret: str) -> None:
        self.api, self.id, self.secret = api, id, secret

    async def send(self, method: str, path: str, body: object = None, **headers: str) -> httpx2.Response:
        given = {"Authorization": f"Bearer {self.secret}", "Content-Type": "application/scim+json"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {} if body is None else {"json": body}
        return await self.api.request(method, f"/scim/v2/{path}", headers=given, **sent)  # type: ignore[arg-type]

    async def get(self, path: str) -> dict[str, Any]:
        answer = await self.send("GET", path)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def user(self, username: str, **attributes: Any) -> dict[str, Any]:
        body = {"schemas": [USER], "userName": username, "displayName": username.title(), "active": True, **attributes}
        answer = await self.send("POST", "Users", body)
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    async def group(self, name: str, *members: dict[str, Any]) -> dict[str, Any]:
        values = [{"value": member["id"]} for member in members]
        answer = await self.send("POST", "Groups", {"schemas": [GROUP], "displayName": name, "members": values})
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    async def patch(self, path: str, *operations: dict[str, Any], **headers: str) -> httpx2.Response:
        return await self.send("PATCH", path, {"schemas": [PATCH], "Operations": list(operations)}, **headers)

    async def names(self, filter: str, place: str = "Users") -> list[str]:
        answer = await self.send("POST", f"{place}/.search", {"filter": filter})
        assert answer.status_code == 200, answer.text
        return [each.get("userName") or each["displayName"] for each in answer.json()["Resources"]]


async def a_push(client: httpx2.AsyncClient, db: Db, name: str = "Payroll", **fields: Any) -> Pushing:
    application = await an_application(db, name, connector=CONNECTOR, **fields)
    put = await client.put(f"/api/applications/{application}/source", json=SOURCE)
    assert put.status_code == 200, put.text
    made = await client.post(f"/api/applications/{application}/scim/tokens", json={"name": "Okta"})
    assert made.status_code == 201, made.text
    return Pushing(client, application, made.json()["secret"])
