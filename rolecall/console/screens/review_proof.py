"""Serve the evidence of a review: the bundle as a download, and the report for printing."""

from datetime import datetime
from tempfile import TemporaryFile

from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse

from rolecall.console import actions
from rolecall.console.frame import screen
from rolecall.console.model import Session
from rolecall.console.screens.exports import is_from_here
from rolecall.core.caller import Scope
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.errors import NotFound
from rolecall.core.exporting import snapshot
from rolecall.evidence.review_bundle import read_report, write_review_bundle
from rolecall.evidence.review_report import review_report
from rolecall.reviews import queries
from rolecall.web.bodies import AnyRequest
from rolecall.web.downloads import attachment

# The report has an inline style, no script, and loads nothing.
_CSP = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"


@screen("GET", "/reviews/{id:str}/evidence", scope=Scope.AUDIT_READ)
async def download_evidence(
    request: AnyRequest, db: Db, id: str, session: Session, config: Config, now: datetime
) -> ASGIResponse:
    """Write the bundle from one snapshot and send it. A notice on the next page shows its seal."""
    if not is_from_here(request):
        raise NotFound("Review", id)
    review = await queries.get(db, id)
    # The response closes the temporary file, which deletes it.
    file = TemporaryFile()  # noqa: SIM115
    async with snapshot(config) as reading:
        seal = await write_review_bundle(reading, file, review.id, now)
    said = f"The evidence of review #{review.number} was written. Its seal: {seal}."
    await actions.leave_notice(db, session, f"{said} Give the seal to the auditor separately.", "good")
    size = file.tell()
    file.seek(0)
    return attachment(file, size, f"review-{review.number}-evidence.zip")


@screen("GET", "/reviews/{id:str}/report", scope=Scope.AUDIT_READ)
async def show_report(db: Db, id: str, config: Config, now: datetime) -> ASGIResponse:
    review = await queries.get(db, id)
    async with snapshot(config) as reading:
        page = review_report(await read_report(reading, review.id, now))
    headers = {"Content-Security-Policy": _CSP, "Referrer-Policy": "same-origin"}
    return ASGIResponse(body=page.encode(), media_type="text/html; charset=utf-8", headers=headers)


HANDLERS: list[HTTPRouteHandler] = [download_evidence, show_report]
