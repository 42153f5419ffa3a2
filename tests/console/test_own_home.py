"""Test the content and the links of the home pages of a supervisor and of an employee."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from uuid import UUID

import httpx2
import pytest

from rolecall.access_requests import actions as requests
from rolecall.access_requests import queries
from rolecall.core.caller import SYSTEM
from rolecall.core.config import Config
from rolecall.core.db import Db, execute
from rolecall.personnel_events import actions as events
from tests.builders import an_access_model, an_access_request, an_application, an_identity, facts
from tests.conflicts.test_exceptions import a_cast, act
from tests.console.test_matrix import sign_in
from tests.duties.separating import a_company as a_separated_company
from tests.holdings import an_account
from tests.stand_ins.standing_in import CLERK, a_stand_in
from tests.working import let_the_worker_work

POST_ENTRIES = (("Ledger", "Post entries", "Grant", "High"),)
IN_THREE_DAYS = (datetime.now(UTC) + timedelta(days=3)).date().isoformat()


class Team:
    """Grace supervises Ada, who has an account in Payroll, and Bob, who has none."""

    def __init__(self, grace: UUID, ada: UUID, bob: UUID, payroll: UUID) -> None:
        self.grace, self.ada, self.bob, self.payroll = grace, ada, bob, payroll


@pytest.fixture
async def team(administrator: httpx2.AsyncClient, db: Db) -> Team:
    grace = await an_identity(db, "Grace", "Hopper")
    ada = await an_identity(db, "Ada", "Lovelace", supervisorId=str(grace), title="Clerk")
    bob = await an_identity(db, "Bob", "Builder", supervisorId=str(grace))
    payroll = await an_application(db, "Payroll")
    await an_account(db, payroll, "ada", ada, permissions=POST_ENTRIES)
    return Team(grace, ada, bob, payroll)


async def home(client: httpx2.AsyncClient, db: Db, person: UUID) -> dict[str, str]:
    """Return the text of each panel of the home page by the id of its heading, and the HTML of the page as `page`."""
    await sign_in(client, db, person)
    page = (await client.get("/")).text
    panels = re.findall(r'<section class="panel[^"]*" aria-labelledby="([\w-]+)">(.*?)</section>', page, re.DOTALL)
    return {name: " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split()) for name, body in panels} | {"page": page}


async def test_supervisor_sees_their_people_with_counts_of_access_and_unusual_facts(
    administrator: httpx2.AsyncClient, db: Db, team: Team
) -> None:
    shown = await home(administrator, db, team.grace)

    assert shown["team"].startswith("Your people 2")
    assert "Ada Lovelace Clerk 1 entitlement without a reason 1 Request a change for Ada Lovelace" in shown["team"]
    assert "Person Notes Entitlements" in shown["team"]
    assert "Bob Builder" in shown["team"]
    assert f'href="/requests/new?identityId={team.ada}"' in shown["page"]


async def test_list_of_people_has_the_name_that_the_menu_gives_it(
    administrator: httpx2.AsyncClient, db: Db, team: Team
) -> None:
    everyone = (await administrator.get("/identities")).text
    await sign_in(administrator, db, team.grace)
    mine = (await administrator.get("/identities")).text

    assert "<h1>People <span" in everyone
    assert "<h1>My people <span" in mine


async def test_supervisor_sees_waiting_requests_and_upcoming_events(
    administrator: httpx2.AsyncClient, db: Db, team: Team
) -> None:
    request = await an_access_request(db, identity_id=team.bob, application_id=team.payroll)
    body = {"identityId": str(team.ada), "effectiveDate": IN_THREE_DAYS}
    event = await events.begin_absence(db, CLERK, body, facts())

    shown = await home(administrator, db, team.grace)

    assert shown["waiting"].startswith("Waiting for you 1")
    assert "Add Post entries" in shown["waiting"]
    assert "The supervisor approves added and changed access" in shown["waiting"]
    assert f"selected={request}" in shown["page"]
    assert "Ada Lovelace Goes on leave, in 3 days" in shown["coming"]
    assert f'href="/events/{event}"' in shown["page"]
    assert "1 open request" in shown["team"]
    assert "Goes on leave on" in shown["team"]


async def test_home_says_how_many_more_requests_wait(administrator: httpx2.AsyncClient, db: Db, team: Team) -> None:
    for number in range(8):
        application = await an_application(db, f"Application {number}")
        await an_access_request(db, identity_id=team.bob, application_id=application)

    shown = await home(administrator, db, team.grace)

    assert shown["waiting"].startswith("Waiting for you 8")
    assert shown["waiting"].endswith("2 more requests")


async def test_request_that_would_create_a_conflict_is_marked(
    administrator: httpx2.AsyncClient, db: Db, team: Team
) -> None:
    request = await an_access_request(db, identity_id=team.bob, application_id=team.payroll)
    assert "Would create a conflict" not in (await home(administrator, db, team.grace))["waiting"]
    company = await a_separated_company(db)
    await execute(
        db,
        """INSERT INTO request_conflicts (request_id, rule_id, rule, risk, response, duties)
           VALUES (%(request)s, %(rule)s, 'Prepare and release', 'High', 'Approve', '{}')""",
        request=request,
        rule=company.rule,
    )

    assert "Would create a conflict" in (await home(administrator, db, team.grace))["waiting"]


async def test_unexplained_access_is_counted_for_direct_and_indirect_reports(
    administrator: httpx2.AsyncClient, db: Db, team: Team
) -> None:
    for number in range(11):
        lead = str(team.bob if number % 2 else team.grace)
        person = await an_identity(db, f"Member{number}", "Below", supervisorId=lead)
        permissions = (("Ledger", f"Post {number}", "Grant", "High"),) if number < 10 else ()
        await an_account(db, team.payroll, f"member{number}", person, permissions=permissions)

    shown = await home(administrator, db, team.grace)

    assert shown["team"].startswith("Your people 13")
    assert shown["team"].count("1 entitlement without a reason") == 10
    assert "3 more people , 1 with something to note." in shown["team"]


async def test_employee_sees_the_purpose_of_access_and_since_when_they_have_it(
    administrator: httpx2.AsyncClient, db: Db, team: Team
) -> None:
    await execute(db, "UPDATE entitlements SET description = 'Posts journals' WHERE name = 'Post entries'")

    shown = await home(administrator, db, team.ada)

    assert "Post entries Posts journals High" in shown["access"]
    assert re.search(r"before \d+ \w+ \d{4}", shown["access"])


async def test_supervisor_without_work_sees_empty_states(administrator: httpx2.AsyncClient, db: Db, team: Team) -> None:
    shown = await home(administrator, db, team.grace)

    assert "Nothing is waiting for you" in shown["waiting"]
    assert "No event takes effect in the next 30 days" in shown["coming"]
    assert shown["own"].startswith("Requests about you 0 open No request is about you.")
    assert "No stand-in is set" in shown["stand-ins"]


async def test_supervisor_who_goes_on_leave_is_reminded_to_name_a_stand_in(
    administrator: httpx2.AsyncClient, db: Db, team: Team
) -> None:
    body = {"identityId": str(team.grace), "effectiveDate": IN_THREE_DAYS}
    await events.begin_absence(db, CLERK, body, facts())

    shown = await home(administrator, db, team.grace)

    assert "No stand-in is set. You are on leave from" in shown["stand-ins"]


async def test_employee_sees_their_access_with_the_reason_and_their_requests(
    administrator: httpx2.AsyncClient, db: Db, team: Team
) -> None:
    request = await an_access_request(db, identity_id=team.ada, application_id=team.payroll)

    shown = await home(administrator, db, team.ada)

    assert "Payroll account ada Post entries High" in shown["access"]
    assert "No reason on record" in shown["access"]
    assert "Give up access : Post entries" in shown["access"]
    assert shown["own"].startswith("Requests about you 1 open All 1 #")
    assert 'value="0" max="3" aria-label="0 of 3 steps done"' in shown["page"]
    assert f'href="/requests/{request}"' in shown["page"]
    assert "Grace Hopper" in shown["about"]
    assert 'href="/requests/new"' in shown["page"]
    assert "team" not in shown


async def test_employee_sees_the_request_that_explains_access(
    administrator: httpx2.AsyncClient, db: Db, team: Team
) -> None:
    request = await an_access_request(db, identity_id=team.ada, application_id=team.payroll, target_name="ada")
    (approval,) = [each for each in (await queries.get(db, request)).requirements if each.type == "Approve"]
    for reviewer in dict.fromkeys(rule.responses[0].reviewer.id for rule in approval.rules):
        answer = {"type": "Approve", "response": "Approved", "reviewerId": str(reviewer)}
        await requests.respond(db, SYSTEM, str(request), answer, facts())
    await requests.resolve(db, SYSTEM, str(request), {}, facts())

    shown = await home(administrator, db, team.ada)

    assert "Request #" in shown["access"]
    assert "No reason on record" not in shown["access"]


async def test_employee_without_an_account_can_request_access(
    administrator: httpx2.AsyncClient, db: Db, team: Team
) -> None:
    shown = await home(administrator, db, team.bob)

    assert "No account is matched to you yet. Request access" in shown["access"]


async def test_employee_does_not_see_colleagues_or_requests_that_wait_for_others(
    administrator: httpx2.AsyncClient, db: Db, team: Team
) -> None:
    await an_access_request(db, identity_id=team.bob, application_id=team.payroll)

    shown = await home(administrator, db, team.ada)

    assert "Builder" not in shown["page"]
    assert "Nothing. You get a notification" in shown["waiting"]


async def test_supervisor_sees_deadlines_conflicts_and_exceptions(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, db: Db, team: Team
) -> None:
    await an_access_request(db, identity_id=team.bob, application_id=team.payroll)
    cast = await a_cast(db)
    await act(client, cast.conflict, "except", cast.wish())
    sofia = cast.company.sofia
    await execute(db, "UPDATE identities SET supervisor_id = %(grace)s WHERE id = %(id)s", grace=team.grace, id=sofia)
    await a_stand_in(db, cast.company.owner, team.grace)

    shown = await home(administrator, db, team.grace)

    assert shown["waiting"].startswith("Waiting for you 2")
    assert "then your supervisor can respond too" in shown["waiting"]
    assert "Approve an exception to the rule Prepare and release You stand in for Hana Makinen" in shown["waiting"]
    assert f'href="/conflicts/{cast.conflict}"' in shown["page"]
    assert "Sofia Dubois 1 conflict" in shown["team"]


async def test_employee_sees_for_whom_their_request_waits(
    administrator: httpx2.AsyncClient, db: Db, team: Team
) -> None:
    await an_access_request(db, identity_id=team.ada, application_id=team.payroll)

    shown = await home(administrator, db, team.ada)

    assert "Waits for Grace Hopper and " in shown["own"]
    assert shown["own"].endswith(" to approve it")


async def test_employee_sees_the_access_that_a_change_of_role_adds_and_removes(
    administrator: httpx2.AsyncClient, db: Db, config: Config, team: Team
) -> None:
    access = [{"applicationId": str(team.payroll), "permissions": [{"header": "", "section": "", "permission": "Pay"}]}]
    posting = [{"applicationId": str(team.payroll), "permissions": [
        {"header": "Ledger", "section": "", "permission": "Post entries"}]}]  # fmt: skip
    for department, given in (("Treasury", access), ("Accounting", posting)):
        conditions = [[{"field": "department", "operator": "is", "value": department}]]
        await an_access_model(db, department, conditions=conditions, access=given)
    await execute(db, "UPDATE identities SET department = 'Accounting' WHERE id = %(id)s", id=team.ada)
    body = {
        "identityId": str(team.ada),
        "effectiveDate": IN_THREE_DAYS,
        "identity": {"firstName": "Ada", "lastName": "Lovelace", "department": "Treasury"},
    }
    form = {"type": "Role Transition", "identityId": str(team.ada), "effectiveDate": IN_THREE_DAYS}
    form |= {"identity.department": "Treasury", "preview": "yes"}
    preview = unescape(re.sub(r"<[^>]+>", "", (await administrator.post("/events/new", data=form)).text))
    event = await events.transition_role(db, CLERK, body, facts())
    before = await home(administrator, db, team.ada)
    await let_the_worker_work(config)

    shown = await home(administrator, db, team.ada)

    for panel in (before["move"], shown["move"]):
        assert panel.startswith("You move to Treasury on ")
        assert "You keep" in panel
        assert "You get Pay Payroll You lose Post entries Payroll" in panel
    assert "This is planned" in before["move"]
    assert "This is planned" not in shown["move"]
    assert "add Pay" in preview
    assert "remove Ledger / Post entries" in preview
    seen = await home(administrator, db, team.grace)
    assert "Ada Lovelace Changes role, in 3 days. Loses Post entries, gets Pay" in seen["coming"]
    assert f'href="/events/{event}"' in shown["page"]


async def test_access_through_a_group_is_not_kept_when_the_group_is_lost(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_separated_company(db)
    await an_access_model(db, "Finance", access=[{"applicationId": str(company.ledger), "groups": ["Approvers"]}])
    await execute(db, "UPDATE identities SET department = 'Finance' WHERE id = %(id)s", id=company.sofia)
    to_sales = {"firstName": "Sofia", "lastName": "Dubois", "department": "Sales"}
    body = {"identityId": str(company.sofia), "effectiveDate": IN_THREE_DAYS, "identity": to_sales}
    await events.transition_role(db, CLERK, body, facts())

    keeps, loses = (await home(administrator, db, company.sofia))["move"].split("You get Nothing You lose ")

    assert loses.startswith("Approvers Finance Ledger")
    assert ("Prepare run" in keeps, "Release run" in keeps) == (True, False)


async def test_home_says_for_whom_a_stand_in_responds(administrator: httpx2.AsyncClient, db: Db, team: Team) -> None:
    sam = await an_identity(db, "Sam", "Else")
    await an_access_request(db, identity_id=team.bob, application_id=team.payroll)
    await a_stand_in(db, team.grace, sam)

    shown = await home(administrator, db, sam)

    assert "You stand in for Grace Hopper. The supervisor approves added and changed access" in shown["waiting"]
