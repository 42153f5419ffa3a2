"""Count the population that was just collected for a review, as an equation: held = items + excluded."""

from collections.abc import Sequence
from uuid import UUID

import msgspec

from rolecall.core.db import Db, fetch_rows
from rolecall.reviews.model import Exclusion


class TakenApplication(msgspec.Struct, frozen=True):
    """The counts of one application: accounts, access held, items, and exclusions by reason.

    In a review of models, `application_id` is None, and `held` and `items` count models.
    """

    application_id: UUID | None
    import_number: int | None
    file_rows: int | None
    accounts: int
    held: int
    items: int
    excluded: dict[str, int]


async def equation_of(db: Db) -> list[TakenApplication]:
    """Return the counts of the population that was just collected, in the order of application names."""
    rows = await fetch_rows(
        db,
        """SELECT p.application_id, p.import_number,
                  (SELECT sum((file ->> 'read')::int)::int FROM application_imports r
                   JOIN import_runs u ON u.import_id = r.id CROSS JOIN jsonb_array_elements(u.totals) AS file
                   WHERE r.number = p.import_number),
                  (SELECT count(*)::int FROM pinned_accounts a WHERE a.application_id = p.application_id),
                  coalesce(c.held, 0), coalesce(c.items, 0), coalesce(c.excluded, '{}')
           FROM pinned_imports p JOIN applications o ON o.id = p.application_id
           LEFT JOIN (SELECT application_id, sum(rows)::int AS held,
                             coalesce(sum(rows) FILTER (WHERE excluded IS NULL), 0)::int AS items,
                             jsonb_object_agg(excluded, rows) FILTER (WHERE excluded IS NOT NULL) AS excluded
                      FROM (SELECT application_id, excluded, count(*)::int AS rows FROM pinned_holdings
                            GROUP BY 1, 2) AS by_reason GROUP BY 1) AS c ON c.application_id = p.application_id
           ORDER BY o.name_key, o.id""",
    )
    models = await fetch_rows(
        db,
        """SELECT count(*)::int, count(*) FILTER (WHERE excluded IS NULL)::int FROM pinned_holdings
           WHERE model_id IS NOT NULL""",
    )
    held, items = models[0]
    if held:
        excluded = {Exclusion.MODEL.value: held - items} if held > items else {}
        return [TakenApplication(None, None, None, 0, held, items, excluded)]
    return [TakenApplication(*row) for row in rows]


def total(taken: Sequence[TakenApplication]) -> int:
    return sum(each.items for each in taken)
