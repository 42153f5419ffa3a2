"""Test bulk responses: each tab has its own action, and each request its own result."""

import asyncio
import re
from html import unescape
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.access_requests.model import NewPrivilege
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value, make_pool
from tests.builders import an_access_request, an_application, an_identity
from tests.console.company import Company, a_company
from tests.console.pages import Form, filled, forms_of
from tests.duties import separating
from tests.interleaving import people_against_the_order

BUTTONS = {"Approve": ["Approved", "Rejected"], "Resolve": ["Approved"], "Verify": ["Approved", "Rejected"]}
WAITS = "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)"
REACHED = {"Approve": "Open", "Resolve": "Resolved", "Verify": "Completed"}
NEXT = {"Approve": "waits for .+ to provision it", "Resolve": "waits for .+ to verify it", "Verify": "is Completed"}


@pytest.fixture
async def company(administrator: httpx2.AsyncClient, db: Db, config: Config) -> Company:
    return await a_company(db, config)


async def requests_to(verb: str, client: httpx2.AsyncClient, db: Db, company: Company) -> list[UUID]:
    """Create two requests that wait until the administrator gives this type of response; return their ids."""
    person = await an_identity(db, "Sev", "Eral", supervisorId=str(company.administrator))
    application = company.ids["applications"]
    made = [await an_access_request(db, application_id=application, identity_id=person) for _ in range(2)]
    for id in made:
        if verb != "Approve":
            answer = {"type": "Approve", "response": "Approved", "reviewerId": str(company.administrator)}
            await post(client, id, "respond", answer)
        if verb == "Verify":
            await post(client, id, "resolve", {})
    return made


async def post(client: httpx2.AsyncClient, id: UUID, verb: str, body: dict[str, Any]) -> None:
    answer = await client.post(f"/api/access-requests/{id}/{verb}", json=body)
    assert answer.status_code == 200, answer.text


async def statuses(db: Db, ids: list[UUID]) -> list[str]:
    find = "SELECT status FROM access_requests WHERE id = %(id)s"
    return [await fetch_value(db, find, id=id) for id in ids]


async def form_on(administrator: httpx2.AsyncClient, url: str) -> Form | None:
    page = await administrator.get(url)
    return next((form for form in forms_of(url, page.text) if form.id == "several"), None)


async def send(administrator: httpx2.AsyncClient, form: Form, button: int, ids: list[UUID], **more: str) -> list[Any]:
    """Send the form for these requests; return the lines of the notice, each with its color."""
    data = filled(form, form.buttons[button], {}) | {"id": [str(id) for id in ids]} | more
    answer = await administrator.post(form.action, data=data)
    assert answer.status_code == 303, answer.text
    text = unescape((await administrator.get(answer.headers["location"])).text)
    (notice,) = re.findall(r'<div class="notice results".*?</div>', text)
    return re.findall(r'<p class="(\w+)">(.*?)</p>', notice)


@pytest.mark.parametrize("by", ["asks", "status"])
@pytest.mark.parametrize("verb", BUTTONS)
async def test_selected_requests_get_the_response_of_the_tab(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, db: Db, company: Company, verb: str, by: str
) -> None:
    made = await requests_to(verb, client, db, company)
    tab = verb if by == "asks" else {"Approve": "Pending", "Resolve": "Open", "Verify": "Resolved"}[verb]
    form = await form_on(administrator, f"/requests?{by}={tab}")
    assert form
    assert [button.value for button in form.buttons if button] == BUTTONS[verb]

    said = await send(administrator, form, 0, made)

    assert await statuses(db, made) == [REACHED[verb]] * 2
    assert [color for color, _ in said] == ["good", "good"]
    assert all(re.fullmatch(rf"✓ #\d+ {NEXT[verb]}", line) for _, line in said)


async def test_failed_item_is_shown_as_failed_with_its_reason(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, db: Db, company: Company
) -> None:
    done, canceled = await requests_to("Resolve", client, db, company)
    form = await form_on(administrator, "/requests?asks=Resolve")
    assert form
    await post(client, canceled, "cancel", {})
    unknown = UUID(int=7)

    said = await send(administrator, form, 0, [canceled, done, unknown])

    assert [color for color, _ in said] == ["bad", "good", "bad"]
    assert said[0][1].endswith(
        " is unchanged: An access request that is Canceled does not wait for a response of type Resolve"
    )
    assert said[1][1].endswith(" to verify it")
    assert said[2][1] == f"✗ AccessRequest with id {unknown} not found"
    assert await statuses(db, [done, canceled]) == ["Resolved", "Canceled"]
    assert await fetch_value(db, "SELECT count(*) FROM console_sessions WHERE notice IS NOT NULL") == 0


async def test_rejecting_without_a_reason_fails_for_each_request(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, db: Db, company: Company
) -> None:
    made = await requests_to("Verify", client, db, company)
    form = await form_on(administrator, "/requests?asks=Verify")
    assert form

    said = await send(administrator, form, 1, made)
    again = await send(administrator, form, 1, made, comment="Not there")

    reason = "Give a reason for rejecting the request"
    assert [(color, line.partition(": ")[2]) for color, line in said] == [("bad", reason)] * 2
    assert [color for color, _ in again] == ["good", "good"]
    assert await statuses(db, made) == ["Open", "Open"]


async def test_only_requests_that_wait_for_the_person_can_be_selected(
    administrator: httpx2.AsyncClient, db: Db, company: Company
) -> None:
    boss = await an_identity(db, "Other", "Boss")
    person = await an_identity(db, "Some", "Body", supervisorId=str(boss))
    elsewhere = await an_application(db, "Elsewhere", ownerId=str(boss))
    theirs = await an_access_request(db, application_id=elsewhere, identity_id=person)
    mine = await an_identity(db, "My", "Report", supervisorId=str(company.administrator))
    own = await an_access_request(db, application_id=company.ids["applications"], identity_id=mine)

    page = (await administrator.get("/requests?status=Pending")).text

    assert f'name="id" value="{own}"' in page
    assert f'name="id" value="{theirs}"' not in page
    assert await form_on(administrator, "/requests") is None
    assert await form_on(administrator, "/requests?status=Canceled") is None


async def test_bulk_response_locks_groups_and_people_in_order(
    administrator: httpx2.AsyncClient, db: Db, company: Company, config: Config
) -> None:
    """Checks of a person's request and of a group's request share a lock, which the latter takes alone."""
    separated = await separating.a_company(db, response="Approve")
    owned: dict[str, Any] = {
        "application_id": separated.ledger,
        "privileges": [NewPrivilege(header="Group", permission="Officers")],
    }
    sql = "UPDATE applications SET owner_id = %(me)s, priority = 'High' WHERE id = %(id)s"
    await execute(db, sql, me=company.administrator, id=separated.ledger)
    people = await people_against_the_order(db)
    made = [await an_access_request(db, identity_id=person, **owned) for person in people]
    made.append(await an_access_request(db, identity_id=None, target_name="Temps", **owned))
    body = {"type": "Approve", "response": "Approved", "id": [str(id) for id in made]}

    async with make_pool(config) as pool, pool.connection() as other:
        async with other.transaction():
            await execute(other, "SELECT take_turns_of_nesting(false)")
            await execute(other, "SELECT take_turns('person', ARRAY[%(id)s])", id=str(people[1]))
            sending = asyncio.create_task(administrator.post("/requests/respond", data=body))
            while not sending.done() and not await fetch_value(db, WAITS):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            await execute(other, "SELECT take_turns('person', ARRAY[%(id)s])", id=str(people[0]))
        assert (await sending).status_code == 303

    assert set(await statuses(db, made)) == {"Open"}
