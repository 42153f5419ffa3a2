"""Decide who may see an application and import its data. Actions and console both use these functions."""

from uuid import UUID

from rolecall.core.caller import Caller, Scope
from rolecall.core.db import Db, fetch_rows
from rolecall.core.errors import Forbidden
from rolecall.identities.authority import PersonRelation


def may_import(caller: Caller, *, is_identity_source: bool) -> bool:
    """Return whether a caller has the scopes to import data into an application."""
    return Scope.IMPORTS_WRITE in caller.scopes and _may_define_people(caller, is_identity_source)


def require_import_right(caller: Caller, *, is_identity_source: bool) -> None:
    """Raise Forbidden if the application is an identity source and the caller lacks `identities:write`.

    The calling code checks other rights.
    """
    if not _may_define_people(caller, is_identity_source):
        raise Forbidden(Scope.IDENTITIES_WRITE)


def _may_define_people(caller: Caller, is_identity_source: bool) -> bool:
    # A file of an identity source could make its sender a supervisor, who approves access.
    return not is_identity_source or Scope.IDENTITIES_WRITE in caller.scopes


_PEOPLE = "SELECT coalesce(a.owner_id = %(me)s, false), %(me)s = ANY(a.provisioner_ids) FROM applications a"


async def relations_to(db: Db, caller_id: UUID, application_id: UUID) -> frozenset[PersonRelation]:
    return _relations(await fetch_rows(db, f"{_PEOPLE} WHERE a.id = %(id)s", me=caller_id, id=application_id))


async def relations_to_import(db: Db, caller_id: UUID, import_id: UUID) -> frozenset[PersonRelation]:
    """Return the relations of a person to the application of an import."""
    joined = f"{_PEOPLE} JOIN application_imports r ON r.application_id = a.id WHERE r.id = %(id)s"
    return _relations(await fetch_rows(db, joined, me=caller_id, id=import_id))


def _relations(rows: list[tuple[bool, ...]]) -> frozenset[PersonRelation]:
    relations = (PersonRelation.OWNER, PersonRelation.PROVISIONER)
    return frozenset(each for row in rows for each, holds in zip(relations, row, strict=True) if holds)


async def applications_of(db: Db, person_id: UUID) -> list[UUID]:
    """Return the IDs of the applications that a person owns or provisions, sorted by name."""
    rows = await fetch_rows(
        db,
        """SELECT id FROM applications WHERE owner_id = %(me)s OR %(me)s = ANY(provisioner_ids)
           ORDER BY list_key""",
        me=person_id,
    )
    return [id for (id,) in rows]
