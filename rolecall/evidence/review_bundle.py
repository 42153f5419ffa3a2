"""Write the evidence bundle of a review. The long lists are streamed, so that large reviews need little memory."""

from contextlib import nullcontext
from datetime import datetime
from typing import IO, Any
from uuid import UUID

import msgspec

from rolecall.audit import queries as audit
from rolecall.audit.model import seal_of
from rolecall.core.db import Db
from rolecall.core.errors import Conflict
from rolecall.evidence import review_records as records
from rolecall.evidence.bundle import BundleWriter
from rolecall.evidence.review_report import ReviewReport, review_report
from rolecall.evidence.verify import ExceptionsFound
from rolecall.reviews.quality import quality_of_reviewers

NOT_OPENED = "The review has no evidence yet: it is a draft. Open it first"
# The printed report lists at most this many items; `items.jsonl` has all of them.
MOST_PRINTED = 2000


async def read_report(db: Db, id: UUID, now: datetime) -> ReviewReport:
    """Return the content of the printed report, without writing a bundle."""
    return await _gather(db, id, now, None)


async def _gather(db: Db, id: UUID, now: datetime, bundle: BundleWriter | None) -> ReviewReport:
    """Read the review once and return its report; if there is a bundle, write the long lists to it as they are read."""
    review = await records.review_row(db, id)
    if review["openedOn"] is None:
        raise Conflict(NOT_OPENED)
    found = {member: await records.records(db, member, id) for member in records.RECORDS}
    exceptions, printed = ExceptionsFound(review, found["steps.json"]), list[dict[str, Any]]()
    for member in records.LINES:
        await _write_lines(db, id, member, bundle, exceptions, printed)
    heads = await audit.heads(db)
    return ReviewReport(
        review=review,
        population=await records.population_rows(db, id),
        items=printed,
        exceptions=exceptions.found(),
        records=found,
        imports=await records.imports_of_review(db, id),
        quality=await quality_of_reviewers(db, id),
        head=seal_of(heads),
        now=now,
    )


async def _write_lines(
    db: Db,
    id: UUID,
    member: str,
    bundle: BundleWriter | None,
    exceptions: ExceptionsFound,
    printed: list[dict[str, Any]],
) -> None:
    is_items = member == records.ITEMS
    # The report needs only the items; the other lists are written only to a bundle.
    if bundle is None and not is_items:
        return
    with bundle.writing(member) if bundle else nullcontext() as written:
        async for line in records.lines(db, member, id):
            if written:
                written.write(f"{line}\n".encode())
            if is_items:
                item = msgspec.json.decode(line)
                exceptions.note(item)
                if len(printed) < MOST_PRINTED:
                    printed.append(item)


async def write_review_bundle(db: Db, file: IO[bytes], id: UUID, now: datetime) -> str:
    """Write the bundle of a review and return its seal, the digest of the manifest.

    The calling code must open one database snapshot, so that all files of the bundle agree.
    """
    bundle = BundleWriter(file)
    with bundle.archive:
        report = await _gather(db, id, now, bundle)
        bundle.add_json("review.json", report.review)
        bundle.add_json("population.json", report.population)
        bundle.add_json("exceptions.json", report.exceptions)
        bundle.add_json("quality.json", report.quality)
        bundle.add_json("imports.json", report.imports)
        for member, found in report.records.items():
            bundle.add_json(member, found)
        # `add_entries` also yields the entries; ignore them here, because the report of a review does not show them.
        async for _ in bundle.add_entries(db, records.ENTRIES, id=id):
            pass
        await bundle.add_links(db, await audit.heads(db))
        bundle.add("report.html", review_report(report).encode())
        return bundle.finish(reviewId=id, reviewNumber=report.review["number"], createdDate=now)
