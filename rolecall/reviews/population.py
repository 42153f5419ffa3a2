"""Collect the population of a review: everything that was held after the last imports, as items or as exclusions.

The rows are collected in temporary tables, with one statement per step for any number of rows. Everything is read as of
the time of opening and the last import of each application before it (the *pinned* import), so that the same population
can be collected again later.
"""

from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.core.db import Db, execute
from rolecall.effective_access.queries import GRANTING_REQUESTS
from rolecall.reviews.coverage import KEPT_BY_SILENCE, SAME_SCOPE
from rolecall.reviews.model import Exclusion, ItemSubject, ReviewScope, ReviewType, subject_of
from rolecall.settings.policy import Level

_TABLES = """
    CREATE TEMP TABLE pinned_imports (application_id uuid, import_number int) ON COMMIT DROP;
    CREATE TEMP TABLE pinned_accounts
        (number int, application_id uuid, identity_id uuid, is_active boolean, last_login text) ON COMMIT DROP;
    CREATE TEMP TABLE out_of_scope (kind text, id uuid, reason text) ON COMMIT DROP;
    CREATE TEMP TABLE pinned_holdings
        (application_id uuid, holder int, entitlement_id uuid, model_id uuid, identity_id uuid, access text,
         since_import int, excluded text) ON COMMIT DROP;
    CREATE TEMP TABLE pinned_models (holder int, entitlement_id uuid, ids uuid[]) ON COMMIT DROP;
    CREATE TEMP TABLE pinned_requests (holder int, entitlement_id uuid, ids uuid[]) ON COMMIT DROP;"""

# SQL that is true if a row was valid after the pinned import.
_THEN = "{row}.from_import <= p.import_number AND ({row}.until_import IS NULL OR {row}.until_import > p.import_number)"


class Taking(msgspec.Struct, frozen=True):
    """The population to collect. With `review_id`, collect the population of an opened review again."""

    type: ReviewType
    scope: ReviewScope
    moment: datetime
    review_id: UUID | None = None
    # The temporary tables already contain the complete data of the applications; only the scope is applied again.
    is_collected: bool = False

    @property
    def subject(self) -> ItemSubject:
        return subject_of(self.type)


async def take(db: Db, what: Taking) -> None:
    """Fill the temporary tables with the population. They are dropped when the transaction ends."""
    if not what.is_collected:
        await _collect(db, what)
    else:
        await _start_again(db)
    await _leave_out(db, what)
    await _exclude_by_scope(db, what)
    # Temporary tables have no statistics until they are analyzed.
    await execute(db, "ANALYZE pinned_holdings (holder, entitlement_id, identity_id, excluded)")
    if what.subject is ItemSubject.ACCESS:
        if not what.is_collected:
            await explain(db, what)
        await _exclude_by_type(db, what)


async def _collect(db: Db, what: Taking) -> None:
    """Copy the accounts and the access that they held into new temporary tables."""
    # An earlier call in this transaction may have created the tables.
    for table in ("pinned_imports", "pinned_accounts", "out_of_scope", "pinned_holdings", "pinned_models"):
        await execute(db, f"DROP TABLE IF EXISTS {table}")
    await execute(db, "DROP TABLE IF EXISTS pinned_requests")
    for statement in _TABLES.split(";"):
        if statement.strip():
            await execute(db, statement)
    # Keep sorts and joins of a million rows in memory; the setting ends with the transaction.
    await execute(db, "SELECT set_config('work_mem', '128MB', true)")
    await _pin(db, what)
    await execute(db, _HELD[what.subject], moment=what.moment)


async def _start_again(db: Db) -> None:
    """Reset the exclusions of the collected rows, so that another scope can be applied."""
    await execute(db, "DELETE FROM out_of_scope")
    await execute(
        db,
        """UPDATE pinned_holdings h SET excluded = CASE WHEN NOT a.is_active THEN %(inactive)s END
           FROM pinned_accounts a WHERE a.number = h.holder
             AND h.excluded IS DISTINCT FROM CASE WHEN NOT a.is_active THEN %(inactive)s END""",
        inactive=Exclusion.INACTIVE,
    )


async def _pin(db: Db, what: Taking) -> None:
    """Choose the imports, and read the accounts as these imports show them."""
    if what.review_id:
        await execute(
            db,
            """INSERT INTO pinned_imports SELECT application_id, import_number FROM review_populations
               WHERE review_id = %(id)s AND import_number IS NOT NULL""",
            id=what.review_id,
        )
    else:
        await execute(
            db,
            """INSERT INTO pinned_imports
               SELECT a.id, max(r.number)::int FROM applications a
               JOIN application_imports r ON r.application_id = a.id AND r.status = 'Finished'
               WHERE NOT a.is_archived AND (cardinality(%(ids)s::uuid[]) = 0 OR a.id = ANY(%(ids)s)) GROUP BY a.id""",
            ids=what.scope.application_ids,
        )
    await execute(
        db,
        f"""INSERT INTO pinned_accounts
            SELECT a.number, a.application_id, matched_then(a, %(moment)s), v.is_active, v.last_login
            FROM pinned_imports p JOIN accounts a ON a.application_id = p.application_id
            JOIN account_versions v ON v.account_number = a.number AND {_THEN.format(row="v")}""",
        moment=what.moment,
    )
    await execute(db, "ANALYZE pinned_accounts")


async def _leave_out(db: Db, what: Taking) -> None:
    """Find what the scope excludes; for an opened review, read what was stored when it was opened."""
    if what.review_id:
        await execute(
            db,
            "INSERT INTO out_of_scope SELECT kind, id, reason FROM review_scopes WHERE review_id = %(id)s",
            id=what.review_id,
        )
        return
    await _leave_out_people(db, what)
    await _name_unknown(db, what)
    await _leave_out_entitlements(db, what)
    if what.type is ReviewType.UNEXPLAINED:
        # Store the renames that are known now, so that the population can be collected again later.
        await execute(
            db,
            """INSERT INTO out_of_scope SELECT 'Renamed', c.entitlement_id, c.same_as::text FROM curations c
               JOIN entitlements e ON e.id = c.entitlement_id
               WHERE c.same_as IS NOT NULL AND e.application_id IN (SELECT application_id FROM pinned_imports)""",
        )
    if what.scope.model_ids:
        await execute(
            db,
            "INSERT INTO out_of_scope SELECT 'Model', id, %(reason)s FROM access_models WHERE id <> ALL(%(ids)s)",
            ids=what.scope.model_ids,
            reason=Exclusion.MODEL,
        )


async def _leave_out_people(db: Db, what: Taking) -> None:
    scope, leavers = what.scope, what.type is ReviewType.LEAVERS
    if not (scope.departments or scope.identity_types or leavers):
        return
    await execute(
        db,
        """INSERT INTO out_of_scope
           SELECT 'Identity', found.id, found.reason FROM (
               SELECT i.id, CASE WHEN cardinality(%(types)s::text[]) > 0 AND i.type <> ALL(%(types)s) THEN %(type)s
                                 WHEN cardinality(%(departments)s::text[]) > 0
                                      AND lower(i.department) <> ALL(%(departments)s) THEN %(department)s
                                 WHEN %(leavers)s AND i.status = 'Active' THEN %(active)s END AS reason
               FROM identities i WHERE i.id IN (SELECT identity_id FROM pinned_accounts)) AS found
           WHERE found.reason IS NOT NULL""",
        types=scope.identity_types,
        departments=[name.lower() for name in scope.departments],
        leavers=leavers,
        type=Exclusion.TYPE,
        department=Exclusion.DEPARTMENT,
        active=Exclusion.ACTIVE_PERSON,
    )


async def _name_unknown(db: Db, what: Taking) -> None:
    """For a review of unmatched accounts, find the Unknown identities: their accounts count as unmatched."""
    if what.type is ReviewType.UNMATCHED:
        await execute(
            db,
            """INSERT INTO out_of_scope SELECT 'Unknown', i.id, %(reason)s FROM identities i
               WHERE i.type = 'Unknown' AND i.id IN (SELECT identity_id FROM pinned_accounts)""",
            reason=Exclusion.MATCHED,
        )


# A group counts as privileged if it, or a group above it, is marked as privileged or gives a privileged permission.
_PRIVILEGED = """
    SELECT e.id FROM entitlements e WHERE e.is_privileged
    UNION
    SELECT g.id FROM pinned_imports p JOIN groups g ON g.application_id = p.application_id
    CROSS JOIN LATERAL groups_above(ARRAY[g.number], p.import_number) AS w
    LEFT JOIN assignments s ON s.holder_number = w.above AND s.access NOT IN ('None', 'Deny') AND s.until_import IS NULL
    JOIN entitlements e ON e.is_privileged
         AND (e.kind = 'Group' AND e.number = w.above OR e.kind = 'Permission' AND e.number = s.permission_number)"""


async def _leave_out_entitlements(db: Db, what: Taking) -> None:
    scope, privileged = what.scope, what.type is ReviewType.PRIVILEGED
    if not (scope.min_risk or scope.entitlement_ids or scope.entitlement_owner_ids or privileged):
        return
    await execute(
        db,
        f"""INSERT INTO out_of_scope
            SELECT 'Entitlement', found.id, found.reason FROM (
                SELECT e.id, CASE WHEN cardinality(%(ids)s::uuid[]) > 0 AND e.id <> ALL(%(ids)s) THEN %(other)s
                                  WHEN cardinality(%(owners)s::uuid[]) > 0
                                       AND (e.owner_id IS NULL OR e.owner_id <> ALL(%(owners)s)) THEN %(other)s
                                  WHEN %(privileged)s AND e.id NOT IN ({_PRIVILEGED}) THEN %(plain)s
                                  WHEN risk_rank(e.risk_rating) < risk_rank(%(risk)s) THEN %(low)s END AS reason
                FROM entitlements e JOIN pinned_imports p ON p.application_id = e.application_id) AS found
            WHERE found.reason IS NOT NULL""",
        ids=scope.entitlement_ids,
        owners=scope.entitlement_owner_ids,
        risk=scope.min_risk or Level.NONE,
        privileged=privileged,
        other=Exclusion.ENTITLEMENT,
        plain=Exclusion.PRIVILEGED,
        low=Exclusion.RISK,
    )


_ACCESS = f"""
    SELECT m.account_number AS number, g.id AS entitlement_id, 'Grant' AS access, m.from_import
    FROM pinned_imports p JOIN groups g ON g.application_id = p.application_id
    JOIN memberships m ON m.group_number = g.number AND {_THEN.format(row="m")}
    UNION ALL
    SELECT s.holder_number, o.id, s.access::text, s.from_import
    FROM pinned_imports p JOIN permissions o ON o.application_id = p.application_id
    JOIN assignments s ON s.permission_number = o.number AND s.access NOT IN ('None', 'Deny')
         AND {_THEN.format(row="s")}"""
# For each subject of items, SQL that inserts what is held into pinned_holdings, before the scope is applied.
_HELD = {
    ItemSubject.ACCESS: f"""
        INSERT INTO pinned_holdings
        SELECT a.application_id, a.number, h.entitlement_id, NULL, a.identity_id, h.access, h.from_import,
               CASE WHEN NOT a.is_active THEN '{Exclusion.INACTIVE}' END
        FROM ({_ACCESS}) AS h JOIN pinned_accounts a ON a.number = h.number""",
    ItemSubject.ACCOUNT: f"""
        INSERT INTO pinned_holdings
        SELECT a.application_id, a.number, NULL, NULL, a.identity_id, 'Grant', first.from_import,
               CASE WHEN NOT a.is_active THEN '{Exclusion.INACTIVE}' END
        FROM pinned_accounts a JOIN pinned_imports p ON p.application_id = a.application_id
        CROSS JOIN LATERAL (SELECT max(v.from_import) AS from_import FROM account_versions v
                            WHERE v.account_number = a.number AND v.from_import <= p.import_number
                              AND NOT EXISTS (SELECT FROM account_versions b WHERE b.account_number = a.number
                                              AND b.until_import = v.from_import)) AS first""",
    ItemSubject.GROUP: f"""
        INSERT INTO pinned_holdings
        SELECT g.application_id, g.number, o.id, NULL::uuid, NULL::uuid, s.access::text, s.from_import, NULL::text
        FROM pinned_imports p JOIN groups g ON g.application_id = p.application_id
        JOIN group_versions v ON v.group_number = g.number AND {_THEN.format(row="v")}
        JOIN assignments s ON s.holder_number = g.number AND s.access NOT IN ('None', 'Deny')
             AND {_THEN.format(row="s")}
        JOIN permissions o ON o.number = s.permission_number
        UNION ALL
        SELECT g.application_id, g.number, above.id, NULL, NULL, 'Grant', v.from_import, NULL
        FROM pinned_imports p JOIN groups g ON g.application_id = p.application_id
        JOIN group_versions v ON v.group_number = g.number AND v.parent <> '' AND {_THEN.format(row="v")}
        CROSS JOIN LATERAL parents_of(g.number) AS l JOIN groups above ON above.number = l.parent
        WHERE l.during @> p.import_number""",
    ItemSubject.MODEL: """
        INSERT INTO pinned_holdings
        SELECT NULL, NULL, NULL, m.id, NULL, 'Grant', NULL, NULL
        FROM access_models m CROSS JOIN LATERAL (
            SELECT v.definition FROM access_model_versions v
            WHERE v.model_id = m.id AND v.committed_at <= %(moment)s ORDER BY v.version DESC LIMIT 1) AS then_in_effect
        WHERE (then_in_effect.definition ->> 'enabled')::boolean""",
}


async def _exclude_by_scope(db: Db, what: Taking) -> None:
    """Mark what the scope excludes. A scope limited to certain people also excludes accounts without a person."""
    scope = what.scope
    narrowed = scope.departments or scope.identity_types or scope.identity_ids or what.type is ReviewType.LEAVERS
    unmatched = Exclusion.UNMATCHED if narrowed else None
    await execute(
        db,
        """UPDATE pinned_holdings h SET excluded = o.reason FROM out_of_scope o
           WHERE h.excluded IS NULL AND (o.kind = 'Entitlement' AND o.id = h.entitlement_id)""",
    )
    # The ids of people and accounts do not change, so they can be compared with the scope directly.
    if scope.identity_ids:
        await _exclude(db, "h.identity_id <> ALL(%(ids)s)", Exclusion.PERSON, ids=scope.identity_ids)
    if scope.account_ids:
        chosen = "SELECT a.number FROM accounts a WHERE a.id = ANY(%(ids)s)"
        await _exclude(db, f"h.holder NOT IN ({chosen})", Exclusion.ACCOUNT, ids=scope.account_ids)
    await execute(
        db,
        """UPDATE pinned_holdings h SET excluded = o.reason FROM out_of_scope o
           WHERE h.excluded IS NULL AND (o.kind = 'Identity' AND o.id = h.identity_id)""",
    )
    await execute(
        db,
        """UPDATE pinned_holdings h SET excluded = o.reason FROM out_of_scope o
           WHERE h.excluded IS NULL AND (o.kind = 'Model' AND o.id = h.model_id)""",
    )
    if unmatched and what.subject in (ItemSubject.ACCESS, ItemSubject.ACCOUNT):
        await _exclude(db, "h.identity_id IS NULL", unmatched)
    if what.type is ReviewType.UNMATCHED:
        # Include accounts of Unknown identities: revoking an unmatched account gives it such an identity, not a person.
        unknown = "SELECT o.id FROM out_of_scope o WHERE o.kind = 'Unknown'"
        await _exclude(db, f"h.identity_id IS NOT NULL AND h.identity_id NOT IN ({unknown})", Exclusion.MATCHED)


async def _exclude(db: Db, condition: str, reason: Exclusion, **given: object) -> None:
    """Exclude rows under a condition. A row that is already excluded keeps its first reason."""
    await execute(
        db,
        f"UPDATE pinned_holdings h SET excluded = %(reason)s WHERE h.excluded IS NULL AND {condition}",
        reason=reason,
        **given,
    )


_MODELS = """
    INSERT INTO pinned_models
    WITH granted AS MATERIALIZED (
        SELECT m.id AS model_id, e.id AS entitlement_id FROM access_models m
        CROSS JOIN LATERAL (SELECT v.definition FROM access_model_versions v
                            WHERE v.model_id = m.id AND v.committed_at <= %(moment)s
                            ORDER BY v.version DESC LIMIT 1) AS at_the_time
        CROSS JOIN LATERAL access_model_grants_in(at_the_time.definition -> 'access') AS given
        JOIN entitlements e ON e.application_id = given.application_id AND e.name = given.permission
             AND CASE WHEN given.is_group THEN e.kind = 'Group'
                      ELSE e.kind = 'Permission' AND e.header = given.header AND e.section = given.section END
    ), known AS MATERIALIZED (
        SELECT g.model_id, g.entitlement_id FROM granted g
        UNION
        SELECT g.model_id, x.id FROM granted g JOIN renamed_entitlements x ON x.former_id = g.entitlement_id
    ), members AS MATERIALIZED (
        SELECT identity_id, model_id FROM access_model_members WHERE since <= %(moment)s
        UNION
        SELECT identity_id, model_id FROM past_model_members WHERE since <= %(moment)s AND until > %(moment)s
    )
    SELECT h.holder, h.entitlement_id, array_agg(DISTINCT g.model_id)
    FROM pinned_holdings h JOIN known g ON g.entitlement_id = h.entitlement_id
    JOIN members x ON x.model_id = g.model_id AND x.identity_id = h.identity_id
    WHERE h.excluded IS NULL GROUP BY h.holder, h.entitlement_id"""
_REQUESTS = f"""
    INSERT INTO pinned_requests
    SELECT h.holder, h.entitlement_id, array_agg(DISTINCT g.id)
    FROM ({GRANTING_REQUESTS}) AS g
    JOIN entitlements e ON e.application_id = g.application_id AND e.name = g.permission
         AND CASE WHEN g.is_group THEN e.kind = 'Group'
                  ELSE e.kind = 'Permission' AND e.header = g.header AND e.section = g.section END
    JOIN pinned_holdings h ON h.entitlement_id = e.id AND h.identity_id = g.identity_id AND h.excluded IS NULL
    JOIN accounts a ON a.number = h.holder
    WHERE g.account IS NULL OR g.account = a.username
    GROUP BY h.holder, h.entitlement_id""".replace(
    "{people}", "r.identity_id IN (SELECT identity_id FROM pinned_accounts)"
)


# Like the view renamed_entitlements, but with the names that were known when the review was opened.
_RENAMES = """
    CREATE TEMP TABLE pinned_renames ON COMMIT DROP AS
    WITH RECURSIVE pairs AS (
        SELECT id, reason::uuid AS former FROM out_of_scope WHERE kind = 'Renamed'
    ), renamed (former, id) AS (
        SELECT former, id FROM pairs UNION SELECT r.former, p.id FROM renamed r JOIN pairs p ON p.former = r.id
    )
    SELECT x.* FROM renamed r CROSS JOIN LATERAL (
        SELECT e.application_id, e.kind = 'Group' AS is_group, f.id AS former_id,
               CASE WHEN f.kind = 'Group' THEN '' ELSE f.header END AS former_header, f.section AS former_section,
               f.name AS former_permission, e.id, CASE WHEN e.kind = 'Group' THEN '' ELSE e.header END AS header,
               e.section, e.name AS permission
        FROM entitlements f, entitlements e WHERE f.id = r.former AND e.id = r.id) AS x"""


async def explain(db: Db, what: Taking) -> None:
    """Find the models and requests that explained the access when the review was opened."""
    names = "renamed_entitlements"
    if what.type is ReviewType.UNEXPLAINED:
        await execute(db, "DROP TABLE IF EXISTS pinned_renames")
        await execute(db, _RENAMES)
        names = "pinned_renames"
    await execute(db, _MODELS.replace("renamed_entitlements", names), moment=what.moment)
    requests = _REQUESTS.replace("renamed_entitlements", names)
    await execute(db, requests, begin=what.moment, as_of=what.moment)
    await execute(db, "ANALYZE pinned_models")
    await execute(db, "ANALYZE pinned_requests")


async def _exclude_by_type(db: Db, what: Taking) -> None:
    if what.type is ReviewType.UNEXPLAINED:
        for table in ("pinned_models", "pinned_requests"):
            await _exclude(
                db,
                f"EXISTS (SELECT FROM {table} x WHERE x.holder = h.holder AND x.entitlement_id = h.entitlement_id)",
                Exclusion.EXPLAINED,
            )
    if what.type is ReviewType.CHANGED:
        await execute(
            db,
            f"""UPDATE pinned_holdings h SET excluded = %(reason)s
                FROM review_items c JOIN reviews r ON r.id = c.review_id
                WHERE h.excluded IS NULL AND c.account_number = h.holder AND c.entitlement_id = h.entitlement_id
                  AND c.since_import = h.since_import AND c.access = h.access AND c.subject = 'Access'
                  AND c.identity_id IS NOT DISTINCT FROM h.identity_id AND c.status <> 'Withdrawn'
                  AND NOT {KEPT_BY_SILENCE.format(row="c")} AND {SAME_SCOPE}""",
            reason=Exclusion.UNCHANGED,
            moment=what.moment,
            scope=msgspec.json.encode(what.scope).decode(),
        )
