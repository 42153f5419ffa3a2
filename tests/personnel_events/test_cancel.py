from datetime import UTC, datetime
from uuid import UUID

import httpx2

from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db
from tests.builders import an_access_model, an_access_request, an_application, an_identity
from tests.holdings import an_account
from tests.personnel_events.bodies import EVENTS, MISSING, created, day
from tests.working import let_the_worker_work


async def test_canceling_an_event_cancels_its_stages_and_drops_its_changes(client: httpx2.AsyncClient, db: Db) -> None:
    ada = str(await an_identity(db, title="Programmer"))
    event = await created(
        client, "role-transition", identityId=ada, effectiveDate=day(9), identity={"title": "Countess"}
    )
    assert event["affectedIdentity"]["title"] == "Countess"

    answer = await client.post(f"{EVENTS}/{event['id']}/cancel", json={"comment": "Changed her mind"})

    assert answer.status_code == 200
    shown = answer.json()
    assert [shown["status"], *(stage["status"] for stage in shown["stages"])] == ["Canceled"] * 3
    assert shown["affectedIdentity"]["title"] == "Programmer"
    assert shown["completedOn"] is None
    assert [comment["content"] for comment in shown["comments"]] == ["Changed her mind"]
    assert shown["activity"][-1]["action"] == "Canceled"


async def test_canceling_an_event_cancels_its_unfinished_requests(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    clock.travel_to(datetime(2026, 11, 1, tzinfo=UTC))
    ada = await an_identity(db)
    await an_account(db, await an_application(db), "ada", ada)
    event = await created(client, "offboard", identityId=str(ada), effectiveDate="2026-11-05")
    await let_the_worker_work(config)

    shown = (await client.post(f"{EVENTS}/{event['id']}/cancel")).json()

    assert [stage["status"] for stage in shown["stages"]] == ["Completed", "Canceled", "Canceled"]
    [request] = shown["stages"][0]["accessRequests"]
    assert request["status"] == "Canceled"
    detail = (await client.get(f"/api/access-requests/{request['id']}")).json()
    assert detail["activity"][-1]["content"] == f"Personnel event {event['number']} was canceled"
    assert [item["status"] for item in detail["relatedItems"]] == ["Canceled"]
    await let_the_worker_work(config, datetime(2026, 11, 6, tzinfo=UTC))
    assert (await client.get(f"{EVENTS}/{event['id']}")).json()["status"] == "Canceled"
    assert (await client.get(f"/api/identities/{ada}")).json()["status"] == "Active"


async def test_canceling_an_event_leaves_the_requests_of_other_events(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    clock.travel_to(datetime(2026, 11, 1, tzinfo=UTC))
    payroll = await an_application(db)
    events = []
    for name in ("ada", "bo"):
        person = await an_identity(db, name)
        await an_account(db, payroll, name, person)
        events.append(await created(client, "offboard", identityId=str(person), effectiveDate="2026-11-05"))
    await let_the_worker_work(config)

    await client.post(f"{EVENTS}/{events[0]['id']}/cancel")

    other = (await client.get(f"{EVENTS}/{events[1]['id']}")).json()
    [request] = other["stages"][0]["accessRequests"]
    detail = (await client.get(f"/api/access-requests/{request['id']}")).json()
    assert (other["status"], request["status"]) == ("Scheduled", "Scheduled")
    assert [(item["number"], item["status"]) for item in detail["relatedItems"]] == [(other["number"], "Scheduled")]


async def test_finished_event_cannot_be_canceled(client: httpx2.AsyncClient, db: Db) -> None:
    event = await created(client, "offboard", identityId=str(await an_identity(db)), effectiveDate=day(3))
    await client.post(f"{EVENTS}/{event['id']}/cancel")

    answer = await client.post(f"{EVENTS}/{event['id']}/cancel")

    assert answer.status_code == 409
    assert answer.json()["message"] == "Personnel event is already Canceled"


async def test_verb_on_an_unknown_event_is_not_found(client: httpx2.AsyncClient) -> None:
    for verb in ("assign", "return-date", "cancel", "comment"):
        for id in (MISSING, "nonsense"):
            answer = await client.post(f"{EVENTS}/{id}/{verb}", json={})
            assert answer.status_code == 404
            assert answer.json()["message"] == f"PersonnelEvent with id {id} not found"


async def test_canceled_onboarding_that_has_not_taken_effect_disables_its_identity(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    event = await created(
        client, "onboard", identity={"firstName": "Ada", "lastName": "Lovelace"}, effectiveDate=day(3)
    )
    id = event["affectedIdentity"]["id"]
    await let_the_worker_work(config, clock.now())
    request = await an_access_request(db, identity_id=UUID(id))

    answer = await client.post(f"{EVENTS}/{event['id']}/cancel", json={})

    assert answer.status_code == 200, answer.text
    found = (await client.get(f"/api/identities/{id}")).json()
    assert found["status"] == "Disabled"
    assert found["inactivatedDate"][:10] == day(0)
    assert (await client.get(f"/api/access-requests/{request}")).json()["status"] == "Canceled"
    assert answer.json()["activity"][-1]["action"] == "Identity Disabled"


async def test_canceled_onboarding_that_has_taken_effect_leaves_its_identity_active(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    application = await an_application(db)
    await an_access_model(db, access=[{"applicationId": str(application), "groups": ["Clerks"]}])
    person = {"firstName": "Ada", "lastName": "Lovelace", "department": "Finance"}
    event = await created(client, "onboard", identity=person, effectiveDate=day(0))
    await let_the_worker_work(config, clock.now())

    answer = await client.post(f"{EVENTS}/{event['id']}/cancel", json={})

    assert answer.status_code == 200, answer.text
    assert answer.json()["affectedIdentity"]["status"] == "Active"
