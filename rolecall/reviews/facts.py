"""Find the facts about each item, and the recommendation that follows from some of them.

Both are computed for all items at once, from the temporary tables that `population.py` and `reviewers.py` fill.
"""

from datetime import datetime
from uuid import UUID

from rolecall.core.caller import SYSTEM
from rolecall.core.db import Db, execute
from rolecall.reviews.model import (
    COMMON,
    FEWEST_PEERS,
    RARE,
    UNUSED_AFTER,
    Decision,
    ItemFact,
    ItemSubject,
)

_TABLES = {
    "item_facts": "(place int, facts text[], recommendation text, peers int, peers_holding int, previous_id uuid,"
    " can_carry boolean)",
    "conflicting_access": "(identity_id uuid, entitlement_id uuid)",
    "peer_groups": "(identity_id uuid, peers text, size int)",
    "peer_holdings": "(peers text, entitlement_id uuid, holding int)",
    "earlier_items": "(place int, id uuid, decision text, is_by_hand boolean, since_import int)",
}

# Access that is part of an open conflict.
_CONFLICTING = """
    INSERT INTO conflicting_access
    SELECT DISTINCT c.identity_id, e.id FROM conflicts c
    JOIN duty_rule_duties d ON d.rule_id = c.rule_id AND NOT d.is_control
    JOIN (SELECT duty_id, kind, number FROM duty_entitlements
          UNION SELECT duty_id, 'Group', group_number FROM duty_groups) AS x ON x.duty_id = d.duty_id
    JOIN entitlements e ON e.kind = x.kind AND e.number = x.number
    WHERE c.status = 'Open' AND c.identity_id IN (SELECT identity_id FROM candidate_items)"""
# Peers have the same title and department or, if one of these is empty, the same supervisor.
_PEERS = """
    INSERT INTO peer_groups
    SELECT id, peers, count(*) OVER (PARTITION BY peers) FROM (
        SELECT id, CASE WHEN title <> '' AND department <> '' THEN lower(title) || chr(1) || lower(department)
                        ELSE supervisor_id::text END AS peers
        FROM identities WHERE status = 'Active') AS known
    WHERE peers IS NOT NULL"""
_PEER_HOLDINGS = """
    INSERT INTO peer_holdings
    SELECT g.peers, h.entitlement_id, count(DISTINCT h.identity_id)
    FROM pinned_holdings h JOIN peer_groups g ON g.identity_id = h.identity_id
    WHERE g.size >= %(fewest)s GROUP BY 1, 2"""
# The last decision about the same access of the same person in an earlier review, made by hand or carried over.
_EARLIER = """
    INSERT INTO earlier_items
    SELECT c.place, p.id, p.decision, NOT p.is_carried, p.since_import FROM candidate_items c
    CROSS JOIN LATERAL (
        SELECT p.* FROM review_items p JOIN reviews r ON r.id = p.review_id
        WHERE p.account_number = c.account_number AND p.entitlement_id = c.entitlement_id AND p.review_id <> %(review)s
          AND p.identity_id IS NOT DISTINCT FROM c.identity_id AND (p.decided_by <> %(system)s OR p.is_carried)
          AND p.decision IS NOT NULL AND r.status IN ('Closed', 'Completed')
        ORDER BY p.decided_on DESC LIMIT 1) AS p
    WHERE EXISTS (SELECT FROM reviews WHERE status IN ('Closed', 'Completed'))"""
_LAST_PINS = """
    SELECT p.application_id, max(p.import_number) AS import_number FROM review_populations p
    JOIN reviews r ON r.id = p.review_id AND r.status = 'Completed' AND r.opened_by_import IS NULL GROUP BY 1"""

# `is_unused` compares only ISO dates, because imports store a last login in any other format unchanged.
_FACTS = f"""
    INSERT INTO item_facts
    SELECT n.place, array_remove(ARRAY[
               CASE WHEN n.has_model THEN '{ItemFact.MODEL}' END,
               CASE WHEN n.has_request THEN '{ItemFact.REQUEST}' END,
               CASE WHEN n.is_unexplained THEN '{ItemFact.NO_RECORD}' END,
               CASE WHEN n.conflicts THEN '{ItemFact.CONFLICT}' END,
               CASE WHEN n.is_unused THEN '{ItemFact.UNUSED}' END,
               CASE WHEN n.is_new THEN '{ItemFact.NEW}' END,
               CASE WHEN n.is_rare THEN '{ItemFact.RARE}' END,
               CASE WHEN n.is_common THEN '{ItemFact.COMMON}' END,
               CASE WHEN n.kept_before THEN '{ItemFact.KEPT_BEFORE}' END,
               CASE WHEN n.revoked_before THEN '{ItemFact.REVOKED_BEFORE}' END,
               CASE WHEN n.has_left THEN '{ItemFact.LEAVER}' END,
               CASE WHEN n.is_unmatched THEN '{ItemFact.UNMATCHED}' END,
               CASE WHEN n.is_privileged THEN '{ItemFact.PRIVILEGED}' END], NULL),
           CASE WHEN n.conflicts OR n.has_left OR n.revoked_before
                     OR n.is_unexplained AND (n.is_unused OR n.is_rare) OR n.is_unmatched AND n.is_unused
                THEN '{Decision.REVOKE}'
                WHEN (n.has_model OR n.has_request) AND NOT n.is_unused THEN '{Decision.KEEP}' END,
           n.size, n.holding, n.previous_id, n.has_model AND n.is_same AND NOT n.conflicts AND NOT n.has_left
    FROM (
        SELECT c.place, c.subject = 'Access' AND cardinality(c.model_ids) > 0 AS has_model,
               c.subject = 'Access' AND cardinality(c.request_ids) > 0 AS has_request,
               c.subject = 'Access' AND cardinality(c.model_ids || c.request_ids) = 0 AS is_unexplained,
               x.identity_id IS NOT NULL AS conflicts,
               coalesce(a.last_login ~ '^[0-9]{{4}}-' AND left(a.last_login, 10) < %(unused)s, false) AS is_unused,
               coalesce(c.since_import > last.import_number, false) AS is_new,
               coalesce(h.holding <= g.size * {RARE}, false) AS is_rare,
               coalesce(h.holding >= g.size * {COMMON}, false) AS is_common,
               coalesce(b.decision IN ('Keep', 'Keep Until'), false) AS kept_before,
               coalesce(b.decision = 'Revoke', false) AS revoked_before,
               coalesce(i.status <> 'Active', false) AS has_left,
               c.account_number IS NOT NULL AND coalesce(i.type = 'Unknown', true) AS is_unmatched,
               coalesce(e.is_privileged, false) AS is_privileged,
               CASE WHEN h.holding IS NOT NULL THEN g.size END AS size, h.holding, b.id AS previous_id,
               coalesce(b.decision = 'Keep' AND b.is_by_hand AND b.since_import = c.since_import, false) AS is_same
        FROM candidate_items c LEFT JOIN identities i ON i.id = c.identity_id
        LEFT JOIN entitlements e ON e.id = c.entitlement_id LEFT JOIN pinned_accounts a ON a.number = c.account_number
        LEFT JOIN conflicting_access x ON x.identity_id = c.identity_id AND x.entitlement_id = c.entitlement_id
        LEFT JOIN peer_groups g ON g.identity_id = c.identity_id
        LEFT JOIN peer_holdings h ON h.peers = g.peers AND h.entitlement_id = c.entitlement_id
        LEFT JOIN earlier_items b ON b.place = c.place
        LEFT JOIN ({_LAST_PINS}) AS last ON last.application_id = c.application_id) AS n"""


async def find_facts(db: Db, review_id: UUID, subject: ItemSubject, now: datetime) -> None:
    """Fill the temporary table `item_facts` for all candidate items."""
    for name, columns in _TABLES.items():
        await execute(db, f"DROP TABLE IF EXISTS {name}")
        await execute(db, f"CREATE TEMP TABLE {name} {columns} ON COMMIT DROP")
    if subject is ItemSubject.ACCESS:
        await execute(db, _CONFLICTING)
        await execute(db, _PEERS)
        await execute(db, "ANALYZE peer_groups (identity_id, peers)")
        await execute(db, _PEER_HOLDINGS, fewest=FEWEST_PEERS)
        await execute(db, _EARLIER, review=review_id, system=SYSTEM.id)
        for table in ("conflicting_access", "peer_holdings", "earlier_items"):
            await execute(db, f"ANALYZE {table}")
    await execute(db, _FACTS, unused=f"{now - UNUSED_AFTER:%Y-%m-%d}")
    await execute(db, "ANALYZE item_facts (place)")
