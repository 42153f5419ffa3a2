"""Show reviews to people who run them: the list, the draft with its preview, and the page of a review."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from litestar.handlers import HTTPRouteHandler
from markupsafe import Markup

from rolecall.console import queries as console
from rolecall.console import review_words
from rolecall.console.answers import HtmlPage, SeeOther
from rolecall.console.charts import Burndown, burndown
from rolecall.console.finding import label_of
from rolecall.console.forms import first, given, problems_by_field, with_people
from rolecall.console.frame import OWN, screen
from rolecall.console.inputs import Form
from rolecall.console.model import Person
from rolecall.console.review_attention import attention_of
from rolecall.console.review_scope import PLACES, fields_of_scope, is_search, scope_choices, scope_of
from rolecall.console.screens.review_proof import newest_bundles
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.errors import Conflict, Invalid
from rolecall.core.ids import guid
from rolecall.identities.authority import RecordType
from rolecall.reviews import actions, closing, item_queries, new_access, queries, reminding, workspace
from rolecall.reviews.model import ItemFact, ReviewItemStatus, ReviewStage, ReviewStatus, ReviewType, StageReviewer
from rolecall.reviews.quality import quality_of_reviewers
from rolecall.reviews.shapes import ReviewDetail, ReviewPreview
from rolecall.web.bodies import a_guid, a_word_of

_READ, _WRITE = Scope.REVIEWS_READ, Scope.REVIEWS_WRITE
_ITEM_FILTERS = {
    "status": a_word_of(ReviewItemStatus),
    "reviewerId": a_guid,
    "applicationId": a_guid,
    "reason": a_word_of(ItemFact),
}


@screen(
    "GET",
    "/reviews",
    scope=_READ,
    limits=OWN,
    query={"status": a_word_of(ReviewStatus), "type": a_word_of(ReviewType), "applicationId": a_guid},
)
async def show_reviews(db: Db, person: Person, query: dict[str, Any], now: datetime) -> HtmlPage:
    listed = await queries.newest_first(
        db,
        query["page"],
        status=query.get("status"),
        type=query.get("type"),
        application_id=query.get("applicationId"),
    )
    values = {
        "page": listed,
        "query": query,
        # `reviews_as` begins with the person; the others are people for whom the person stands in.
        "mine": await queries.waiting_for(db, person.id, person.reviews_as()[1:]),
        "statuses": list(ReviewStatus),
        "types": list(ReviewType),
        "applications": [(one.id, one.name) for one in await console.live_applications(db)],
    }
    return HtmlPage("reviews.html", values)


@screen("GET", "/reviews/new", scope=_WRITE)
async def show_new_review(db: Db, now: datetime) -> HtmlPage:
    due = (now + timedelta(days=28)).date().isoformat()
    fields = {"type": ReviewType.SUPERVISOR, "stage1": StageReviewer.SUPERVISOR, "dueOn": due}
    return await _form(db, {name: [text] for name, text in fields.items()}, {})


async def _form(db: Db, form: Form, problems: dict[str, str], found: ReviewDetail | None = None) -> HtmlPage:
    values = {
        "problems": problems,
        "review": found,
        "is_fixed": found is not None and found.status is not ReviewStatus.DRAFT,
        "action": f"/reviews/{found.id}/edit" if found else "/reviews/new",
        **await form_choices(db, form),
    }
    return HtmlPage("review_form.html", values, 400 if problems else 200)


# The form fields that contain a person.
PEOPLE = ("stagePerson", "fallbackPerson", "ownerId")


async def form_choices(db: Db, form: Form) -> dict[str, Any]:
    """Return the values and choices for the form of a review or template."""
    people = {name: await label_of(db, named) for name in PEOPLE if (named := guid(first(form, name)))}
    return {
        "form": {name: texts[0] for name, texts in form.items() if texts} | people,
        "scope": await scope_choices(db, form),
        "types": review_words.TYPES,
        "stage_reviewers": list(StageReviewer),
        "explained": review_words.EXPLAINED,
        "silences": review_words.SILENCES,
    }


def body_of(form: Form, before: Sequence[Json] = ()) -> Json:
    """Convert the form to the body of the API; a stage with the reviewer Identity uses the person of the form.

    `before` are the stored stages. The form shows only two stages and one person; if they are unchanged, keep `before`.
    """
    stages = [_stage(words, first(form, "stagePerson")) for n in (1, 2) if (words := first(form, f"stage{n}"))]
    if [each["reviewer"] for each in stages] == [each["reviewer"] for each in before[:2]]:
        named = next((each["identityId"] for each in before if each.get("identityId")), "")
        stages = list(before) if named == first(form, "stagePerson") else stages
    fallback = _stage(words, first(form, "fallbackPerson")) if (words := first(form, "fallback")) else {}
    return {
        **given(form, "name", "type", "explained", "onSilence", "statement"),
        "description": first(form, "description"),
        "scope": scope_of(form),
        **({"stages": stages} if stages else {}),
        **_or_emptied(form, "fallback", fallback),
        **given(form, "ownerId"),
    }


def _stage(reviewer: str, person: str) -> Json:
    named = {"identityId": person} if reviewer == StageReviewer.IDENTITY and person else {}
    return {"reviewer": reviewer, **named}


def _review_body(form: Form, before: Sequence[Json] = ()) -> Json:
    period = {name: text for name in ("from", "until") if (text := first(form, f"period{name.capitalize()}"))}
    return {**body_of(form, before), **given(form, "dueOn"), **_or_emptied(form, "period", period)}


def _or_emptied(form: Form, name: str, value: Json) -> Json:
    """Return a part of the body if the form has fields for it. An empty value becomes null, which clears the part."""
    return {name: value or None} if any(field.startswith(name) for field in form) else {}


def shown_problems(error: Invalid) -> dict[str, str]:
    """Return problems by form field; a problem of a nested field is listed under the field that contains it."""
    places = PLACES | {"period.from": "periodFrom", "period.until": "periodUntil"}
    return {
        places.get(field, field.partition(".")[0]): message
        for field, message in ((name.removeprefix("review."), said) for name, said in problems_by_field(error).items())
    }


@screen("POST", "/reviews/new", scope=_WRITE)
async def create_review(db: Db, form: Form, caller: Caller, facts: Facts) -> HtmlPage | SeeOther:
    if is_search(form):
        return await _form(db, form, {})
    try:
        async with db.transaction():
            raw = _review_body(await with_people(db, form, *PEOPLE))
            found = await actions.create_review(db, caller, raw, facts)
    except Invalid as error:
        return await _form(db, form, shown_problems(error))
    return SeeOther(f"/reviews/{found.id}", "The draft was saved. Check the preview, then open the review.")


@screen("GET", "/reviews/{id:str}/edit", scope=_WRITE)
async def show_review_form(db: Db, id: str, config: Config) -> HtmlPage:
    found = await queries.get(db, id)
    return await _form(db, _fields_of(found, config), {}, found)


def _fields_of(found: ReviewDetail, config: Config) -> Form:
    zone = config.timezone
    days = {"dueOn": found.due_on, "periodFrom": found.period.since, "periodUntil": found.period.until}
    stages = {f"stage{n}": [str(stage.reviewer)] for n, stage in enumerate(found.stages, 1)}
    named = next((str(stage.identity_id) for stage in found.stages if stage.identity_id), "")
    return {
        "name": [found.name],
        "description": [found.description],
        "type": [found.type],
        **fields_of_scope(found.scope),
        "explained": [found.explained],
        "onSilence": [found.on_silence],
        "statement": [found.statement],
        "stagePerson": [named],
        "fallback": [str(found.fallback.reviewer) if found.fallback else ""],
        "fallbackPerson": [str((found.fallback and found.fallback.identity_id) or "")],
        "ownerId": [str(found.owner.id) if found.owner else ""],
        **stages,
        **{name: [day.astimezone(zone).date().isoformat() if day else ""] for name, day in days.items()},
    }


@screen("POST", "/reviews/{id:str}/edit", scope=_WRITE)
async def change_review(db: Db, id: str, form: Form, caller: Caller, facts: Facts) -> HtmlPage | SeeOther:
    found = await queries.get(db, id)
    if is_search(form):
        return await _form(db, form, {}, found)
    try:
        async with db.transaction():
            before: list[Json] = msgspec.to_builtins(found.stages)
            raw = _review_body(await with_people(db, form, *PEOPLE), before)
            await actions.change_review(db, caller, id, raw, facts)
    except Invalid as error:
        return await _form(db, form, shown_problems(error), found)
    return SeeOther(f"/reviews/{id}", "The draft was saved.")


@screen("GET", "/reviews/{id:str}", scope=_READ, limits=RecordType.REVIEW)
async def show_review(db: Db, id: str, person: Person, now: datetime, config: Config) -> HtmlPage:
    review, caller = await queries.get(db, id), person.caller()
    may_write = _WRITE in caller.scopes and not caller.is_limited
    values: dict[str, Any] = {
        "review": review,
        "is_overdue": review.status is ReviewStatus.OPEN and review.due_on < now,
        "may_write": may_write,
        "stages": [await _stage_words(db, stage) for stage in review.stages],
        "silence": review_words.SILENCES[review.on_silence],
    }
    if review.status is ReviewStatus.DRAFT:
        return HtmlPage("review.html", values | await _preview(db, review, now))
    return HtmlPage("review.html", values | await _progress(db, review, person, now, config))


async def _stage_words(db: Db, stage: ReviewStage) -> str:
    if stage.identity_id:
        return (await console.people_names(db, [stage.identity_id])).get(stage.identity_id, "a former person")
    return review_words.STAGES[stage.reviewer]


async def _preview(db: Db, review: ReviewDetail, now: datetime) -> dict[str, Any]:
    """Return what the draft would contain, computed in a transaction that is rolled back."""
    preview: ReviewPreview | None = None
    refusal = ""
    try:
        async with db.transaction(force_rollback=True):
            preview = await actions.preview_review(db, str(review.id), now)
    except (Conflict, Invalid) as error:
        refusal = str(error)
    return {"preview": preview, "refusal": refusal}


def _follows(person: Person, review: ReviewDetail) -> bool:
    """Return whether the person sees the whole review, because of a role or as its owner."""
    return not person.is_limited or (review.owner is not None and review.owner.id == person.id)


async def _progress(db: Db, review: ReviewDetail, person: Person, now: datetime, config: Config) -> dict[str, Any]:
    """Return the values that show the progress: counts and chart of the whole review, and figures for each reviewer.

    People who see only their own records, and do not own the review, get only the figures of the reviewers for whom
    they decide, and no list of problems or of moved items.
    """
    reviewers = await quality_of_reviewers(db, review.id)
    is_followed = _follows(person, review)
    if not is_followed:
        reviewers = [one for one in reviewers if one.reviewer_id in person.reviews_as()]
    waiting = [one for one in review.progress.reviewers if one.to_submit]
    counts = review.items
    # Withdrawn items need no decision.
    total = counts.total - counts.withdrawn
    decided = total - counts.pending
    return {
        "counts": counts,
        "total": total,
        "decided": decided,
        "percent": decided * 100 // total if total else 100,
        "waiting": len(waiting),
        "reviewers": reviewers,
        "statements": {one.reviewer.id: one for one in await queries.submissions(db, review.id)},
        "is_followed": is_followed,
        "moved": await workspace.moved_items(db, review.id) if is_followed else [],
        "attention": await attention_of(db, review, reviewers, now) if is_followed else [],
        "imports": await console.import_ids(db, [p.import_number for p in review.population if p.import_number]),
        **(await newest_bundles(db, review.id) if Scope.AUDIT_READ in person.caller().scopes else {"bundles": []}),
        **await _burndown(db, review, now, config),
    }


async def _burndown(db: Db, review: ReviewDetail, now: datetime, config: Config) -> dict[str, Any]:
    """Return the burn-down chart, and an estimate of when all items will be decided at the average pace so far."""
    assert review.opened_on
    left = await workspace.items_left(db, review.id, review.opened_on, str(config.timezone))
    end = review.closed_on or review.canceled_on or now
    remaining, taken = left[-1][1], left[0][1] - left[-1][1]
    done = None
    if remaining and taken and review.status is ReviewStatus.OPEN:
        # Assume that each remaining item takes as long as the average item so far.
        done = now + (now - review.opened_on) * (remaining / taken)
    title = f"Items left: {left[0][1]:,} when opened, {remaining:,} {'now' if end == now else 'at the end'}"
    chart: Markup = burndown(title, Burndown(left=left, start=review.opened_on, due=review.due_on, now=end))
    return {"chart": chart, "pace": f"{remaining:,} left" if remaining else "all decided", "done": done}


@screen("POST", "/reviews/{id:str}/open", scope=_WRITE)
async def open_review(db: Db, id: str, caller: Caller, now: datetime) -> SeeOther:
    found = await actions.open_review(db, caller, id, now)
    said = f"The review is open with {found.items.total:,} items. Its reviewers were notified."
    return SeeOther(f"/reviews/{id}", said)


@screen("POST", "/reviews/{id:str}/extend", scope=_WRITE)
async def extend_review(db: Db, id: str, form: Form, caller: Caller, facts: Facts) -> SeeOther:
    await actions.change_review(db, caller, id, given(form, "dueOn"), facts)
    return SeeOther(f"/reviews/{id}", "The review was extended.")


@screen("POST", "/reviews/{id:str}/close", scope=_WRITE)
async def close_review(db: Db, id: str, form: Form, caller: Caller, facts: Facts) -> SeeOther:
    found = await closing.close_review(db, caller, id, first(form, "confirm") == "true", facts.now, facts.zone)
    if found.held:
        return SeeOther(f"/reviews/{id}", "The review was not closed. Read why, then close it or keep it open.", "bad")
    return SeeOther(f"/reviews/{id}", f"The review is {found.status}.")


@screen("POST", "/reviews/{id:str}/cancel", scope=_WRITE)
async def cancel_review(db: Db, id: str, caller: Caller, now: datetime) -> SeeOther:
    await closing.cancel_review(db, caller, id, now)
    return SeeOther(f"/reviews/{id}", "The review was canceled.")


@screen("POST", "/reviews/{id:str}/remind", scope=_WRITE)
async def remind_reviewers(db: Db, id: str, form: Form, caller: Caller, facts: Facts) -> SeeOther:
    raw = {"reviewerIds": form["reviewerId"]} if first(form, "reviewerId") else {}
    await reminding.remind(db, caller, id, raw, facts)
    return SeeOther(f"/reviews/{id}", "The reviewers were reminded.")


@screen("POST", "/reviews/{id:str}/verify", scope=_READ)
async def check_population(db: Db, id: str) -> SeeOther:
    async with db.transaction(force_rollback=True):
        found = await actions.check_population(db, id)
    if found.is_same:
        return SeeOther(
            f"/reviews/{id}", f"The population was computed again and has the same digest, {found.digest[:16]}…."
        )
    if found.again != found.digest:
        said = (
            "The population was computed again and has a different digest:"
            f" {found.again[:16]}… instead of {found.digest[:16]}…."
        )
    else:
        said = f"The stored items were changed: digest {found.items_digest[:16]}… instead of {found.digest[:16]}…."
    return SeeOther(f"/reviews/{id}", said, "bad")


@screen("GET", "/reviews/{id:str}/items", scope=_READ, query=_ITEM_FILTERS)
async def show_review_items(db: Db, id: str, query: dict[str, Any]) -> HtmlPage:
    review = await queries.plan_of(db, id)
    filters = item_queries.ItemFilters(
        status=query.get("status"),
        reviewer_id=query.get("reviewerId"),
        application_id=query.get("applicationId"),
        reason=query.get("reason"),
    )
    values = {
        "review": review,
        "page": await item_queries.items(db, review.id, query["page"], filters),
        "query": query,
        "statuses": list(ReviewItemStatus),
        "reasons": list(ItemFact),
        "reviewers": await queries.reviewers_of(db, review.id),
        "applications": await queries.applications_of(db, review.id),
    }
    return HtmlPage("review_items.html", values)


@screen("GET", "/reviews/{id:str}/new-access", scope=_READ, limits=RecordType.REVIEW)
async def show_new_access(db: Db, id: str, person: Person, query: dict[str, Any]) -> HtmlPage:
    review = await queries.plan_of(db, id)
    reviewers = None if _follows(person, review) else person.reviews_as()
    page = await new_access.new_access(db, review.id, query["page"], reviewers)
    return HtmlPage("review_new_access.html", {"review": review, "page": page, "query": query})


HANDLERS: list[HTTPRouteHandler] = [
    show_reviews,
    show_new_review,
    create_review,
    show_review_form,
    change_review,
    show_review,
    open_review,
    extend_review,
    close_review,
    cancel_review,
    remind_reviewers,
    check_population,
    show_review_items,
    show_new_access,
]
