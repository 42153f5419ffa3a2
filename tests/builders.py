"""Create records for tests, mostly through the service's own actions."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
from psycopg.types.json import Jsonb

from rolecall.access_models import actions as access_models
from rolecall.access_requests import actions as access_requests
from rolecall.access_requests.model import NewPrivilege, NewRequest
from rolecall.application_imports import actions as imports
from rolecall.application_imports.model import ImportType
from rolecall.applications import actions as applications
from rolecall.applications.shapes import Metrics
from rolecall.core.caller import SYSTEM, Caller
from rolecall.core.checking import Facts, check
from rolecall.core.db import Db, execute
from rolecall.core.ids import new_id
from rolecall.identities import actions as identities
from rolecall.identities.queries import with_mentioned_identities
from rolecall.identities.shapes import NewIdentity
from rolecall.settings.policy import Level, RequestAction
from rolecall.tokens import actions as tokens
from rolecall.tokens.shapes import NewToken

ADA = Caller(UUID(int=11), "Ada", frozenset())


def facts(**given: Any) -> Facts:
    return Facts(**{"now": datetime.now(UTC), "zone": ZoneInfo("UTC"), **given})


async def a_token(
    db: Db, name: str = "a token", *, now: datetime | None = None, owner: UUID | None = None, **fields: Any
) -> NewToken:
    token = await tokens.create_token(db, None, {"name": name, **fields}, facts(now=now or datetime.now(UTC)))
    if owner:
        await own_tokens(db, owner, token.id)
    return token


async def own_tokens(db: Db, owner: UUID, token: UUID | None = None) -> None:
    """Make a person the owner of one token or of all tokens; a person without a role becomes an administrator."""
    await execute(db, "UPDATE tokens SET owner_id = %(owner)s WHERE id = coalesce(%(id)s, id)", owner=owner, id=token)
    administrator = "INSERT INTO console_roles VALUES (%(id)s, 'Administrator') ON CONFLICT (identity_id) DO NOTHING"
    await execute(db, administrator, id=owner)


async def an_identity(db: Db, first: str = "Ada", last: str = "Lovelace", **fields: Any) -> UUID:
    raw = {"firstName": first, "lastName": last, **fields}
    known = await with_mentioned_identities(db, facts(enabled_custom_fields=frozenset(range(1, 10))), raw)
    return await identities.create_identity(db, check(NewIdentity, raw, known), known.now)


# The file groups of the standard connector.
FILES: list[dict[str, Any]] = [
    {"name": "Users", "content": "users"},
    {"name": "Groups", "content": "groups", "isOptional": True},
    {"name": "Memberships", "content": "memberships", "isOptional": True},
    {"name": "Permissions", "content": "permissions", "isOptional": True, "isMultiple": True},
]
CONNECTOR: dict[str, Any] = {"name": "Standard files", "vendor": "Rolecall", "files": FILES}


async def an_application(db: Db, name: str = "Payroll", **fields: Any) -> UUID:
    """Create an application with the standard file groups; `fields` override and add fields of the body."""
    raw = {"name": name, "connector": CONNECTOR, **fields}
    id = await applications.create_application(db, raw, facts())
    if fields.get("isArchived"):
        await applications.change_application(db, id, {"isArchived": True}, facts())
    return id


async def an_import(db: Db, application_id: UUID | None = None, status: str = "Pending", **columns: Any) -> UUID:
    """Create an import, by default of a new application; write `columns`, such as `build_start`, into its row."""
    now = datetime.now(UTC)
    if application_id is None:
        application_id = await an_application(db, f"Application {new_id()}")
    id = await imports.create_import(db, application_id, ADA, type=ImportType.API, now=now)
    started = {"build_start": None if status in ("Pending", "Canceling") else now}
    ended = {"build_end": now if status in ("Finished", "Failed", "Canceled") else None}
    metrics = {"metrics": Jsonb(msgspec.to_builtins(Metrics())) if status == "Finished" else None}
    values = {**started, **ended, **metrics, **columns, "status": status}
    assignments = ", ".join(f"{name} = %({name})s" for name in values)
    await execute(db, f"UPDATE application_imports SET {assignments} WHERE id = %(id)s", id=id, **values)
    return id


async def an_access_request(db: Db, action: str = "Add", **fields: Any) -> UUID:
    """Create a request, by default for one permission of a new identity in a new application.

    `now` is its time, and `reporter` the caller who makes it.

    Privileges without a rating get `Level.NONE`, because privileges that no import shows would count as Critical.
    """
    now, reporter = fields.pop("now", None) or datetime.now(UTC), fields.pop("reporter", SYSTEM)
    asked = {"privileges": [NewPrivilege(header="Ledger", permission="Post entries")], **fields}
    asked["privileges"] = [
        msgspec.structs.replace(each, risk_rating=each.risk_rating or Level.NONE) for each in asked["privileges"]
    ]
    if "application_id" not in asked:
        asked["application_id"] = await an_application(db, f"Application {new_id()}")
    if "identity_id" not in asked:
        asked["identity_id"] = await an_identity(db)
    return await access_requests.create_request(db, reporter, NewRequest(action=RequestAction(action), **asked), now)


async def an_access_model(
    db: Db, name: str = "Clerks", *, conditions: Any = None, access: Any = (), committed: bool = True, **fields: Any
) -> UUID:
    """Create a model that matches the department Finance by default; `access` lists applications with their grants."""
    finance = [[{"field": "department", "operator": "is", "value": "Finance"}]]
    raw = {"name": name, "conditions": finance if conditions is None else conditions, "access": list(access), **fields}
    async with db.transaction():
        model = await access_models.create_model(db, raw, facts())
        if committed:
            await access_models.commit_model(db, SYSTEM, str(model.id), datetime.now(UTC), allow_unknown=True)
    return model.id
