"""Helpers that request changes to Ada's access; her account holds permissions at every level of access."""

from typing import Any
from uuid import UUID

import httpx2

from rolecall.core.db import Db
from tests.access_requests.walking import PATH, done
from tests.builders import an_application, an_identity
from tests.holdings import an_account

HELD = (
    ("Books", "Post", "Modify", "High"),
    ("Books", "Close", "Unrestricted", "Critical"),
    ("Books", "Read", "Grant", "None"),
    ("Books", "Void", "Deny", "None"),
    ("Books", "Audit", "None", "None"),
)


class Cast:
    """Ada has an account in the ledger, Bo is her supervisor, and Olga owns the ledger."""

    ada: UUID
    bo: UUID
    olga: UUID
    ledger: UUID


async def a_ledger_cast(db: Db) -> Cast:
    cast = Cast()
    cast.bo, cast.olga = await an_identity(db, "Bo", "Boss"), await an_identity(db, "Olga", "Owner")
    cast.ada = await an_identity(db, "Ada", "Lovelace", supervisorId=str(cast.bo))
    cast.ledger = await an_application(db, "Ledger", ownerId=str(cast.olga))
    await an_account(db, cast.ledger, "ada", cast.ada, groups=("Clerks",), permissions=HELD)
    return cast


def named(permission: str, access: str | None = None, header: str = "Books") -> dict[str, Any]:
    return {"header": header, "permission": permission, **({"access": access} if access else {})}


async def ask(client: httpx2.AsyncClient, cast: Cast, action: str, *privileges: dict[str, Any], **body: Any) -> Any:
    target = {} if "group" in body else {"identityId": str(cast.ada)}
    raw = {"action": action, "applicationId": str(cast.ledger), "privileges": list(privileges), **target, **body}
    return (await client.post(PATH, json=raw)).json()


def approvers(request: Any) -> list[str]:
    return [
        answer["reviewer"]["name"]
        for requirement in request["requirements"]
        if requirement["type"] == "Approve"
        for rule in requirement["rules"]
        for answer in rule["responses"]
    ]


def asked(request: Any) -> list[tuple[str, str, str]]:
    return [
        (each["permission"]["permission"], each["initialAccess"], each["requestedAccess"])
        for each in request["target"]["privileges"]
    ]


async def suspended(client: httpx2.AsyncClient, cast: Cast, *privileges: dict[str, Any], **body: Any) -> Any:
    request = await ask(client, cast, "Suspend", *privileges, **body)
    return await done(client, request["id"], "resolve")
