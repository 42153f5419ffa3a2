"""Serve the evidence of a review: the bundle as a download, and the report for printing."""

from datetime import datetime
from tempfile import TemporaryFile
from typing import Any
from uuid import UUID

from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from rolecall.audit import queries as audit
from rolecall.audit.actions import record
from rolecall.console import actions
from rolecall.console.frame import screen
from rolecall.console.model import Session
from rolecall.console.screens.exports import is_from_here, sign_as
from rolecall.core.caller import Caller, Scope
from rolecall.core.config import Config
from rolecall.core.db import Db, transaction
from rolecall.core.errors import NotFound
from rolecall.core.exporting import snapshot
from rolecall.evidence.review_bundle import read_report, write_review_bundle
from rolecall.evidence.review_report import review_report
from rolecall.reviews import queries
from rolecall.web.bodies import AnyRequest
from rolecall.web.downloads import attachment

# The report has an inline style, no script, and loads nothing.
_CSP = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"
# The page of a review shows the seals of this many bundles; the audit has all of them.
_SHOWN = 5


@screen("GET", "/reviews/{id:str}/evidence", scope=Scope.AUDIT_READ)
async def download_evidence(
    request: AnyRequest, db: Db, id: str, session: Session, caller: Caller, config: Config, now: datetime
) -> ASGIResponse:
    """Write the bundle from one snapshot, audit it with its seal, and send it. The next page shows the seal."""
    if not is_from_here(request):
        raise NotFound("Review", id)
    review = await queries.get(db, id)
    # The response closes the temporary file, which deletes it.
    file = TemporaryFile()  # noqa: SIM115
    async with snapshot(config) as reading:
        seal = await write_review_bundle(reading, file, review.id, now)
    async with transaction(db, "screen"):
        await sign_as(session, caller, Scope.AUDIT_READ, "download_evidence")(db)
        await record(db, "Review", review.id, {"evidenceSeal": seal})
    said = f"The evidence of review #{review.number} was written. Its seal: {seal}."
    await actions.leave_notice(db, session, f"{said} Give the seal to the auditor separately.", "good")
    size = file.tell()
    file.seek(0)
    return attachment(file, size, f"review-{review.number}-evidence.zip")


async def newest_bundles(db: Db, review_id: UUID) -> dict[str, Any]:
    """Return the audit entries of the newest bundles, and the number of all."""
    page = await audit.newest_first(db, 1, audit.Filter(entity_id=review_id, action="Download evidence"))
    return {"bundles": page.items[:_SHOWN], "bundle_count": page.total_count}


@screen("GET", "/reviews/{id:str}/report", scope=Scope.AUDIT_READ)
async def show_report(db: Db, id: str, config: Config, now: datetime) -> ASGIResponse:
    review = await queries.get(db, id)
    async with snapshot(config) as reading:
        page = review_report(await read_report(reading, review.id, now))
    headers = {"Content-Security-Policy": _CSP, "Referrer-Policy": "same-origin"}
    return ASGIResponse(body=page.encode(), media_type="text/html; charset=utf-8", headers=headers)


HANDLERS: list[HTTPRouteHandler] = [download_evidence, show_report]
