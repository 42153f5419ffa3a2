"""An exception is asked for, approved and approved again by different people or tokens."""

from uuid import UUID

import httpx2

from rolecall.conflicts import actions
from rolecall.core.caller import Caller, Scope
from rolecall.core.db import Db, execute
from rolecall.core.errors import Conflict
from rolecall.core.ids import new_id
from tests.builders import a_token, facts
from tests.conflicts.test_exceptions import Cast, a_cast, act, approve, owner_of_ledger
from tests.stand_ins.standing_in import caller_of

_ASKED = "Those who ask for an exception, or their tokens, cannot approve it; another person must decide"
_RECORDED = "The other approval was recorded by the same person or token; another one must record this"
_OWN = "You cannot approve your own exception; another person must decide"


async def ask(db: Db, caller: Caller, cast: Cast) -> None:
    async with db.transaction():
        await actions.ask_for_exception(db, caller, str(cast.conflict), cast.wish(), facts())


async def refusal(db: Db, caller: Caller, cast: Cast, approver: UUID | None = None) -> str:
    """Approve, and return why that was refused, or nothing."""
    try:
        async with db.transaction():
            body = {"approverId": str(approver)} if approver else {}
            await actions.approve_exception(db, caller, str(cast.conflict), body, facts())
    except Conflict as error:
        return str(error)
    return ""


async def token_of(db: Db, owner: UUID | None, name: str = "program") -> Caller:
    token = await a_token(db, f"{name} {new_id()}", scopes=[Scope.DUTIES_WRITE])
    await execute(db, "UPDATE tokens SET owner_id = %(owner)s WHERE id = %(id)s", owner=owner, id=token.id)
    return Caller(token.id, name, frozenset({Scope.DUTIES_WRITE}))


async def test_one_token_cannot_record_both_approvals(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    await act(client, cast.conflict, "except", cast.wish())
    program, other = await token_of(db, None), await token_of(db, None, "another program")

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


async def test_token_of_a_person_who_approved_records_no_other_approval(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    await act(client, cast.conflict, "except", cast.wish())

    in_person = await refusal(db, await caller_of(db, cast.company.owner), cast)
    by_token = await refusal(db, await token_of(db, cast.company.owner), cast, UUID(await owner_of_ledger(db)))

    assert (in_person, by_token) == ("", _RECORDED)


async def test_person_who_asks_approves_neither_part(db: Db) -> None:
    cast = await a_cast(db)
    chief = UUID(await owner_of_ledger(db))

    await ask(db, await caller_of(db, chief), cast)

    assert await refusal(db, await caller_of(db, chief), cast) == _ASKED
    assert await refusal(db, await token_of(db, chief), cast, cast.company.owner) == _ASKED
    assert await refusal(db, await token_of(db, None, "program"), cast, chief) == _ASKED


async def test_token_that_asks_records_no_approval(db: Db) -> None:
    cast = await a_cast(db)
    program = await token_of(db, cast.una)

    await ask(db, program, cast)

    assert await refusal(db, program, cast, cast.company.owner) == _ASKED
    assert await refusal(db, await caller_of(db, cast.company.owner), cast) == ""


async def test_token_of_the_person_in_conflict_records_no_approval(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    await act(client, cast.conflict, "except", cast.wish())

    assert await refusal(db, await token_of(db, cast.company.sofia), cast, cast.company.owner) == _OWN


async def test_administrator_takes_the_part_of_a_rules_owner_who_asks(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    await execute(db, "INSERT INTO console_roles (identity_id, role) VALUES (%(id)s, 'Administrator')", id=cast.una)
    await ask(db, await caller_of(db, cast.company.owner), cast)

    first = (await approve(client, db, cast.conflict, cast.una)).json()
    second = (await approve(client, db, cast.conflict, await owner_of_ledger(db))).json()

    parts = [each["part"] for each in second["exceptions"][0]["approvals"]]
    assert (first["status"], second["status"], parts) == ("Open", "Excepted", ["Rule Owner", "Second Approver"])
