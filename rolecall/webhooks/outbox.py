"""The queue of deliveries: claim due deliveries and record finished attempts, both in batches.

Code that touches several deliveries of a hook locks the hook first, to avoid deadlocks.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import msgspec

from rolecall.core.authors import by_system, sign
from rolecall.core.db import Db, execute, fetch_all, fetch_rows, fetch_value
from rolecall.webhooks.model import (
    ATTEMPT_TAKES,
    FAILING_FOR,
    FAILURES_UNTIL_PROBED,
    GONE,
    IN_FLIGHT_A_HOOK,
    KEPT_FOR_OTHERS,
    LAG_BUCKETS,
    LEASE,
    AttemptOutcome,
    AttemptResult,
    Claim,
    DeliveryStatus,
    DisabledReason,
    next_attempt_on,
)

# Allowance for the time from the claim to the start of the request, when the timeout of the attempt begins.
_MARGIN = timedelta(seconds=2)


class DueHook(msgspec.Struct, frozen=True):
    id: UUID
    url: str
    secret: bytes
    previous_secret: bytes | None
    room: int


class EndedAttempt(msgspec.Struct, frozen=True):
    claim: Claim
    answer: AttemptResult
    ended_on: datetime


async def lock_due_hooks(db: Db, now: datetime) -> list[DueHook]:
    """Lock and return hooks with due deliveries, skipping those that another worker has locked."""
    return await fetch_all(
        db,
        DueHook,
        """SELECT h.id, h.url, h.secret,
                  CASE WHEN h.previous_secret_expires_on > %(now)s THEN h.previous_secret END AS previous_secret,
                  CASE WHEN h.failures < %(probed)s THEN %(room)s ELSE 1 END AS room
           FROM webhooks h
           -- LIMIT 1, not EXISTS: the planner may turn EXISTS into a scan of everything that is due.
           CROSS JOIN LATERAL (
               SELECT FROM webhook_deliveries d
               WHERE d.webhook_id = h.id AND d.status = 'Pending' AND d.next_attempt_on <= %(now)s
                 AND (h.enabled OR d.event = 'WebhookTest')
               ORDER BY d.next_attempt_on LIMIT 1) AS due
           WHERE h.deleted_on IS NULL
           FOR NO KEY UPDATE OF h SKIP LOCKED""",
        now=now,
        probed=FAILURES_UNTIL_PROBED,
        room=IN_FLIGHT_A_HOOK,
    )


# The first attempts of deliveries about one request are made in the order of its events (see `untried`).
# Tallies are sharded by connection, so that workers do not wait for each other.
_CLAIM = f"""
    WITH due AS MATERIALIZED (
        SELECT h.id AS webhook_id, d.id, d.next_attempt_on, d.place + in_flight.n AS nth,
               d.place + in_flight.n = 1 AND h.failures < %(probed)s AS is_first
        FROM unnest(%(hooks)s::uuid[], %(rooms)s::int[]) AS due_hook (id, room)
        JOIN webhooks h USING (id)
        CROSS JOIN LATERAL (
            -- An attempt that began longer ago than its timeout is no longer in flight.
            SELECT count(*) AS n FROM webhook_deliveries f
            WHERE f.webhook_id = h.id AND f.lease IS NOT NULL AND f.next_attempt_on > %(on_its_way)s
        ) AS in_flight
        -- A literal limit, so that the planner expects few rows even when many are due.
        CROSS JOIN LATERAL (
            SELECT id, next_attempt_on, row_number() OVER (ORDER BY next_attempt_on, number) AS place FROM (
                SELECT d.id, d.next_attempt_on, d.number FROM webhook_deliveries d
                WHERE d.webhook_id = h.id AND d.status = 'Pending' AND d.next_attempt_on <= %(now)s
                  AND (h.enabled OR d.event = 'WebhookTest')
                  AND NOT (d.untried AND EXISTS (
                      SELECT FROM webhook_deliveries e
                      WHERE e.webhook_id = h.id AND e.access_request_id = d.access_request_id
                        AND e.number < d.number AND e.untried AND e.status = 'Pending'))
                ORDER BY d.next_attempt_on, d.number LIMIT {IN_FLIGHT_A_HOOK}) AS oldest) AS d
        WHERE in_flight.n < due_hook.room AND d.place + in_flight.n <= due_hook.room),
    in_turn AS MATERIALIZED (
        SELECT id, next_attempt_on, is_first,
               row_number() OVER (ORDER BY is_first DESC, nth, next_attempt_on, webhook_id) AS place FROM due),
    claimed AS (
        UPDATE webhook_deliveries d
        SET lease = %(lease)s, next_attempt_on = %(until)s, attempt_count = attempt_count + 1, step = step + 1
        FROM in_turn due
        WHERE due.place <= CASE WHEN due.is_first THEN %(limit)s ELSE %(limit)s - %(kept)s END
          AND d.id = due.id AND d.status = 'Pending' AND d.next_attempt_on <= %(now)s
        RETURNING d.id, d.webhook_id, d.event = 'WebhookTest' AS is_test, d.body,
                  d.attempt_count AS number, d.step, due.next_attempt_on AS due_on, d.lease),
    abandoned AS (
        UPDATE webhook_attempts a SET ended_on = %(now)s, outcome = 'unknown'
        FROM claimed c WHERE a.delivery_id = c.id AND a.ended_on IS NULL RETURNING a.outcome),
    tallied AS (
        INSERT INTO webhook_tallies AS t (outcome, within, shard, attempts, seconds)
        SELECT outcome, 'infinity', pg_backend_pid() %% 32, count(*), 0 FROM abandoned GROUP BY outcome
        ON CONFLICT (outcome, within, shard) DO UPDATE SET attempts = t.attempts + EXCLUDED.attempts),
    begun AS (
        INSERT INTO webhook_attempts (delivery_id, number, started_on)
        SELECT id, number, %(now)s FROM claimed)
    SELECT * FROM claimed"""


async def claim(db: Db, hooks: Sequence[DueHook], limit: int, now: datetime) -> list[Claim]:
    """Lease and return due deliveries, and record the start of their attempts. The hooks must be locked already.

    Take one delivery of each hook in turn (round robin). Reserve some slots for healthy hooks with nothing in flight,
    so that a busy or hanging hook causes no starvation.
    """
    if not hooks or limit <= 0:
        return []
    return await fetch_all(
        db,
        Claim,
        _CLAIM,
        hooks=[hook.id for hook in hooks],
        rooms=[hook.room for hook in hooks],
        limit=limit,
        kept=KEPT_FOR_OTHERS,
        probed=FAILURES_UNTIL_PROBED,
        now=now,
        lease=uuid4(),
        until=now + LEASE,
        # If a lease ends after this time, its attempt may still be running.
        on_its_way=now + LEASE - ATTEMPT_TAKES - _MARGIN,
    )


# The row of a healthy hook is not written when a delivery succeeds, because nothing in it changes.
# Fires the trigger notify_of_failing_webhook in schema/notifications.sql.
_RECORD = """
    WITH ended AS MATERIALIZED (
        SELECT * FROM json_to_recordset(%(results)s::json) AS e (
            id uuid, webhook_id uuid, lease uuid, number int, ended_on timestamptz, outcome text,
            status_code int, response text, lag float8, status text, next_attempt_on timestamptz)),
    locked AS MATERIALIZED (
        SELECT id FROM webhooks WHERE id IN (SELECT webhook_id FROM ended) ORDER BY id FOR NO KEY UPDATE),
    recorded AS (
        UPDATE webhook_deliveries d
        -- A delivery that was parked during the attempt stays parked unless it arrived.
        SET status = CASE WHEN e.status = 'Pending' THEN d.status ELSE e.status END,
            next_attempt_on = CASE WHEN d.status = 'Pending' THEN e.next_attempt_on END,
            lease = NULL, untried = false
        FROM ended e JOIN locked ON locked.id = e.webhook_id WHERE d.id = e.id AND d.lease = e.lease
        RETURNING e.*),
    attempts AS (
        UPDATE webhook_attempts a
        SET ended_on = s.ended_on, outcome = s.outcome, status_code = s.status_code, response = s.response
        FROM recorded s WHERE a.delivery_id = s.id AND a.number = s.number),
    tallied AS (
        INSERT INTO webhook_tallies AS t (outcome, within, shard, attempts, seconds)
        SELECT outcome, coalesce((SELECT min(bound) FROM unnest(%(buckets)s::float8[]) AS bound
                                  WHERE lag <= bound), 'infinity') AS within,
               pg_backend_pid() %% 32, count(*), sum(lag)
        FROM recorded GROUP BY outcome, within ORDER BY outcome, within
        ON CONFLICT (outcome, within, shard) DO UPDATE
        SET attempts = t.attempts + EXCLUDED.attempts, seconds = t.seconds + EXCLUDED.seconds)
    UPDATE webhooks h
    SET failures = CASE WHEN s.delivered THEN 0 ELSE h.failures + s.attempts END,
        failing_since = CASE WHEN NOT s.delivered THEN coalesce(h.failing_since, %(now)s) END
    FROM (SELECT webhook_id, count(*)::int AS attempts, bool_or(outcome = 'delivered') AS delivered,
                 bool_or(status_code = %(gone)s) AS gone
          FROM recorded GROUP BY webhook_id) AS s
    WHERE h.id = s.webhook_id AND (h.failures > 0 OR NOT s.delivered OR s.gone)
    RETURNING h.id, h.failing_since, s.gone"""


async def record_results(db: Db, ended: Sequence[EndedAttempt], now: datetime) -> None:
    """Record results, unless another worker has claimed the delivery since, and update the health of the hooks.

    Disable a hook whose receiver is gone or has failed for too long.
    """
    if not ended:
        return
    failing = await fetch_rows(
        db,
        _RECORD,
        results=msgspec.json.encode([_result(each) for each in ended]).decode(),
        buckets=list(LAG_BUCKETS),
        gone=GONE,
        now=now,
    )
    for id, since, gone in failing:
        if gone:
            await _disable(db, id, DisabledReason.GONE, now)
        elif since and since <= now - FAILING_FOR:
            await _disable(db, id, DisabledReason.FAILING, now)


class _Result(msgspec.Struct):
    id: UUID
    webhook_id: UUID
    lease: UUID
    number: int
    ended_on: datetime
    outcome: AttemptOutcome
    status_code: int | None
    response: str | None
    lag: float
    status: DeliveryStatus
    next_attempt_on: datetime | None


def _result(ended: EndedAttempt) -> _Result:
    claim, answer = ended.claim, ended.answer
    status, next = _after(ended)
    lag = max((ended.ended_on - claim.due_on).total_seconds(), 0.0)
    return _Result(
        claim.id, claim.webhook_id, claim.lease, claim.number, ended.ended_on, answer.outcome, answer.status_code,
        answer.response, lag, status, next,
    )  # fmt: skip


def _after(ended: EndedAttempt) -> tuple[DeliveryStatus, datetime | None]:
    if ended.answer.outcome is AttemptOutcome.DELIVERED:
        return DeliveryStatus.DELIVERED, None
    next = next_attempt_on(ended.claim, ended.answer, ended.ended_on)
    return (DeliveryStatus.PENDING if next else DeliveryStatus.FAILED), next


async def _disable(db: Db, id: UUID, reason: DisabledReason, now: datetime) -> None:
    # Set the author here, because only this change in the transaction is audited.
    await sign(db, by_system("disable_webhook", now))
    # Fires the trigger notify_of_failing_webhook in schema/notifications.sql.
    await execute(
        db,
        "UPDATE webhooks SET enabled = false, disabled_reason = %(reason)s WHERE id = %(id)s AND enabled",
        id=id,
        reason=reason,
    )
    await park(db, id)


async def park(db: Db, webhook_id: UUID) -> None:
    """Park waiting deliveries, except tests, until a person recovers or resends them.

    The calling code must have locked the hook.
    """
    await execute(
        db,
        """UPDATE webhook_deliveries SET status = 'Parked', next_attempt_on = NULL
           WHERE webhook_id = %(id)s AND status = 'Pending' AND event <> 'WebhookTest'""",
        id=webhook_id,
    )


async def next_due(db: Db, now: datetime) -> datetime | None:
    """Return the first time after now at which a delivery becomes due or a lease expires."""
    found: datetime | None = await fetch_value(
        db,
        """SELECT min(d.next_attempt_on) FROM webhooks h CROSS JOIN LATERAL (
               SELECT d.next_attempt_on FROM webhook_deliveries d
               WHERE d.webhook_id = h.id AND d.status = 'Pending' AND d.next_attempt_on > %(now)s
               ORDER BY d.next_attempt_on LIMIT 1) AS d
           WHERE h.deleted_on IS NULL""",
        now=now,
    )
    return found
