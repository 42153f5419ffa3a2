from typing import Any
from uuid import UUID

from rolecall.accounts.matching import take_turn
from rolecall.core.checking import Facts, Json, check, valid_fields
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.core.errors import Problem
from rolecall.entitlements import queries
from rolecall.entitlements.shapes import Curation, EntitlementDetail
from rolecall.identities.queries import is_active, with_mentioned_identities

_FIELDS = ("display_name", "explanation", "owner_id", "risk_rating", "is_privileged", "tags", "same_as")


async def curate_entitlement(db: Db, id: str, raw: Json, facts: Facts) -> EntitlementDetail:
    """Change the curated fields of an entitlement; omitted fields keep their values."""
    entitlement = await queries.get(db, id)
    facts = await with_mentioned_identities(db, facts, raw)
    if "sameAs" in raw:
        # Take this lock before the table lock, as an import does, to avoid deadlocks.
        await take_turn(db)
    # Serialize curations, so that two concurrent `sameAs` changes cannot form a cycle.
    await execute(db, "LOCK TABLE curations IN SHARE ROW EXCLUSIVE MODE")
    given = valid_fields(Curation, raw, facts)
    body = check(Curation, raw, facts, await _problems(db, entitlement, given))
    former = given.get("same_as")
    changes = {name: getattr(body, name) for name in _FIELDS if name in body.model_fields_set}
    # After a rename, the curated fields are stored once, for the latest name.
    latest: UUID = await fetch_value(db, "SELECT latest_self(%(id)s)", id=entitlement.id)
    before = entitlement.same_as.id if entitlement.same_as else None
    if former and former != before:
        await _take_over(db, latest, former)
        # The console form sends all fields; empty ones must not overwrite the values just copied.
        changes = {name: value for name, value in changes.items() if value}
    if "same_as" in changes:
        await _write(db, entitlement.id, {"same_as": changes.pop("same_as")}, facts)
    await _write(db, latest, changes, facts)
    for shown in (latest, before) if before else (latest,):
        await execute(db, "SELECT show_curation(%(id)s)", id=shown)
    return await queries.get(db, entitlement.id)


async def _problems(db: Db, entitlement: EntitlementDetail, given: dict[str, Any]) -> list[Problem]:
    problems, kept = [], entitlement.former_owner
    owner = given.get("owner_id")
    if owner and not (kept and kept.id == owner) and not await is_active(db, owner):
        problems.append(Problem("ownerId", "Owner ID must be the ID of an active person"))
    if (former := given.get("same_as")) and (reason := await _cannot_join(db, entitlement, former)):
        problems.append(Problem("sameAs", reason))
    return problems


async def _cannot_join(db: Db, entitlement: EntitlementDetail, former: UUID) -> str | None:
    """Return why `former` cannot be recorded as the former name of an entitlement, or None if it can."""
    rows = await fetch_rows(
        db,
        """SELECT e.kind, e.application_id, e.is_present,
                  EXISTS (SELECT FROM former_selves(e.id) AS f WHERE f.id = %(id)s),
                  EXISTS (SELECT FROM curations c WHERE c.same_as = e.id AND c.entitlement_id <> %(id)s)
           FROM entitlements e WHERE e.id = %(former)s""",
        id=entitlement.id,
        former=former,
    )
    if not rows:
        return f"Entitlement with id {former} not found"
    [(kind, application_id, is_present, comes_back, is_taken)] = rows
    if (kind, application_id) != (entitlement.kind, entitlement.application.id):
        return f"The former entitlement must be a {entitlement.kind.lower()} of {entitlement.application.name}"
    if comes_back:
        return "The former entitlement must not be this entitlement or one of its later names"
    if is_present:
        return "The former entitlement must be one that the last import no longer shows"
    return "The former entitlement already belongs to another entitlement; choose a different one" if is_taken else None


async def _take_over(db: Db, id: UUID, former: UUID) -> None:
    """Copy curated fields from the former entitlement where they are still empty in this one."""
    # Fires the triggers note_insert and note_update in schema/audit.sql.
    await execute(
        db,
        """INSERT INTO curations AS c (entitlement_id, display_name, explanation, owner_id, risk_rating, is_privileged,
                                       tags, changed_on)
           SELECT %(id)s, display_name, explanation, owner_id, risk_rating, is_privileged, tags, changed_on
           FROM curations WHERE entitlement_id = %(former)s
           ON CONFLICT (entitlement_id) DO UPDATE SET
               display_name = coalesce(nullif(c.display_name, ''), EXCLUDED.display_name),
               explanation = coalesce(nullif(c.explanation, ''), EXCLUDED.explanation),
               owner_id = coalesce(c.owner_id, EXCLUDED.owner_id),
               risk_rating = coalesce(c.risk_rating, EXCLUDED.risk_rating),
               is_privileged = c.is_privileged OR EXCLUDED.is_privileged,
               tags = CASE WHEN c.tags = '{}' THEN EXCLUDED.tags ELSE c.tags END""",
        id=id,
        former=former,
    )


async def _write(db: Db, id: UUID, changes: dict[str, Any], facts: Facts) -> None:
    await execute(
        db,
        "INSERT INTO curations (entitlement_id, changed_on) VALUES (%(id)s, %(now)s) ON CONFLICT DO NOTHING",
        id=id,
        now=facts.now,
    )
    assigned = "".join(f"{name} = %({name})s, " for name in changes)
    # Fires note_update (schema/audit.sql). A change of same_as also fires match_same_entitlements
    # (schema/duties.sql) and recheck_requests (schema/access_requests.sql).
    await execute(
        db,
        # Stored pages depend on the latest `changed_on`, so each change must set a later time than all earlier writes.
        f"""UPDATE curations
            SET {assigned}changed_on = greatest(%(now)s, (SELECT max(changed_on) + interval '1 us' FROM curations))
            WHERE entitlement_id = %(id)s""",
        id=id,
        now=facts.now,
        **changes,
    )
