"""Test which identities a model matches: every operator and field, at commits and when identities change."""

from typing import Any

import pytest

from rolecall.access_models.queries import matching
from rolecall.core.db import Db
from tests.builders import an_access_model, an_identity


def condition(field: str, operator: str, value: Any) -> dict[str, Any]:
    return {"field": field, "operator": operator, "value": value}


async def members(db: Db) -> set[str]:
    rows = await db.execute("SELECT i.first_name FROM access_model_members m JOIN identities i ON i.id = m.identity_id")
    return {first for (first,) in await rows.fetchall()}


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([[condition("department", "is", "finance")]], {"Ada", "Bob"}),
        ([[condition("department", "is not", "Finance")]], {"Cleo", "Dan"}),
        ([[condition("department", "is one of", ["SALES", "IT"])]], {"Cleo", "Dan"}),
        ([[condition("title", "starts with", "Head")]], {"Ada", "Cleo"}),
        ([[condition("title", "starts with", "50%")]], {"Dan"}),
        ([[condition("title", "is", "")]], {"Bob"}),
        ([[condition("type", "is", "serviceaccount")]], {"Dan"}),
        ([[condition("type", "is one of", ["Employee", "Vendor"])]], {"Ada", "Bob", "Cleo"}),
        ([[condition("customField3", "is", "BLUE")]], {"Bob"}),
        ([[condition("customField3", "is not", "blue")]], {"Ada", "Cleo", "Dan"}),
        ([[condition("company", "is", "O'Neil \\ {Sons}")]], {"Cleo"}),
        ([[condition("company", "is one of", ["O'Neil \\ {Sons}", 'a "b", c'])]], {"Cleo", "Dan"}),
        ([[condition("department", "is", "Finance"), condition("title", "is", "")]], {"Bob"}),
        ([[condition("department", "is", "Sales")], [condition("customField3", "is", "blue")]], {"Bob", "Cleo"}),
        ([], set()),
    ],
)
async def test_a_model_matches_identities_that_meet_its_conditions(db: Db, groups: Any, expected: set[str]) -> None:
    async def people() -> None:
        await an_identity(db, "Ada", department="Finance", title="Head of Ledger")
        await an_identity(db, "Bob", department="FINANCE", customField3="Blue")
        await an_identity(db, "Cleo", department="Sales", title="head of Sales", company="O'Neil \\ {Sons}")
        await an_identity(
            db, "Dan", department="IT", identityType="ServiceAccount", title="50% clerk", company='A "b", c'
        )

    await people()
    await an_access_model(db, conditions=groups)
    assert await members(db) == expected

    await db.execute("TRUNCATE access_model_members")
    await db.execute("UPDATE identities SET updated_date = updated_date")
    assert await members(db) == expected

    await db.execute("DELETE FROM access_model_members; DELETE FROM identities")
    await people()
    assert await members(db) == expected


async def test_only_active_identities_match(db: Db) -> None:
    await an_identity(db, "Ada", department="Finance")
    await an_identity(db, "Bob", department="Finance")
    await db.execute("UPDATE identities SET status = 'Disabled' WHERE first_name = 'Ada'")
    await an_access_model(db)
    assert await members(db) == {"Bob"}

    await db.execute("UPDATE identities SET status = CASE status WHEN 'Active' THEN 'Removed' ELSE 'Active' END")
    assert await members(db) == {"Ada"}


async def test_membership_follows_every_change_of_an_identity(db: Db) -> None:
    await an_access_model(db, "Clerks")
    await an_access_model(db, "Heads", conditions=[[condition("title", "starts with", "Head")]])
    id = await an_identity(db, department="Finance")

    async def names() -> set[str]:
        rows = await db.execute("SELECT a.name FROM access_model_members m JOIN access_models a ON a.id = m.model_id")
        return {name for (name,) in await rows.fetchall()}

    assert await names() == {"Clerks"}
    await db.execute("UPDATE identities SET title = 'Head of IT', department = 'IT' WHERE id = %s", (id,))
    assert await names() == {"Heads"}
    await db.execute("UPDATE identities SET department = 'Finance' WHERE id = %s", (id,))
    assert await names() == {"Clerks", "Heads"}


async def test_models_can_be_matched_for_field_values_not_yet_stored(db: Db) -> None:
    clerks = await an_access_model(db, "Clerks")
    blue = await an_access_model(db, "Blue", conditions=[[condition("customField3", "is", "blue")]])
    id = await an_identity(db, department="Finance")

    assert await matching(db, id) == {clerks}
    assert await matching(db, id, {"department": "IT"}) == set()
    assert await matching(db, id, {"custom_fields": {"3": "Blue"}}) == {clerks, blue}
    assert await matching(db, id) == {clerks}
    assert await members(db) == {"Ada"}
