"""Test exceptions while the owners of the rule, the application or the control change or leave."""

from uuid import UUID

import httpx2

from rolecall.conflicts.permitted import relations_to
from rolecall.core.db import Db, execute, fetch_rows
from rolecall.identities.authority import PersonRelation
from tests.builders import an_identity
from tests.conflicts.test_exceptions import Cast, a_cast, a_person, act, approve, except_sofia, owner_of_ledger, refusal
from tests.notifications.notifying import an_administrator, notified
from tests.stand_ins.standing_in import caller_of

_WAITS = ("Conflict Exception", "New")


async def set_status(db: Db, id: UUID, status: str = "Removed") -> None:
    await execute(db, "UPDATE identities SET status = %(status)s WHERE id = %(id)s", status=status, id=id)


async def give_rule_to(client: httpx2.AsyncClient, cast: Cast, owner: UUID) -> None:
    rule = f"/api/duty-rules/{cast.company.rule}"
    await client.patch(rule, json={"ownerId": str(owner)})
    assert (await client.post(f"{rule}/commit")).status_code == 200


def approvals(response: httpx2.Response) -> list[tuple[str, str]]:
    return [(each["part"], each["approver"]["name"]) for each in response.json()["exceptions"][0]["approvals"]]


async def test_new_owner_of_the_rule_resets_the_approvals(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    fred = await an_identity(db, "Fred", "Friend")
    await act(client, cast.conflict, "except", cast.wish())
    await give_rule_to(client, cast, fred)
    await approve(client, db, cast.conflict, fred)
    before = (await notified(db, cast.company.owner)).count(_WAITS)

    await give_rule_to(client, cast, cast.company.owner)
    second = await approve(client, db, cast.conflict, await owner_of_ledger(db))
    third = await approve(client, db, cast.conflict, cast.company.owner)

    assert (second.json()["status"], approvals(second)) == ("Open", [("Second Approver", "Carla Abadi")])
    said = "The approval of Fred Friend was dropped: the rule has another owner"
    assert [each["content"] for each in second.json()["activity"]].count(said) == 1
    assert (await notified(db, cast.company.owner)).count(_WAITS) == before + 1
    parts = [("Second Approver", "Carla Abadi"), ("Rule Owner", "Hana Makinen")]
    assert (third.json()["status"], approvals(third)) == ("Excepted", parts)


async def test_commit_with_the_same_owner_keeps_approvals(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    await act(client, cast.conflict, "except", cast.wish())
    await approve(client, db, cast.conflict, cast.company.owner)

    await client.patch(f"/api/duty-rules/{cast.company.rule}", json={"description": "Payments"})
    await client.post(f"/api/duty-rules/{cast.company.rule}/commit")

    second = await approve(client, db, cast.conflict, await owner_of_ledger(db))
    assert second.json()["status"] == "Excepted"


async def test_approval_of_an_owner_who_left_does_not_count(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    await act(client, cast.conflict, "except", cast.wish())
    await approve(client, db, cast.conflict, cast.company.owner)

    await set_status(db, cast.company.owner)
    assert await refusal(db, a_person(UUID(await owner_of_ledger(db))), cast) == ""
    second = await client.get(f"/api/conflicts/{cast.conflict}")

    assert (second.json()["status"], approvals(second)) == ("Open", [("Second Approver", "Carla Abadi")])
    said = "The approval by Hana Makinen no longer counts, because this person can no longer give it"
    assert said in [each["content"] for each in second.json()["activity"]]


async def test_people_who_must_approve_again_are_notified_at_once(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    alan, carla = await an_identity(db, "Alan", "Turing"), UUID(await owner_of_ledger(db))
    await an_administrator(db, alan)
    await act(client, cast.conflict, "except", cast.wish())
    await approve(client, db, cast.conflict, cast.company.owner)
    before = (await notified(db, carla)).count(_WAITS)
    assert (await notified(db, alan)).count(_WAITS) == 0

    await set_status(db, cast.company.owner)
    await approve(client, db, cast.conflict, carla)

    assert (await notified(db, alan)).count(_WAITS) == 1
    assert (await notified(db, carla)).count(_WAITS) == before


async def test_approval_of_a_former_owner_of_the_application_does_not_count(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    fred, chief = await an_identity(db, "Fred", "Friend"), await owner_of_ledger(db)
    await act(client, cast.conflict, "except", cast.wish())
    application = f"/api/applications/{cast.company.ledger}"
    await client.patch(application, json={"ownerId": str(fred)})
    first = await approve(client, db, cast.conflict, fred)
    await client.patch(application, json={"ownerId": chief})

    second = await approve(client, db, cast.conflict, cast.company.owner)

    assert approvals(first) == [("Second Approver", "Fred Friend")]
    assert (second.json()["status"], approvals(second)) == ("Open", [("Rule Owner", "Hana Makinen")])


async def test_rules_owner_is_notified_when_the_owner_of_the_control_leaves(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)
    await except_sofia(client, db, cast)

    await set_status(db, cast.una)

    rows = await fetch_rows(db, "SELECT identity_id FROM notifications WHERE part = 'Control'")
    assert rows == [(cast.company.owner,)]


async def test_exception_without_an_active_owner_of_its_control_is_not_approved(
    client: httpx2.AsyncClient, db: Db
) -> None:
    cast = await a_cast(db)
    await act(client, cast.conflict, "except", cast.wish())
    await set_status(db, cast.una)

    said = "Una Schmidt, who owns the control, is not active: withdraw the exception and request it again"
    assert (await refusal(db, await caller_of(db, cast.company.owner), cast)).startswith(said)


async def test_owner_of_a_control_sees_the_conflict_while_the_exception_lasts(
    client: httpx2.AsyncClient, db: Db
) -> None:
    cast = await a_cast(db)

    async def owns_control() -> bool:
        return PersonRelation.OWNER in await relations_to(db, await caller_of(db, cast.una), cast.conflict)

    await act(client, cast.conflict, "except", cast.wish())
    waiting = await owns_control()
    await act(client, cast.conflict, "withdraw")
    withdrawn = await owns_control()
    await except_sofia(client, db, cast)
    await act(client, cast.conflict, "withdraw")
    ended = await owns_control()

    assert (waiting, withdrawn, ended) == (True, False, True)
