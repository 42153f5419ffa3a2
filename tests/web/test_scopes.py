"""Test every route with every scope. Routes are read from the application, so that none can be forgotten."""

import httpx2
import pytest

from rolecall.app import create_app
from rolecall.core.caller import Scope
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.web.openapi import Route, routes_of
from tests.builders import a_token
from tests.figures import measured

# Routes that are public by design; every other route requires a token.
OPEN = {
    ("GET", "/openapi.json"),
    ("GET", "/docs"),
    ("GET", "/docs/style.css"),
    ("GET", "/docs/try"),
    ("GET", "/docs/static/{filePath}"),
    ("HEAD", "/docs/static/{filePath}"),
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/metrics"),
    ("POST", "/webhooks/callback/{id}"),
}
ROUTES = routes_of(create_app(Config(database_url="postgresql://")).app)
# Screens of the console require a session (tests/console/test_roles.py), and SCIM has its own tokens.
SCOPED = [
    route for route in ROUTES if (route.method, route.path) not in OPEN and not {"Console", "SCIM"} & set(route.tags)
]


def named(route: Route) -> str:
    return f"{route.method} {route.path}"


@pytest.mark.parametrize("route", SCOPED, ids=named)
def test_every_route_declares_a_scope(route: Route) -> None:
    assert route.operation is not None
    assert route.operation.scope in set(Scope)


@pytest.mark.parametrize("route", SCOPED, ids=named)
async def test_route_accepts_only_its_own_scope(anonymous: httpx2.AsyncClient, db: Db, route: Route) -> None:
    assert route.operation
    assert route.operation.scope
    others = [scope for scope in Scope if scope != route.operation.scope]
    with_all_others = await a_token(db, "all others", scopes=others)
    with_it_alone = await a_token(db, "it alone", scopes=[route.operation.scope])

    async def status(secret: str | None) -> int:
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        return (await anonymous.request(route.method, route.path, headers=headers)).status_code

    assert await status(None) == 401
    assert await status(with_all_others.secret) == 403
    assert await status(with_it_alone.secret) not in (401, 403, 405, 500)


def test_scope_matrix_covers_more_than_ten_routes() -> None:
    measured(f"{len(SCOPED)} routes × no token, its own scope, all {len(Scope) - 1} others")
    assert len(SCOPED) > 10
