"""Decide about items, one or several at once, and withdraw decisions.

Items *below* a model item (`under_id`) are about access that the model explains, and get the decision about the model.
"""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec
from psycopg.types.json import Jsonb

from rolecall.access_models.model import RANK
from rolecall.accounts.model import Access
from rolecall.core.caller import Caller
from rolecall.core.checking import Facts, Json, check
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.core.errors import Conflict, Invalid
from rolecall.core.ids import new_id
from rolecall.core.text import is_blank
from rolecall.entitlements.model import EntitlementKind
from rolecall.identities.queries import with_mentioned_identities
from rolecall.reviews import item_queries, moving, permitted, queries
from rolecall.reviews.bodies import DecideBody, DecideSeveralBody, UndoBody, require_known_filters
from rolecall.reviews.item_queries import BulkFilters
from rolecall.reviews.model import DECIDED, KEPT, LEFT_TO_DECIDE, Decision, ItemSubject, ReviewItemStatus
from rolecall.reviews.permitted import ActingFor
from rolecall.reviews.shapes import BulkDecision, BulkOutcome, ReviewItemDetail

_AGAINST = "A comment is required, because the recommendation is {}"


class DecisionMade(msgspec.Struct, frozen=True, kw_only=True):
    review_id: UUID
    reviewer_id: UUID
    decision: Decision
    until: datetime | None
    new_access: Access | None
    comment: str
    bulk_id: UUID | None = None


async def decide(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> ReviewItemDetail:
    """Decide about one item. The decision can be changed until the reviewer submits.

    Not Mine and Unsure give the item to another reviewer at once.
    """
    await moving.lock_open(db, await item_queries.review_of(db, id))
    item = await item_queries.get_item(db, id, lock=True)
    body = check(DecideBody, raw, await _with_people(db, facts, raw))
    is_passed = body.decision in (Decision.NOT_MINE, Decision.UNSURE)
    acting = await _acting(db, caller, item, body.reviewer_id, facts.now)
    # A reviewer who must not decide the item can pass it on, but cannot choose the next reviewer.
    if not is_passed or body.identity_id:
        await permitted.require_independent(db, [item.id], acting.people)
    if is_passed:
        await moving.pass_on(db, caller, item, body, facts.now)
        return await item_queries.get_item(db, item.id)
    await _require_read(db, caller, item, body)
    _require_fitting(item, body)
    if item.subject is ItemSubject.MODEL:
        await _require_fitting_model(db, item, body)
    decided = DecisionMade(
        review_id=item.review_id,
        reviewer_id=acting.reviewer_id,
        decision=body.decision,
        until=body.until,
        new_access=body.access,
        comment=body.comment,
    )
    await store(db, caller, decided, [item.id], facts.now)
    if item.subject is ItemSubject.MODEL:
        # Before deciding the items below the model, release those that these people must not decide.
        await moving.release_obstructed(db, caller, item.review_id, acting.people, facts.now, item.id)
        await _decide_below(db, caller, decided, item, facts.now)
    return await item_queries.get_item(db, item.id)


async def _with_people(db: Db, facts: Facts, raw: Json) -> Facts:
    return permitted.with_administrators(await with_mentioned_identities(db, facts, raw))


async def _acting(db: Db, caller: Caller, item: ReviewItemDetail, given: UUID | None, now: datetime) -> ActingFor:
    """Return for whom the caller decides. Refuse if they do not review the item, or if it cannot be decided."""
    # Stand-ins and administrators need not give the reviewer, because each item has only one.
    if caller.is_person and given is None and await permitted.may_act_for(db, caller, item.reviewer.id):
        given = item.reviewer.id
    acting = await permitted.acting_for(db, caller, given, now)
    if item.reviewer.id != acting.reviewer_id:
        raise Conflict(f"{item.reviewer.name} reviews this item. Ask them to pass it on, or reassign it")
    if item.is_submitted:
        raise Conflict("The decision was submitted and can no longer be changed")
    if item.status not in LEFT_TO_DECIDE:
        raise Conflict(f"This item is {item.status} and can no longer be decided")
    await moving.require_not_below(db, item.id)
    return acting


async def _require_read(db: Db, caller: Caller, item: ReviewItemDetail, body: DecideBody) -> None:
    """Refuse to decide about a sample until its details have been opened; with a token, require a comment instead."""
    if not item.is_sample:
        return
    if caller.is_person and not await fetch_value(
        db, "SELECT read_on IS NOT NULL FROM review_items WHERE id = %(id)s", id=item.id
    ):
        raise Conflict("This item is a sample: open its details before you decide")
    if not caller.is_person and is_blank(body.comment):
        raise Invalid.on("comment", "A comment is required for a sample: say what the reviewer looked at")


def _require_fitting(item: ReviewItemDetail, body: DecideBody) -> None:
    """Refuse a Change unless it lowers the access to a permission.

    Also require a comment for a decision against the recommendation.
    """
    if body.decision is Decision.CHANGE and body.access is not None:
        if item.entitlement is None or item.entitlement.kind != EntitlementKind.PERMISSION:
            raise Invalid.on("decision", "Only the access to a permission can be changed; keep or revoke this item")
        if RANK[body.access] == 0 or RANK[body.access] >= RANK[item.access]:
            raise Invalid.on(
                "access", f"Access must be lower than {item.access} but not None; to remove the access, decide Revoke"
            )
    verdict = item.recommendation.verdict
    if is_blank(body.comment) and verdict and _is_against(body.decision, verdict):
        raise Invalid.on("comment", _AGAINST.format(verdict))


async def _require_fitting_model(db: Db, item: ReviewItemDetail, body: DecideBody) -> None:
    """Refuse Keep Until for a model without items below it.

    Also require a comment for a decision against the recommendation of an item below the model.
    """
    against = Decision.REVOKE if body.decision in KEPT else Decision.KEEP
    [(below, opposed)] = await fetch_rows(
        db,
        """SELECT count(*), count(*) FILTER (WHERE recommendation = %(against)s) FROM review_items
           WHERE under_id = %(id)s AND submission_id IS NULL AND status = ANY(%(left)s)""",
        id=item.id,
        against=against,
        left=list(LEFT_TO_DECIDE),
    )
    if body.decision is Decision.KEEP_UNTIL and not below:
        raise Invalid.on("decision", "A model cannot be kept until a date. Keep it, or revoke it and change the model")
    if opposed and is_blank(body.comment):
        raise Invalid.on(
            "comment", f"{_AGAINST.format(against)} for {opposed:,} of the items that are decided with the model"
        )


def _is_against(decision: Decision, verdict: Decision) -> bool:
    return (verdict is Decision.REVOKE and decision in KEPT) or (
        verdict is Decision.KEEP and decision is Decision.REVOKE
    )


async def store(db: Db, caller: Caller, decided: DecisionMade, ids: Sequence[UUID], now: datetime) -> int:
    """Write a decision to items and to their history; return how many items were decided."""
    values = {
        "status": DECIDED[decided.decision],
        "decision": decided.decision,
        "until": decided.until,
        "access": decided.new_access,
        "comment": decided.comment,
        "now": now,
        "caller": caller.id,
        "name": caller.name,
        "bulk": decided.bulk_id,
    }
    # Fires the triggers show_review_items and keep_item_reasons in schema/reviews.sql.
    return await execute(
        db,
        """WITH changed AS (
               UPDATE review_items SET status = %(status)s, decision = %(decision)s, until = %(until)s,
                      new_access = %(access)s, comment = %(comment)s, decided_on = %(now)s, decided_by = %(caller)s,
                      bulk_id = %(bulk)s, is_carried = false
               WHERE id = ANY(%(ids)s) AND status = ANY(%(left)s) AND submission_id IS NULL
               RETURNING review_id, id, stage, reviewer_id, list_key)
           INSERT INTO review_decisions (review_id, item_id, stage, reviewer_id, decision, until, new_access, comment,
                                         decided_by, decided_by_name, decided_on, bulk_id)
           SELECT review_id, id, stage, reviewer_id, %(decision)s, %(until)s, %(access)s, %(comment)s, %(caller)s,
                  %(name)s, %(now)s, %(bulk)s FROM changed ORDER BY list_key""",
        ids=list(ids),
        left=list(LEFT_TO_DECIDE),
        **values,
    )


async def _decide_below(db: Db, caller: Caller, decided: DecisionMade, item: ReviewItemDetail, now: datetime) -> None:
    """Apply the decision about a model to the items below it, as one bulk decision."""
    rows = await fetch_rows(
        db,
        "SELECT id FROM review_items WHERE under_id = %(id)s AND submission_id IS NULL AND status = ANY(%(left)s)",
        id=item.id,
        left=list(LEFT_TO_DECIDE),
    )
    ids = [id for (id,) in rows]
    if ids:
        await _store_bulk(db, caller, decided, ids, {"modelItem": item.number}, now)


async def _store_bulk(
    db: Db, caller: Caller, decided: DecisionMade, ids: Sequence[UUID], selection: Json, now: datetime
) -> tuple[UUID, str]:
    """Write one decision to many items, with one audit entry.

    Return the id of the bulk decision and a digest of the item ids.
    """
    digest = hashlib.sha256("\n".join(sorted(str(id) for id in ids)).encode()).hexdigest()
    bulk_id = new_id()
    await execute(
        db,
        """INSERT INTO review_bulks (id, review_id, reviewer_id, selection, decision, until, comment, item_count,
                                     digest, decided_by, decided_by_name, decided_on)
           VALUES (%(id)s, %(review)s, %(reviewer)s, %(selection)s, %(decision)s, %(until)s, %(comment)s, %(count)s,
                   %(digest)s, %(caller)s, %(name)s, %(now)s)""",
        id=bulk_id,
        review=decided.review_id,
        reviewer=decided.reviewer_id,
        selection=Jsonb(selection),
        decision=decided.decision,
        until=decided.until,
        comment=decided.comment,
        count=len(ids),
        digest=digest,
        caller=caller.id,
        name=caller.name,
        now=now,
    )
    await store(db, caller, msgspec.structs.replace(decided, bulk_id=bulk_id), ids, now)
    return bulk_id, digest


async def undo_decision(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> ReviewItemDetail:
    """Withdraw a decision that is not submitted yet, so that the item is pending again."""
    await moving.lock_open(db, await item_queries.review_of(db, id))
    item = await item_queries.get_item(db, id, lock=True)
    body = check(UndoBody, raw, await _with_people(db, facts, raw))
    acting = await _acting(db, caller, item, body.reviewer_id, facts.now)
    await permitted.require_independent(db, [item.id], acting.people)
    if item.status is ReviewItemStatus.PENDING:
        raise Conflict("The item has no decision to withdraw")
    await _withdraw(db, caller, [item.id], acting.reviewer_id, facts.now)
    return await item_queries.get_item(db, item.id)


async def undo_together(db: Db, caller: Caller, id: str, facts: Facts) -> int:
    """Withdraw a decision and all others of the same bulk decision.

    Return how many decisions were withdrawn, not counting items below a model item.
    """
    await moving.lock_open(db, await item_queries.review_of(db, id))
    # Lock the items in the same order as a bulk decision does, to avoid deadlocks.
    await execute(
        db,
        """SELECT FROM review_items c WHERE c.id IN (
               SELECT o.id FROM review_items i JOIN review_items o ON o.review_id = i.review_id
                    AND o.reviewer_id = i.reviewer_id AND (o.id = i.id OR o.bulk_id = i.bulk_id)
               WHERE i.id = %(id)s)
           ORDER BY c.list_key FOR UPDATE""",
        id=id,
    )
    item = await undo_decision(db, caller, id, {}, facts)
    # Read the bulk decision from the history, because the item no longer refers to it.
    bulk_id = await fetch_value(
        db,
        """SELECT bulk_id FROM review_decisions WHERE item_id = %(id)s AND decision IS NOT NULL
           ORDER BY number DESC LIMIT 1""",
        id=item.id,
    )
    rows = await fetch_rows(
        db,
        """SELECT id FROM review_items WHERE review_id = %(review)s AND bulk_id = %(bulk)s AND decided_by = %(me)s
             AND reviewer_id = %(reviewer)s AND submission_id IS NULL ORDER BY list_key FOR UPDATE""",
        review=item.review_id,
        bulk=bulk_id,
        me=caller.id,
        reviewer=item.reviewer.id,
    )
    ids = [other for (other,) in rows]
    acting = await permitted.acting_for(db, caller, item.reviewer.id, facts.now)
    await permitted.require_independent(db, ids, acting.people)
    return 1 + (await _withdraw(db, caller, ids, acting.reviewer_id, facts.now) if ids else 0)


async def _withdraw(db: Db, caller: Caller, ids: Sequence[UUID], reviewer_id: UUID, now: datetime) -> int:
    """Make decided items pending again, and also the items below model items; return how many changed.

    Submitted items stay unchanged.
    """
    below = await fetch_rows(db, "SELECT id FROM review_items WHERE under_id = ANY(%(ids)s)", ids=list(ids))
    # Fires the triggers show_review_items and keep_item_reasons in schema/reviews.sql.
    return await execute(
        db,
        """WITH changed AS (
               UPDATE review_items SET status = 'Pending', decision = NULL, until = NULL, new_access = NULL,
                      comment = '', decided_on = NULL, decided_by = NULL, bulk_id = NULL, is_carried = false
               WHERE id = ANY(%(ids)s) AND submission_id IS NULL AND status IN ('Approved', 'Flagged')
               RETURNING review_id, id, stage)
           INSERT INTO review_decisions (review_id, item_id, stage, reviewer_id, decision, comment, decided_by,
                                         decided_by_name, decided_on)
           SELECT review_id, id, stage, %(reviewer)s, NULL, '', %(caller)s, %(name)s, %(now)s FROM changed""",
        ids=[*ids, *(id for (id,) in below)],
        reviewer=reviewer_id,
        caller=caller.id,
        name=caller.name,
        now=now,
    )


async def decide_several(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> BulkDecision:
    """Decide about several items of one reviewer.

    Items that cannot be decided are left unchanged and counted by reason.
    """
    review_id = await queries.get_id(db, id)
    await moving.lock_open(db, review_id)
    require_known_filters(raw)
    body = check(DecideSeveralBody, raw, await _with_people(db, facts, raw))
    if (body.item_ids is None) == (body.filters is None):
        raise Invalid.on("itemIds", "Either item IDs or filters are required, not both")
    if body.decision in (Decision.NOT_MINE, Decision.UNSURE, Decision.CHANGE):
        raise Invalid.on(
            "decision", "Decide several items with Keep, Keep Until or Revoke; make other decisions one by one"
        )
    acting = await permitted.acting_for(db, caller, body.reviewer_id, facts.now)
    decided = DecisionMade(
        review_id=review_id,
        reviewer_id=acting.reviewer_id,
        decision=body.decision,
        until=body.until,
        new_access=None,
        comment=body.comment,
    )
    found = await _selected(db, acting.people, decided, body)
    ids = [item_id for item_id, why in found if why is None]
    counts = dict[str, int]()
    for _, why in found:
        counts[why or "Decided"] = counts.get(why or "Decided", 0) + 1
    outcomes = [BulkOutcome(reason, count) for reason, count in sorted(counts.items())]
    if not ids:
        return BulkDecision(None, 0, "", outcomes)
    bulk_id, digest = await _store_bulk(db, caller, decided, ids, _selection(body), facts.now)
    return BulkDecision(bulk_id, len(ids), digest, outcomes)


def _selection(body: DecideSeveralBody) -> Json:
    """Return the filters, or the number of selected items, for the audit log and the evidence."""
    if body.item_ids is not None:
        return {"itemIds": len(body.item_ids)}
    assert body.filters
    return body.filters.model_dump(mode="json", by_alias=True, exclude_none=True)


NEEDS_COMMENT = "A comment is required to decide against the recommendation"
_WHY_NOT = f"""CASE
    WHEN c.reviewer_id <> %(reviewer)s THEN 'Reviewed by another person'
    WHEN c.submission_id IS NOT NULL THEN 'Submitted already'
    WHEN c.status <> ALL(%(left)s) THEN c.status
    WHEN c.under_id IS NOT NULL THEN 'Decided with its model'
    WHEN c.subject = 'Model' THEN 'Models are decided one by one'
    WHEN c.is_sample THEN 'Samples of carried-over items are decided one by one'
    WHEN %(is_bare)s AND c.recommendation = %(against)s THEN '{NEEDS_COMMENT}'
    ELSE {permitted.OBSTACLE} END"""


async def _selected(
    db: Db, people: Sequence[UUID], decided: DecisionMade, body: DecideSeveralBody
) -> list[tuple[UUID, str | None]]:
    """Lock the selected items in order; return for each the reason why it cannot be decided, or None."""
    against = Decision.REVOKE if decided.decision in KEPT else Decision.KEEP
    if body.item_ids is not None:
        condition, given = " AND c.id = ANY(%(ids)s)", {"ids": body.item_ids}
    else:
        assert body.filters
        filters = BulkFilters(**body.filters.model_dump(), reviewer_id=decided.reviewer_id)
        condition, given = filters.conditions(), filters.given()
        if filters.status is None:
            condition += " AND c.status = 'Pending'"
    rows = await fetch_rows(
        db,
        f"""SELECT c.id, {_WHY_NOT} FROM review_items c WHERE c.review_id = %(review)s{condition}
            ORDER BY c.list_key FOR UPDATE OF c""",
        review=decided.review_id,
        reviewer=decided.reviewer_id,
        people=list(people),
        left=list(LEFT_TO_DECIDE),
        is_bare=is_blank(decided.comment),
        against=against,
        **given,
    )
    return [(id, why) for id, why in rows]


async def mark_opened(db: Db, item_id: UUID, now: datetime) -> None:
    """Record when the details of an item were first opened.

    The calling code must check that the reviewer, or a stand-in of the reviewer, opened them.
    """
    # Fires the triggers show_review_items and keep_item_reasons in schema/reviews.sql.
    await execute(
        db,
        "UPDATE review_items SET read_on = %(now)s WHERE id = %(id)s AND read_on IS NULL",
        id=item_id,
        now=now,
    )
