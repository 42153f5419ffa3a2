"""Test every screen with every role. The screens are read from the application, so that none is left out."""

import httpx2
import pytest
from litestar.routes import HTTPRoute

from rolecall.app import create_app
from rolecall.console.frame import Screen
from rolecall.console.model import OWN_SCOPES
from rolecall.core.config import Config
from rolecall.core.db import Db, execute
from rolecall.core.roles import LIMITED, SCOPES, Role
from tests.figures import measured

PROVIDER = {("GET", "/sign-in/oidc"), ("GET", "/sign-in/oidc/callback")}
OPEN = PROVIDER | {(method, path) for method in ("GET", "POST") for path in ("/sign-in", "/sign-in/{id:str}")}
OPEN |= {("POST", "/sign-in/email")}
MISSING = "0198f7a0-0000-7000-8000-000000000000"
ROUTES = [r for r in create_app(Config(database_url="postgresql://")).app.routes if isinstance(r, HTTPRoute)]
OPERATIONS = {
    handler.fn.__name__ for route in ROUTES for handler in route.route_handlers if "screen" not in handler.opt
}
SCREENS: dict[tuple[str, str], Screen] = {
    (str(method), route.path): handler.opt["screen"]
    for route in ROUTES
    for handler in route.route_handlers
    if "screen" in handler.opt
    for method in handler.http_methods
}


def address(path: str) -> str:
    return path.replace("{id:str}", MISSING).replace("{verb:str}", "resolve").replace("{file:str}", MISSING)


def test_only_sign_in_screens_are_open_to_everyone() -> None:
    measured(f"{len(SCREENS)} screens × {len(Role)} roles")
    assert {key for key, screen in SCREENS.items() if screen.is_open} == OPEN


def test_screens_that_write_need_a_scope() -> None:
    own_affairs = {
        ("POST", "/sign-out"),
        ("POST", "/account"),
        ("POST", "/notifications/read"),
        ("POST", "/notifications/preferences"),
        # No scope is needed, only a relation: the person in conflict requests an exception; the owner of the rule and
        # another person approve it.
        ("POST", "/conflicts/{id:str}/except"),
        ("POST", "/conflicts/{id:str}/approve"),
        ("POST", "/conflicts/{id:str}/withdraw"),
        # No scope is needed, only a relation: reviewers decide and submit their own items; owners of applications
        # accept risks.
        *(("POST", f"/review-items/{{id:str}}/{verb}") for verb in ("decide", "undo", "accept")),
        *(("POST", f"/reviews/{{id:str}}/{verb}") for verb in ("decide", "submit")),
    }
    unscoped = {key for key, screen in SCREENS.items() if key[0] == "POST" and not screen.scope}

    assert unscoped - OPEN == own_affairs


def test_actions_have_the_same_names_as_in_the_api() -> None:
    """The names matter because audit entries can be filtered by them. Those in `own` exist only in the console."""
    own = {"sign_in", "sign_in_by_link", "sign_out", "change_password", "set_role", "make_link"}
    own |= {"create_draft", "draft_changed_files", "change_draft", "try_draft", "save_draft", "discard_draft"}
    own |= {"create_event", "respond_to_several", "archive", "add_rule", "remove_rule", "ask_for_link"}
    own |= {"change_notification_template", "extend_review", "reassign_review_items", "connect_system"}
    own |= {"change_columns"}
    names = {
        name
        for (method, _), screen in SCREENS.items()
        for name in (screen.verbs.values() or [screen.function.__name__])
        if method == "POST"
    }

    assert names - OPERATIONS == own


async def test_screens_that_are_not_open_redirect_to_sign_in(visitor: httpx2.AsyncClient) -> None:
    for method, path in SCREENS.keys() - OPEN:
        answer = await visitor.request(method, address(path))

        assert answer.status_code == 303, (method, path)
        assert answer.headers["location"].startswith("/sign-in"), (method, path)


@pytest.mark.parametrize("role", list(Role))
async def test_role_can_open_exactly_the_screens_of_its_scopes(
    administrator: httpx2.AsyncClient, db: Db, role: Role
) -> None:
    await execute(db, "UPDATE console_roles SET role = %(role)s", role=role)

    for (method, path), screen in SCREENS.items():
        if screen.scope:
            answer = await administrator.request(method, address(path))
            is_allowed = screen.scope in SCOPES[role] or (screen.limits is not None and screen.scope in OWN_SCOPES)
            is_closed = not is_allowed or (role in LIMITED and screen.limits is None)
            assert (answer.status_code == 403) == is_closed, (method, path)
