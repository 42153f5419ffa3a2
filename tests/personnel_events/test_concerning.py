"""Test which personnel events a person without a role sees in lists."""

from uuid import UUID

import httpx2
import pytest

from rolecall.core.db import Db
from rolecall.core.paging import EVERYTHING, Whole
from rolecall.personnel_events import queries
from rolecall.personnel_events.queries import concerning
from tests.builders import an_identity
from tests.personnel_events.bodies import created, day


class Scene:
    """Grace supervises Ada; Zoe is a stranger. Each has a leave and an offboarding, in the order of their dates."""

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


async def test_export_has_the_same_events(db: Db, scene: Scene) -> None:
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


async def test_limited_list_keeps_the_latest(db: Db, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "MOST_LISTED", 2)

    page = await concerning(db, 1, scene.people["Grace"])

    assert scene.names([item.id for item in page.items]) == LATEST_FIRST[:2]
