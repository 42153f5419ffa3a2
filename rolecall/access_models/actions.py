"""Create, change, simulate, commit and discard drafts of access models."""

from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

import msgspec

from rolecall.access_models import queries
from rolecall.access_models.model import Definition
from rolecall.access_models.shapes import (
    AccessModelDetail,
    Affected,
    ModelChanges,
    NewModel,
    SimulateBody,
    Simulation,
)
from rolecall.access_models.simulation import all_affected, conflicts_of, simulate
from rolecall.accounts.naming import look_up_groups, look_up_permissions
from rolecall.applications.queries import with_mentioned_applications
from rolecall.core.caller import Caller
from rolecall.core.checking import Facts, Json, check
from rolecall.core.db import Db, execute
from rolecall.core.drafts import commit_draft, insert_draft, is_name_taken, update_draft
from rolecall.core.errors import Conflict, Invalid, Problem
from rolecall.core.paging import Whole
from rolecall.duties.model import RuleResponse
from rolecall.identities.queries import with_mentioned_identities

B = TypeVar("B", bound=ModelChanges)

_ADD_VERSION = "INSERT INTO access_model_versions (model_id, version, definition, committed_at, caller_id, caller_name)"


async def create_model(db: Db, raw: Json, facts: Facts) -> AccessModelDetail:
    body = await _checked(db, NewModel, raw, facts)
    id = await insert_draft(db, "access_models", _drafted(Definition(body.name), body), facts.now)
    return await queries.get(db, id)


async def change_model(db: Db, id: str, raw: Json, facts: Facts) -> AccessModelDetail:
    """Change the draft; if there is none, start one from the committed definition."""
    model = await _locked(db, id)
    body = await _checked(db, ModelChanges, raw, facts, model.id)
    # A draft is removed only when there is a committed definition, so one of the two always exists.
    standing = model.draft or model.committed
    assert standing
    await update_draft(db, "access_models", model.id, _drafted(standing, body), facts.now)
    return await queries.get(db, model.id)


async def simulate_model(db: Db, id: str, raw: Json, facts: Facts) -> Simulation:
    body = check(SimulateBody, raw, facts)
    model = await queries.get(db, id)
    return await simulate(db, model, _draft_of(model), body.page)


async def everyone_affected(db: Db, id: str) -> Whole[Affected]:
    """List everyone whom a commit of the draft would affect, for an export."""
    model = await queries.get(db, id)
    return all_affected(model, _draft_of(model))


async def commit_model(
    db: Db, caller: Caller, id: str, now: datetime, *, allow_unknown: bool = False
) -> AccessModelDetail:
    """Make the draft the next version, which takes effect at once.

    Refuse a draft that a rule blocks and, without `allow_unknown`, a draft with unknown names. The number of statements
    does not depend on the number of identities.
    """
    model = await _locked(db, id)
    draft = _draft_of(model)
    if model.unknown_names and not allow_unknown:
        names = ". ".join(model.unknown_names)
        raise Invalid.on("allowUnknown", f"{names}. Correct the draft, or set allowUnknown to commit it as it is")
    for found in await conflicts_of(db, draft):
        if found.response is RuleResponse.BLOCK:
            people = f"{found.people} {'person' if found.people == 1 else 'people'}"
            why = f"would put {people} in conflict" if found.people else "gives duties that the rule keeps apart"
            raise Conflict(
                f"The rule {found.rule} blocks this model: the model {why}."
                " Simulate the draft to see all conflicts, then change it"
            )
    await _lock_members(db)
    await commit_draft(db, "access_models", _ADD_VERSION, model.id, draft, caller, now)
    await _replace_grants(db, model.id)
    await _replace_members(db, model.id, now)
    return await queries.get(db, model.id)


async def lock_for_commits(db: Db) -> None:
    """Take the locks of all functions here, in order, before a transaction takes those of other packages."""
    await _lock_models(db)
    await _lock_members(db)


async def _lock_members(db: Db) -> None:
    """Prevent changes of identities between evaluating the conditions and the commit of this transaction."""
    await execute(db, "SELECT pg_advisory_xact_lock(access_model_lock())")


async def wait_for_models(db: Db) -> None:
    """Take the lock that every change of an identity takes.

    Call this before `matching.take_turn` if identities are changed after it, because imports take the two locks in this
    order.
    """
    await execute(db, "SELECT pg_advisory_xact_lock_shared(access_model_lock())")


async def _replace_grants(db: Db, id: UUID) -> None:
    await execute(db, "DELETE FROM access_model_grants WHERE model_id = %(id)s", id=id)
    await execute(
        db,
        """INSERT INTO access_model_grants (model_id, application_id, is_group, header, section, permission, access)
           SELECT m.id, g.* FROM access_models m, access_model_grants_in(m.definition -> 'access') AS g
           WHERE m.id = %(id)s AND m.is_in_effect""",
        id=id,
    )


async def _replace_members(db: Db, id: UUID, now: datetime) -> None:
    """Remove people who no longer match and add those who match now. The others keep their start date."""
    # Fires the trigger keep_past in schema/access_models.sql.
    await execute(
        db,
        """DELETE FROM access_model_members WHERE model_id = %(id)s AND identity_id NOT IN (
               SELECT i.id FROM access_models m, identities_matching(m.definition -> 'conditions') AS i
               WHERE m.id = %(id)s AND m.is_in_effect)""",
        id=id,
    )
    # Do not combine this with the deletion: one statement for both could break the totals of the list (docs/lists.md).
    await execute(
        db,
        """INSERT INTO access_model_members (model_id, identity_id, since, list_key)
           SELECT m.id, i.id, %(now)s, i.list_key
           FROM access_models m, identities_matching(m.definition -> 'conditions') AS who JOIN identities i USING (id)
           WHERE m.id = %(id)s AND m.is_in_effect ORDER BY i.list_key
           ON CONFLICT DO NOTHING""",
        id=id,
        now=now,
    )


async def discard_draft(db: Db, id: UUID) -> None:
    """Discard the draft of a committed model. A model that was never committed keeps its draft."""
    await _lock_models(db)
    await execute(db, "UPDATE access_models SET draft = NULL WHERE id = %(id)s AND definition IS NOT NULL", id=id)


async def _checked(db: Db, body: type[B], raw: Json, facts: Facts, id: UUID | None = None) -> B:
    facts = await with_mentioned_applications(db, await with_mentioned_identities(db, facts, raw), raw)
    await _lock_models(db)
    # The body is not checked yet, so the name may be of any type.
    name = str(raw.get("name", "")).strip()
    # PostgreSQL accepts no string that contains NUL; the check of the body reports the NUL.
    taken = "\x00" not in name and await is_name_taken(db, "access_models", name, other_than=id)
    # Pass this problem to `check`, which reports it together with the problems of the body.
    also = [Problem("name", f"An access model named {name} already exists; choose another name")] if taken else ()
    return await _as_stored(db, check(body, raw, facts, also))


async def _as_stored(db: Db, body: B) -> B:
    """Return the body with the names of groups and permissions in the spelling of their applications."""
    given = body.access or []
    groups = [(each.application_id, name) for each in given for name in each.groups]
    permissions = [(each.application_id, asked.key) for each in given for asked in each.permissions]
    # The lookups return one result for each name, in the same order, so `next` finds the result of each.
    group = (found.name.permission for found in await look_up_groups(db, groups))
    permission = (found.name for found in await look_up_permissions(db, permissions))
    access = [
        each.model_copy(
            update={
                "groups": [next(group) for _ in each.groups],
                "permissions": [asked.model_copy(update=next(permission)._asdict()) for asked in each.permissions],
            }
        )
        for each in given
    ]
    # The body was checked for repeated names, but two spellings may mean one group or permission.
    problems = [
        Problem(f"access.{n}.{kind}s", f"{kind.title()}s must not name a {kind} twice")
        for n, each in enumerate(access)
        for kind, names in (("group", each.groups), ("permission", [asked.key for asked in each.permissions]))
        if len(set(names)) < len(names)
    ]
    if problems:
        raise Invalid(*problems)
    return body.model_copy(update={"access": access}) if given else body


async def _lock_models(db: Db) -> None:
    """Serialize writers, so that two models cannot take the same name, and none waits for another one's row."""
    await execute(db, "LOCK TABLE access_models IN SHARE ROW EXCLUSIVE MODE")


async def _locked(db: Db, id: str) -> AccessModelDetail:
    # Lock before reading, so that the draft cannot change between reading and writing it.
    await _lock_models(db)
    return await queries.get(db, id)


def _draft_of(model: AccessModelDetail) -> Definition:
    if model.draft is None:
        raise Conflict("The access model has no draft. Change the model first")
    return model.draft


def _drafted(standing: Definition, body: ModelChanges) -> Definition:
    changes: dict[str, Any] = body.model_dump(exclude_none=True, by_alias=True, mode="json")
    return msgspec.convert({**msgspec.to_builtins(standing), **changes}, Definition)
