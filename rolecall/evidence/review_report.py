"""Render the evidence of a review as one printable HTML document that ends with a sign-off page.

Imported text is escaped.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

import msgspec
from jinja2 import Environment

from rolecall.core.templates import environment
from rolecall.evidence.report import IMPORT_HEADERS, import_row, shown
from rolecall.evidence.shapes import ImportEvidence
from rolecall.reviews.quality import ReviewerQuality

Row = tuple[object, ...]
_POPULATION = ("Application", "Import", "File rows", "Accounts", "Access held", "Items", "Excluded", "Why excluded")
_STATEMENT = ("Reviewer", "Signed by", "When", "Statement", "Decisions", "SHA-256 of the decisions")
_QUALITY = (
    *("Reviewer", "Items", "Decided", "Kept", "Flagged", "In bulk", "Median time", "Median of others"),
    *("Longest run", "Details opened", "Wrongly kept"),
)
_STEP = ("Step", "By", "When", "Detail", "Items about their own access")
_REQUEST = ("Request", "Action", "Status", "Items", "Completed")
_ACCEPTANCE = ("Item", "Accepted by", "Until", "Reason")
_ITEM = (
    *("Item", "Person", "Application", "Account or group", "Access", "Reviewer"),
    *("Decision", "When", "Status", "Proof"),
)
# Descriptions of the exceptions that auditors ask about.
EXCEPTION_WORDS = {
    "self": "Items about the access of their own reviewer, or of the person who decided them",
    "single": "Applications in which one person made all the decisions that people made",
    "standIn": "Items that a stand-in or a token decided for the reviewer",
    "late": "Items decided after the due date that the review had when it was opened",
    "silent": "Items that no person decided before the review was closed",
    "unsigned": "Items whose decision no reviewer signed before the review was closed",
    "unread": "Samples of carried-over access that were decided without opening the details",
    "discarded": "Items withdrawn after a decision to remove or change the access, which was not carried out",
    "interested": "Steps taken by people whose own access is under review",
    "bulk": "Items decided in bulk",
    "carried": "Items whose decision was carried over from the last review",
    "moved": "Items whose reviewer is not the one that the stage names, for example because of absence or reassignment",
    "reopened": "Items whose access returned after it was removed",
    "accepted": "Flagged items whose access was accepted until a date",
}
# The page lists at most this many item numbers for each exception; `exceptions.json` has all of them.
_MOST_NAMED = 100


class ReviewReport(msgspec.Struct, kw_only=True):
    """The content of the page. `items` may be only the first ones of the review; the bundle has all of them."""

    review: dict[str, Any]
    population: list[dict[str, Any]]
    items: list[dict[str, Any]]
    exceptions: Mapping[str, Sequence[object]]
    records: dict[str, list[dict[str, Any]]]
    imports: list[ImportEvidence]
    quality: list[ReviewerQuality]
    head: str
    now: datetime


def review_report(report: ReviewReport) -> str:
    submissions = report.records["submissions.json"]
    sections = [
        ("Population", _POPULATION, [_place(one) for one in report.population]),
        ("Statements", _STATEMENT, [_statement(one) for one in submissions]),
        ("Exceptions", ("What", "Number", "Which"), list(_exceptions(report.exceptions))),
        ("How the review was run", _STEP, [_step(one) for one in report.records["steps.json"]]),
        ("How reviewers decided", _QUALITY, [_quality(one) for one in report.quality]),
        ("Requests", _REQUEST, [_request(one) for one in report.records["remediation.json"]]),
        ("Accepted risks", _ACCEPTANCE, [_acceptance(one) for one in report.records["acceptances.json"]]),
        ("Items", _ITEM, [_item(one) for one in report.items]),
        ("Source files", IMPORT_HEADERS, [import_row(run) for run in report.imports]),
    ]
    return (
        _environment()
        .get_template("review_report.html")
        .render(
            review=report.review,
            facts=_facts(report),
            sections=sections,
            left_out=report.review["itemCount"] - len(report.items),
            signers=[one["reviewerName"] for one in submissions],
            head=report.head,
            now=report.now,
        )
    )


@cache
def _environment() -> Environment:
    return environment("rolecall.evidence", shown=shown)


def _facts(report: ReviewReport) -> list[Row]:
    review = report.review
    names = {
        "Type": "type", "Status": "status", "Owner": "owner", "Prepared by": "createdBy", "Opened": "openedOn",
        "First due": "firstDueOn", "Due": "dueOn", "Closed": "closedOn", "Completed": "completedOn",
        "Period from": "periodFrom", "Period until": "periodUntil", "Explained access": "explained",
        "Without a decision": "onSilence", "Items": "itemCount", "SHA-256 of the population": "digest",
    }  # fmt: skip
    stages = ", then ".join(stage["reviewer"] for stage in review["stages"])
    known = [(words, _text(review[name])) for words, name in names.items() if review[name] is not None]
    return [*known, ("Reviewers", stages)]


def _text(value: object) -> object:
    """Format a moment for the page; return other values unchanged."""
    # JSON has no type for times, so recognize them by their form.
    if isinstance(value, str) and len(value) > 19 and value[10:11] == "T":
        return f"{value[:10]} {value[11:19]} UTC"
    return value


def _place(one: dict[str, Any]) -> Row:
    excluded = one["excluded"]
    return (
        one["application"]["name"] if one["application"] else "Access models",
        f"#{one['importNumber']}" if one["importNumber"] else "",
        *(one[name] for name in ("fileRows", "accounts", "held", "items")),
        sum(excluded.values()),
        "; ".join(f"{count} {reason}" for reason, count in excluded.items()),
    )


def _statement(one: dict[str, Any]) -> Row:
    counts = ", ".join(f"{decision} {count}" for decision, count in one["counts"].items())
    signed = (one["reviewerName"], one["submittedByName"], _text(one["submittedOn"]))
    return *signed, one["statement"], counts, one["digest"]


def _step(one: dict[str, Any]) -> Row:
    own = ", ".join(f"#{number}" for number in one["ownItems"])
    return one["step"], one["doneByName"], _text(one["doneOn"]), one["detail"], own


def _exceptions(found: Mapping[str, Sequence[object]]) -> Iterable[Row]:
    for name, words in EXCEPTION_WORDS.items():
        which = found[name]
        named = ", ".join(f"#{one}" if isinstance(one, int) else str(one) for one in which[:_MOST_NAMED])
        yield words, len(which), named + (" and more" if len(which) > _MOST_NAMED else "")


def _quality(one: ReviewerQuality) -> Row:
    return (
        *(one.reviewer, one.items, one.decided, _percent(one.approval_rate), one.flagged, _percent(one.bulk_share)),
        *(_seconds(one.median_seconds), _seconds(one.others_median_seconds), one.longest_run),
        *(_percent(one.opened_share), one.known_wrong_kept),
    )


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"


def _seconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds:.0f} s"


def _request(one: dict[str, Any]) -> Row:
    items = ", ".join(f"#{number}" for number in one["items"])
    return f"#{one['number']}", one["action"], one["status"], items, _text(one["completedOn"])


def _acceptance(one: dict[str, Any]) -> Row:
    return f"#{one['item']}", one["acceptedByName"], _text(one["until"]), one["reason"]


def _item(one: dict[str, Any]) -> Row:
    access = one["entitlement"]
    words = [access[part] for part in ("header", "section", "name") if access[part]] if access else []
    decision = " ".join(filter(None, (one["decision"], one["newAccess"], str(_text(one["until"]) or ""))))
    proof = f"import #{one['remediatedImport']}" if one["remediatedImport"] else ""
    request = f"request #{one['request']} {one['requestStatus']}" if one["request"] else ""
    return (
        f"#{one['number']}",
        one["person"] and one["person"]["name"],
        one["application"] and one["application"]["name"],
        one["holder"]["name"],
        " / ".join([*words, one["access"]]),
        one["reviewer"] and one["reviewer"]["name"],
        decision + (f": {one['comment']}" if one["comment"] else ""),
        _text(one["decidedOn"]),
        one["status"],
        ", ".join(filter(None, (request, proof))),
    )
