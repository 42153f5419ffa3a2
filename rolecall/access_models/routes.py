from typing import Any

from litestar import Router

from rolecall.access_models import actions, queries
from rolecall.access_models.shapes import (
    AccessModelDetail,
    AccessModelItem,
    CommitBody,
    ModelChanges,
    NewModel,
    SimulateBody,
    Simulation,
)
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json, check
from rolecall.core.db import Db
from rolecall.core.paging import Page
from rolecall.identities.shapes import IdentityDetail
from rolecall.web.operations import operation, optional_json

_READ, _WRITE = Scope.ACCESS_REQUESTS_READ, Scope.CONFIG_MANAGE


@operation("GET", "/", scope=_READ, query={})
async def list_access_models(db: Db, query: dict[str, Any]) -> Page[AccessModelItem]:
    """List access models, ordered by name."""
    return await queries.by_name(db, query["page"])


@operation("POST", "/", scope=_WRITE, status=201, body=NewModel)
async def create_access_model(db: Db, raw: Json, facts: Facts) -> AccessModelDetail:
    """Create an access model as a draft. It takes effect when it is committed."""
    return await actions.create_model(db, raw, facts)


@operation("GET", "/{id:str}", scope=_READ)
async def get_access_model(db: Db, id: str) -> AccessModelDetail:
    """Get one access model with its committed definition and its draft."""
    return await queries.get(db, id)


@operation("PATCH", "/{id:str}", scope=_WRITE, body=ModelChanges)
async def change_access_model(db: Db, id: str, raw: Json, facts: Facts) -> AccessModelDetail:
    """Change the given fields in the draft. They take effect when the draft is committed."""
    return await actions.change_model(db, id, raw, facts)


@operation("GET", "/{id:str}/members", scope=_READ, query={})
async def list_access_model_members(db: Db, id: str, query: dict[str, Any]) -> Page[IdentityDetail]:
    """List the identities that the committed model matches, ordered by name."""
    return await queries.members(db, id, query["page"])


@operation("POST", "/{id:str}/simulate", scope=_WRITE, body=SimulateBody, read_body=optional_json)
async def simulate_access_model(db: Db, id: str, raw: Json, facts: Facts) -> Simulation:
    """Return who would gain or lose which access, and which conflicts would begin, if the draft were committed."""
    return await actions.simulate_model(db, id, raw, facts)


@operation("POST", "/{id:str}/commit", scope=_WRITE, body=CommitBody, read_body=optional_json)
async def commit_access_model(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> AccessModelDetail:
    """Commit the draft as the next version, which takes effect at once.

    Needs `allowUnknown` if the draft has groups or permissions that its applications do not have.
    """
    allowed = check(CommitBody, raw, facts).allow_unknown
    return await actions.commit_model(db, caller, id, facts.now, allow_unknown=allowed)


router = Router(
    "/api/access-models",
    route_handlers=[
        list_access_models,
        create_access_model,
        get_access_model,
        change_access_model,
        list_access_model_members,
        simulate_access_model,
        commit_access_model,
    ],
    tags=["Administration"],
)
