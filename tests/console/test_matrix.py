"""Test every screen and verb with every relation of a person to its record.

The matrix below must contain every screen; a missing screen fails a test.
"""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.console import actions as console
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.roles import Role
from rolecall.identities.authority import RecordType
from tests.builders import an_application
from tests.console.conftest import ORIGIN
from tests.console.firm import Firm, a_firm
from tests.console.test_roles import MISSING, OPEN, SCREENS

NOBODY, EVERYONE = (
    frozenset[str](),
    frozenset(
        {"self", "supervisor", "far", "owner", "owner's stand-in", "provisioner", "asked", "stand-in", "stranger"}
    ),
)
LINE = frozenset({"supervisor", "far"})
SUPERVISORS = LINE
# The owner is included, because Olga owns Payroll and must verify the request.
REQUEST = frozenset({"self", "supervisor", "far", "owner", "owner's stand-in", "provisioner", "asked", "stand-in"})
APPLICATION = frozenset({"owner", "provisioner"})
# Nils reviews the item, and Dora stands in for Nils; the owner of the application sees the item too.
REVIEW = frozenset({"asked", "stand-in"})
ITEM = REVIEW | {"owner"}
# An exception waits for Olga, who owns the rule, so Vera, who stands in for her, sees the conflict.
CONFLICT = LINE | {"self", "owner", "owner's stand-in"}
# For each screen, the relations that let a person who sees only their own records open it. A person without such a
# relation gets 403 or 404.
MATRIX: dict[tuple[str, str], frozenset[str]] = {
    ("GET", "/"): EVERYONE,
    ("GET", "/search"): EVERYONE,
    ("GET", "/account"): EVERYONE,
    ("POST", "/account"): EVERYONE,
    ("POST", "/sign-out"): EVERYONE,
    ("GET", "/notifications"): EVERYONE,
    ("POST", "/notifications/read"): EVERYONE,
    ("GET", "/stand-ins"): EVERYONE,
    ("POST", "/stand-ins"): EVERYONE,
    ("POST", "/stand-ins/{id:str}/end"): frozenset({"asked"}),
    ("GET", "/notifications/preferences"): EVERYONE,
    ("POST", "/notifications/preferences"): EVERYONE,
    ("GET", "/export/{id:str}"): EVERYONE,
    ("GET", "/people"): EVERYONE,
    ("GET", "/identities"): EVERYONE,
    ("GET", "/identities/{id:str}"): LINE | {"self"},
    ("GET", "/requests"): EVERYONE,
    ("GET", "/requests/new"): EVERYONE,
    ("POST", "/requests/new"): EVERYONE,
    ("POST", "/requests/respond"): EVERYONE,
    ("GET", "/requests/{id:str}"): REQUEST,
    ("GET", "/requests/{id:str}/log"): REQUEST,
    ("POST", "/requests/{id:str}/respond"): REQUEST,
    ("POST", "/requests/{id:str}/assign"): REQUEST,
    ("POST", "/requests/{id:str}/snooze"): REQUEST,
    ("POST", "/requests/{id:str}/comment"): REQUEST,
    ("POST", "/requests/{id:str}/{verb:str}"): REQUEST,
    ("GET", "/events"): EVERYONE,
    ("GET", "/events/calendar"): EVERYONE,
    ("GET", "/events/new"): SUPERVISORS,
    ("POST", "/events/new"): SUPERVISORS,
    ("GET", "/events/{id:str}"): LINE | {"self"},
    ("POST", "/events/{id:str}/{verb:str}"): LINE,
    ("GET", "/applications"): APPLICATION,
    ("GET", "/applications/{id:str}"): APPLICATION,
    ("POST", "/applications/{id:str}/stage"): NOBODY,
    ("GET", "/applications/{id:str}/upload"): NOBODY,
    ("POST", "/applications/{id:str}/upload"): NOBODY,
    ("GET", "/accounts/{id:str}"): APPLICATION,
    ("GET", "/imports/{id:str}"): APPLICATION,
    ("GET", "/imports/{id:str}/log"): APPLICATION,
    ("GET", "/imports/{id:str}/files/{file:str}"): APPLICATION,
    ("POST", "/imports/{id:str}/cancel"): NOBODY,
    ("POST", "/imports/{id:str}/continue"): NOBODY,
    ("POST", "/imports/{id:str}/rollback"): NOBODY,
    ("GET", "/access/{id:str}"): APPLICATION,
    ("GET", "/access-models/{id:str}"): frozenset({"owner"}),
    ("GET", "/conflicts/{id:str}"): CONFLICT,
    ("POST", "/conflicts/{id:str}/except"): CONFLICT,
    ("POST", "/conflicts/{id:str}/approve"): CONFLICT,
    ("POST", "/conflicts/{id:str}/withdraw"): CONFLICT,
    ("GET", "/reviews"): EVERYONE,
    ("GET", "/reviews/{id:str}"): REVIEW,
    ("GET", "/reviews/{id:str}/work"): REVIEW,
    ("GET", "/reviews/{id:str}/new-access"): REVIEW,
    ("GET", "/reviews/{id:str}/submit"): REVIEW,
    ("POST", "/reviews/{id:str}/submit"): REVIEW,
    ("POST", "/reviews/{id:str}/decide"): REVIEW,
    ("GET", "/review-items/{id:str}"): ITEM,
    ("POST", "/review-items/{id:str}/decide"): ITEM,
    ("POST", "/review-items/{id:str}/undo"): ITEM,
    ("POST", "/review-items/{id:str}/accept"): ITEM,
}
# Screens that only roles with access to every record may open.
CLOSED = {
    *(("GET", path) for path in ("/access", "/accounts", "/imports", "/requests/waiting", "/access-models")),
    *(("GET", f"/access-models/{path}") for path in ("new", "{id:str}/edit")),
    *(("POST", f"/access-models/{path}") for path in ("new", "{id:str}/edit", "{id:str}/commit")),
    ("GET", "/access/{id:str}/edit"),
    ("GET", "/conflicts"),
    ("GET", "/conflicts/exceptions"),
    ("GET", "/duties/all"),
    ("POST", "/access/{id:str}"),
    ("GET", "/applications/new"),
    ("POST", "/applications/new"),
    *((verb, f"/applications/{path}") for verb in ("GET", "POST") for path in ("connect", "{id:str}/columns")),
    ("GET", "/applications/{id:str}/edit"),
    ("POST", "/applications/{id:str}/edit"),
    ("GET", "/applications/{id:str}/files"),
    ("POST", "/applications/{id:str}/files"),
    ("POST", "/applications/{id:str}/template"),
    ("GET", "/applications/{id:str}/source"),
    *(("POST", f"/applications/{{id:str}}/source{verb}") for verb in ("", "/test", "/remove", "/tokens")),
    ("POST", "/scim-tokens/{id:str}/revoke"),
    ("GET", "/applications/{id:str}/carrier"),
    *(("POST", f"/applications/{{id:str}}/carrier{verb}") for verb in ("", "/remove", "/release", "/carry-out")),
    ("POST", "/applications/{id:str}/archive"),
    ("POST", "/accounts/{id:str}/match"),
    ("POST", "/accounts/{id:str}/unpin"),
    ("GET", "/reviews/coverage"),
    ("GET", "/reviews/new"),
    ("POST", "/reviews/new"),
    *(("GET", f"/reviews/{{id:str}}/{part}") for part in ("edit", "items", "evidence", "report")),
    *(
        ("POST", f"/reviews/{{id:str}}/{verb}")
        for verb in ("edit", "open", "extend", "close", "cancel", "remind", "reassign")
    ),
    ("POST", "/reviews/{id:str}/verify"),
    ("POST", "/review-items/{id:str}/reassign"),
}
_PARTS = "webhooks deliveries audit settings reports drafts connector-templates duties rules review-templates"
CLOSED_PARTS = tuple(f"/{part}" for part in _PARTS.split())


def is_closed(key: tuple[str, str]) -> bool:
    return key in CLOSED or key[1].startswith(CLOSED_PARTS)


@pytest.fixture
async def firm(administrator: httpx2.AsyncClient, db: Db, config: Config) -> Firm:
    return await a_firm(db, config)


def address(path: str, firm: Firm) -> str:
    before, found, _ = path.partition("/{id:str}")
    part = before.rpartition("/")[2]
    id = "identities" if part == "export" else firm.ids.get(part, MISSING) if found else ""
    verb = "comment" if path.startswith("/events") else "cancel"
    return path.replace("{id:str}", str(id)).replace("{file:str}", str(firm.ids["files"])).replace("{verb:str}", verb)


async def sign_in(client: httpx2.AsyncClient, db: Db, person: UUID) -> None:
    client.cookies.clear()
    link = await console.create_link(db, person, datetime.now(UTC))
    assert (await client.post(f"/sign-in/{link}")).headers["location"] == "/"


def test_matrix_names_every_screen() -> None:
    unnamed = {key for key in SCREENS.keys() - OPEN if key not in MATRIX and not is_closed(key)}
    assert unnamed == set(), "Decide who may open these screens, and add them to MATRIX or CLOSED"
    assert MATRIX.keys() <= SCREENS.keys()
    assert SCREENS.keys() >= CLOSED


def test_screens_are_closed_by_default_to_people_who_see_only_own_records() -> None:
    assert {key for key, screen in SCREENS.items() if screen.limits is None} - OPEN == {
        key for key in SCREENS if is_closed(key)
    }
    for (method, path), screen in SCREENS.items():
        if isinstance(screen.limits, RecordType):
            assert "{id:str}" in path, (method, path)


@pytest.mark.parametrize("relation", sorted(EVERYONE))
async def test_person_can_open_exactly_the_screens_that_their_relation_allows(
    administrator: httpx2.AsyncClient, db: Db, firm: Firm, relation: str
) -> None:
    opened = set()
    await sign_in(administrator, db, firm.people[relation])
    for method, path in sorted(MATRIX, key=lambda key: (key[1] == "/sign-out", key)):
        answer = await administrator.request(
            method, address(path, firm), headers={"Referer": f"{ORIGIN}/", "Accept": "text/html"}, **_form(method)
        )
        assert answer.status_code in (200, 303, 400, 403, 404, 409), (method, path, answer.text)
        if answer.status_code not in (403, 404):
            opened.add((method, path))

    assert opened == {key for key, people in MATRIX.items() if relation in people}


def _form(method: str) -> dict[str, Any]:
    return {"data": {"content": "Hello"}} if method == "POST" else {}


@pytest.mark.parametrize("relation", ["self", "owner", "supervisor"])
async def test_person_without_a_role_cannot_open_screens_that_require_one(
    administrator: httpx2.AsyncClient, db: Db, firm: Firm, relation: str
) -> None:
    await sign_in(administrator, db, firm.people[relation])
    for method, path in sorted(key for key in SCREENS if is_closed(key)):
        answer = await administrator.request(method, address(path, firm))
        assert answer.status_code == 403, (method, path)


async def test_provisioner_imports_only_applications_that_they_provision(
    administrator: httpx2.AsyncClient, db: Db, firm: Firm
) -> None:
    await console.set_role(db, firm.people["provisioner"], Role.PROVISIONER)
    other = await an_application(db, "Ledger")
    await sign_in(administrator, db, firm.people["provisioner"])

    own = await administrator.get(f"/applications/{firm.ids['applications']}/upload")
    foreign = await administrator.get(f"/applications/{other}/upload")

    assert (own.status_code, foreign.status_code) == (200, 404)
