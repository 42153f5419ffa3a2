"""Test every screen and verb against every relation of a person to its record.

The matrix below names every screen; a screen that is missing in it fails a test.
"""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx2
import msgspec
import pytest

from rolecall.conflicts import actions as conflicts
from rolecall.console import actions as console
from rolecall.core.caller import Caller, Scope
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value
from rolecall.core.roles import Role
from rolecall.identities.authority import RecordType
from rolecall.personnel_events import actions as events
from tests.builders import an_access_model, an_access_request, an_application, an_identity, facts
from tests.console.company import FILES, upload
from tests.console.conftest import ORIGIN
from tests.console.test_roles import MISSING, OPEN, SCREENS
from tests.duties.separating import a_duty, a_rule
from tests.stand_ins.standing_in import a_stand_in
from tests.working import let_the_worker_work

NOBODY, EVERYONE = (
    frozenset[str](),
    frozenset(
        {"self", "supervisor", "far", "owner", "owner's stand-in", "provisioner", "asked", "stand-in", "stranger"}
    ),
)
LINE = frozenset({"supervisor", "far"})
SUPERVISORS = LINE
# Olga is asked to verify the request.
REQUEST = frozenset({"self", "supervisor", "far", "owner", "owner's stand-in", "provisioner", "asked", "stand-in"})
APPLICATION = frozenset({"owner", "provisioner"})
# Nils reviews the item, and Dora stands in for Nils; the owner of the application sees the item too.
REVIEW = frozenset({"asked", "stand-in"})
ITEM = REVIEW | {"owner"}
# An exception waits for Olga, who owns the rule, so Vera, who stands in for her, sees the conflict.
CONFLICT = LINE | {"self", "owner", "owner's stand-in"}
# For each screen that limited people may open: who gets an answer other than 403 and 404 for the company's record.
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
# Screens for roles that see every record.
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


class Firm(msgspec.Struct):
    """Ada reports to Grace, who reports to Rosa. Olga owns Payroll, its model and a rule, Peter provisions it.

    Nils is asked to approve the request. Dora stands in for Nils and Vera for Olga; Sam has no relation to any record.
    """

    people: dict[str, UUID]
    ids: dict[str, object]


@pytest.fixture
async def firm(administrator: httpx2.AsyncClient, db: Db, config: Config) -> Firm:
    rosa = await an_identity(db, "Rosa", "Far", email="rosa@example.com")
    grace = await an_identity(db, "Grace", "Near", email="grace@example.com", supervisorId=str(rosa))
    ada = await an_identity(db, "Ada", "Own", email="ada@example.com", supervisorId=str(grace))
    olga, vera, peter, nils, dora, sam = [
        await an_identity(db, name, "Else") for name in ("Olga", "Vera", "Peter", "Nils", "Dora", "Sam")
    ]
    application = await an_application(
        db, "Payroll", ownerId=str(olga), provisionerIds=[str(peter)], guard={"minCount": 1}
    )
    clerk = Caller(UUID(int=5), "Clerk", frozenset(Scope))
    run = await upload(db, config, clerk, application, FILES)
    await let_the_worker_work(config)
    access = [{"applicationId": str(application), "groups": ["Clerks"]}]
    model = await an_access_model(db, "Clerks", access=access, ownerId=str(olga))
    request = await an_access_request(db, application_id=application, identity_id=ada)
    await execute(db, "UPDATE accounts SET identity_id = NULL")
    await execute(
        db,
        "UPDATE responses SET reviewer_id = %(nils)s, reviewer_name = 'Nils Else' WHERE reviewer_id = %(grace)s",
        nils=nils,
        grace=grace,
    )
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()
    apart = [await a_duty(db, name) for name in ("Post", "Approve")]
    rule = await a_rule(db, "Post and approve", *apart, ownerId=str(olga))
    conflict = await fetch_value(
        db,
        """INSERT INTO conflicts (rule_id, identity_id, since, found_on) VALUES (%(rule)s, %(ada)s, now(), now())
           RETURNING id""",
        rule=rule,
        ada=ada,
    )
    asked = {"reason": "Leave", "control": "Checked", "controlOwnerId": str(olga), "until": tomorrow}
    await conflicts.request_exception(db, clerk, str(conflict), asked, facts())
    event = await events.begin_absence(db, clerk, {"identityId": str(ada), "effectiveDate": tomorrow}, facts())
    values = {
        "accounts": "SELECT id FROM accounts LIMIT 1",
        "access": "SELECT id FROM entitlements WHERE kind = 'Group' LIMIT 1",
        "files": "SELECT id FROM import_files LIMIT 1",
    }
    found = {name: await fetch_value(db, query) for name, query in values.items()}
    away = await a_stand_in(db, nils, dora)
    await a_stand_in(db, olga, vera)
    people = {"self": ada, "supervisor": grace, "far": rosa, "owner": olga, "provisioner": peter, "asked": nils}
    people["owner's stand-in"] = vera
    ids = {"identities": ada, "requests": request, "events": event, "applications": application, "imports": run}
    ids["stand-ins"] = away.id
    ids["conflicts"] = conflict
    ids["reviews"], ids["review-items"] = await a_review_for(db, nils, application)
    return Firm({**people, "stand-in": dora, "stranger": sam}, {**ids, **found, "access-models": model})


async def a_review_for(db: Db, reviewer: UUID, application: UUID) -> tuple[UUID, UUID]:
    """Open a review whose only item this person reviews."""
    review: UUID = await fetch_value(
        db,
        """INSERT INTO reviews (id, name, type, status, stages, due_on, explained, on_silence, statement, created_by,
                                created_at, opened_on, digest, item_count)
           VALUES (gen_random_uuid(), 'Payroll', 'Application', 'Open', '[{"reviewer": "Application Owner"}]',
                   now() + interval '9 days', 'each', 'escalate', 'Reviewed', 'Clerk', now(), now(), 'x', 1)
           RETURNING id""",
    )
    item: UUID = await fetch_value(
        db,
        """INSERT INTO review_items (review_id, subject, application_id, account_number, entitlement_id, reviewer_id,
                                     access, since_import, list_key)
           SELECT %(review)s, 'Access', %(application)s, a.number, e.id, %(reviewer)s, 'Grant', 1, '1'
           FROM accounts a, entitlements e WHERE e.kind = 'Group' LIMIT 1 RETURNING id""",
        review=review,
        application=application,
        reviewer=reviewer,
    )
    return review, item


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


def test_screens_are_closed_to_limited_people_unless_they_say_how_they_are_limited() -> None:
    assert {key for key, screen in SCREENS.items() if screen.limits is None} - OPEN == {
        key for key in SCREENS if is_closed(key)
    }
    for (method, path), screen in SCREENS.items():
        if isinstance(screen.limits, RecordType):
            assert "{id:str}" in path, (method, path)


@pytest.mark.parametrize("relation", sorted(EVERYONE))
async def test_person_opens_exactly_the_screens_of_their_relation(
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
async def test_limited_person_opens_no_screen_of_a_role(
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
