"""Test which requests a person without a role can see and make."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import httpx2
import pytest

from rolecall.access_requests import actions, requests_of_person
from rolecall.access_requests.model import RelatedItem
from rolecall.access_requests.permitted import ONLY_OWN_PEOPLE, relations_to
from rolecall.access_requests.requests_of_person import concerning
from rolecall.core.db import Db, execute
from rolecall.core.errors import Invalid
from rolecall.core.paging import EVERYTHING, Whole
from rolecall.identities.authority import PersonRelation
from rolecall.settings.policy import EventType
from tests.builders import a_token, an_access_request, an_application, an_identity, facts
from tests.personnel_events.bodies import created, day
from tests.stand_ins.standing_in import a_stand_in, caller_of

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


class Scene:
    """Grace supervises Ada, who supervises Bo; Grace owns Payroll and provisions Wiki. Zoe has a supervisor, Max."""

    def __init__(self) -> None:
        self.ids: dict[str, UUID] = {}
        self.grace = self.bo = self.zoe = self.max = self.payroll = self.wiki = UUID(int=0)

    def names(self, found: list[UUID]) -> list[str]:
        by_id = {id: name for name, id in self.ids.items()}
        return [by_id[id] for id in found]


@pytest.fixture
async def scene(client: httpx2.AsyncClient, db: Db) -> Scene:
    scene = Scene()
    scene.grace = await an_identity(db, "Grace", "Hopper")
    ada = await an_identity(db, "Ada", "Lovelace", supervisorId=str(scene.grace))
    scene.bo = await an_identity(db, "Bo", "Boss", supervisorId=str(ada))
    scene.max = await an_identity(db, "Max", "Born")
    scene.zoe = await an_identity(db, "Zoe", "Zimmer", supervisorId=str(scene.max))
    scene.payroll = await an_application(db, "Payroll", ownerId=str(scene.grace))
    scene.wiki = await an_application(db, "Wiki", provisionerIds=[str(scene.grace)])
    crm = await an_application(db, "CRM")
    asked = {
        "own": (scene.grace, crm),
        "of a report": (ada, crm),
        "of a report's report": (scene.bo, crm),
        "in an owned application": (scene.zoe, scene.payroll),
        "in a provisioned application": (scene.zoe, scene.wiki),
        "reported": (scene.zoe, crm),
        "reported by a token": (scene.zoe, crm),
        "assigned": (scene.zoe, crm),
        "of a stranger": (scene.zoe, crm),
    }
    for hour, (name, (person, application)) in enumerate(asked.items()):
        at = NOON + timedelta(hours=hour)
        scene.ids[name] = await an_access_request(db, identity_id=person, application_id=application, now=at)
    await execute(
        db,
        "UPDATE access_requests SET reporter_id = %(me)s WHERE id = %(id)s",
        me=scene.grace,
        id=scene.ids["reported"],
    )
    token = await a_token(db, owner=scene.grace)
    await execute(db, "DELETE FROM console_roles")
    await execute(
        db,
        "UPDATE access_requests SET reporter_id = %(token)s WHERE id = %(id)s",
        token=token.id,
        id=scene.ids["reported by a token"],
    )
    await execute(
        db,
        "UPDATE access_requests SET assignee_id = %(me)s, assignee_name = 'Grace Hopper' WHERE id = %(id)s",
        me=scene.grace,
        id=scene.ids["assigned"],
    )
    return scene


NEWEST_FIRST = [
    "assigned",
    "reported by a token",
    "reported",
    "in a provisioned application",
    "in an owned application",
    "of a report's report",
    "of a report",
    "own",
]


async def test_list_has_what_concerns_the_person_newest_first(db: Db, scene: Scene) -> None:
    page = await concerning(db, 1, await caller_of(db, scene.grace))

    assert scene.names([item.id for item in page.items]) == NEWEST_FIRST
    assert (page.total_count, page.total_pages) == (8, 1)


async def test_page_beyond_the_end_has_the_total_of_the_list(db: Db, scene: Scene) -> None:
    page = await concerning(db, 9, await caller_of(db, scene.grace))

    assert (page.items, page.total_count, page.total_pages) == ([], 8, 1)


async def test_export_has_the_same_requests_as_the_list(db: Db, scene: Scene) -> None:
    export = await concerning(db, EVERYTHING, await caller_of(db, scene.grace))

    assert isinstance(export, Whole)
    [part] = export.parts
    rows = await (await db.execute(part.statement, part.params)).fetchall()
    assert scene.names([part.make(row).id for row in rows]) == NEWEST_FIRST


async def test_filters_narrow_the_list(db: Db, scene: Scene) -> None:
    grace = await caller_of(db, scene.grace)
    await execute(
        db, "UPDATE access_requests SET status = 'Open' WHERE id = ANY(%(ids)s)", ids=list(scene.ids.values())[3:]
    )

    by_status = await concerning(db, 1, grace, status="Open", application_id=None)
    by_person = await concerning(db, 1, grace, identity_id=scene.zoe)
    owned = await concerning(db, 1, grace, application_id=scene.payroll)
    unseen = await concerning(db, 1, await caller_of(db, scene.zoe), identity_id=scene.grace)

    assert scene.names([item.id for item in by_status.items]) == NEWEST_FIRST[:5]
    assert scene.names([item.id for item in by_person.items]) == NEWEST_FIRST[:5]
    assert scene.names([item.id for item in owned.items]) == ["in an owned application"]
    assert (unseen.items, unseen.total_count) == ([], 0)


async def test_reviewer_and_stand_in_see_requests_that_wait_for_the_reviewer(db: Db, scene: Scene) -> None:
    await execute(db, "UPDATE identities SET supervisor_id = NULL WHERE id = %(id)s", id=scene.zoe)
    asked = ["of a stranger", *NEWEST_FIRST[:5]]
    eve = await an_identity(db, "Eve", "Moneypenny")

    async def seen_by(person: UUID) -> list[str]:
        page = await concerning(db, 1, await caller_of(db, person))
        return scene.names([item.id for item in page.items])

    assert await seen_by(scene.max) == asked
    assert await seen_by(eve) == []
    await a_stand_in(db, scene.max, eve)
    assert await seen_by(eve) == asked
    await execute(db, "UPDATE responses SET response = 'Approved' WHERE reviewer_id = %(id)s", id=scene.max)
    assert await seen_by(scene.max) == []


async def test_list_over_the_limit_keeps_the_newest(db: Db, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests_of_person, "MOST_LISTED", 2)

    page = await concerning(db, 1, await caller_of(db, scene.grace))

    assert scene.names([item.id for item in page.items]) == NEWEST_FIRST[:2]
    assert page.total_count == 2


async def test_of_one_person_the_newest_requests_are_listed(
    db: Db, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests_of_person, "MOST_LISTED", 2)
    eve = await an_identity(db, "Eve", "Adams")
    made = [await an_access_request(db, identity_id=eve, application_id=scene.payroll) for _ in range(3)]

    page = await concerning(db, 1, await caller_of(db, eve))

    assert [item.id for item in page.items] == [made[2], made[1]]


async def test_owner_sees_every_request_of_their_application_whatever_the_limit(
    db: Db, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests_of_person, "MOST_LISTED", 1)
    await an_access_request(db, identity_id=scene.max, application_id=scene.payroll)

    page = await concerning(db, 1, await caller_of(db, scene.grace), application_id=scene.payroll)

    assert page.total_count == 2


async def test_owner_does_not_see_the_request_of_their_own_offboarding(
    client: httpx2.AsyncClient, db: Db, scene: Scene
) -> None:
    event = await created(client, "offboard", identityId=str(scene.grace), effectiveDate=day(10))
    related = RelatedItem(
        id=UUID(event["id"]),
        kind="Personnel Event",
        number=event["number"],
        status="Scheduled",
        stage="Removal",
        event_type=EventType.OFFBOARD,
    )
    about_grace = {"identity_id": scene.grace, "application_id": scene.payroll}
    hidden = await an_access_request(db, "Remove", related=related, **about_grace)
    grace = await caller_of(db, scene.grace)

    page = await concerning(db, 1, grace, application_id=scene.payroll)

    assert scene.names([item.id for item in page.items]) == ["in an owned application"]
    assert await relations_to(db, grace, hidden) == frozenset()
    assert PersonRelation.OWNER in await relations_to(db, grace, await an_access_request(db, "Remove", **about_grace))


async def test_person_requests_access_only_for_themselves_and_their_people(db: Db, scene: Scene) -> None:
    grace = await caller_of(db, scene.grace)

    async def ask(**target: str) -> str:
        privileges = [{"header": "Group", "permission": "Readers"}]
        body = {"action": "Add", "applicationId": str(scene.wiki), "privileges": privileges, **target}
        return (await actions.request_access(db, grace, body, facts())).status

    for target in ({"identityId": str(scene.zoe)}, {"group": "Readers"}):
        with pytest.raises(Invalid) as refused:
            await ask(**target)
        assert [(each.field, each.message) for each in refused.value.problems] == [("identityId", ONLY_OWN_PEOPLE)]
    assert await ask(identityId=str(scene.grace)) == "Pending"
    assert await ask(identityId=str(scene.bo)) == "Pending"
