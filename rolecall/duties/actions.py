"""Write duties and rules, and evaluate who is in conflict. The evaluation itself is in schema/duties.sql.

Writers take only the lock of account matching (`take_turn`), and take it before they read duties or rules; a second
lock could cause deadlocks.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

import msgspec
from psycopg.errors import UniqueViolation
from psycopg.types.json import Jsonb

from rolecall.accounts.matching import take_turn
from rolecall.core.caller import Caller
from rolecall.core.checking import Facts, Json, check, valid_fields
from rolecall.core.db import Db, execute, fetch_value
from rolecall.core.drafts import commit_draft, insert_draft, is_name_taken, update_draft
from rolecall.core.errors import Conflict, Invalid, Problem
from rolecall.core.ids import known_guid, new_id
from rolecall.core.text import sort_key
from rolecall.duties import queries
from rolecall.duties.model import RuleDefinition
from rolecall.duties.shapes import DutyChanges, DutyDetail, NewDuty, NewRule, RuleChanges, RuleDetail
from rolecall.identities.queries import with_mentioned_identities

B = TypeVar("B", bound=RuleChanges)
_ADD_VERSION = "INSERT INTO duty_rule_versions (rule_id, version, definition, committed_at, caller_id, caller_name)"


async def create_duty(db: Db, raw: Json, facts: Facts) -> DutyDetail:
    """Create a duty. People whose access matches its patterns hold it at once."""
    body = check(NewDuty, raw, facts)
    id = new_id()
    await take_turn(db)
    columns = {"description": "", "patterns": Jsonb([]), **_columns(body)}
    await _write(
        db,
        """INSERT INTO duties (id, name, name_key, description, patterns, created_at, changed_at)
           VALUES (%(id)s, %(name)s, %(name_key)s, %(description)s, %(patterns)s, %(now)s, %(now)s)""",
        id=id,
        now=facts.now,
        **columns,
    )
    await _evaluate_duty(db, id, facts.now)
    return await queries.get(db, id)


async def change_duty(db: Db, id: str, raw: Json, facts: Facts) -> DutyDetail:
    known = known_guid("Duty", id)
    await take_turn(db)
    # Report an unknown duty before the problems of the body.
    await queries.get(db, known)
    body = check(DutyChanges, raw, facts)
    columns = _columns(body)
    assigned = "".join(f"{name} = %({name})s, " for name in columns)
    # Changed patterns fire end_exceptions_of_duty (schema/conflicts.sql) and recheck_requests
    # (schema/access_requests.sql).
    await _write(
        db,
        f"UPDATE duties SET {assigned}changed_at = %(now)s WHERE id = %(id)s",
        id=known,
        now=facts.now,
        **columns,
    )
    if body.patterns is not None:
        await _evaluate_duty(db, known, facts.now)
    return await queries.get(db, known)


async def delete_duty(db: Db, id: str) -> None:
    """Delete a duty; raise Conflict if a rule or a recorded conflict refers to it."""
    known = known_guid("Duty", id)
    await take_turn(db)
    duty = await queries.get(db, known)
    if duty.rules:
        names = ", ".join(rule.name for rule in duty.rules)
        raise Conflict(f"Duty {duty.name} is used in rules ({names}): remove it from them first")
    if await queries.is_on_record(db, known):
        raise Conflict(f"Past conflicts refer to the duty {duty.name}, so it must be kept. Remove its patterns instead")
    # Delete the holders here: `duty_holders` has no foreign key, because checking one is slow for thousands of people.
    # Fires the trigger recheck_requests_on_delete in schema/access_requests.sql.
    await execute(db, "DELETE FROM duty_holders WHERE duty_id = %(id)s", id=known)
    await execute(db, "DELETE FROM duties WHERE id = %(id)s", id=known)


def _columns(body: DutyChanges) -> dict[str, Any]:
    values: dict[str, Any] = body.model_dump(include={"name", "description"}, exclude_none=True)
    if body.name is not None:
        values["name_key"] = sort_key(body.name)
    if body.patterns is not None:
        values["patterns"] = Jsonb(msgspec.to_builtins([each.pattern for each in body.patterns]))
    return values


async def _write(db: Db, sql: str, **values: Any) -> None:
    try:
        await execute(db, sql, **values)
    except UniqueViolation:
        raise Invalid.on("name", f"A duty named {values['name']} already exists; choose another name") from None


async def _evaluate_duty(db: Db, id: UUID, now: datetime) -> None:
    await execute(db, "SELECT evaluate_duties(%(ids)s, %(now)s)", ids=[id], now=now)


async def create_rule(db: Db, raw: Json, facts: Facts) -> RuleDetail:
    body = await _checked(db, NewRule, raw, facts)
    draft = msgspec.convert(_given(body), RuleDefinition)
    id = await insert_draft(db, "duty_rules", draft, facts.now)
    return await queries.get_rule(db, id)


async def change_rule(db: Db, id: str, raw: Json, facts: Facts) -> RuleDetail:
    """Change the draft; if there is none, start one from the committed definition."""
    rule = await _locked(db, id)
    standing = rule.draft or rule.committed
    assert standing
    body = await _checked(db, RuleChanges, raw, facts, rule.id)
    # Null removes the control duty or the owner; an omitted field keeps its value.
    cleared = {name: None for name in ("without", "ownerId") if raw.get(name, "") is None}
    draft = msgspec.convert({**msgspec.to_builtins(standing), **cleared, **_given(body)}, RuleDefinition)
    # Check the changed draft, because the body may have only one of `without` and `conflicts`.
    if draft.without in draft.conflicts:
        raise Invalid.on("without", "Without must name a duty that is not among the conflicting duties")
    await update_draft(db, "duty_rules", rule.id, draft, facts.now)
    return await queries.get_rule(db, rule.id)


async def commit_rule(db: Db, caller: Caller, id: str, now: datetime) -> RuleDetail:
    """Make the draft the next version, which takes effect at once."""
    rule = await _locked(db, id)
    draft = draft_of(rule)
    await _refuse_contradictions(db, rule.id, draft)
    # Fires recheck_requests (schema/access_requests.sql) and, if the owner changed, drop_approvals_of_rule
    # (schema/conflicts.sql).
    await commit_draft(db, "duty_rules", _ADD_VERSION, rule.id, draft, caller, now)
    await execute(db, "SELECT evaluate_rules(%(ids)s, %(now)s)", ids=[rule.id], now=now)
    return await queries.get_rule(db, rule.id)


async def discard_rule_draft(db: Db, id: UUID) -> None:
    """Discard the draft of a committed rule. A rule that was never committed keeps its draft."""
    await take_turn(db)
    await execute(db, "UPDATE duty_rules SET draft = NULL WHERE id = %(id)s AND definition IS NOT NULL", id=id)


def draft_of(rule: RuleDetail) -> RuleDefinition:
    if rule.draft is None:
        raise Conflict("The rule has no draft. Change the rule first")
    return rule.draft


async def _refuse_contradictions(db: Db, id: UUID, draft: RuleDefinition) -> None:
    if not draft.enabled:
        return
    for other, rule in (await queries.rules_in_effect(db)).items():
        if other != id and draft.contradicts(rule):
            raise Invalid.on(
                "conflicts",
                f"The rule contradicts the rule {rule.name}: both keep the same duties apart but differ in response"
                " or control duty, or one keeps apart the control duty and a conflicting duty of the other."
                " Change or disable one of them",
            )


async def _checked(db: Db, shape: type[B], raw: Json, facts: Facts, id: UUID | None = None) -> B:
    facts = await with_mentioned_identities(db, facts, raw)
    # Serialize writers, so that two rules cannot take the same name and no duty is deleted concurrently.
    await take_turn(db)
    # Look up the valid fields even if others are invalid, so that one response reports all problems.
    fields = valid_fields(shape, raw, facts)
    problems = []
    if (name := fields.get("name")) and await is_name_taken(db, "duty_rules", name, other_than=id):
        problems.append(Problem("name", f"A rule named {name} already exists; choose another name"))
    problems += await _unknown(db, "conflicts", fields.get("conflicts") or [])
    problems += await _unknown(db, "without", [fields["without"]] if fields.get("without") else [])
    return check(shape, raw, facts, problems)


async def _unknown(db: Db, field: str, ids: Iterable[UUID]) -> list[Problem]:
    known = await queries.names_of(db, ids)
    return [Problem(field, f"Duty with id {id} not found") for id in ids if id not in known]


async def _locked(db: Db, id: str) -> RuleDetail:
    await take_turn(db)
    return await queries.get_rule(db, id)


def _given(body: RuleChanges) -> dict[str, Any]:
    given: dict[str, Any] = body.model_dump(exclude_none=True, by_alias=True, mode="json")
    return given


async def evaluate_waiting(db: Db, now: datetime) -> None:
    """Evaluate the conflicts of people who gained or lost an account since the last evaluation."""
    # This runs every second, so return before the lock if nothing changed.
    if not await fetch_value(db, "SELECT EXISTS (SELECT FROM identities_to_evaluate)"):
        return
    await take_turn(db)
    await execute(db, "SELECT evaluate_people(take_people_to_evaluate(), %(now)s, NULL)", now=now)
