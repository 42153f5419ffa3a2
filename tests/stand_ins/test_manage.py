from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.core.db import Db, execute, fetch_value
from tests.builders import a_token, an_identity, own_tokens
from tests.stand_ins.standing_in import a_stand_in, days

PATH = "/api/stand-ins"


class Pair:
    def __init__(self, ada: UUID, grace: UUID) -> None:
        self.ada, self.grace = ada, grace

    def body(self, **fields: Any) -> dict[str, Any]:
        return {"identityId": str(self.ada), "standInId": str(self.grace), "endsOn": days(7), **fields}


@pytest.fixture
async def pair(db: Db) -> Pair:
    return Pair(await an_identity(db), await an_identity(db, "Grace", "Hopper"))


async def problems(client: httpx2.AsyncClient, body: dict[str, Any]) -> dict[str, str]:
    answer = await client.post(PATH, json=body)
    assert answer.status_code == 400, answer.text
    return {each["field"]: each["message"] for each in answer.json()["errors"]}


async def test_stand_in_is_named_listed_and_ended(client: httpx2.AsyncClient, db: Db, pair: Pair) -> None:
    made = (await client.post(PATH, json=pair.body(type="Approve", comment="Holiday"))).json()

    assert (made["identity"]["name"], made["standIn"]["name"]) == ("Ada Lovelace", "Grace Hopper")
    assert (made["type"], made["status"], made["comment"]) == ("Approve", "Current", "Holiday")
    assert (await client.get(PATH, params={"identityId": str(pair.ada)})).json()["items"] == [made]
    assert (await client.get(PATH, params={"standInId": str(pair.ada)})).json()["items"] == []

    assert (await client.delete(f"{PATH}/{made['id']}")).status_code == 204

    (ended,) = (await client.get(PATH)).json()["items"]
    assert ended["status"] == "Ended"
    again = await client.delete(f"{PATH}/{made['id']}")
    assert (again.status_code, again.json()["message"]) == (409, "This stand-in has already ended")


async def test_stand_in_cannot_be_backdated(client: httpx2.AsyncClient, pair: Pair) -> None:
    made = (await client.post(PATH, json=pair.body(startsOn=days(-30)))).json()

    assert (made["status"], made["startsOn"]) == ("Current", made["createdDate"])


async def test_planned_stand_in_is_deleted_when_it_is_ended(client: httpx2.AsyncClient, pair: Pair) -> None:
    made = (await client.post(PATH, json=pair.body(startsOn=days(2)))).json()

    await client.delete(f"{PATH}/{made['id']}")

    assert made["status"] == "Planned"
    assert (await client.get(PATH)).json()["totalCount"] == 0
    assert (await client.delete(f"{PATH}/{made['id']}")).status_code == 404


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"endsOn": days(-1)}, "endsOn", "Ends on must be after the start or, without a start, in the future"),
        ({"startsOn": days(-3), "endsOn": days(-1)}, "endsOn", "Ends on must be in the future"),
        (
            {"startsOn": days(3), "endsOn": days(2)},
            "endsOn",
            "Ends on must be after the start or, without a start, in the future",
        ),
        ({"endsOn": days(400)}, "endsOn", "Ends on must be at most 366 days after the start"),
        ({"type": "Everything"}, "type", "Type must be one of Approve, Resolve, Verify"),
        ({"standInId": str(UUID(int=9))}, "standInId", f"Identity with id {UUID(int=9)} not found"),
    ],
)
async def test_wrong_field_is_reported(
    client: httpx2.AsyncClient, pair: Pair, fields: dict[str, Any], field: str, message: str
) -> None:
    assert (await problems(client, pair.body(**fields)))[field] == message


async def test_person_cannot_stand_in_for_themselves(client: httpx2.AsyncClient, pair: Pair) -> None:
    said = await problems(client, pair.body(standInId=str(pair.ada)))

    assert said == {"standInId": "The stand-in must be another person"}


async def test_person_who_cannot_sign_in_or_decide_cannot_stand_in(
    client: httpx2.AsyncClient, db: Db, pair: Pair
) -> None:
    robot = await an_identity(db, "Robo", "Account", identityType="Service Account")
    auditor = await an_identity(db, "Nina", "Auditor")
    await execute(db, "INSERT INTO console_roles (identity_id, role) VALUES (%(id)s, 'Auditor')", id=auditor)
    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=pair.grace)

    said = [await problems(client, pair.body(standInId=str(id))) for id in (pair.grace, robot, auditor)]

    assert [each["standInId"] for each in said] == [
        "Grace Hopper is Disabled and cannot sign in; choose another person",
        "Robo Account is of type Service Account, which cannot sign in; choose another person",
        "Nina Auditor has the role Auditor and cannot decide; choose another person",
    ]


async def test_periods_of_the_same_type_must_not_overlap(client: httpx2.AsyncClient, db: Db, pair: Pair) -> None:
    other = await an_identity(db, "Alan", "Turing")
    await a_stand_in(db, pair.ada, pair.grace)

    said = await problems(client, pair.body(standInId=str(other), startsOn=days(6), endsOn=days(9)))
    one_type = await client.post(PATH, json=pair.body(standInId=str(other), type="Approve"))
    later = await client.post(PATH, json=pair.body(standInId=str(other), startsOn=days(7.1), endsOn=days(9)))

    assert said["startsOn"].startswith("Grace Hopper already stands in from ")
    assert (one_type.status_code, later.status_code) == (201, 201)


async def test_loop_of_stand_ins_is_refused(client: httpx2.AsyncClient, db: Db, pair: Pair) -> None:
    alan = await an_identity(db, "Alan", "Turing")
    await a_stand_in(db, pair.ada, pair.grace)
    await a_stand_in(db, pair.grace, alan, startsOn=days(3))

    said = await problems(client, pair.body(identityId=str(alan), standInId=str(pair.ada)))
    before = pair.body(identityId=str(alan), standInId=str(pair.ada), endsOn=days(2))

    assert said["standInId"] == (
        "Alan Turing stands in for Ada Lovelace, directly or through others, in this period."
        " Choose another person or other dates"
    )
    assert (await client.post(PATH, json=before)).status_code == 201


async def test_token_without_config_manage_names_stand_ins_only_for_its_owner(
    client: httpx2.AsyncClient, db: Db, pair: Pair
) -> None:
    token = await a_token(db, "Bot", scopes=["access-requests:write", "access-requests:read"])
    await own_tokens(db, pair.grace, token.id)
    headers = {"Authorization": f"Bearer {token.secret}"}
    theirs = await a_stand_in(db, pair.ada, pair.grace)

    others = await client.post(PATH, json=pair.body(startsOn=days(8), endsOn=days(9)), headers=headers)
    ended = await client.delete(f"{PATH}/{theirs.id}", headers=headers)
    own = await client.post(PATH, json={"standInId": str(await an_identity(db)), "endsOn": days(1)}, headers=headers)

    assert [others.status_code, ended.status_code, own.status_code] == [403, 403, 201]
    assert own.json()["identity"]["id"] == str(pair.grace)


async def test_token_without_an_owner_must_name_the_person(client: httpx2.AsyncClient, pair: Pair) -> None:
    said = await problems(client, {"standInId": str(pair.grace), "endsOn": days(1)})

    assert said == {
        "identityId": "Identity ID is required, because this token belongs to no person:"
        " name the person who needs the stand-in"
    }


async def test_person_has_a_limited_number_of_planned_stand_ins(client: httpx2.AsyncClient, db: Db, pair: Pair) -> None:
    await execute(
        db,
        """INSERT INTO stand_ins (id, identity_id, stand_in_id, starts_on, ends_on, created_date, created_by)
           SELECT gen_random_uuid(), %(ada)s, %(grace)s, now() + n * interval '1 day', now() + n * interval '1 day',
                  now(), 'Clerk' FROM generate_series(10, 109) AS n""",
        ada=pair.ada,
        grace=pair.grace,
    )

    answer = await client.post(PATH, json=pair.body())

    assert answer.status_code == 409
    assert "at most 100" in answer.json()["message"]
    assert await fetch_value(db, "SELECT count(*) FROM stand_ins") == 100
