"""Expose metrics in Prometheus text format, from the database, so that any API process can report for all processes."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import groupby
from math import inf, isinf

import msgspec

from rolecall import __version__
from rolecall.application_imports import queries as imports
from rolecall.carriers import health as carriers
from rolecall.core.db import Db
from rolecall.core.heartbeat import living_workers
from rolecall.core.paging import totals_by
from rolecall.notifications import health as notifications
from rolecall.reviews import coverage as reviews
from rolecall.web import request_times
from rolecall.webhooks import queries as webhooks
from rolecall.webhooks.model import LAG_BUCKETS
from rolecall.work_items.model import WorkStatus

Labels = Mapping[str, object]
_AT_WORK = [status for status in WorkStatus if status not in (WorkStatus.COMPLETED, WorkStatus.CANCELED)]


class MetricType(StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    SUMMARY = "summary"


class Bucket(msgspec.Struct, frozen=True):
    """A bucket: the count and total time of events that took more than the previous bound, up to `within` seconds."""

    within: float
    count: int
    seconds: float


class Metric(msgspec.Struct, frozen=True):
    name: str
    kind: MetricType
    help: str
    # The suffix of the name, the labels and the value of each sample.
    samples: list[tuple[str, Labels, float]]


async def gather(db: Db, now: datetime) -> list[Metric]:
    return [
        Metric("rolecall_info", MetricType.GAUGE, "The version of the service.", [("", {"version": __version__}, 1)]),
        _gauge("workers_alive", "Workers with a heartbeat within the last 20 s.", await living_workers(db)),
        await _requests(db),
        *await _deliveries(db, now),
        *await _notifications(db, now),
        *await _imports(db, now),
        await _statuses(db, "access_requests", "Unfinished access requests, by status."),
        await _statuses(db, "personnel_events", "Unfinished personnel events, by status."),
        await _carriers(db),
        *await _reviews(db, now),
    ]


async def _carriers(db: Db) -> Metric:
    help = "Open requests that a carrier took up, by state."
    return _by("carrier_requests", help, "state", await carriers.open_by_state(db))


async def _reviews(db: Db, now: datetime) -> Iterator[Metric]:
    numbers = await reviews.numbers(db, now)
    return iter(
        [
            _by("reviews", "Unfinished reviews, by status.", "status", numbers.by_status),
            _gauge("review_items_pending", "Review items without a decision.", numbers.pending_items),
            _gauge("review_items_flagged", "Flagged items that are not remediated.", numbers.flagged_items),
            _gauge("reviews_overdue", "Open reviews whose due date has passed.", numbers.overdue_reviews),
            _gauge(
                "applications_review_overdue",
                "Applications that were not reviewed within their review interval.",
                numbers.overdue_applications,
            ),
        ]
    )


async def _requests(db: Db) -> Metric:
    samples: list[tuple[str, Labels, float]] = []
    found = await request_times.all_times(db)
    for (route, method, status), buckets in groupby(found, lambda bucket: (bucket.route, bucket.method, bucket.status)):
        counted = [Bucket(bucket.within, bucket.requests, bucket.seconds) for bucket in buckets]
        labels = {"method": method, "route": route, "status": status}
        samples += _histogram(labels, request_times.BUCKETS, counted)
    return Metric("http_request_seconds", MetricType.HISTOGRAM, "Duration of HTTP requests.", samples)


async def _deliveries(db: Db, now: datetime) -> Iterator[Metric]:
    numbers = await webhooks.numbers(db, now)
    lag: list[tuple[str, Labels, float]] = []
    for outcome, buckets in groupby(numbers.lag, lambda bucket: bucket.outcome):
        counted = [Bucket(bucket.within, bucket.attempts, bucket.seconds) for bucket in buckets]
        lag += _histogram({"outcome": outcome}, (*LAG_BUCKETS, inf), counted)
    return iter(
        [
            Metric(
                "webhook_delivery_lag_seconds",
                MetricType.HISTOGRAM,
                "Time from when an attempt was due until it ended.",
                lag,
            ),
            _by("webhook_deliveries", "Pending, failed and parked deliveries, by status.", "status", numbers.by_status),
            _gauge(
                "webhook_delivery_late_seconds",
                "How long the oldest due delivery has been due.",
                numbers.oldest_due_seconds,
            ),
        ]
    )


async def _notifications(db: Db, now: datetime) -> Iterator[Metric]:
    numbers = await notifications.numbers(db, now)
    return iter(
        [
            _by("notification_messages", "Messages of the last 90 days, by outcome.", "outcome", numbers.by_outcome),
            _gauge("notifications_unsent", "Notifications that have not been sent yet.", numbers.unsent),
            _gauge(
                "notification_unsent_seconds",
                "Age of the oldest notification that has not been sent yet.",
                numbers.oldest_unsent_seconds,
            ),
            _by("notification_channel_failing", "1 if the channel cannot be used.", "channel", numbers.failing),
        ]
    )


async def _imports(db: Db, now: datetime) -> Iterator[Metric]:
    numbers = await imports.numbers(db, now)
    took: list[tuple[str, Labels, float]] = []
    for ended in numbers.ended:
        took += [("_sum", {"status": ended.status}, ended.seconds), ("_count", {"status": ended.status}, ended.count)]
    rows: list[tuple[str, Labels, float]] = [("", {"outcome": name}, count) for name, count in numbers.rows.items()]
    return iter(
        [
            _by("imports", "Unfinished imports, by status.", "status", numbers.by_status),
            _gauge("imports_held", "Imports held by the guard until a person decides.", numbers.held),
            _gauge(
                "import_wait_seconds", "How long the oldest pending import has waited.", numbers.oldest_wait_seconds
            ),
            Metric("import_seconds", MetricType.SUMMARY, "Duration of imports.", took),
            Metric(
                "schedules_skipped_total",
                MetricType.COUNTER,
                "Number of times that a schedule was due while its previous import was still running.",
                [("", {}, numbers.skipped)],
            ),
            Metric("import_rows_total", MetricType.COUNTER, "Rows of imported files, by outcome.", rows),
        ]
    )


async def _statuses(db: Db, table: str, help: str) -> Metric:
    return _by(table, help, "status", await totals_by(db, table, "status", _AT_WORK))


def _gauge(name: str, help: str, value: float) -> Metric:
    return Metric(name, MetricType.GAUGE, help, [("", {}, value)])


def _by(name: str, help: str, label: str, values: Mapping[str, int]) -> Metric:
    return Metric(name, MetricType.GAUGE, help, [("", {label: key}, value) for key, value in sorted(values.items())])


def _histogram(
    labels: Labels, bounds: Sequence[float], counted: Sequence[Bucket]
) -> Iterator[tuple[str, Labels, float]]:
    """Convert buckets to the cumulative buckets of Prometheus."""
    for bound in bounds:
        upto = sum(bucket.count for bucket in counted if bucket.within <= bound)
        yield "_bucket", {**labels, "le": _number(bound)}, upto
    yield "_sum", labels, sum(bucket.seconds for bucket in counted)
    yield "_count", labels, sum(bucket.count for bucket in counted)


def exposition(metrics: Sequence[Metric]) -> bytes:
    return "".join(line + "\n" for metric in metrics for line in _lines(metric)).encode()


def _lines(metric: Metric) -> Iterator[str]:
    yield f"# HELP {metric.name} {metric.help}"
    yield f"# TYPE {metric.name} {metric.kind}"
    for end, labels, value in metric.samples:
        told = ",".join(f'{name}="{_escaped(str(label))}"' for name, label in labels.items())
        yield f"{metric.name}{end}{{{told}}} {_number(value)}" if told else f"{metric.name}{end} {_number(value)}"


def _number(value: float) -> str:
    return "+Inf" if isinf(value) else repr(value)


def _escaped(text: str) -> str:
    # The text format requires exactly these escapes in the values of labels.
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
