"""Compare who may decide with a small model, in random companies.

`responds_for` and `stand_ins_for` are inverses of each other, both agree with the model, and exactly the people of the
model can respond to a request.
"""

import random
from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec
import pytest

from rolecall.access_requests import actions
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.core.errors import Conflict, Invalid
from rolecall.settings.policy import RequirementType
from tests.builders import an_access_request, an_application, an_identity, facts
from tests.stand_ins.standing_in import caller_of

WORLDS = 14
PEOPLE = 6


class World(msgspec.Struct):
    """People by number: who is active or on leave, who supervises them, and who was named as stand-in for which type.

    `entered` means that the supervisor entered the leave.
    """

    active: list[bool]
    absent: list[bool]
    entered: list[bool]
    supervisor: list[int | None]
    named: dict[int, dict[RequirementType | None, int]]

    def stand_in(self, person: int, type: RequirementType) -> int | None:
        if not self.active[person]:
            return None
        chosen = [self.named.get(person, {}).get(key) for key in (type, None)]
        for each in chosen:
            if each is not None and self.active[each]:
                return each
        boss = self.supervisor[person]
        if boss is not None and self.entered[person]:
            above = self.supervisor[boss]
            boss = None if above == boss else above
        if self.absent[person] and boss is not None and boss != person and self.active[boss]:
            return boss
        return None

    def chain(self, person: int, type: RequirementType, *, excluded: int | None = None) -> set[int]:
        """Return the stand-ins of a person. The chain ends before the excluded person.

        It also ends before a person who entered the leave of someone earlier in the chain, unless that absent person
        named them directly.
        """
        before, each = [person], self.stand_in(person, type)
        while each is not None and each not in {*before, excluded, *map(self.author, before[:-1])}:
            before.append(each)
            each = self.stand_in(each, type)
        return {*before[1:]}

    def author(self, person: int) -> int | None:
        """Return the supervisor if they entered the person's current leave, else None."""
        return self.supervisor[person] if self.absent[person] and self.entered[person] else None


def a_world(dice: random.Random) -> World:
    def another(person: int) -> int:
        return dice.choice([each for each in range(PEOPLE) if each != person])

    named: dict[int, dict[RequirementType | None, int]] = {}
    for person in range(PEOPLE):
        for type in (None, *RequirementType):
            if dice.random() < 0.25:
                named.setdefault(person, {})[type] = another(person)
    return World(
        active=[dice.random() < 0.85 for _ in range(PEOPLE)],
        absent=[dice.random() < 0.4 for _ in range(PEOPLE)],
        entered=[dice.random() < 0.3 for _ in range(PEOPLE)],
        supervisor=[dice.choice([None, *range(PEOPLE)]) for _ in range(PEOPLE)],
        named=named,
    )


async def build(db: Db, world: World, now: datetime) -> list[UUID]:
    ids = [await an_identity(db, "Person", str(number)) for number in range(PEOPLE)]
    period = {"since": now - timedelta(days=1), "until": now + timedelta(days=1)}
    for person, id in enumerate(ids):
        boss = world.supervisor[person]
        await execute(
            db,
            "UPDATE identities SET supervisor_id = %(boss)s, status = %(status)s WHERE id = %(id)s",
            id=id,
            boss=None if boss is None else ids[boss],
            status="Active" if world.active[person] else "Disabled",
        )
        if world.absent[person]:
            await execute(
                db,
                """INSERT INTO absences (event_id, identity_id, starts_on, ends_on, entered_by)
                   VALUES (gen_random_uuid(), %(id)s, %(since)s, %(until)s, %(author)s)""",
                id=id,
                author=ids[boss] if world.entered[person] and boss is not None else None,
                **period,
            )
        for type, stand_in in world.named.get(person, {}).items():
            await execute(
                db,
                """INSERT INTO stand_ins (id, identity_id, stand_in_id, type, starts_on, ends_on, created_date,
                                          created_by)
                   VALUES (gen_random_uuid(), %(id)s, %(stand_in)s, %(type)s, %(since)s, %(until)s, now(), 'Test')""",
                id=id,
                stand_in=ids[stand_in],
                type=type,
                **period,
            )
    return ids


@pytest.mark.parametrize("seed", range(WORLDS))
async def test_stand_ins_agree_with_the_model(db: Db, seed: int) -> None:
    world, now = a_world(random.Random(seed)), datetime.now(UTC)
    ids = await build(db, world, now)

    expected = {
        (person, type, stand_in)
        for person in range(PEOPLE)
        for type in RequirementType
        for stand_in in world.chain(person, type)
    }
    forward = {
        (person, type, ids.index(found))
        for person in range(PEOPLE)
        for type in RequirementType
        for (found,) in await fetch_rows(
            db, "SELECT * FROM stand_ins_for(%(id)s, %(type)s, %(now)s)", id=ids[person], type=type, now=now
        )
    }
    backward = {
        (ids.index(person), RequirementType(type), stand_in)
        for stand_in in range(PEOPLE)
        if world.active[stand_in]
        for person, type in await fetch_rows(
            db, "SELECT * FROM responds_for(%(id)s, %(now)s)", id=ids[stand_in], now=now
        )
    }

    assert forward == expected
    assert backward == expected


@pytest.mark.parametrize("seed", range(WORLDS))
async def test_exactly_the_people_of_the_model_can_respond(db: Db, seed: int) -> None:
    dice = random.Random(seed)
    world, now = a_world(dice), datetime.now(UTC)
    ids = await build(db, world, now)
    affected, reviewer = dice.sample(range(PEOPLE), 2)
    request = await an_access_request(db, identity_id=ids[affected], application_id=await an_application(db, "Payroll"))
    await execute(
        db,
        """UPDATE responses SET reviewer_id = %(id)s, reviewer_name = 'Person' WHERE type = 'Approve' AND asked""",
        id=ids[reviewer],
    )

    decided = {person for person in range(PEOPLE) if await can_approve(db, ids[person], request, ids[reviewer], now)}

    may = {reviewer} | world.chain(reviewer, RequirementType.APPROVE, excluded=affected)
    assert decided == {person for person in may if world.active[person]}


@pytest.mark.parametrize("seed", range(WORLDS))
async def test_request_can_be_answered_if_a_person_of_the_model_is_present(db: Db, seed: int) -> None:
    dice = random.Random(seed)
    world, now = a_world(dice), datetime.now(UTC)
    ids = await build(db, world, now)
    for type in RequirementType:
        for reviewer in range(PEOPLE):
            excluded = dice.randrange(PEOPLE)
            answered = await fetch_value(
                db,
                "SELECT can_be_answered(%(reviewer)s, %(type)s, %(now)s, ARRAY[%(excluded)s::uuid])",
                reviewer=ids[reviewer],
                type=type,
                now=now,
                excluded=ids[excluded],
            )
            may = {reviewer} | world.chain(reviewer, type, excluded=excluded) if reviewer != excluded else set()
            present = [person for person in may if world.active[person] and not world.absent[person]]
            assert answered == bool(present), (type, reviewer, excluded)


async def can_approve(db: Db, person: UUID, request: UUID, reviewer: UUID, now: datetime) -> bool:
    """Return whether a person can approve the request. The attempt is rolled back."""
    if await fetch_value(db, "SELECT status FROM identities WHERE id = %(id)s", id=person) != "Active":
        return False
    caller = await caller_of(db, person, now)
    body = {"type": "Approve", "response": "Approved", "reviewerId": str(reviewer)}
    try:
        async with db.transaction(force_rollback=True):
            await actions.respond(db, caller, str(request), body, facts())
    except (Conflict, Invalid):
        return False
    return True
