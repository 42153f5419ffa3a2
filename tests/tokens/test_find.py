"""Test that the command line finds tokens by name, or otherwise by id."""

from uuid import uuid4

import pytest

from rolecall.core.db import Db
from rolecall.core.errors import NotFound
from rolecall.tokens import queries
from tests.builders import a_token


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
