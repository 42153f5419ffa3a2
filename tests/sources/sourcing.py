"""Create applications with a live source, and run imports that fetch from it."""

from ipaddress import ip_network
from typing import Any
from uuid import UUID

import httpx2
import msgspec

from rolecall.core.config import AllowedHosts, Config
from rolecall.core.db import Db
from tests.application_imports.running import Imports
from tests.builders import an_application

LOOPBACK = AllowedHosts(networks=(ip_network("127.0.0.0/8"),))
# Record fields of SCIM users, and the columns that they become.
SCIM_USER_COLUMNS = {
    "userName": "Username",
    "displayName": "Name",
    "emails[type=work].value": "Email",
    "active": "Active",
}
CONNECTOR: dict[str, Any] = {
    "name": "Live",
    "files": [
        {
            "name": "Users",
            "content": "users",
            "columns": {"contact.mail": "Email"},
            "shape": {"ignore": ["id"]},
        }
    ],
}


def allowing(config: Config, **more: Any) -> Config:
    return msgspec.structs.replace(config, source_hosts=LOOPBACK, **more)


class Sourcing:
    """An application with a source; `fetch` stages an import of it and runs it."""

    def __init__(self, client: httpx2.AsyncClient, config: Config, id: UUID) -> None:
        self.client, self.id = client, id
        self.imports = Imports(client, config)
        self.path = f"/api/applications/{id}/source"

    async def put(self, url: str, content: dict[str, Any] | None = None, **fields: Any) -> httpx2.Response:
        contents = fields.pop("contents", {"Users": content or {}})
        return await self.client.put(self.path, json={"kind": "REST", "url": url, "contents": contents, **fields})

    async def fetch(self) -> dict[str, Any]:
        staged = await self.client.post("/api/application-imports/stage", json={"applicationId": str(self.id)})
        assert staged.status_code == 201, staged.text
        await self.imports.work()
        return await self.imports.get(staged.json()["id"])

    async def usernames(self) -> list[str]:
        items = await self.imports.items(f"/api/applications/{self.id}/accounts")
        return sorted(item["username"] for item in items)

    async def test(self, body: dict[str, Any] | None = None) -> dict[str, Any]:
        answer = await self.client.post(f"{self.path}/test", json=body)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())


async def a_sourced_application(
    client: httpx2.AsyncClient, db: Db, config: Config, connector: dict[str, Any] = CONNECTOR, **fields: Any
) -> Sourcing:
    return Sourcing(client, config, await an_application(db, "Live", connector=connector, **fields))
