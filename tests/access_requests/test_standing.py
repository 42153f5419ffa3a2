"""Test that a caller's relation to a request, and who else must verify it, do not depend on other requests."""

from datetime import timedelta
from uuid import UUID

import httpx2

from rolecall.access_requests import actions
from rolecall.access_requests.permitted import standing_of
from rolecall.core import clock
from rolecall.core.caller import Caller, Scope
from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.tokens.actions import create_token
from tests.access_requests.walking import Cast, a_cast, a_request_that_is, done
from tests.builders import an_access_request, facts


async def two_requests(client: httpx2.AsyncClient, db: Db, status: str) -> tuple[Cast, UUID, UUID]:
    cast = await a_cast(db)
    one = await a_request_that_is(client, db, status, cast)
    await db.execute("UPDATE applications SET name = 'Other', name_key = 'other'")
    return cast, UUID(one), UUID(await a_request_that_is(client, db, "Open", cast))


def as_grace(cast: Cast) -> Caller:
    return Caller(UUID(cast.grace), "Grace Hopper", frozenset(Scope))


async def resolve_as_grace(client: httpx2.AsyncClient, db: Db, cast: Cast, id: UUID) -> None:
    await done(client, id, "assign", assigneeId=cast.grace)
    async with db.transaction():
        await actions.resolve(db, as_grace(cast), str(id), {}, facts())


async def responses_of(db: Db, id: UUID, type: str) -> list[tuple[str, str, bool]]:
    sql = """SELECT reviewer_name, response, asked FROM responses
             WHERE request_id = %(id)s AND type = %(type)s ORDER BY rule, position"""
    return [(name, response, asked) for name, response, asked in await fetch_rows(db, sql, id=id, type=type)]


async def test_standing_depends_only_on_the_request(client: httpx2.AsyncClient, db: Db) -> None:
    cast, resolved, other = await two_requests(client, db, "Resolved")
    token = await fetch_value(db, "SELECT id FROM tokens")
    # An unrelated token of Grace, her work on another request and the later activity of a third request do not count.
    await create_token(db, as_grace(cast), {"name": "hers"}, facts())
    await resolve_as_grace(client, db, cast, other)
    await an_access_request(db, identity_id=UUID(cast.grace), now=clock.now() + timedelta(hours=1))

    standing = await standing_of(db, UUID(cast.grace), resolved)

    assert (set(standing.carried_out_by), standing.owner_carried_out) == ({token}, False)
    assert (standing.is_person, standing.role, sorted(standing.asked)) == (True, None, ["Approve", "Verify"])
    assert not any((standing.is_reporter, standing.is_affected, standing.is_assignee, standing.is_provisioner))
    own = "SELECT max(created_date) FROM activity WHERE item_id = %(id)s"
    assert standing.latest == await fetch_value(db, own, id=resolved)
    assert set((await standing_of(db, token, other)).carried_out_by) == {UUID(cast.grace)}


async def test_other_verifiers_are_asked_only_for_the_resolved_request(client: httpx2.AsyncClient, db: Db) -> None:
    cast, bystander, resolved = await two_requests(client, db, "Snoozed")

    await resolve_as_grace(client, db, cast, resolved)

    pending = ("Grace Hopper", "Pending", True)
    assert await responses_of(db, bystander, "Verify") == [pending]
    assert await responses_of(db, resolved, "Verify") == [pending, ("Administrators", "Pending", True)]
    assert await responses_of(db, resolved, "Resolve") == [
        ("Peter Naur", "Pending", True),
        ("Grace Hopper", "Approved", False),
    ]
