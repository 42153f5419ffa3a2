"""Show the workspace of a reviewer by person or by access; handle decisions and the signed statement."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote
from uuid import UUID

from litestar.handlers import HTTPRouteHandler

from rolecall.access_requests.requirements import ADMINISTRATORS
from rolecall.console import finding, review_words
from rolecall.console import queries as console
from rolecall.console.answers import HtmlPage, ItemResult, SeeOther, sentence, several
from rolecall.console.forms import first, given
from rolecall.console.frame import screen
from rolecall.console.inputs import Form, one_among
from rolecall.console.model import Person
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.db import Db
from rolecall.core.errors import Conflict, Invalid, NotFound
from rolecall.core.ids import known_guid
from rolecall.core.text import some_of
from rolecall.identities.authority import RecordType
from rolecall.reviews import accepting, deciding, item_queries, moving, queries, submitting, workspace
from rolecall.reviews.item_queries import ItemFilters
from rolecall.reviews.model import ItemFact, ReviewItemStatus, ReviewStatus
from rolecall.reviews.shapes import BulkDecision, ReviewDetail, ReviewItem, ReviewItemDetail
from rolecall.web.bodies import a_guid, a_word_of

_REVIEW, _ITEM = RecordType.REVIEW, RecordType.REVIEW_ITEM
# The tabs of the workspace: the value in the URL, the name, and the status of the items.
TABS: dict[str, tuple[str, ReviewItemStatus | None]] = {
    "todo": ("To decide", ReviewItemStatus.PENDING),
    "kept": ("Kept", ReviewItemStatus.APPROVED),
    "flagged": ("Flagged", ReviewItemStatus.FLAGGED),
    "all": ("All", None),
}
_WORK = {
    "tab": one_among(*TABS),
    "by": one_among("person", "access"),
    "reason": a_word_of(ItemFact),
    "applicationId": a_guid,
    "entitlementId": a_guid,
    "reviewerId": a_guid,
    "selected": a_guid,
    "decide": one_among(*review_words.KEYS),
}
# The end of a notice about decisions: if a notice ends with these words, the page offers to undo the decisions.
_UNTIL_SUBMITTED = "until you submit."
_CAN_UNDO = f"You can undo it {_UNTIL_SUBMITTED}"
_PASSED_ON = ("Not Mine", "Unsure")
_DECIDABLE = (ReviewItemStatus.PENDING, ReviewItemStatus.APPROVED, ReviewItemStatus.FLAGGED)


def reviewer_of(person: Person, review: ReviewDetail, query: dict[str, Any]) -> UUID:
    """Return the reviewer whose items are shown.

    People who see only their own records can choose only reviewers for whom they decide, unless they own the review.
    """
    asked: UUID = query.get("reviewerId") or person.id
    is_owner = review.owner is not None and review.owner.id == person.id
    if person.is_limited and asked not in person.reviews_as() and not is_owner:
        raise NotFound("Reviewer", str(asked))
    return asked


def is_open_for(person: Person, review: ReviewDetail, item: ReviewItem | ReviewItemDetail) -> bool:
    """Return whether the person can decide the item now, for the first time or again."""
    is_theirs = item.reviewer.id in person.reviews_as() and review.status is ReviewStatus.OPEN
    return is_theirs and item.status in _DECIDABLE and not item.is_submitted


@screen("GET", "/reviews/{id:str}/work", scope=Scope.REVIEWS_READ, limits=_REVIEW, query=_WORK)
async def show_work(
    db: Db, id: str, person: Person, query: dict[str, Any], is_fragment: bool, is_prefetch: bool, now: datetime
) -> HtmlPage:
    review = await queries.plan_of(db, id)
    reviewer = reviewer_of(person, review, query)
    tab = query.get("tab") or "todo"
    values: dict[str, Any] = {
        "review": review,
        "query": query,
        "tab": tab,
        "tab_name": TABS[tab][0],
        "status_of_tab": TABS[tab][1],
        # Only undecided items can be grouped by access.
        "by": query.get("by") or "person" if tab == "todo" else "person",
        "reviewer_id": query.get("reviewerId"),
        "is_own": reviewer in person.reviews_as(),
    }
    if values["by"] == "access":
        values |= await _by_access(db, review, reviewer, query)
        return HtmlPage("review_by_access.html", values | await _around(db, review, reviewer, person))
    values |= await _by_person(db, person, review, reviewer, query)
    # Without a selection the page shows the first item, which then does not count as opened.
    if values["can_decide"] and query.get("selected") and not is_prefetch:
        await deciding.mark_opened(db, values["item"].id, now)
    if is_fragment and values["item"]:
        return HtmlPage("parts/review_detail.html", values)
    return HtmlPage("review_by_person.html", values | await _around(db, review, reviewer, person))


async def _around(db: Db, review: ReviewDetail, reviewer: UUID, person: Person) -> dict[str, Any]:
    """Return what the page shows besides the items, such as progress, the last decision, tabs and filters."""
    is_open = review.status is ReviewStatus.OPEN
    mine = await workspace.progress_of(db, review.id, [reviewer])
    counts = {"todo": mine.left, "kept": mine.kept, "flagged": mine.flagged, "all": mine.total}
    return {
        "mine": mine,
        "last": await workspace.last_decision(db, review.id, reviewer, person.id) if is_open else None,
        "can_undo_text": _UNTIL_SUBMITTED,
        "passed_on": await workspace.passed_on(db, review.id, reviewer),
        "tabs": [(name, value, counts[value]) for value, (name, _) in TABS.items()],
        "reasons": list(ItemFact),
        "applications": await queries.applications_of(db, review.id),
        "reviewer_name": (await console.people_names(db, [reviewer])).get(reviewer, ADMINISTRATORS.name),
    }


async def _by_person(
    db: Db, person: Person, review: ReviewDetail, reviewer: UUID, query: dict[str, Any]
) -> dict[str, Any]:
    filters = ItemFilters(
        status=TABS[query.get("tab") or "todo"][1],
        reviewer_id=reviewer,
        application_id=query.get("applicationId"),
        reason=query.get("reason"),
    )
    page = await item_queries.items(db, review.id, query["page"], filters)
    ids = [one.id for one in page.items]
    # The link may select an item that was decided meanwhile and has left this tab.
    chosen: UUID | None = query.get("selected") if query.get("selected") in ids else (ids[0] if ids else None)
    can_decide = {one.id for one in page.items if is_open_for(person, review, one)}
    open_items = {one.id for one in page.items if one.id in can_decide and one.status is ReviewItemStatus.PENDING}
    after = ids[ids.index(chosen) + 1 :] if chosen else []
    return {
        "page": page,
        "chosen": chosen,
        "next": next(iter(after), None),
        "item": await item_queries.get_item(db, chosen) if chosen else None,
        "can_decide": chosen in can_decide,
        "can_undo": chosen in can_decide - open_items,
        "open_items": open_items,
        "undoable": can_decide - open_items,
        "recommended": sum(one.recommendation.verdict == "Keep" for one in page.items if one.id in open_items),
    }


async def _by_access(db: Db, review: ReviewDetail, reviewer: UUID, query: dict[str, Any]) -> dict[str, Any]:
    """Return the entitlements with undecided items or, if one of them is chosen, the undecided items of its holders.

    Items with the recommendation Revoke are ticked as exceptions, unless all items have this recommendation.
    """
    entitlement: UUID | None = query.get("entitlementId")
    group = await _holders(db, review, reviewer, entitlement) if entitlement else []
    against = sum(one.recommendation.verdict == "Revoke" for one in group)
    access = None
    if not group:
        access = await workspace.by_access(db, review.id, [reviewer], query["page"], query.get("applicationId"))
    return {"group": group, "against": against, "all_against": against == len(group), "access": access}


async def _holders(db: Db, review: ReviewDetail, reviewer: UUID, entitlement: UUID) -> list[ReviewItem]:
    """Return the undecided items of the holders of one entitlement, up to a limit, to be decided together."""
    return await item_queries.items_by_id(db, await workspace.undecided_holders(db, review.id, [reviewer], entitlement))


@screen("GET", "/review-items/{id:str}", scope=Scope.REVIEWS_READ, limits=_ITEM, query={"decide": _WORK["decide"]})
async def show_item(db: Db, id: str, person: Person, caller: Caller, query: dict[str, Any], now: datetime) -> HtmlPage:
    item = await item_queries.get_item(db, id)
    review = await queries.plan_of(db, item.review_id)
    can_decide = is_open_for(person, review, item)
    is_open = review.status is ReviewStatus.OPEN and item.status in _DECIDABLE and not item.is_submitted
    if can_decide:
        await deciding.mark_opened(db, item.id, now)
    values = {
        "item": item,
        "review": review,
        "query": query,
        "can_decide": can_decide,
        "can_undo": can_decide and item.status is not ReviewItemStatus.PENDING,
        "may_reassign": is_open and Scope.REVIEWS_WRITE in caller.scopes,
        "may_accept": not item.accepted_until and await accepting.may_accept(db, caller, item),
    }
    return HtmlPage("review_item.html", values)


def _decision_body(form: Form) -> Json:
    raw = given(form, "decision", "until", "access", "comment")
    # Without JavaScript, the browser sends the fields of every decision; keep only those of the chosen decision.
    if raw.get("decision") != "Keep Until":
        raw.pop("until", None)
    if raw.get("decision") != "Change":
        raw.pop("access", None)
    return raw


# Deciding needs no scope: the action checks for whom the person reviews.
@screen("POST", "/review-items/{id:str}/decide", limits=_ITEM)
async def decide_review_item(db: Db, id: str, form: Form, person: Person, caller: Caller, facts: Facts) -> SeeOther:
    raw = _decision_body(form)
    # Only the form next to the details sends `opened`; the buttons of a row do not.
    if first(form, "opened"):
        item = await item_queries.get_item(db, id)
        if item.reviewer.id in person.reviews_as():
            await deciding.mark_opened(db, item.id, facts.now)
    if raw.get("decision") == "Not Mine" and (words := first(form, "identityId")):
        raw["identityId"] = await finding.the_colleague(db, "identityId", words, caller)
    try:
        async with db.transaction():
            item = await deciding.decide(db, caller, id, raw, facts)
    except (Invalid, Conflict) as error:
        return _refused(form, error)
    said = f"#{item.number} {review_words.name_of(item)}"
    onward = _back(form, f"/review-items/{id}")
    if raw["decision"] in _PASSED_ON:
        passed = f"{said} was passed on to {item.reviewer.name}, who decides now. This cannot be undone."
        return SeeOther(onward if onward.startswith("/reviews/") else f"/reviews/{item.review_id}/work", passed)
    return SeeOther(onward, f"{said}: {raw['decision']}. {_CAN_UNDO}")


def _refused(form: Form, error: Invalid | Conflict) -> SeeOther:
    """Return a redirect to the page of the form, with the chosen decision; the script restores the input.

    Raise the error if the form does not contain the URL of its page.
    """
    here = first(form, "here")
    if not here.startswith(("/reviews/", "/review-items/")):
        raise error
    chosen = first(form, "decision")
    kept = f"{'&' if '?' in here else '?'}decide={quote(chosen)}" if chosen in review_words.KEYS else ""
    return SeeOther(here + kept, sentence(error), "bad")


def _back(form: Form, otherwise: str) -> str:
    back = first(form, "back")
    return back if back.startswith(("/reviews/", "/review-items/")) else otherwise


@screen("POST", "/review-items/{id:str}/undo", limits=_ITEM)
async def undo_review_decision(db: Db, id: str, form: Form, caller: Caller, facts: Facts) -> SeeOther:
    back = _back(form, f"/review-items/{id}")
    if first(form, "together") == "yes":
        count = await deciding.undo_together(db, caller, id, facts)
        if count > 1:
            return SeeOther(back, f"{count} decisions were undone. Decide these items again.")
        item = await item_queries.get_item(db, id)
    else:
        item = await deciding.undo_decision(db, caller, id, {}, facts)
    return SeeOther(back, f"The decision about #{item.number} {review_words.name_of(item)} was undone.")


@screen("POST", "/review-items/{id:str}/reassign", scope=Scope.REVIEWS_WRITE)
async def reassign_review_item(db: Db, id: str, form: Form, caller: Caller, facts: Facts) -> SeeOther:
    raw = given(form, "comment")
    if words := first(form, "identityId"):
        raw["identityId"] = await finding.the_person(db, "identityId", words)
    item = await moving.reassign(db, caller, id, raw, facts)
    return SeeOther(f"/review-items/{id}", f"{item.reviewer.name} reviews this item now.")


@screen("POST", "/reviews/{id:str}/reassign", scope=Scope.REVIEWS_WRITE)
async def reassign_review_items(db: Db, id: str, form: Form, caller: Caller, facts: Facts) -> SeeOther:
    """Give all undecided items of one reviewer to another person; report the items that cannot be reassigned."""
    review = await queries.plan_of(db, id)
    raw = given(form, "comment")
    if words := first(form, "identityId"):
        raw["identityId"] = await finding.the_person(db, "identityId", words)
    moved, problems = 0, set[str]()
    for item in await workspace.undecided_items(db, review.id, known_guid("Reviewer", first(form, "reviewerId"))):
        try:
            # Use a savepoint for each item, so that one that fails does not undo the others.
            async with db.transaction():
                await moving.reassign(db, caller, str(item), raw, facts)
            moved += 1
        except (Invalid, Conflict) as error:
            problems.add(sentence(error))
    said = "1 item was reassigned." if moved == 1 else f"{moved:,} items were reassigned."
    return SeeOther(f"/reviews/{id}", " ".join([said, *sorted(problems)]), "bad" if problems else "good")


@screen("POST", "/review-items/{id:str}/accept", limits=_ITEM)
async def accept_review_item(db: Db, id: str, form: Form, caller: Caller, facts: Facts) -> SeeOther:
    await accepting.accept(db, caller, id, given(form, "reason", "until"), facts)
    return SeeOther(f"/review-items/{id}", "The risk is accepted until the date you gave.")


@screen("POST", "/reviews/{id:str}/decide", limits=_REVIEW)
async def decide_review_items(db: Db, id: str, form: Form, person: Person, caller: Caller, facts: Facts) -> SeeOther:
    """Decide the ticked items or, for an entitlement, the undecided items that were shown and not ticked."""
    back = _back(form, f"/reviews/{id}/work")
    review = await queries.plan_of(db, id)
    ids = form.get("id", [])
    if entitlement := first(form, "entitlementId"):
        reviewer = known_guid("Reviewer", first(form, "reviewerId") or str(person.id))
        known = known_guid("Entitlement", entitlement)
        holders = await workspace.undecided_holders(db, review.id, [reviewer], known)
        # Do not decide the items of holders who were added after the page was shown.
        meant = {*form.get("shown", [])} - {*form.get("except", [])}
        ids = [str(one) for one in holders if str(one) in meant]
    if not ids and entitlement:
        return SeeOther(f"{back}{'&' if '?' in back else '?'}entitlementId={known}", _ALL_EXCEPTED, "bad")
    if not ids:
        return SeeOther(back, "First select the items to decide.", "bad")
    raw = {**_decision_body(form), **given(form, "reviewerId"), "itemIds": ids}
    result = await deciding.decide_several(db, caller, id, raw, facts)
    return several(back, await _results(db, person, raw["decision"], ids, result))


_ALL_EXCEPTED = (
    "No item is left to decide: the holders are ticked as exceptions, or another person has decided."
    " Untick the holders to whom the decision applies."
)
_DONE = {"Keep": "kept", "Keep Until": "kept until a date", "Revoke": "marked to be revoked"}
_MOST_NAMED = 5


async def _results(db: Db, person: Person, decision: str, ids: Sequence[str], result: BulkDecision) -> list[ItemResult]:
    """Return the results to report: how many items were decided, and why the others were not."""
    results = []
    if result.decided:
        counted = "1 item was" if result.decided == 1 else f"{result.decided:,} items were"
        undo = _CAN_UNDO if result.decided == 1 else f"You can undo them {_UNTIL_SUBMITTED}"
        results.append(ItemResult(f"{counted} {_DONE.get(decision, 'decided')}. {undo}"))
    for one in result.outcomes:
        if one.reason == deciding.NEEDS_COMMENT:
            results.append(ItemResult(await _without_comment(db, person, decision, ids), failed=True))
        elif one.reason != "Decided":
            left = "1 item is" if one.items == 1 else f"{one.items:,} items are"
            results.append(ItemResult(f"{left} unchanged: {one.reason}.", failed=True))
    return results


async def _without_comment(db: Db, person: Person, decision: str, ids: Sequence[str]) -> str:
    """Return a message that names the reviewer's items that need a comment, up to a limit."""
    items = await item_queries.items_by_id(db, [UUID(id) for id in ids])
    own = [one for one in items if one.reviewer.id in person.reviews_as()]
    left = [one for one in own if one.status is ReviewItemStatus.PENDING and one.recommendation.verdict]
    against = [one for one in left if review_words.needs_comment(one) == decision]
    named = [f"#{one.number} {review_words.name_of(one)} of {review_words.holder_of(one)}" for one in against]
    need = f"{some_of(named, _MOST_NAMED)} {'needs' if len(named) == 1 else 'need'} a comment"
    opposite = "Revoke" if decision == "Keep" else "Keep"
    return f"{need}, because {opposite} is recommended. Select them, add a comment and decide again."


@screen("GET", "/reviews/{id:str}/submit", scope=Scope.REVIEWS_READ, limits=_REVIEW, query={"reviewerId": a_guid})
async def show_statement(db: Db, id: str, person: Person, query: dict[str, Any]) -> HtmlPage:
    review = await queries.plan_of(db, id)
    reviewer = reviewer_of(person, review, query)
    names = await console.people_names(db, [reviewer])
    values = {
        "review": review,
        "mine": await workspace.progress_of(db, review.id, [reviewer]),
        "signs_as": person.name,
        "signs_for": names.get(reviewer, ADMINISTRATORS.name) if reviewer != person.id else "",
        "reviewer_id": query.get("reviewerId") or "",
    }
    return HtmlPage("review_submit.html", values)


@screen("POST", "/reviews/{id:str}/submit", limits=_REVIEW)
async def submit_review(db: Db, id: str, form: Form, caller: Caller, facts: Facts) -> SeeOther:
    if first(form, "signed") != "yes":
        return SeeOther(f"/reviews/{id}/submit", "Sign the statement first.", "bad")
    done = await submitting.submit(db, caller, id, given(form, "reviewerId"), facts)
    count = sum(done.counts.values())
    said = "Your decision was submitted." if count == 1 else f"Your {count:,} decisions were submitted."
    return SeeOther(f"/reviews/{id}/work?tab=all", said)


HANDLERS: list[HTTPRouteHandler] = [
    show_work,
    show_item,
    decide_review_item,
    undo_review_decision,
    reassign_review_item,
    reassign_review_items,
    accept_review_item,
    decide_review_items,
    show_statement,
    submit_review,
]
