"""Define the statuses and outcomes of deliveries, the retry schedule, and the limits of the sender."""

import random
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

import msgspec

from rolecall.access_requests.model import RequestEvent
from rolecall.reviews.model import ReviewEvent


class DeliveryStatus(StrEnum):
    PENDING = "Pending"
    DELIVERED = "Delivered"
    FAILED = "Failed"
    PARKED = "Parked"


class AttemptOutcome(StrEnum):
    """How an attempt ended, without details of the receiver's network."""

    DELIVERED = "delivered"
    STATUS = "status"
    TIMEOUT = "timeout"
    CONNECT = "connect"
    DNS = "dns"
    TLS = "tls"
    BLOCKED = "blocked"
    # The worker died during the attempt.
    UNKNOWN = "unknown"


class DisabledReason(StrEnum):
    GONE = "Gone"
    FAILING = "Failing"


class HookEvent(StrEnum):
    """Events of access requests and reviews that a webhook can receive."""

    CREATED = RequestEvent.CREATED.value
    ASSIGNED = RequestEvent.ASSIGNED.value
    APPROVED = RequestEvent.APPROVED.value
    PROVISIONING = RequestEvent.PROVISIONING.value
    RESOLVED = RequestEvent.RESOLVED.value
    REOPENED = RequestEvent.REOPENED.value
    COMPLETED = RequestEvent.COMPLETED.value
    CANCELED = RequestEvent.CANCELED.value
    REVIEW_OPENED = ReviewEvent.OPENED.value
    REVIEW_ITEM_FLAGGED = ReviewEvent.ITEM_FLAGGED.value
    REVIEW_ITEM_REMEDIATED = ReviewEvent.ITEM_REMEDIATED.value
    REVIEW_SUBMITTED = ReviewEvent.SUBMITTED.value
    REVIEW_COMPLETED = ReviewEvent.COMPLETED.value


TEST_EVENT = "WebhookTest"
TEST_CONDITION = "A test of the webhook was requested; the access request is a sample"
# With this status a receiver asks for no further deliveries.
GONE = 410

# Retry schedule: the delay of each attempt after the end of the previous one.
SCHEDULE = (
    timedelta(0),
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=5),
    timedelta(hours=10),
    timedelta(hours=14),
    timedelta(hours=20),
    timedelta(hours=24),
)
# Spread the retries of deliveries that failed at the same time.
JITTER = 0.2
LONGEST_RETRY_AFTER = timedelta(hours=24)
FAILING_FOR = timedelta(days=5)
OLD_SECRET_SIGNS_FOR = timedelta(hours=24)
CALLBACK_OPEN_FOR = timedelta(days=30)
CALLBACKS_A_DELIVERY = 10
LARGEST_CALLBACK = 16 * 1024

# An attempt takes at most 15 s, so an expired lease belongs to a dead worker.
ATTEMPT_TAKES = timedelta(seconds=15)
LEASE = timedelta(seconds=45)
IN_FLIGHT_A_HOOK = 8
IN_FLIGHT_A_WORKER = 512
# Slots reserved for healthy hooks with nothing in flight, so that busy hooks cannot cause starvation.
KEPT_FOR_OTHERS = 64
# Circuit breaker: after this many consecutive failures a hook gets one attempt at a time until an attempt succeeds.
FAILURES_UNTIL_PROBED = 16

# Upper bounds of the buckets of the histogram webhook_delivery_lag_seconds.
LAG_BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 3600.0)


class AttemptResult(msgspec.Struct, frozen=True):
    outcome: AttemptOutcome
    status_code: int | None = None
    response: str | None = None
    retry_after: timedelta = timedelta(0)


class Claim(msgspec.Struct, frozen=True):
    """A delivery leased to this worker."""

    id: UUID
    webhook_id: UUID
    is_test: bool
    body: bytes
    number: int
    step: int
    due_on: datetime
    lease: UUID


def next_attempt_on(claim: Claim, answer: AttemptResult, now: datetime) -> datetime | None:
    """Return when to retry after this failure; None after the last attempt or a test."""
    if claim.is_test or claim.step >= len(SCHEDULE):
        return None
    delay = SCHEDULE[claim.step] * (1 + JITTER * random.random())  # noqa: S311
    # `Retry-After` may delay an attempt but not bring it forward.
    return now + max(delay, min(answer.retry_after, LONGEST_RETRY_AFTER))
