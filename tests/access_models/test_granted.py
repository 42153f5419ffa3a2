"""Test the access that several models grant together, and that SQL and Python rank and name it the same way."""

from itertools import product

import pytest

from rolecall.access_models import queries
from rolecall.access_models.model import RANK
from rolecall.accounts.model import group_header
from rolecall.core.db import Db, execute, fetch_value
from rolecall.settings.policy import Level
from tests.builders import an_access_model, an_application, an_identity
from tests.holdings import an_account


async def test_grant_of_two_models_has_the_higher_risk(db: Db) -> None:
    ledger = await an_application(db)
    held = (("Group", "Clerks", "Grant", "Low"), ("Books", "Post", "Grant", "Moderate"))
    await an_account(db, ledger, "ada", await an_identity(db), groups=("Clerks",), permissions=held)
    # The group grants Post, so it has the risk of Post.
    await execute(
        db,
        """INSERT INTO assignments SELECT g.number, s.permission_number, s.access, s.from_import, NULL, ''
           FROM groups g, assignments s JOIN permissions p ON p.number = s.permission_number
           WHERE g.name = 'Clerks' AND p.permission = 'Post'""",
    )
    as_group = [{"applicationId": str(ledger), "groups": ["Clerks"]}]
    as_permission = [{"applicationId": str(ledger), "permissions": [{"header": "Group", "permission": "Clerks"}]}]
    models = [await an_access_model(db, "One", access=as_group), await an_access_model(db, "Two", access=as_permission)]

    [grant] = await queries.granted(db, models)

    assert (grant.header, grant.permission, grant.risk_rating) == ("Group", "Clerks", "Moderate")
    assert grant.models == ["One", "Two"]


async def test_sql_and_python_rank_access_and_risk_the_same(db: Db) -> None:
    async def ranks(function: str, words: list[str]) -> dict[str, int]:
        return {word: await fetch_value(db, f"SELECT {function}(%(word)s)", word=word) for word in words}

    risks = await ranks("risk_rank", list(Level))
    accesses = await ranks("access_rank", list(RANK))

    assert sorted(Level, key=lambda level: risks[level]) == list(Level)
    assert all(accesses[one] < accesses[other] for one, other in product(RANK, RANK) if RANK[one] < RANK[other])


@pytest.mark.parametrize("nomenclature", ["", "Role"])
async def test_sql_and_python_give_groups_the_same_header(db: Db, nomenclature: str) -> None:
    assert await fetch_value(db, "SELECT group_header(%(word)s)", word=nomenclature) == group_header(nomenclature)
