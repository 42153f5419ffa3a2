"""Describe the calls about access reviews."""

from collections.abc import Sequence
from typing import TypedDict, Unpack

from rolecall.client import answers
from rolecall.client.answers import Json, Page
from rolecall.client.calls import describe
from rolecall.client.calls.describe import Call, Id, When


class ReviewSettings(TypedDict, total=False):
    description: str
    scope: Json
    stages: Sequence[Json]
    fallback: Json
    period: Json
    explained: str
    on_silence: str
    statement: str
    owner_id: Id


class ReviewChanges(ReviewSettings, total=False):
    name: str
    type: str
    due_on: When


def list_reviews(
    *, status: str | None = None, type: str | None = None, application_id: Id | None = None
) -> Call[Page[answers.ReviewListItem]]:
    """List reviews, newest first."""
    return describe.get(
        Page[answers.ReviewListItem], "/api/reviews", status=status, type=type, application_id=application_id
    )


def get_review(review_id: Id) -> Call[answers.Review]:
    """Get a review with its population and the progress of its reviewers."""
    return describe.get(answers.Review, "/api/reviews/{}", review_id)


def create_review(name: str, type: str, *, due_on: When, **fields: Unpack[ReviewSettings]) -> Call[answers.Review]:
    """Create a draft of a review; its items are determined when it is opened."""
    body = {"name": name, "type": type, "due_on": due_on, **fields}
    return describe.call("POST", answers.Review, "/api/reviews", body=body)


def change_review(review_id: Id, **fields: Unpack[ReviewChanges]) -> Call[answers.Review]:
    """Change the given fields of a draft, or the due date of an open review."""
    return describe.call("PATCH", answers.Review, "/api/reviews/{}", review_id, body=fields)


def preview_review(review_id: Id) -> Call[answers.ReviewPreview]:
    """Preview the content of a draft as if it were opened now."""
    return describe.post(answers.ReviewPreview, "/api/reviews/{}/preview", review_id)


def open_review(review_id: Id) -> Call[answers.Review]:
    """Open a draft; its items come from the last finished imports."""
    return describe.post(answers.Review, "/api/reviews/{}/open", review_id)


def check_population(review_id: Id) -> Call[answers.PopulationCheck]:
    """Compute the population again from the same imports; return whether it and the stored items are unchanged."""
    return describe.post(answers.PopulationCheck, "/api/reviews/{}/check", review_id)


def close_review(review_id: Id, *, confirm: bool = False) -> Call[answers.Review]:
    """Close a review if all items are submitted, or if it is overdue and its `on_silence` is not `escalate`.

    `confirm` is required if closing an overdue review would flag many accounts.
    """
    return describe.post(answers.Review, "/api/reviews/{}/close", review_id, confirm=confirm)


def cancel_review(review_id: Id) -> Call[answers.Review]:
    """Cancel a review. Items without a request are withdrawn, even if they were decided; existing requests continue."""
    return describe.post(answers.Review, "/api/reviews/{}/cancel", review_id)


def remind_reviewers(review_id: Id, *, reviewer_ids: Sequence[Id] | None = None) -> Call[answers.Review]:
    """Remind reviewers who have items left to decide or submit: all of them, or only the given ones."""
    return describe.post(answers.Review, "/api/reviews/{}/remind", review_id, reviewer_ids=reviewer_ids)


def list_review_items(
    review_id: Id,
    *,
    status: str | None = None,
    reviewer_id: Id | None = None,
    application_id: Id | None = None,
    identity_id: Id | None = None,
    reason: str | None = None,
) -> Call[Page[answers.ReviewItem]]:
    """List the items of a review, ordered by person, application, account and risk."""
    return describe.get(
        Page[answers.ReviewItem],
        "/api/reviews/{}/items",
        review_id,
        status=status,
        reviewer_id=reviewer_id,
        application_id=application_id,
        identity_id=identity_id,
        reason=reason,
    )


def list_new_access(review_id: Id) -> Call[Page[answers.NewAccess]]:
    """List access that appeared in the applications of a review after it was opened."""
    return describe.get(Page[answers.NewAccess], "/api/reviews/{}/new-access", review_id)


def decide_review_items(
    review_id: Id,
    decision: str,
    *,
    item_ids: Sequence[Id] | None = None,
    filters: Json | None = None,
    until: When | None = None,
    comment: str | None = None,
    reviewer_id: Id | None = None,
) -> Call[answers.BulkDecision]:
    """Decide several items at once, selected by ids or by filters."""
    return describe.post(
        answers.BulkDecision,
        "/api/reviews/{}/decide",
        review_id,
        decision=decision,
        item_ids=item_ids,
        filters=filters,
        until=until,
        comment=comment,
        reviewer_id=reviewer_id,
    )


def submit_review(
    review_id: Id, *, reviewer_id: Id | None = None, statement: str | None = None
) -> Call[answers.ReviewSubmission]:
    """Sign the decisions of a reviewer. They are then final, and access requests carry them out."""
    return describe.post(
        answers.ReviewSubmission, "/api/reviews/{}/submit", review_id, reviewer_id=reviewer_id, statement=statement
    )


def get_review_item(review_item_id: Id) -> Call[answers.ReviewItemDetail]:
    """Get an item with its history."""
    return describe.get(answers.ReviewItemDetail, "/api/review-items/{}", review_item_id)


def decide_review_item(
    review_item_id: Id,
    decision: str,
    *,
    until: When | None = None,
    access: str | None = None,
    comment: str | None = None,
    reviewer_id: Id | None = None,
    identity_id: Id | None = None,
) -> Call[answers.ReviewItemDetail]:
    """Decide an item; with Not Mine, `identity_id` is the person who should decide instead."""
    return describe.post(
        answers.ReviewItemDetail,
        "/api/review-items/{}/decide",
        review_item_id,
        decision=decision,
        until=until,
        access=access,
        comment=comment,
        reviewer_id=reviewer_id,
        identity_id=identity_id,
    )


def undo_review_decision(review_item_id: Id, *, reviewer_id: Id | None = None) -> Call[answers.ReviewItemDetail]:
    """Withdraw a decision that is not submitted yet."""
    return describe.post(answers.ReviewItemDetail, "/api/review-items/{}/undo", review_item_id, reviewer_id=reviewer_id)


def reassign_review_item(review_item_id: Id, identity_id: Id, *, comment: str) -> Call[answers.ReviewItemDetail]:
    """Give an item to another reviewer, with a reason."""
    return describe.post(
        answers.ReviewItemDetail,
        "/api/review-items/{}/reassign",
        review_item_id,
        identity_id=identity_id,
        comment=comment,
    )


def accept_review_item(
    review_item_id: Id, *, reason: str, until: When, identity_id: Id | None = None
) -> Call[answers.ReviewItemDetail]:
    """Accept flagged access until a date, as the owner of the application or, if the owner cannot, an administrator."""
    return describe.post(
        answers.ReviewItemDetail,
        "/api/review-items/{}/accept",
        review_item_id,
        reason=reason,
        until=until,
        identity_id=identity_id,
    )


def list_review_coverage() -> Call[Page[answers.ReviewCoverage]]:
    """List applications with their last and current review, and when the next one is due."""
    return describe.get(Page[answers.ReviewCoverage], "/api/reviews/coverage")


class ReviewTemplateFields(TypedDict, total=False):
    days_to_review: int
    next_on: When
    opens: bool


class ReviewTemplateChanges(ReviewTemplateFields, total=False):
    every_months: int
    review: Json


def list_review_templates() -> Call[Page[answers.ReviewTemplate]]:
    """List the templates of recurring reviews, ordered by name."""
    return describe.get(Page[answers.ReviewTemplate], "/api/review-templates")


def get_review_template(review_template_id: Id) -> Call[answers.ReviewTemplate]:
    """Get the template of a recurring review."""
    return describe.get(answers.ReviewTemplate, "/api/review-templates/{}", review_template_id)


def create_review_template(
    name: str, *, every_months: int, review: Json, **fields: Unpack[ReviewTemplateFields]
) -> Call[answers.ReviewTemplate]:
    """Create a template that repeats a review every few months; `review` contains its type, scope and stages."""
    body = {"name": name, "every_months": every_months, "review": review, **fields}
    return describe.call("POST", answers.ReviewTemplate, "/api/review-templates", body=body)


def change_review_template(
    review_template_id: Id, **fields: Unpack[ReviewTemplateChanges]
) -> Call[answers.ReviewTemplate]:
    """Change the given fields of a template."""
    return describe.call("PATCH", answers.ReviewTemplate, "/api/review-templates/{}", review_template_id, body=fields)


def delete_review_template(review_template_id: Id) -> Call[None]:
    """Delete a template; its reviews stay."""
    return describe.call("DELETE", type(None), "/api/review-templates/{}", review_template_id)
