"""Test that the requester and the two approvers of an exception are different people, even if they use tokens."""

from uuid import UUID

import httpx2
import msgspec
import pytest

from rolecall.conflicts import actions
from rolecall.conflicts.overview import waiting_for
from rolecall.core.caller import Caller, Scope
from rolecall.core.db import Db, execute
from rolecall.core.errors import Conflict
from rolecall.core.ids import new_id
from tests.builders import a_token, an_identity, facts
from tests.conflicts.test_exceptions import Cast, a_cast, act, approve, owner_of_ledger, refusal
from tests.notifications.notifying import notified
from tests.stand_ins.standing_in import a_stand_in, caller_of

_REQUESTED = "The person who requested the exception, or their token, cannot approve it; ask another person"
_RECORDED = "A person who took part in the other approval cannot take part in this one; ask another person"
_OWN = "The person in conflict cannot approve the exception; another person must decide"


async def request(db: Db, caller: Caller, cast: Cast) -> None:
    async with db.transaction():
        await actions.request_exception(db, caller, str(cast.conflict), cast.wish(), facts())


async def token_of(db: Db, owner: UUID | None, name: str = "program") -> Caller:
    token = await a_token(db, f"{name} {new_id()}", owner=owner, scopes=[Scope.DUTIES_WRITE])
    return Caller(token.id, name, frozenset({Scope.DUTIES_WRITE}))


async def test_one_token_cannot_record_both_approvals(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    await act(client, cast.conflict, "except", cast.wish())
    program, other = await token_of(db, cast.una), await token_of(db, cast.company.noor, "another program")

    first = await refusal(db, program, cast, cast.company.owner)
    second = await refusal(db, program, cast, UUID(await owner_of_ledger(db)))
    third = await refusal(db, other, cast, UUID(await owner_of_ledger(db)))

    assert (first, second, third) == ("", _RECORDED, "")


async def test_two_tokens_of_one_owner_count_as_one(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    await act(client, cast.conflict, "except", cast.wish())

    for name, expected in (("one", ""), ("two", _RECORDED)):
        approver = cast.company.owner if name == "one" else UUID(await owner_of_ledger(db))
        assert await refusal(db, await token_of(db, cast.una, name), cast, approver) == expected


async def test_token_of_an_approver_cannot_record_the_other_approval(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    await act(client, cast.conflict, "except", cast.wish())

    in_person = await refusal(db, await caller_of(db, cast.company.owner), cast)
    by_token = await refusal(db, await token_of(db, cast.company.owner), cast, UUID(await owner_of_ledger(db)))

    assert (in_person, by_token) == ("", _RECORDED)


async def test_person_who_requests_cannot_give_either_approval(db: Db) -> None:
    cast = await a_cast(db)
    chief = UUID(await owner_of_ledger(db))

    await request(db, await caller_of(db, chief), cast)

    assert await refusal(db, await caller_of(db, chief), cast) == _REQUESTED
    assert await refusal(db, await token_of(db, chief), cast, cast.company.owner) == _REQUESTED
    assert await refusal(db, await token_of(db, cast.una), cast, chief) == _REQUESTED


async def test_token_that_requests_cannot_record_an_approval(db: Db) -> None:
    cast = await a_cast(db)
    program = await token_of(db, cast.una)

    await request(db, program, cast)

    assert await refusal(db, program, cast, cast.company.owner) == _REQUESTED
    assert await refusal(db, await caller_of(db, cast.company.owner), cast) == ""


async def test_token_of_the_person_in_conflict_cannot_record_an_approval(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    await act(client, cast.conflict, "except", cast.wish())

    assert await refusal(db, await token_of(db, cast.company.sofia), cast, cast.company.owner) == _OWN


async def test_administrator_approves_in_place_of_a_rules_owner_who_requests(
    client: httpx2.AsyncClient, db: Db
) -> None:
    cast = await a_cast(db)
    await execute(db, "INSERT INTO console_roles (identity_id, role) VALUES (%(id)s, 'Administrator')", id=cast.una)
    await request(db, await caller_of(db, cast.company.owner), cast)

    first = (await approve(client, db, cast.conflict, cast.una)).json()
    second = (await approve(client, db, cast.conflict, await owner_of_ledger(db))).json()

    parts = [each["part"] for each in second["exceptions"][0]["approvals"]]
    assert (first["status"], second["status"], parts) == ("Open", "Excepted", ["Rule Owner", "Second Approver"])


async def test_token_without_an_owner_can_request_but_not_record_an_approval(db: Db) -> None:
    """A person who creates tokens must not be able to request the exception and give both approvals."""
    cast = await a_cast(db)
    programs = [await token_of(db, None, name) for name in ("one", "two", "three")]

    await request(db, programs[0], cast)
    said = [await refusal(db, each, cast, cast.company.owner) for each in programs]

    assert (
        said
        == [
            "A token without an owner cannot record an approval:"
            " use a token that a person created in the console, or approve there"
        ]
        * 3
    )
    assert await refusal(db, await token_of(db, cast.company.owner), cast, cast.company.owner) == ""


async def test_administrator_approves_what_a_token_of_the_rules_owner_requested(
    client: httpx2.AsyncClient, db: Db
) -> None:
    cast = await a_cast(db)
    await execute(db, "INSERT INTO console_roles (identity_id, role) VALUES (%(id)s, 'Administrator')", id=cast.una)

    await request(db, await token_of(db, cast.company.owner), cast)
    waiting = [len(await waiting_for(db, await caller_of(db, id))) for id in (cast.una, cast.company.owner)]
    await approve(client, db, cast.conflict, cast.una)
    second = (await approve(client, db, cast.conflict, await owner_of_ledger(db))).json()

    assert (waiting, second["status"]) == ([1, 0], "Excepted")


async def test_administrators_are_notified_if_the_rules_owner_requests(db: Db) -> None:
    cast = await a_cast(db)
    await execute(db, "INSERT INTO console_roles (identity_id, role) VALUES (%(id)s, 'Administrator')", id=cast.una)

    await request(db, await token_of(db, cast.company.owner), cast)

    assert await notified(db, cast.una) == [("Conflict Exception", "New")]
    assert ("Conflict Exception", "New") not in await notified(db, cast.company.owner)


async def test_person_who_requested_an_earlier_exception_cannot_withdraw_a_later_one(db: Db) -> None:
    cast = await a_cast(db)
    noor = await caller_of(db, cast.company.noor)
    holder = msgspec.structs.replace(noor, scopes=frozenset({Scope.DUTIES_WRITE}))

    await request(db, holder, cast)
    await withdraw(db, noor, cast)
    await request(db, await token_of(db, cast.company.owner), cast)

    with pytest.raises(Conflict, match="can withdraw the exception"):
        await withdraw(db, noor, cast)
    await withdraw(db, await caller_of(db, cast.company.owner), cast)


async def withdraw(db: Db, caller: Caller, cast: Cast) -> None:
    async with db.transaction():
        await actions.withdraw_exception(db, caller, str(cast.conflict), {}, facts())


async def test_person_without_a_part_in_the_conflict_cannot_request_an_exception(db: Db) -> None:
    cast = await a_cast(db)

    with pytest.raises(Conflict, match="can request an exception"):
        await request(db, await caller_of(db, cast.company.noor), cast)
    await request(db, await caller_of(db, cast.company.sofia), cast)


async def change_owner(client: httpx2.AsyncClient, cast: Cast, owner: UUID) -> None:
    await client.patch(f"/api/duty-rules/{cast.company.rule}", json={"ownerId": str(owner)})
    assert (await client.post(f"/api/duty-rules/{cast.company.rule}/commit")).status_code == 200


async def test_approval_of_a_former_owner_of_the_rule_does_not_count(client: httpx2.AsyncClient, db: Db) -> None:
    """A person who may change rules must not become the owner only to approve an exception."""
    cast = await a_cast(db)
    await act(client, cast.conflict, "except", cast.wish())

    await change_owner(client, cast, cast.una)
    await approve(client, db, cast.conflict, cast.una)
    await change_owner(client, cast, cast.company.owner)
    second = (await approve(client, db, cast.conflict, await owner_of_ledger(db))).json()
    last = (await approve(client, db, cast.conflict, cast.company.owner)).json()

    assert (second["status"], last["status"]) == ("Open", "Excepted")
    said = "The approval of Una Schmidt was dropped: the rule has another owner"
    assert said in [entry["content"] for entry in second["activity"]]


async def test_people_who_chose_the_stand_in_of_one_approval_cannot_give_the_other(
    client: httpx2.AsyncClient, db: Db
) -> None:
    cast = await a_cast(db)
    await act(client, cast.conflict, "except", cast.wish())
    chief, zed = UUID(await owner_of_ledger(db)), await an_identity(db, "Zed", "Last")
    for owner in (cast.company.owner, chief):
        await a_stand_in(db, owner, cast.una)
    standing = await a_stand_in(db, cast.una, zed)

    first = await refusal(db, await caller_of(db, zed), cast, cast.company.owner)
    await execute(db, "DELETE FROM stand_ins WHERE id = %(id)s", id=standing.id)
    second = await refusal(db, await caller_of(db, cast.una), cast, chief)

    assert (first, second) == ("", _RECORDED)
