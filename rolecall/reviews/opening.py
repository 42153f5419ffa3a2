"""Preview or open a review: collect the population, find reviewers and facts and, to open it, store the items."""

from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from rolecall.access_requests.requirements import ADMINISTRATORS
from rolecall.core.db import Db, execute, fetch_rows, insert_rows
from rolecall.core.errors import Conflict
from rolecall.core.ids import new_id
from rolecall.reviews import digests, population, reason_lists, reviewers
from rolecall.reviews.changes import record_opening
from rolecall.reviews.equation import TakenApplication, equation_of, total
from rolecall.reviews.facts import find_facts
from rolecall.reviews.model import SAMPLE, Explained, ItemSubject, ReviewStage, ReviewType, StageReviewer
from rolecall.reviews.population import Taking
from rolecall.reviews.shapes import (
    NamedReference,
    PreviewCount,
    ReviewDetail,
    ReviewPopulation,
    ReviewPreview,
    StaleSource,
)

# Report the data of an application as stale if it is older than this.
_STALE_AFTER = timedelta(days=30)
_EMPTY = "The population is empty: {}. Widen the scope, or import the applications' data first"


class TakenItems(msgspec.Struct, frozen=True):
    equation: list[TakenApplication]
    digest: str


async def take_items(db: Db, review: ReviewDetail, now: datetime, *, is_collected: bool = False) -> TakenItems:
    """Collect the population, and find reviewers and facts; return the counts and the digest of the population.

    Raise Conflict if the population is empty.
    """
    what = Taking(type=review.type, scope=review.scope, moment=now, is_collected=is_collected)
    await population.take(db, what)
    equation = await equation_of(db)
    if not total(equation):
        raise Conflict(_EMPTY.format(_why_empty(equation)))
    digest = await digests.taken_digest(db, what.subject)
    await reviewers.create_tables(db)
    await _list_candidates(db, review, what)
    await reviewers.assign(db, review.stages[0], review.fallback, now)
    if review.explained is Explained.BY_MODEL and what.subject is ItemSubject.ACCESS:
        await _group_by_model(db, review, now)
    await find_facts(db, review.id, what.subject, now)
    return TakenItems(equation, digest)


async def require_sources(db: Db, review: ReviewDetail) -> None:
    """Refuse to open a review whose scope lists an application that is archived or has no finished import."""
    rows = await fetch_rows(
        db,
        """SELECT a.name, a.is_archived FROM applications a
           WHERE a.id = ANY(%(ids)s) AND (a.is_archived OR NOT EXISTS (
               SELECT FROM application_imports r WHERE r.application_id = a.id AND r.status = 'Finished'))
           ORDER BY a.name_key""",
        ids=review.scope.application_ids,
    )
    missing = [f"{name} {'is archived' if is_archived else 'has no finished import'}" for name, is_archived in rows]
    if missing:
        raise Conflict(f"{'; '.join(missing)}. Remove these applications from the scope, or import their data")


def _why_empty(equation: list[TakenApplication]) -> str:
    if not equation:
        return "no application in scope has a finished import"
    reasons: dict[str, int] = {}
    for each in equation:
        for reason, count in each.excluded.items():
            reasons[reason] = reasons.get(reason, 0) + count
    return (
        ", ".join(f"{count} × {reason.lower()}" for reason, count in sorted(reasons.items()))
        or "the scope contains no access"
    )


# Ids ascend in the order of the items, so that the index grows only at its end. An id consists of a time prefix, the
# position of the item and random digits.
_PLACE = "lpad(to_hex(row_number() OVER w), 8, '0')"
_ORDERED_ID = f"""(%(prefix)s || left({_PLACE}, 3) || '-8' || substr({_PLACE}, 4, 3) || '-' || right({_PLACE}, 2)
            || right(gen_random_uuid()::text, 10))::uuid"""
# Order items by person, application, account, risk and name; accounts without a person come last.
_LIST = f"""
    INSERT INTO candidate_items
    SELECT row_number() OVER w, {_ORDERED_ID},
           %(subject)s, c.application_id, a.number, g.number, c.entitlement_id, c.model_id, c.identity_id, c.access,
           c.since_import, c.request_ids, c.model_ids, CASE WHEN %(by_model)s THEN c.model_ids[1] END, {{named}}, NULL
    FROM (SELECT h.*, coalesce(q.ids, '{{}}') AS request_ids, coalesce(x.ids, '{{}}') AS model_ids
          FROM pinned_holdings h
          LEFT JOIN pinned_requests q ON q.holder = h.holder AND q.entitlement_id = h.entitlement_id
          LEFT JOIN pinned_models x ON x.holder = h.holder AND x.entitlement_id = h.entitlement_id
          WHERE h.excluded IS NULL) AS c
    LEFT JOIN accounts a ON a.number = c.holder LEFT JOIN groups g ON g.number = c.holder {reviewers.PEOPLE_OF}
    WINDOW w AS (ORDER BY i.list_key NULLS LAST, o.list_key, coalesce(a.username, g.name), c.holder,
                 risk_rank(e.risk_rating) DESC, e.name_key, m.name_key)"""


async def _list_candidates(db: Db, review: ReviewDetail, what: Taking) -> None:
    first = review.stages[0]
    await execute(
        db,
        _LIST.replace("{named}", reviewers.NAMED_BY[first.reviewer]),
        subject=what.subject,
        identity=first.identity_id,
        by_model=review.explained is Explained.BY_MODEL,
        prefix=str(new_id())[:15],
    )


async def _group_by_model(db: Db, review: ReviewDetail, now: datetime) -> None:
    """Add an item for each model that explains access; its reviewer decides about the model and that access."""
    await execute(
        db, "DELETE FROM assigned_items a USING candidate_items c WHERE c.place = a.place AND c.under_model IS NOT NULL"
    )
    # `assign` handles all candidate items, so set the other items aside while the models get reviewers.
    await execute(db, "ALTER TABLE candidate_items RENAME TO grouped_items")
    await execute(db, reviewers.CANDIDATES)
    await execute(
        db,
        """INSERT INTO candidate_items
           SELECT g.last + row_number() OVER (ORDER BY m.name_key, m.id), gen_random_uuid(), 'Model', NULL, NULL, NULL,
                  NULL, m.id, NULL, 'Grant', NULL, '{}', '{}', NULL, (m.definition ->> 'ownerId')::uuid, NULL
           FROM access_models m CROSS JOIN (SELECT max(place) AS last FROM grouped_items) AS g
           WHERE m.id IN (SELECT under_model FROM grouped_items)""",
    )
    await reviewers.assign(db, ReviewStage(StageReviewer.MODEL_OWNER), review.fallback, now)
    await execute(db, "INSERT INTO candidate_items SELECT * FROM grouped_items")
    await execute(db, "DROP TABLE grouped_items")
    # The items below a model item have the reviewer of the model item.
    await execute(
        db,
        """INSERT INTO assigned_items
           SELECT c.place, coalesce(a.reviewer_id, m.first_id),
                  'The model ' || w.name || ' explains the access; this reviewer decides about the model'
           FROM candidate_items c JOIN candidate_items m ON m.subject = 'Model' AND m.model_id = c.under_model
           JOIN access_models w ON w.id = m.model_id LEFT JOIN assigned_items a ON a.place = m.place""",
    )


# Fires the trigger keep_list_on_insert in schema/core.sql.
_STORE = """
    INSERT INTO review_items (id, review_id, status, subject, application_id, account_number, group_number,
        entitlement_id, model_id, identity_id, access, since_import, request_ids, model_ids, under_id, facts,
        recommendation, peers, peers_holding, previous_id, reviewer_id, moved, is_carried, decision, comment,
        decided_on, decided_by, list_key)
    SELECT c.item_id, %(review)s, CASE WHEN carried.is_carried THEN 'Approved' ELSE 'Pending' END, c.subject,
           c.application_id, c.account_number, c.group_number, c.entitlement_id, c.model_id, c.identity_id, c.access,
           c.since_import, c.request_ids, c.model_ids, m.item_id, f.facts, f.recommendation, f.peers, f.peers_holding,
           f.previous_id, coalesce(a.reviewer_id, c.first_id), coalesce(a.moved, ''), carried.is_carried,
           CASE WHEN carried.is_carried THEN 'Keep' END,
           CASE WHEN carried.is_carried THEN 'Carried over: unchanged, explained and kept by hand before' ELSE '' END,
           CASE WHEN carried.is_carried THEN %(now)s::timestamptz END,
           CASE WHEN carried.is_carried THEN %(system)s::uuid END,
           lpad(%(number)s::text, 8, '0') || lpad(c.place::text, 9, '0')
    FROM candidate_items c JOIN item_facts f ON f.place = c.place
    LEFT JOIN assigned_items a ON a.place = c.place
    LEFT JOIN candidate_items m ON m.subject = 'Model' AND m.model_id = c.under_model
    CROSS JOIN LATERAL (SELECT %(carry)s AND f.can_carry AS is_carried) AS carried
    ORDER BY c.place"""


async def store_items(db: Db, review: ReviewDetail, taken: TakenItems, now: datetime) -> None:
    """Store the items, their counts per application, and what the scope excluded."""
    await execute(
        db,
        _STORE,
        review=review.id,
        number=review.number,
        carry=review.explained is Explained.CARRY_OVER,
        now=now,
        system=UUID(int=0),
    )
    await _draw_sample(db, review.id)
    await reason_lists.list_or_queue(db, review.id, total(taken.equation))
    await record_opening(db, review.id, now)
    await execute(
        db,
        # A record may be excluded for several reasons; `review_scopes` has one row for each record.
        "INSERT INTO review_scopes SELECT %(id)s, kind, id, min(reason) FROM out_of_scope GROUP BY kind, id",
        id=review.id,
    )
    rows = [
        {"review_id": review.id, "position": position, **msgspec.structs.asdict(each)}
        for position, each in enumerate(taken.equation)
    ]
    await insert_rows(db, "review_populations", rows)


async def _draw_sample(db: Db, review_id: UUID) -> None:
    """Choose a random share of the carried-over items of each reviewer, at least one, to be decided by hand."""
    # Fires the triggers show_review_items and keep_item_reasons in schema/reviews.sql.
    await execute(
        db,
        """WITH drawn AS (
               SELECT id, row_number() OVER (PARTITION BY reviewer_id ORDER BY random()) AS place,
                      count(*) OVER (PARTITION BY reviewer_id) AS carried
               FROM review_items WHERE review_id = %(id)s AND is_carried)
           UPDATE review_items i SET is_sample = true, is_carried = false, status = 'Pending', decision = NULL,
                                     comment = '', decided_on = NULL, decided_by = NULL
           FROM drawn d WHERE d.id = i.id AND d.place <= greatest(1, ceil(d.carried * %(share)s))""",
        id=review_id,
        share=SAMPLE,
    )


async def preview(db: Db, review: ReviewDetail, now: datetime) -> ReviewPreview:
    taken = await take_items(db, review, now)
    named = await _counts(
        db,
        """SELECT coalesce(i.first_name || ' ' || i.last_name, %(administrators)s), count(*)
           FROM candidate_items c LEFT JOIN assigned_items a ON a.place = c.place
           LEFT JOIN identities i ON i.id = coalesce(a.reviewer_id, c.first_id)
           GROUP BY i.id, 1 ORDER BY 2 DESC, 1""",
        administrators=ADMINISTRATORS.name,
    )
    reasons = await _counts(
        db, "SELECT fact, count(*) FROM item_facts CROSS JOIN unnest(facts) AS fact GROUP BY 1 ORDER BY 2 DESC, 1"
    )
    moved = await _counts(db, "SELECT moved, count(*) FROM assigned_items GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 100")
    without = await fetch_rows(
        db, "SELECT count(*) FROM assigned_items WHERE reviewer_id = %(id)s", id=ADMINISTRATORS.id
    )
    return ReviewPreview(
        total(taken.equation),
        taken.digest,
        await shown_equation(db, taken.equation),
        named,
        reasons,
        moved,
        await _stale_sources(db, review, now),
        without[0][0],
    )


async def _counts(db: Db, sql: str, **params: object) -> list[PreviewCount]:
    return [PreviewCount(name, count) for name, count in await fetch_rows(db, sql, **params)]


async def shown_equation(db: Db, equation: list[TakenApplication]) -> list[ReviewPopulation]:
    rows = await fetch_rows(
        db,
        "SELECT id, name FROM applications WHERE id = ANY(%(ids)s)",
        ids=[each.application_id for each in equation if each.application_id],
    )
    names: dict[UUID, str] = dict(rows)
    return [
        ReviewPopulation(
            NamedReference(each.application_id, names[each.application_id]) if each.application_id else None,
            each.import_number,
            each.file_rows,
            each.accounts,
            each.held,
            each.items,
            each.excluded,
        )
        for each in equation
    ]


async def _stale_sources(db: Db, review: ReviewDetail, now: datetime) -> list[StaleSource]:
    """Return the applications in scope, except identity sources, that have no data or whose last import is old."""
    if review.type is ReviewType.MODEL:
        return []
    rows = await fetch_rows(
        db,
        """SELECT a.id, a.name, last.number, last.build_end FROM applications a
           LEFT JOIN LATERAL (SELECT r.number, r.build_end FROM application_imports r
                              WHERE r.application_id = a.id AND r.status = 'Finished'
                              ORDER BY r.number DESC LIMIT 1) AS last ON true
           WHERE NOT a.is_archived AND NOT a.is_identity_source
             AND (cardinality(%(ids)s::uuid[]) = 0 OR a.id = ANY(%(ids)s))
             AND (last.build_end IS NULL OR last.build_end < %(oldest)s) ORDER BY a.name_key, a.id""",
        ids=review.scope.application_ids,
        oldest=now - _STALE_AFTER,
    )
    return [StaleSource(NamedReference(id, name), number, end) for id, name, number, end in rows]
