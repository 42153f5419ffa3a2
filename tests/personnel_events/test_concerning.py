"""Test which personnel events a person without a role can see and create."""

from uuid import UUID

import httpx2
import pytest

from rolecall.core.caller import Caller, Scope
from rolecall.core.db import Db, execute
from rolecall.core.errors import Invalid
from rolecall.core.paging import EVERYTHING, Whole
from rolecall.identities.authority import PersonRelation
from rolecall.personnel_events import actions, queries
from rolecall.personnel_events.permitted import NOT_EMAIL, NOT_TYPE, ONLY_OWN_LINE, ONLY_OWN_PEOPLE, relations_to
from rolecall.personnel_events.queries import concerning
from tests.builders import an_identity, facts
from tests.personnel_events.bodies import created, day
from tests.stand_ins.standing_in import caller_of


class Scene:
    """Grace supervises Ada; Zoe is a stranger. Each has a leave and then an offboarding, Grace first and Zoe last."""

    def __init__(self, people: dict[str, UUID], events: dict[UUID, str]) -> None:
        self.people, self.events = people, events

    def names(self, found: list[UUID]) -> list[str]:
        return [self.events[id] for id in found]


@pytest.fixture
async def scene(client: httpx2.AsyncClient, db: Db) -> Scene:
    grace = await an_identity(db, "Grace", "Hopper")
    ada = await an_identity(db, "Ada", "Lovelace", supervisorId=str(grace))
    people = {"Grace": grace, "Ada": ada, "Zoe": await an_identity(db, "Zoe", "Zimmer")}
    events, later = {}, 10
    for name, id in people.items():
        for path in ("leave-of-absence", "offboard"):
            later += 1
            event = await created(client, path, identityId=str(id), effectiveDate=day(later))
            events[UUID(event["id"])] = f"{name} {path}"
    return Scene(people, events)


LATEST_FIRST = ["Ada offboard", "Ada leave-of-absence", "Grace leave-of-absence"]


async def test_list_has_events_of_the_person_and_their_reports_but_not_their_own_offboarding(
    db: Db, scene: Scene
) -> None:
    page = await concerning(db, 1, scene.people["Grace"])

    assert scene.names([item.id for item in page.items]) == LATEST_FIRST
    assert page.total_count == 3


async def test_export_has_the_same_events_as_the_list(db: Db, scene: Scene) -> None:
    export = await concerning(db, EVERYTHING, scene.people["Grace"])

    assert isinstance(export, Whole)
    [part] = export.parts
    rows = await (await db.execute(part.statement, part.params)).fetchall()
    assert scene.names([part.make(row).id for row in rows]) == LATEST_FIRST


async def test_filters_narrow_the_list(db: Db, scene: Scene) -> None:
    grace = scene.people["Grace"]

    leaves = await concerning(db, 1, grace, type="Absence", status=None)
    of_ada = await concerning(db, 1, grace, identity_id=scene.people["Ada"])
    of_zoe = await concerning(db, 1, grace, identity_id=scene.people["Zoe"])

    assert scene.names([item.id for item in leaves.items]) == LATEST_FIRST[1:]
    assert scene.names([item.id for item in of_ada.items]) == LATEST_FIRST[:2]
    assert of_zoe.items == []


async def test_list_over_the_limit_keeps_the_latest(db: Db, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "MOST_LISTED", 2)

    page = await concerning(db, 1, scene.people["Grace"])

    assert scene.names([item.id for item in page.items]) == LATEST_FIRST[:2]


async def test_relations_to_an_event_hide_a_persons_own_offboarding(db: Db, scene: Scene) -> None:
    ids = {name: id for id, name in scene.events.items()}
    grace, ada, zoe = (scene.people[name] for name in ("Grace", "Ada", "Zoe"))

    assert await relations_to(db, grace, ids["Grace offboard"]) == frozenset()
    assert await relations_to(db, grace, ids["Grace leave-of-absence"]) == {PersonRelation.SELF}
    assert await relations_to(db, grace, ids["Ada offboard"]) == {PersonRelation.SUPERVISOR}
    assert await relations_to(db, zoe, ids["Ada offboard"]) == frozenset()
    assert await relations_to(db, zoe, UUID(int=0)) == frozenset()
    await execute(db, "UPDATE personnel_events SET reporter_id = identity_id, assignee_id = %(zoe)s", zoe=zoe)
    assert await relations_to(db, ada, ids["Ada offboard"]) == {PersonRelation.SELF, PersonRelation.REPORTER}
    assert await relations_to(db, zoe, ids["Ada offboard"]) == {PersonRelation.ASSIGNEE}


async def test_supervisor_creates_events_only_for_their_people_and_within_their_line(db: Db, scene: Scene) -> None:
    grace, ada, zoe = (str(scene.people[name]) for name in ("Grace", "Ada", "Zoe"))
    caller = await caller_of(db, scene.people["Grace"])
    await execute(db, "UPDATE identities SET email_address = first_name || '@example.com'")

    async def moved(person: str, **identity: str) -> UUID:
        body = {"identityId": person, "effectiveDate": day(1), "identity": {"title": "Clerk", **identity}}
        return await actions.transition_role(db, caller, body, facts())

    async def joined(**identity: str) -> UUID:
        identity = {"firstName": "Kai", "lastName": "Kim", **identity}
        return await actions.onboard(db, caller, {"identity": identity, "effectiveDate": day(1)}, facts())

    taken = "Another person already has the e-mail zoe@example.com; enter another one"
    for attempt, field, message in (
        (moved(zoe), "identityId", ONLY_OWN_PEOPLE),
        (moved(ada, supervisorId=zoe), "identity.supervisorId", ONLY_OWN_LINE),
        (moved(ada, supervisorId=""), "identity.supervisorId", ONLY_OWN_LINE),
        (moved(ada, email="new@example.com"), "identity.email", NOT_EMAIL),
        (moved(ada, identityType="Shared"), "identity.identityType", NOT_TYPE),
        (joined(), "identity.supervisorId", ONLY_OWN_LINE),
        (joined(supervisorId=zoe), "identity.supervisorId", ONLY_OWN_LINE),
        (joined(supervisorId=grace, email="zoe@example.com"), "identity.email", taken),
    ):
        with pytest.raises(Invalid) as refused:
            await attempt
        assert [(each.field, each.message) for each in refused.value.problems] == [(field, message)]
    await moved(ada, email="ada@example.com", identityType="Temporary")
    await joined(supervisorId=grace, email="kai@example.com")
    await joined(supervisorId=ada)


async def test_only_people_without_the_scope_for_identities_must_keep_the_type(db: Db, scene: Scene) -> None:
    """If a person's type became Shared, they could no longer sign in."""
    body = {"effectiveDate": day(1), "identity": {"title": "Clerk", "identityType": "Shared"}}
    everything = frozenset(Scope)
    without = everything - {Scope.IDENTITIES_WRITE}

    async def change(scopes: frozenset[Scope], *, is_person: bool) -> UUID:
        caller = Caller(scene.people["Zoe"], "Zoe Zimmer", scopes, is_person=is_person)
        return await actions.transition_role(db, caller, {"identityId": str(scene.people["Ada"]), **body}, facts())

    await change(everything, is_person=True)
    await change(without, is_person=False)
    with pytest.raises(Invalid) as refused:
        await change(without, is_person=True)
    assert [each.message for each in refused.value.problems] == [NOT_TYPE]


async def test_assignee_finds_the_event_in_their_list(db: Db, scene: Scene) -> None:
    """The list of a person does not contain the person's own offboarding, even if it is assigned to them."""
    await execute(
        db,
        "UPDATE personnel_events SET assignee_id = %(id)s, assignee_name = 'Zoe' WHERE type = 'Offboard'",
        id=scene.people["Zoe"],
    )

    page = await concerning(db, 1, scene.people["Zoe"])

    assert scene.names([item.id for item in page.items]) == ["Zoe leave-of-absence", "Ada offboard", "Grace offboard"]
