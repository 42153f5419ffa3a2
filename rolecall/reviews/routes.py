from datetime import datetime
from typing import Any

from litestar import Router

from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json, check
from rolecall.core.db import Db
from rolecall.core.paging import Page
from rolecall.reviews import (
    accepting,
    actions,
    closing,
    deciding,
    item_queries,
    moving,
    queries,
    reminding,
    submitting,
    templates,
)
from rolecall.reviews.bodies import (
    AcceptBody,
    CloseBody,
    DecideBody,
    DecideSeveralBody,
    NewReview,
    ReassignBody,
    RemindBody,
    ReviewChanges,
    SubmitBody,
    UndoBody,
)
from rolecall.reviews.coverage import ApplicationCoverage, coverage
from rolecall.reviews.item_queries import ItemFilters
from rolecall.reviews.model import ItemFact, ReviewItemStatus, ReviewStatus, ReviewType
from rolecall.reviews.new_access import new_access
from rolecall.reviews.shapes import (
    BulkDecision,
    NewAccess,
    PopulationCheck,
    ReviewDetail,
    ReviewItem,
    ReviewItemDetail,
    ReviewListItem,
    ReviewPreview,
    SubmissionDetail,
)
from rolecall.reviews.templates import NewReviewTemplate, ReviewTemplate, ReviewTemplateChanges
from rolecall.web.bodies import a_guid, a_word_of
from rolecall.web.operations import operation, optional_json

_READ, _WRITE = Scope.REVIEWS_READ, Scope.REVIEWS_WRITE


@operation(
    "GET",
    "/",
    scope=_READ,
    query={"status": a_word_of(ReviewStatus), "type": a_word_of(ReviewType), "applicationId": a_guid},
)
async def list_reviews(db: Db, query: dict[str, Any]) -> Page[ReviewListItem]:
    """List reviews, newest first; with `applicationId`, only reviews that include the application."""
    given = {"status": query.get("status"), "type": query.get("type"), "application_id": query.get("applicationId")}
    return await queries.newest_first(db, query["page"], **given)


@operation("GET", "/coverage", scope=_READ, query={})
async def list_review_coverage(db: Db, query: dict[str, Any], now: datetime) -> Page[ApplicationCoverage]:
    """List applications with their last and current review, and when the next one is due."""
    return await coverage(db, query["page"], now)


@operation("POST", "/", scope=_WRITE, status=201, body=NewReview)
async def create_review(db: Db, caller: Caller, raw: Json, facts: Facts) -> ReviewDetail:
    """Draft a review. Without `stages`, the usual reviewers of its type decide."""
    return await actions.create_review(db, caller, raw, facts)


@operation("GET", "/{id:str}", scope=_READ)
async def get_review(db: Db, id: str) -> ReviewDetail:
    """Get a review with its population and the progress of its reviewers."""
    return await queries.get(db, id)


@operation("PATCH", "/{id:str}", scope=_WRITE, body=ReviewChanges)
async def change_review(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> ReviewDetail:
    """Change a draft, or `dueOn` of an open review."""
    return await actions.change_review(db, caller, id, raw, facts)


@operation("POST", "/{id:str}/preview", scope=_WRITE)
async def preview_review(db: Db, id: str, now: datetime) -> ReviewPreview:
    """Return what a draft would contain if it were opened now. Nothing is stored."""
    return await actions.preview_review(db, id, now)


@operation("POST", "/{id:str}/open", scope=_WRITE)
async def open_review(db: Db, caller: Caller, id: str, now: datetime) -> ReviewDetail:
    """Open a draft: collect its items from the last finished imports, and notify the reviewers."""
    return await actions.open_review(db, caller, id, now)


@operation("POST", "/{id:str}/check", scope=_READ)
async def check_population(db: Db, id: str) -> PopulationCheck:
    """Collect the population again from the same imports; return whether it and the stored items are unchanged."""
    return await actions.check_population(db, id)


@operation("POST", "/{id:str}/close", scope=_WRITE, body=CloseBody, read_body=optional_json)
async def close_review(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> ReviewDetail:
    """Close a review if all items are submitted, or if it is overdue and `onSilence` is not `escalate`.

    If closing an overdue review would flag many accounts, it is held: `held` says how many. Send `confirm` to close it
    anyway.
    """
    confirm = check(CloseBody, raw, facts).confirm
    return await closing.close_review(db, caller, id, confirm, facts.now, facts.zone)


@operation("POST", "/{id:str}/cancel", scope=_WRITE)
async def cancel_review(db: Db, caller: Caller, id: str, now: datetime) -> ReviewDetail:
    """Cancel a review. Items without a request are withdrawn, even if they were decided; existing requests continue."""
    return await closing.cancel_review(db, caller, id, now)


@operation("POST", "/{id:str}/remind", scope=_WRITE, body=RemindBody, read_body=optional_json)
async def remind_reviewers(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> ReviewDetail:
    """Remind reviewers who have items to decide or submit."""
    return await reminding.remind(db, caller, id, raw, facts)


@operation(
    "GET",
    "/{id:str}/items",
    scope=_READ,
    query={
        "status": a_word_of(ReviewItemStatus),
        "reviewerId": a_guid,
        "applicationId": a_guid,
        "identityId": a_guid,
        "reason": a_word_of(ItemFact),
    },
)
async def list_review_items(db: Db, id: str, query: dict[str, Any]) -> Page[ReviewItem]:
    """List the items of a review, ordered by person, application, account and risk."""
    review = await queries.get_id(db, id)
    filters = ItemFilters(
        status=query.get("status"),
        reviewer_id=query.get("reviewerId"),
        application_id=query.get("applicationId"),
        identity_id=query.get("identityId"),
        reason=query.get("reason"),
    )
    return await item_queries.items(db, review, query["page"], filters)


@operation("GET", "/{id:str}/new-access", scope=_READ, query={})
async def list_new_access(db: Db, id: str, query: dict[str, Any]) -> Page[NewAccess]:
    """List access that appeared in the applications of a review after it was opened."""
    return await new_access(db, await queries.get_id(db, id), query["page"])


@operation("POST", "/{id:str}/decide", scope=_WRITE, body=DecideSeveralBody)
async def decide_review_items(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> BulkDecision:
    """Decide about several items at once. Items that cannot be decided are left unchanged, and counted by reason."""
    return await deciding.decide_several(db, caller, id, raw, facts)


@operation("POST", "/{id:str}/submit", scope=_WRITE, body=SubmitBody, read_body=optional_json)
async def submit_review(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> SubmissionDetail:
    """Sign the decisions of a reviewer, who can then no longer change them. Requests carry out the decisions.

    Items that were kept go to the reviewers of the next stage, if there is one.
    """
    return await submitting.submit(db, caller, id, raw, facts)


@operation("GET", "/{id:str}", scope=_READ)
async def get_review_item(db: Db, id: str) -> ReviewItemDetail:
    """Get an item with its history, the previous review's decision, and changes since the review was opened."""
    return await item_queries.get_item(db, id)


@operation("POST", "/{id:str}/decide", scope=_WRITE, body=DecideBody)
async def decide_review_item(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> ReviewItemDetail:
    """Decide about an item. The decision can be changed until the reviewer submits.

    `NotMine` and `Unsure` give the item to another reviewer at once.
    """
    return await deciding.decide(db, caller, id, raw, facts)


@operation("POST", "/{id:str}/undo", scope=_WRITE, body=UndoBody, read_body=optional_json)
async def undo_review_decision(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> ReviewItemDetail:
    """Withdraw a decision that is not submitted yet."""
    return await deciding.undo_decision(db, caller, id, raw, facts)


@operation("POST", "/{id:str}/reassign", scope=_WRITE, body=ReassignBody)
async def reassign_review_item(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> ReviewItemDetail:
    """Give an item to another reviewer, with a reason."""
    return await moving.reassign(db, caller, id, raw, facts)


@operation("POST", "/{id:str}/accept", scope=_WRITE, body=AcceptBody)
async def accept_review_item(db: Db, caller: Caller, id: str, raw: Json, facts: Facts) -> ReviewItemDetail:
    """Keep flagged access until a date, as the owner of the application or, if the owner cannot, an administrator."""
    return await accepting.accept(db, caller, id, raw, facts)


router = Router(
    "/api/reviews",
    route_handlers=[
        list_reviews,
        list_review_coverage,
        create_review,
        get_review,
        change_review,
        preview_review,
        open_review,
        check_population,
        close_review,
        cancel_review,
        remind_reviewers,
        list_review_items,
        list_new_access,
        decide_review_items,
        submit_review,
    ],
    tags=["Administration"],
)
items = Router(
    "/api/review-items",
    route_handlers=[
        get_review_item,
        decide_review_item,
        undo_review_decision,
        reassign_review_item,
        accept_review_item,
    ],
    tags=["Administration"],
)


@operation("GET", "/", scope=_READ, query={})
async def list_review_templates(db: Db, query: dict[str, Any]) -> Page[ReviewTemplate]:
    """List the templates of recurring reviews, ordered by name."""
    return await templates.by_name(db, query["page"])


@operation("POST", "/", scope=_WRITE, status=201, body=NewReviewTemplate)
async def create_review_template(db: Db, raw: Json, facts: Facts) -> ReviewTemplate:
    """Create a template that repeats a review every few months, starting at `nextOn` or, without it, now."""
    return await templates.create_template(db, raw, facts)


@operation("GET", "/{id:str}", scope=_READ)
async def get_review_template(db: Db, id: str) -> ReviewTemplate:
    """Get the template of a review that repeats."""
    return await templates.get(db, id)


@operation("PATCH", "/{id:str}", scope=_WRITE, body=ReviewTemplateChanges)
async def change_review_template(db: Db, id: str, raw: Json, facts: Facts) -> ReviewTemplate:
    """Change the given fields of a template."""
    return await templates.change_template(db, id, raw, facts)


@operation("DELETE", "/{id:str}", scope=_WRITE, status=204)
async def delete_review_template(db: Db, id: str) -> None:
    """Delete a template; its reviews stay."""
    await templates.delete_template(db, id)


repeated = Router(
    "/api/review-templates",
    route_handlers=[
        list_review_templates,
        create_review_template,
        get_review_template,
        change_review_template,
        delete_review_template,
    ],
    tags=["Administration"],
)
