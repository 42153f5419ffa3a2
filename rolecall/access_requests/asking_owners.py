"""Record the conflicts that a recheck of stored requests found, and ask the people who must approve them."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import msgspec

from rolecall.access_requests.duty_changes import with_duties
from rolecall.access_requests.rechecking import ConflictVerdict, StoredRequest
from rolecall.access_requests.requirements import (
    People,
    RuleReviewers,
    barred_members,
    people_for,
    response_rows,
    reviewers_of,
)
from rolecall.access_requests.separation import conflict_rows, in_conflict, people_rows
from rolecall.core.db import Db, execute, fetch_rows, insert_rows
from rolecall.duties.prevention import FoundConflict, PotentialConflict
from rolecall.settings import queries as settings
from rolecall.settings.policy import ApprovalRule, RequirementType

_Rows = list[dict[str, Any]]


async def record_conflicts(db: Db, verdicts: Sequence[ConflictVerdict]) -> None:
    """Store the conflicts that requests would create now, and ask the rule owners who must approve them.

    No owner is asked about a request that a rule blocks. Approvals that were given before remain.
    """
    names: dict[UUID, str] = dict(await fetch_rows(db, "SELECT id, name FROM duties"))
    rows = [row for each in verdicts for row in conflict_rows(each.request.id, _shown(each, names))]
    await _delete_recorded(db, rows)
    await insert_rows(db, "request_conflicts", rows)
    asking = [each for each in verdicts if each.asked and not each.refused]
    others = [each for each in verdicts if each not in asking]
    people = [row for each in others for row in people_rows(each.request.id, _with_recorded(each), ())]
    # `_ask` reads the stored rows to withdraw outdated requirements, so replace these rows afterwards.
    await _insert_people(db, people + await _ask(db, asking))


def _shown(verdict: ConflictVerdict, names: dict[UUID, str]) -> list[PotentialConflict]:
    """Return the found conflicts; add to each the duties recorded for people whom this check did not find in it."""
    return [
        with_duties(
            each.conflict,
            (
                names[duty]
                for (rule_id, person), one in verdict.request.recorded.items()
                for duty in sorted(one.duties)
                if rule_id == each.conflict.rule_id and person not in each.people and duty in names
            ),
        )
        for each in _found(verdict)
    ]


def _found(verdict: ConflictVerdict) -> list[FoundConflict]:
    return [*verdict.refused, *verdict.asked, *verdict.warned]


def _with_recorded(verdict: ConflictVerdict) -> list[FoundConflict]:
    """Return the conflicts that were found, including duties that were recorded earlier for the same people.

    Leave out recorded duties if the rule has become stricter or another owner must approve.
    """

    def known(conflict: PotentialConflict, person: UUID) -> frozenset[UUID]:
        found = verdict.request.recorded.get((conflict.rule_id, person))
        return found.duties if found and found.covers(conflict, frozenset()) else frozenset()

    return [
        msgspec.structs.replace(
            each, people={person: duties | known(each.conflict, person) for person, duties in each.people.items()}
        )
        for each in _found(verdict)
    ]


async def _delete_recorded(db: Db, rows: _Rows) -> None:
    await execute(
        db,
        """DELETE FROM request_conflicts c USING unnest(%(ids)s::uuid[], %(rules)s::uuid[]) AS n (request_id, rule_id)
           WHERE c.request_id = n.request_id AND c.rule_id = n.rule_id""",
        ids=[row["request_id"] for row in rows],
        rules=[row["rule_id"] for row in rows],
    )


async def _insert_people(db: Db, rows: _Rows) -> None:
    """Store who would be in conflict, replacing what was stored for these people."""
    await execute(
        db,
        """DELETE FROM request_conflict_people p
           USING unnest(%(ids)s::uuid[], %(rules)s::uuid[], %(people)s::uuid[]) AS n (request_id, rule_id, identity_id)
           WHERE (p.request_id, p.rule_id, p.identity_id) = (n.request_id, n.rule_id, n.identity_id)""",
        ids=[row["request_id"] for row in rows],
        rules=[row["rule_id"] for row in rows],
        people=[row["identity_id"] for row in rows],
    )
    await insert_rows(db, "request_conflict_people", rows)


async def _ask(db: Db, verdicts: Sequence[ConflictVerdict]) -> _Rows:
    """Require the additional approvals that the conflicts need, and withdraw outdated ones.

    Return the rows for `request_conflict_people`.
    """
    if not verdicts:
        return []
    policy = (await settings.get(db)).approval_policy
    news = [each.request.new for each in verdicts]
    people = await people_for(db, policy, news, {one.conflict.owner_id for each in verdicts for one in each.asked})
    ids = [each.request.id for each in verdicts]
    # Read the last number of a requirement before requirements are withdrawn, so that no number is used again.
    last = await fetch_rows(
        db,
        """SELECT request_id, max(rule) + 1, coalesce(
                      array_agg(ARRAY[reason, reviewer_id::text]) FILTER (WHERE type = 'Approve'), '{}')
           FROM responses WHERE request_id = ANY(%(ids)s) GROUP BY request_id""",
        ids=ids,
    )
    await _withdraw(db, verdicts)
    required = {id: (first, known) for id, first, known in last}
    barred = await barred_members(db, news, [each.request.reporter_id for each in verdicts])
    responses, rows = list[dict[str, Any]](), list[dict[str, Any]]()
    for each, members in zip(verdicts, barred, strict=True):
        first, known = required[each.request.id]
        # The owner of a duty rule is asked again, because an earlier approval does not cover the new conflicts.
        asked = [
            rule for rule in _rules_of(policy, each, people, members) if rule.duty_rule_id or not _is_asked(rule, known)
        ]
        responses += response_rows(each.request.id, asked, first)
        rows += people_rows(each.request.id, _with_recorded(each), asked, first)
    await insert_rows(db, "responses", responses)
    return rows


def _is_asked(rule: RuleReviewers, known: Sequence[Sequence[str]]) -> bool:
    """Return whether a reviewer of this rule was already asked for the same reason.

    The reason alone does not identify the rule, because rules may share a reason.
    """
    return any([rule.reason, str(reviewer.id)] in known for reviewer in rule.reviewers)


def _rules_of(
    policy: Sequence[ApprovalRule], verdict: ConflictVerdict, people: People, members: Sequence[UUID]
) -> list[RuleReviewers]:
    """Return the approvals that a request needs only because of its conflicts.

    These are the approvals of the rules' owners, and those that the policy requires because conflicts raise the risk.
    """

    def needed(request: StoredRequest, conflicts: Sequence[PotentialConflict]) -> list[RuleReviewers]:
        return reviewers_of(policy, request.new, request.reporter_id, people, conflicts, affected, members)

    # People in earlier conflicts must not decide either, as in `affected_people` (schema/access_requests.sql).
    affected = in_conflict(_found(verdict)) | {person for _, person in verdict.request.recorded}
    before = needed(verdict.request, ())
    after = needed(verdict.request, [each.conflict for each in verdict.asked])
    return [rule for rule in after if rule.type is RequirementType.APPROVE and rule not in before]


async def _withdraw(db: Db, verdicts: Sequence[ConflictVerdict]) -> None:
    """Delete the unanswered requirements that these conflicts caused, because the conflicts have changed."""
    await execute(
        db,
        """DELETE FROM responses r WHERE (r.request_id, r.rule) IN (
               SELECT p.request_id, p.requirement FROM request_conflict_people p
               JOIN unnest(%(ids)s::uuid[], %(rules)s::uuid[]) AS n (request_id, rule_id) USING (request_id, rule_id))
             AND NOT EXISTS (SELECT FROM responses a WHERE a.request_id = r.request_id AND a.rule = r.rule
                                                       AND a.response <> 'Pending')""",
        ids=[each.request.id for each in verdicts for _ in each.asked],
        rules=[one.conflict.rule_id for each in verdicts for one in each.asked],
    )
