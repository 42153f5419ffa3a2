"""Test queries of tokens: by name or id, and tokens with scopes that their owners lost."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from rolecall.core.db import Db, execute
from rolecall.core.errors import NotFound
from rolecall.tokens import queries
from tests.builders import a_token, an_identity

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


async def test_token_is_found_by_its_name_and_by_its_id(db: Db) -> None:
    ids = {name: (await a_token(db, name)).id for name in ("ci", "backup", "nightly")}

    assert {name: (await queries.find(db, name)).id for name in ids} == ids
    assert {name: (await queries.find(db, str(id))).id for name, id in ids.items()} == ids


async def test_name_takes_precedence_over_an_id(db: Db) -> None:
    other = await a_token(db, "other")
    named = await a_token(db, str(other.id))

    assert (await queries.find(db, str(other.id))).id == named.id


async def test_unknown_token_is_not_found(db: Db) -> None:
    await a_token(db, "ci")

    for unknown in ("c", str(uuid4())):
        with pytest.raises(NotFound):
            await queries.find(db, unknown)


async def test_only_valid_tokens_of_people_are_reported_for_scopes_that_their_owners_lost(db: Db) -> None:
    grace = await an_identity(db, "Grace", "Hopper")
    for name in ("valid", "revoked", "expired"):
        await a_token(db, name, owner=grace, now=NOON - timedelta(days=1))
    ownerless = await a_token(db, "ownerless")
    await execute(db, "UPDATE tokens SET revoked_at = %(noon)s WHERE name = 'revoked'", noon=NOON)
    await execute(db, "UPDATE tokens SET expires_at = %(noon)s WHERE name = 'expired'", noon=NOON)
    await execute(db, "DELETE FROM console_roles")

    found = await queries.with_refused_scopes(db, NOON)

    assert [(each.name, each.owner_id) for each in found] == [("valid", grace)]
    assert (await queries.get(db, ownerless.id)).owner is None
