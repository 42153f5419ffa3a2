"""Record the conflicts that another check of stored requests found, and ask the owners of the rules."""

from collections.abc import Sequence
from uuid import UUID

from rolecall.access_requests.duty_changes import with_duties
from rolecall.access_requests.rechecking import ConflictVerdict
from rolecall.access_requests.requirements import people_for, response_rows, rule_owner
from rolecall.access_requests.separation import conflict_rows
from rolecall.core.db import Db, execute, fetch_rows, insert_rows


async def record_conflicts(db: Db, verdicts: Sequence[ConflictVerdict]) -> None:
    """Store what requests would create now, together with the duties that were recorded by the same rules."""
    rows = []
    for each in verdicts:
        known = {rule_id: duties for rule_id, (_, duties) in each.request.recorded.items()}
        found = [with_duties(one, known.get(one.rule_id, ())) for one in (*each.refused, *each.asked, *each.warned)]
        rows += conflict_rows(each.request.id, found)
    await execute(
        db,
        """DELETE FROM request_conflicts c USING unnest(%(ids)s::uuid[], %(rules)s::uuid[]) AS n (request_id, rule_id)
           WHERE c.request_id = n.request_id AND c.rule_id = n.rule_id""",
        ids=[row["request_id"] for row in rows],
        rules=[row["rule_id"] for row in rows],
    )
    await insert_rows(db, "request_conflicts", rows)


async def ask_rule_owners(db: Db, verdicts: Sequence[ConflictVerdict]) -> None:
    """Require the approval of the owners of the rules, in addition to what was required or given before."""
    news = [each.request.new for each in verdicts]
    people = await people_for(db, (), news, {one.owner_id for each in verdicts for one in each.asked})
    last = await fetch_rows(
        db,
        "SELECT request_id, max(rule) + 1 FROM responses WHERE request_id = ANY(%(ids)s) GROUP BY request_id",
        ids=[each.request.id for each in verdicts],
    )
    first: dict[UUID, int] = dict(last)
    rows = []
    for each in verdicts:
        own = {each.request.new.identity_id, each.request.reporter_id}
        asked = [rule_owner(one, own, people) for one in each.asked]
        rows += response_rows(each.request.id, asked, first.get(each.request.id, 0))
    await insert_rows(db, "responses", rows)
