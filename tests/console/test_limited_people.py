"""Test that people who see only their own records learn nothing about others, for example by guessing or searching."""

import re
from datetime import UTC, datetime, timedelta
from uuid import UUID

import httpx2
import pytest

from rolecall.console import actions, signing_in
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts
from rolecall.core.db import Db, execute, fetch_value
from rolecall.core.roles import LIMITED, SCOPES, Role
from rolecall.identities.authority import PersonRelation, people_of, relations_to_person
from rolecall.personnel_events import actions as events
from tests.builders import an_access_request, an_application, an_identity, facts
from tests.console.conftest import ORIGIN
from tests.console.test_matrix import sign_in
from tests.duties.separating import a_company, conflict_of
from tests.holdings import an_account

CLERK = Caller(UUID(int=5), "Clerk", frozenset(Scope))
TOMORROW = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()


class Team:
    """Grace supervises Ada; Zoe Zimmer has no supervisor."""

    def __init__(self, grace: UUID, ada: UUID, zoe: UUID) -> None:
        self.grace, self.ada, self.zoe = grace, ada, zoe


@pytest.fixture
async def team(administrator: httpx2.AsyncClient, db: Db) -> Team:
    grace = await an_identity(db, "Grace", "Hopper", email="grace@example.com")
    ada = await an_identity(db, "Ada", "Lovelace", email="ada@example.com", supervisorId=str(grace))
    return Team(grace, ada, await an_identity(db, "Zoe", "Zimmer", email="zoe@example.com"))


async def test_lists_searches_suggestions_and_exports_contain_only_records_that_concern_the_person(
    administrator: httpx2.AsyncClient, db: Db, team: Team
) -> None:
    ours = await an_access_request(db, identity_id=team.ada)
    theirs = await an_access_request(db, identity_id=team.zoe)
    number = await fetch_value(db, "SELECT number FROM access_requests WHERE id = %(id)s", id=theirs)
    await sign_in(administrator, db, team.grace)

    paths = ("/requests", "/identities", "/identities?name=Z", "/identities?sort=Department", "/people?q=Zim",
             "/search?q=Zimmer", "/search?q=Payroll", f"/search?q=%23{number}", "/requests?person=Zoe",
             "/export/access-requests", "/export/identities", "/export/search-identities?q=Zoe", "/events/calendar",
             "/events", "/")  # fmt: skip
    texts = {path: (await administrator.get(path)).text for path in paths}

    for path, text in texts.items():
        assert "Zimmer" not in text.replace('value="Zimmer"', ""), path
        assert str(theirs) not in text, path
        assert str(team.zoe) not in text, path
    assert str(ours) in texts["/requests"]
    assert str(ours) in texts["/export/access-requests"]
    assert "Lovelace" in texts["/export/identities"]
    assert (await administrator.get(f"/requests?selected={theirs}")).status_code == 404
    assert (await administrator.get("/export/tokens")).status_code == 403


async def test_form_does_not_reveal_access_of_a_person_whose_id_was_guessed(
    administrator: httpx2.AsyncClient, db: Db, team: Team
) -> None:
    payroll = await an_application(db, "Payroll")
    await an_account(db, payroll, "zoe", team.zoe, groups=("Secret group",))
    await an_account(db, payroll, "ada", team.ada, groups=("Own group",))
    await sign_in(administrator, db, team.grace)

    async def copied(person: str) -> str:
        form = {"action": "Add", "applicationId": str(payroll), "identityId": "", "sameAs": person}
        return (await administrator.post("/requests/new", data=form)).text

    assert "Own group" in await copied(str(team.ada))
    for words in (str(team.zoe), f"Zoe ({team.zoe})", "zoe@example.com"):
        assert "Secret group" not in await copied(words), words


@pytest.mark.parametrize("words", ["Hana", "{owner}", "h@", "@ (Hana Makinen)"])
async def test_exception_form_finds_no_colleague_by_name_id_or_incomplete_email(
    administrator: httpx2.AsyncClient, db: Db, words: str
) -> None:
    company = await a_company(db)
    await an_identity(db, "Hana", "Other", email="h.other@example.com")
    await sign_in(administrator, db, company.sofia)

    form = {"reason": "Leave", "control": "Checks", "until": TOMORROW}
    owner = words.format(owner=company.owner)
    path = f"/conflicts/{await conflict_of(db, company.sofia)}/except"
    answer = await administrator.post(path, data={**form, "controlOwnerId": owner})

    assert answer.status_code == 400, answer.text
    assert "No person matches" in answer.text
    assert "Hana Other" not in answer.text


async def test_bulk_response_reveals_nothing_about_requests_of_others(
    administrator: httpx2.AsyncClient, db: Db, team: Team
) -> None:
    theirs = await an_access_request(db, identity_id=team.zoe)
    number = await fetch_value(db, "SELECT number FROM access_requests WHERE id = %(id)s", id=theirs)
    await sign_in(administrator, db, team.grace)

    await administrator.post("/requests/respond", data={"id": str(theirs), "type": "Approve", "response": "Approved"})
    said = (await administrator.get("/requests")).text

    assert f"AccessRequest with id {theirs} not found" in said
    assert f"#{number}" not in said


async def test_former_supervisor_no_longer_sees_the_person(
    administrator: httpx2.AsyncClient, db: Db, team: Team
) -> None:
    request = await an_access_request(db, "Remove", identity_id=team.ada)
    await sign_in(administrator, db, team.grace)
    before = [
        (await administrator.get(path)).status_code for path in (f"/identities/{team.ada}", f"/requests/{request}")
    ]
    await execute(db, "UPDATE identities SET supervisor_id = %(zoe)s WHERE id = %(ada)s", zoe=team.zoe, ada=team.ada)

    after = [
        (await administrator.get(path)).status_code for path in (f"/identities/{team.ada}", f"/requests/{request}")
    ]

    assert (before, after) == ([200, 200], [404, 404])


async def test_owner_who_left_is_signed_out(administrator: httpx2.AsyncClient, db: Db, team: Team) -> None:
    ledger = await an_application(db, "Ledger", ownerId=str(team.grace))
    await sign_in(administrator, db, team.grace)
    assert (await administrator.get(f"/applications/{ledger}")).status_code == 200

    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=team.grace)

    assert (await administrator.get(f"/applications/{ledger}")).status_code == 303
    assert await fetch_value(db, "SELECT count(*) FROM console_sessions WHERE identity_id = %(id)s", id=team.grace) == 0


async def relate(db: Db, request: UUID, event: UUID) -> None:
    await execute(
        db,
        """INSERT INTO related_items (request_id, item_id, kind, number, status, stage)
           VALUES (%(request)s, %(event)s, 'Personnel Event', 1, 'Scheduled', 'Approval')""",
        request=request,
        event=event,
    )


async def test_person_does_not_see_their_own_planned_offboarding(
    administrator: httpx2.AsyncClient, db: Db, team: Team
) -> None:
    event = await events.offboard(db, CLERK, {"identityId": str(team.ada), "effectiveDate": TOMORROW}, facts())
    request = await an_access_request(db, "Remove", identity_id=team.ada)
    await relate(db, request, event)
    await sign_in(administrator, db, team.ada)

    for path in ("/", "/requests", "/events", "/events/calendar", f"/identities/{team.ada}", "/export/access-requests"):
        text = (await administrator.get(path)).text
        assert str(request) not in text, path
        assert str(event) not in text, path
    assert (await administrator.get(f"/events/{event}")).status_code == 404
    assert (await administrator.get(f"/requests/{request}")).status_code == 404
    await sign_in(administrator, db, team.grace)
    assert (await administrator.get(f"/events/{event}")).status_code == 200


async def test_owner_does_not_see_their_own_planned_offboarding_in_their_application(
    administrator: httpx2.AsyncClient, db: Db, team: Team
) -> None:
    ledger = await an_application(db, "Ledger", ownerId=str(team.ada))
    event = await events.offboard(db, CLERK, {"identityId": str(team.ada), "effectiveDate": TOMORROW}, facts())
    request = await an_access_request(db, "Remove", identity_id=team.ada, application_id=ledger)
    other = await an_access_request(db, "Remove", identity_id=team.zoe, application_id=ledger)
    await relate(db, request, event)
    await execute(
        db, "UPDATE responses SET reviewer_id = %(me)s, asked = true WHERE request_id = %(id)s", me=team.ada, id=request
    )
    await sign_in(administrator, db, team.ada)

    for path in ("/requests", f"/requests?applicationId={ledger}", f"/export/access-requests?applicationId={ledger}"):
        text = (await administrator.get(path)).text
        assert str(request) not in text, path
        assert str(other) in text, path


@pytest.mark.parametrize("whom", ["zoe", "ada"])
async def test_supervisor_requests_and_creates_events_only_for_their_people(
    administrator: httpx2.AsyncClient, db: Db, team: Team, whom: str
) -> None:
    ledger = await an_application(db, "Ledger")
    person = str(getattr(team, whom))
    await sign_in(administrator, db, team.grace)
    asked = {"identityId": person, "applicationId": str(ledger), "action": "Add", "privileges": "Post entries"}
    leave = {"type": "Absence", "identityId": person, "effectiveDate": TOMORROW}

    answers = [
        await administrator.post("/requests/new", data=asked),
        await administrator.post("/events/new", data={**leave, "preview": "yes"}),
        await administrator.post("/events/new", data=leave),
    ]

    assert [answer.status_code for answer in answers] == ([400, 400, 400] if whom == "zoe" else [303, 200, 303])
    counted = "SELECT (SELECT count(*) FROM access_requests) + (SELECT count(*) FROM personnel_events)"
    assert await fetch_value(db, counted) == (0 if whom == "zoe" else 2)


async def test_supervisor_cannot_take_over_a_sign_in(administrator: httpx2.AsyncClient, db: Db, team: Team) -> None:
    await sign_in(administrator, db, team.grace)
    move = {"type": "Role Transition", "identityId": str(team.ada), "effectiveDate": TOMORROW}
    new = {"type": "Onboard", "effectiveDate": TOMORROW, "identity.firstName": "New", "identity.lastName": "One"}

    refused = [
        await administrator.post("/events/new", data={**move, "identity.email": "mine@example.com"}),
        await administrator.post("/events/new", data={**move, "identity.supervisorId": str(team.zoe)}),
        await administrator.post("/events/new", data=new),
        await administrator.post(
            "/events/new", data={**new, "identity.supervisorId": str(team.grace), "identity.email": "zoe@example.com"}
        ),
    ]
    allowed = await administrator.post("/events/new", data={**new, "identity.supervisorId": str(team.grace)})

    assert [answer.status_code for answer in refused] == [400] * 4
    assert allowed.status_code == 303


async def test_only_people_with_an_unambiguous_email_can_sign_in(
    administrator: httpx2.AsyncClient, db: Db, facts: Facts, team: Team
) -> None:
    assert await actions.sign_in_by_email(db, "ADA@example.com", facts.now)
    await an_identity(db, "Other", "Ada", email="ada@example.com")
    assert not await actions.sign_in_by_email(db, "ada@example.com", facts.now)
    service = await an_identity(db, "Nightly", "Job", email="job@example.com", identityType="Service Account")
    assert not await actions.sign_in_by_email(db, "job@example.com", facts.now)
    assert await signing_in.person_with_id(db, service) is None


async def test_new_email_ends_sessions(administrator: httpx2.AsyncClient, db: Db, team: Team) -> None:
    await sign_in(administrator, db, team.ada)
    await execute(db, "UPDATE identities SET email_address = 'new@example.com' WHERE id = %(id)s", id=team.ada)

    assert (await administrator.get("/")).headers["location"].startswith("/sign-in")


async def test_nobody_is_their_own_supervisor_in_a_cycle_of_supervisors(db: Db) -> None:
    one = await an_identity(db, "One", "Loop")
    two = await an_identity(db, "Two", "Loop", supervisorId=str(one))
    below = await an_identity(db, "Below", "Loop", supervisorId=str(two))
    await execute(db, "UPDATE identities SET supervisor_id = %(two)s WHERE id = %(one)s", one=one, two=two)

    assert await relations_to_person(db, one, one) == {PersonRelation.SELF}
    assert await relations_to_person(db, one, two) == {PersonRelation.SUPERVISOR}
    assert await relations_to_person(db, two, one) == {PersonRelation.SUPERVISOR}
    assert await relations_to_person(db, below, one) == frozenset()
    assert set(await people_of(db, one)) == {two, below}


async def test_pages_of_a_person_without_a_role_have_no_dead_links(
    administrator: httpx2.AsyncClient, db: Db, team: Team
) -> None:
    await an_access_request(db, identity_id=team.ada)

    for person in (team.grace, team.ada):
        await sign_in(administrator, db, person)
        for path in ("/", "/requests", "/identities", f"/identities/{team.ada}", "/events", "/account"):
            page = (await administrator.get(path, headers={"Referer": ORIGIN})).text
            for href in set(re.findall(r'href="(/[^"#]*)"', page)):
                if not href.startswith("/static"):
                    found = await administrator.get(href.replace("&amp;", "&"))
                    assert found.status_code < 400, (path, href)


@pytest.mark.parametrize("role", list(Role))
async def test_role_does_not_take_rights_from_a_supervisor(
    administrator: httpx2.AsyncClient, db: Db, team: Team, role: Role
) -> None:
    """With any role, people can request access for themselves and their reports, and supervisors can create events."""
    await actions.set_role(db, team.grace, role)
    await sign_in(administrator, db, team.grace)
    leave = {"type": "Absence", "effectiveDate": TOMORROW}
    own = {"action": "Add", "applicationId": str(await an_application(db, "Wiki")), "privileges": "Readers"}

    home = (await administrator.get("/")).text
    page = (await administrator.get(f"/identities/{team.ada}")).text
    forms = [(await administrator.get(path)).status_code for path in ("/events/new", "/requests/new")]
    events = [
        (await administrator.post("/events/new", data={**leave, "identityId": str(person)})).status_code
        for person in (team.ada, team.zoe)
    ]
    requests = [
        (await administrator.post("/requests/new", data={**own, "identityId": str(person)})).status_code
        for person in (team.grace, team.ada, team.zoe)
    ]

    sees_all = Scope.PERSONNEL_EVENTS_WRITE in SCOPES[role]
    asks_for_all = Scope.ACCESS_REQUESTS_WRITE in SCOPES[role] and role not in LIMITED
    assert "Your people" in home
    assert "Start absence" in page
    assert "Request a change" in page
    assert forms == [200, 200]
    assert events == [303, 303 if sees_all else 400]
    assert requests == [303, 303, 303 if asks_for_all else 400]


async def test_auditor_comments_only_on_requests_that_concern_them(
    administrator: httpx2.AsyncClient, db: Db, team: Team
) -> None:
    ours, theirs = [await an_access_request(db, identity_id=person) for person in (team.ada, team.zoe)]
    await actions.set_role(db, team.grace, Role.AUDITOR)
    await sign_in(administrator, db, team.grace)

    async def said(request: UUID) -> tuple[int, int]:
        page = await administrator.get(f"/requests/{request}")
        comment = await administrator.post(f"/requests/{request}/comment", data={"content": "Hello"})
        return page.status_code, comment.status_code

    assert [await said(ours), await said(theirs)] == [(200, 303), (200, 404)]
    await administrator.post(f"/requests/{ours}/respond", data={"type": "Approve", "response": "Approved"})
    assert await fetch_value(db, "SELECT status FROM access_requests WHERE id = %(id)s", id=ours) == "Pending"
