"""Deliveries as a queue: what is due is claimed in batches, what has ended is settled in batches.

Whoever touches several deliveries of a hook locks the hook first, so that no two ever wait for each other.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID, uuid4

import msgspec

from rolecall.core.db import Db, execute, fetch_all, fetch_rows, fetch_value
from rolecall.webhooks.model import (
    FAILING_FOR,
    FAILURES_UNTIL_PROBED,
    GONE,
    IN_FLIGHT_A_HOOK,
    LEASE,
    Answer,
    Claim,
    DeliveryStatus,
    DisabledReason,
    Outcome,
    lag_bucket,
    next_attempt_on,
)


class DueHook(msgspec.Struct, frozen=True):
    """A hook that has something due, and what it takes to send it."""

    id: UUID
    url: str
    secret: bytes
    previous_secret: bytes | None
    room: int


class Ended(msgspec.Struct, frozen=True):
    claim: Claim
    answer: Answer
    ended_on: datetime

    @property
    def delivered(self) -> bool:
        return self.answer.outcome is Outcome.DELIVERED

    @property
    def lag(self) -> float:
        return max((self.ended_on - self.claim.due_on).total_seconds(), 0.0)


async def lock_due_hooks(db: Db, now: datetime) -> list[DueHook]:
    """A hook that another worker is claiming for right now is left to it."""
    return await fetch_all(
        db,
        DueHook,
        """SELECT h.id, h.url, h.secret,
                  CASE WHEN h.previous_secret_expires_on > %(now)s THEN h.previous_secret END AS previous_secret,
                  CASE WHEN h.failures < %(probed)s THEN %(room)s ELSE 1 END AS room
           FROM webhooks h
           WHERE h.deleted_on IS NULL AND EXISTS (
               SELECT FROM webhook_deliveries d
               WHERE d.webhook_id = h.id AND d.status = 'Pending' AND d.next_attempt_on <= %(now)s
                 AND (h.enabled OR d.access_request_id IS NULL))
           FOR NO KEY UPDATE SKIP LOCKED""",
        now=now,
        probed=FAILURES_UNTIL_PROBED,
        room=IN_FLIGHT_A_HOOK,
    )


async def claim(db: Db, hooks: Sequence[DueHook], limit: int, now: datetime) -> list[Claim]:
    """Lease what is due and begin its attempts. The hooks are locked, so what is in flight cannot grow meanwhile."""
    if not hooks or limit <= 0:
        return []
    return await fetch_all(
        db,
        Claim,
        """WITH due AS MATERIALIZED (
               SELECT d.id, d.next_attempt_on
               FROM unnest(%(hooks)s::uuid[], %(rooms)s::int[]) AS due_hook (id, room)
               JOIN webhooks h USING (id)
               CROSS JOIN LATERAL (
                   SELECT count(*) AS n FROM webhook_deliveries f
                   WHERE f.webhook_id = h.id AND f.lease IS NOT NULL AND f.next_attempt_on > %(now)s) AS in_flight
               CROSS JOIN LATERAL (
                   SELECT d.id, d.next_attempt_on FROM webhook_deliveries d
                   WHERE d.webhook_id = h.id AND d.status = 'Pending' AND d.next_attempt_on <= %(now)s
                     AND (h.enabled OR d.access_request_id IS NULL)
                     AND NOT (d.untried AND EXISTS (
                         SELECT FROM webhook_deliveries e
                         WHERE e.webhook_id = h.id AND e.access_request_id = d.access_request_id
                           AND e.number < d.number AND e.untried AND e.status = 'Pending'))
                   ORDER BY d.next_attempt_on, d.number LIMIT greatest(due_hook.room - in_flight.n, 0)) AS d
               LIMIT %(limit)s),
           claimed AS (
               UPDATE webhook_deliveries d
               SET lease = %(lease)s, next_attempt_on = %(until)s, attempt_count = attempt_count + 1, step = step + 1
               FROM due WHERE d.id = due.id AND d.status = 'Pending' AND d.next_attempt_on <= %(now)s
               RETURNING d.id, d.webhook_id, d.access_request_id IS NULL AS is_test, d.body,
                         d.attempt_count AS number, d.step, due.next_attempt_on AS due_on, d.lease),
           abandoned AS (
               UPDATE webhook_attempts a SET ended_on = %(now)s, outcome = 'unknown'
               FROM claimed c WHERE a.delivery_id = c.id AND a.ended_on IS NULL),
           begun AS (
               INSERT INTO webhook_attempts (delivery_id, number, started_on)
               SELECT id, number, %(now)s FROM claimed)
           SELECT * FROM claimed""",
        hooks=[hook.id for hook in hooks],
        rooms=[hook.room for hook in hooks],
        limit=limit,
        now=now,
        lease=uuid4(),
        until=now + LEASE,
    )


async def settle(db: Db, ended: Sequence[Ended], now: datetime) -> None:
    """Write down how attempts ended: only of those whose lease is still ours."""
    if not ended:
        return
    hooks = sorted({each.claim.webhook_id for each in ended})
    await fetch_rows(db, "SELECT FROM webhooks WHERE id = ANY(%(ids)s) ORDER BY id FOR NO KEY UPDATE", ids=hooks)
    settled = await _settle_deliveries(db, ended)
    kept = [each for each in ended if each.claim.id in settled]
    await _keep_health(db, kept, now)
    await _tally(db, kept)


async def _settle_deliveries(db: Db, ended: Sequence[Ended]) -> set[UUID]:
    after = [_after(each) for each in ended]
    rows = await fetch_rows(
        db,
        """WITH ended AS (
               SELECT * FROM unnest(
                   %(ids)s::uuid[], %(leases)s::uuid[], %(numbers)s::int[], %(times)s::timestamptz[],
                   %(outcomes)s::text[], %(codes)s::int[], %(responses)s::text[],
                   %(statuses)s::text[], %(nexts)s::timestamptz[])
               AS e (id, lease, number, ended_on, outcome, status_code, response, status, next_attempt_on)),
           settled AS (
               UPDATE webhook_deliveries d
               -- Parked while it was being sent, it stays so unless it arrived.
               SET status = CASE WHEN e.status = 'Pending' THEN d.status ELSE e.status END,
                   next_attempt_on = CASE WHEN d.status = 'Pending' THEN e.next_attempt_on END,
                   lease = NULL, untried = false
               FROM ended e WHERE d.id = e.id AND d.lease = e.lease
               RETURNING d.id),
           attempts AS (
               UPDATE webhook_attempts a
               SET ended_on = e.ended_on, outcome = e.outcome, status_code = e.status_code, response = e.response
               FROM ended e JOIN settled USING (id) WHERE a.delivery_id = e.id AND a.number = e.number)
           SELECT id FROM settled""",
        ids=[each.claim.id for each in ended],
        leases=[each.claim.lease for each in ended],
        numbers=[each.claim.number for each in ended],
        times=[each.ended_on for each in ended],
        outcomes=[each.answer.outcome for each in ended],
        codes=[each.answer.status_code for each in ended],
        responses=[each.answer.response for each in ended],
        statuses=[status for status, _ in after],
        nexts=[next for _, next in after],
    )
    return {row[0] for row in rows}


def _after(ended: Ended) -> tuple[DeliveryStatus, datetime | None]:
    if ended.delivered:
        return DeliveryStatus.DELIVERED, None
    next = next_attempt_on(ended.claim, ended.answer, ended.ended_on)
    return (DeliveryStatus.PENDING if next else DeliveryStatus.FAILED), next


async def _keep_health(db: Db, ended: Sequence[Ended], now: datetime) -> None:
    by_hook = defaultdict[UUID, list[Ended]](list)
    for each in ended:
        by_hook[each.claim.webhook_id].append(each)
    failing = await fetch_rows(
        db,
        """UPDATE webhooks h
           SET failures = CASE WHEN e.delivered THEN 0 ELSE h.failures + e.attempts END,
               failing_since = CASE WHEN NOT e.delivered THEN coalesce(h.failing_since, %(now)s) END
           FROM unnest(%(ids)s::uuid[], %(delivered)s::bool[], %(attempts)s::int[]) AS e (id, delivered, attempts)
           WHERE h.id = e.id AND (h.failures > 0 OR NOT e.delivered)
           RETURNING h.id, h.failing_since""",
        ids=list(by_hook),
        delivered=[any(each.delivered for each in each_hook) for each_hook in by_hook.values()],
        attempts=[len(each_hook) for each_hook in by_hook.values()],
        now=now,
    )
    reasons = {id: DisabledReason.FAILING for id, since in failing if since and since <= now - FAILING_FOR}
    reasons |= {each.claim.webhook_id: DisabledReason.GONE for each in ended if each.answer.status_code == GONE}
    for id, reason in reasons.items():
        await execute(
            db,
            "UPDATE webhooks SET enabled = false, disabled_reason = %(reason)s WHERE id = %(id)s AND enabled",
            id=id,
            reason=reason,
        )
        await park(db, id)


async def park(db: Db, webhook_id: UUID) -> None:
    """What is waiting stays, but is not sent until someone recovers it; the hook is locked by the caller."""
    await execute(
        db,
        """UPDATE webhook_deliveries SET status = 'Parked', next_attempt_on = NULL
           WHERE webhook_id = %(id)s AND status = 'Pending' AND access_request_id IS NOT NULL""",
        id=webhook_id,
    )


async def _tally(db: Db, ended: Sequence[Ended]) -> None:
    attempts = Counter[tuple[str, float]]()
    seconds = Counter[tuple[str, float]]()
    for each in ended:
        key = (each.answer.outcome, lag_bucket(each.lag))
        attempts[key] += 1
        seconds[key] += each.lag  # type: ignore[assignment]
    await execute(
        db,
        """INSERT INTO webhook_tallies AS t (outcome, within, shard, attempts, seconds)
           SELECT outcome, within, pg_backend_pid() %% 32, attempts, seconds
           FROM unnest(%(outcomes)s::text[], %(within)s::float8[], %(attempts)s::int[], %(seconds)s::float8[])
                AS e (outcome, within, attempts, seconds)
           ORDER BY outcome, within
           ON CONFLICT (outcome, within, shard) DO UPDATE
           SET attempts = t.attempts + EXCLUDED.attempts, seconds = t.seconds + EXCLUDED.seconds""",
        outcomes=[outcome for outcome, _ in attempts],
        within=[bound for _, bound in attempts],
        attempts=list(attempts.values()),
        seconds=[float(seconds[key]) for key in attempts],
    )


async def next_due(db: Db, now: datetime) -> datetime | None:
    """When something will be due that is not yet, a lease that runs out included."""
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
