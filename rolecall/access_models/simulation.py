"""Simulate a commit: compute which people would gain and lose which access."""

from collections.abc import Sequence
from functools import partial
from typing import Any
from uuid import UUID

import msgspec
from psycopg.types.json import Jsonb

from rolecall.access_models.model import RANK, Definition
from rolecall.access_models.shapes import AccessModelDetail, Affected, GivenAccess, Simulation
from rolecall.accounts.model import Access
from rolecall.core.db import Db, fetch_rows
from rolecall.core.paging import PAGE_SIZE, Rows, Whole, all_of
from rolecall.duties.prevention import ModelConflicts, ProposedAccess, conflicts_among

_TOUCHED = """
    WITH after AS MATERIALIZED (
        SELECT id FROM identities_matching(%(conditions)s) WHERE %(enabled)s
    ), before AS (
        SELECT identity_id AS id FROM access_model_members WHERE model_id = %(id)s
    ), touched AS MATERIALIZED (
        SELECT coalesce(a.id, b.id) AS id,
               CASE WHEN b.id IS NULL THEN 'Joins' WHEN a.id IS NULL THEN 'Leaves' ELSE 'Stays' END AS change
        FROM after a FULL JOIN before b ON b.id = a.id
    )"""
_CHANGED = """
    SELECT t.id, i.first_name || ' ' || i.last_name, t.change FROM touched t JOIN identities i USING (id)
    WHERE t.change <> 'Stays' OR %(differs)s ORDER BY i.list_key"""
_PAGE = f"""{_TOUCHED}, counted AS (
        SELECT count(*) FILTER (WHERE change = 'Joins'), count(*) FILTER (WHERE change = 'Leaves'),
               count(*) FILTER (WHERE change = 'Stays') FROM touched
    )
    SELECT counted.*, p.* FROM counted
    LEFT JOIN LATERAL ({_CHANGED} LIMIT {PAGE_SIZE} OFFSET %(offset)s) AS p ON true"""


async def simulate(db: Db, model: AccessModelDetail, draft: Definition, page: int) -> Simulation:
    """Return the effect of committing the draft, with one page of the affected people."""
    rows = await fetch_rows(db, _PAGE, **_params(model, draft), offset=(page - 1) * PAGE_SIZE)
    joining, leaving, staying = rows[0][:3]
    # People who stay in the model are affected only if the access that it grants changes.
    total = joining + leaving + (staying if _gives(model.committed) != _gives(draft) else 0)
    # A page without people still has one row, with the counts.
    people = [row[3:] for row in rows if row[3]]
    affected = await _affected(db, people, model=model, draft=draft)
    return Simulation(
        joining,
        leaving,
        staying,
        affected,
        total,
        page,
        PAGE_SIZE,
        -(-total // PAGE_SIZE),
        await conflicts_of(db, draft),
    )


def all_affected(model: AccessModelDetail, draft: Definition) -> Whole[Affected]:
    """List everyone whom a commit of the draft would affect. Each batch gets its details when it is read."""
    complete = partial(_affected, model=model, draft=draft)
    return all_of([Rows(f"{_TOUCHED} {_CHANGED}", _params(model, draft), tuple, complete)])


def _params(model: AccessModelDetail, draft: Definition) -> dict[str, Any]:
    return {
        "id": model.id,
        "conditions": Jsonb(msgspec.to_builtins(draft.conditions)),
        "enabled": draft.enabled,
        "differs": _gives(model.committed) != _gives(draft),
    }


async def _affected(db: Db, people: Sequence[Any], *, model: AccessModelDetail, draft: Definition) -> list[Affected]:
    """Return the people with the access that they gain and lose; `people` are rows of id, name and change."""
    before, after = _gives(model.committed), _gives(draft)
    elsewhere = await _given_elsewhere(db, model.id, [id for id, *_ in people])

    def one(id: UUID, name: str, change: Any) -> Affected:
        had = _most(elsewhere[id] | (before if change != "Joins" else set()))
        has = _most(elsewhere[id] | (after if change != "Leaves" else set()))
        return Affected(id, name, change, gains=_sorted(has - had), loses=_sorted(had - has))

    return [one(*person) for person in people]


async def conflicts_of(db: Db, draft: Definition) -> list[ModelConflicts]:
    """Return for each rule how many people the draft would put in conflict."""
    if not draft.enabled:
        return []
    rows = await fetch_rows(
        db,
        "SELECT id FROM identities_matching(%(conditions)s)",
        conditions=Jsonb(msgspec.to_builtins(draft.conditions)),
    )
    gains = [
        ProposedAccess(
            each.application_id, None if each.is_group else each.header, each.section, each.permission, each.access
        )
        for each in _gives(draft)
    ]
    return await conflicts_among(db, [id for (id,) in rows], gains)


def _gives(definition: Definition | None) -> set[GivenAccess]:
    if definition is None or not definition.enabled:
        return set()
    groups = {
        GivenAccess(given.application_id, True, "", "", group, Access.GRANT)
        for given in definition.access
        for group in given.groups
    }
    return groups | {
        GivenAccess(given.application_id, False, each.header, each.section, each.permission, each.access)
        for given in definition.access
        for each in given.permissions
    }


async def _given_elsewhere(db: Db, model_id: UUID, identity_ids: Sequence[UUID]) -> dict[UUID, set[GivenAccess]]:
    rows = await fetch_rows(
        db,
        """SELECT m.identity_id, g.application_id, g.is_group, g.header, g.section, g.permission, g.access
           FROM access_model_members m JOIN access_model_grants g USING (model_id)
           WHERE m.identity_id = ANY(%(ids)s) AND m.model_id <> %(model)s""",
        ids=list(identity_ids),
        model=model_id,
    )
    given = {id: set[GivenAccess]() for id in identity_ids}
    for id, *access in rows:
        given[id].add(GivenAccess(*access))
    return given


def _most(given: set[GivenAccess]) -> set[GivenAccess]:
    """Return only the highest access to each permission and group."""
    # A later entry replaces an earlier one of the same name, so sort the highest access last.
    by_name = {_name(access): access for access in sorted(given, key=lambda access: RANK[access.access])}
    return set(by_name.values())


def _name(access: GivenAccess) -> tuple[UUID, bool, str, str, str]:
    return access.application_id, access.is_group, access.header, access.section, access.permission


def _sorted(given: set[GivenAccess]) -> list[GivenAccess]:
    return sorted(given, key=_name)
