"""Count the holders of entitlements, now or in the past, and store the counts.

Current counts are valid until the next import or matching. Past counts are valid until a match or a curation changes.
"""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from rolecall.accounts.moments import MATCHES_THEN
from rolecall.core import clock
from rolecall.core.computed_lists import fetch_computed
from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.entitlements.shapes import HolderCounts
from rolecall.settings.policy import Level

# The last finished import of each application at a given moment.
LAST_IMPORTS = """(SELECT r.application_id, max(r.number)::int AS number FROM application_imports r
            WHERE r.status = 'Finished' AND r.build_end <= %(moment)s GROUP BY 1)"""
# A digest that identifies the last imports. A time would not identify them: imports may be committed out of order.
STATE_OF_IMPORTS = f"SELECT md5(string_agg(last.number::text, ' ' ORDER BY last.number)) FROM {LAST_IMPORTS} AS last"
# The state that holder counts depend on: the last import and the number of matchings of the application.
_STATE = """SELECT e.id, coalesce(t.import_number, 0) AS import_number, coalesce(m.number, 0) AS matching
            FROM entitlements e LEFT JOIN application_totals t ON t.application_id = e.application_id
            LEFT JOIN matchings m ON m.application_id = e.application_id WHERE e.id = ANY(%(ids)s)"""


# The holder counts of each entitlement, with the import and the matching that they are computed from.
_COUNTED = f"""SELECT s.id, s.import_number, s.matching, counted.accounts, counted.identities FROM ({_STATE}) AS s
    CROSS JOIN LATERAL (
        SELECT count(DISTINCT h.account) AS accounts, count(DISTINCT o.identity_id) AS identities
        FROM holdings_of(s.id, now_import()) AS h JOIN accounts o ON o.number = h.account
    ) AS counted"""
_KEEP = f"""INSERT INTO holder_counts (entitlement_id, import_number, matching, accounts, identities) {_COUNTED}
    ON CONFLICT (entitlement_id) DO UPDATE SET import_number = EXCLUDED.import_number,
        matching = EXCLUDED.matching, accounts = EXCLUDED.accounts, identities = EXCLUDED.identities
    RETURNING entitlement_id, accounts, identities"""


async def counts_now(db: Db, ids: Sequence[UUID], *, keep: bool = True) -> dict[UUID, HolderCounts]:
    """Return the number of holders of each entitlement.

    Recount entitlements without a stored count, or with a count from before the last import or matching. With `keep`,
    store the new counts.
    """
    stored = f"""SELECT s.id, h.accounts, h.identities FROM ({_STATE}) AS s
                 LEFT JOIN holder_counts h ON h.entitlement_id = s.id
                 AND (h.import_number, h.matching) = (s.import_number, s.matching)"""
    rows = await fetch_rows(db, stored, ids=list(ids)) if ids else []
    if stale := [id for id, accounts, _ in rows if accounts is None]:
        counted = _KEEP if keep else f"SELECT id, accounts, identities FROM ({_COUNTED}) AS counted"
        rows += await fetch_rows(db, counted, ids=stale)
    return {id: HolderCounts(accounts, identities) for id, accounts, identities in rows if accounts is not None}


class PastHolders(msgspec.Struct, frozen=True):
    """How many accounts and identities held an entitlement at a past moment; for a group, also its rating.

    Imported ratings are those of that moment; curated ratings are those of today.
    """

    holders: HolderCounts
    risk_rating: Level | None


_COUNTED_AT = f"""SELECT e.id, held.accounts, held.identities, CASE WHEN e.kind = 'Group' THEN coalesce(
        e.curated_risk, given_risk_at(e.number, last.number)) END AS risk
    FROM entitlements e JOIN {LAST_IMPORTS} AS last ON last.application_id = e.application_id
    CROSS JOIN LATERAL (
        SELECT count(DISTINCT h.account) AS accounts, count(DISTINCT identity_then(o, %(moment)s)) AS identities
        FROM holdings_of(e.id, last.number) AS h JOIN accounts o ON o.number = h.account) AS held
    WHERE e.id = ANY(%(ids)s)"""
# Moments with the same last imports and matches share stored counts, until a match or a curation changes.
_STATE_AT = f"""SELECT concat_ws(' ', ({STATE_OF_IMPORTS}), {MATCHES_THEN},
    (SELECT sum(number) FROM matchings), (SELECT max(changed_on) FROM curations))"""


async def holders_then(db: Db, ids: Sequence[UUID], moment: datetime) -> dict[UUID, PastHolders]:
    return _past_holders(await fetch_rows(db, _COUNTED_AT, ids=list(ids), moment=moment))


def _past_holders(rows: Iterable[Sequence[Any]]) -> dict[UUID, PastHolders]:
    return {
        id: PastHolders(HolderCounts(accounts, identities), Level(risk) if risk else None)
        for id, accounts, identities, risk in rows
    }


async def stored_holders_then(db: Db, ids: Sequence[UUID], moment: datetime) -> dict[UUID, PastHolders]:
    """Return the holder counts and ratings at a past moment; compute them once for each page of ids and store them."""
    state = await fetch_value(db, _STATE_AT, moment=moment)
    page = hashlib.sha256(b"".join(id.bytes for id in ids)).hexdigest()
    stored = await fetch_computed(
        db,
        f"holder counts of {page} at {state}",
        f"""SELECT coalesce(json_agg(json_build_array(c.id, c.accounts, c.identities, c.risk)), '[]')::text AS key,
                   0 AS place
            FROM ({_COUNTED_AT}) AS c""",
        1,
        clock.now(),
        ids=list(ids),
        moment=moment,
    )
    return _past_holders(msgspec.json.decode(stored.keys[0], type=list[tuple[UUID, int, int, str | None]]))
