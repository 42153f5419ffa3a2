"""Show templates of recurring reviews: the list and the form."""

from datetime import datetime
from typing import Any

from litestar.handlers import HTTPRouteHandler

from rolecall.console.answers import HtmlPage, SeeOther
from rolecall.console.forms import first, given, integer, with_people
from rolecall.console.frame import screen
from rolecall.console.inputs import Form
from rolecall.console.review_scope import fields_of_scope, is_search
from rolecall.console.screens.reviews import PEOPLE, body_of, form_choices, shown_problems
from rolecall.core.caller import Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.errors import Invalid
from rolecall.reviews import templates
from rolecall.reviews.model import ReviewType, StageReviewer
from rolecall.reviews.templates import ReviewTemplate

_READ, _WRITE = Scope.REVIEWS_READ, Scope.REVIEWS_WRITE
_PLACE = "/review-templates"


@screen("GET", _PLACE, scope=_READ)
async def show_review_templates(db: Db, query: dict[str, Any]) -> HtmlPage:
    page = await templates.by_name(db, query["page"])
    return HtmlPage("review_templates.html", {"page": page, "query": query})


@screen("GET", f"{_PLACE}/new", scope=_WRITE)
async def show_new_template(db: Db, now: datetime, config: Config) -> HtmlPage:
    fields = {
        "type": ReviewType.SUPERVISOR,
        "stage1": StageReviewer.SUPERVISOR,
        "everyMonths": "3",
        "daysToReview": "30",
        "nextOn": now.astimezone(config.timezone).date().isoformat(),
    }
    return await _form(db, {name: [text] for name, text in fields.items()}, {})


async def _form(db: Db, form: Form, problems: dict[str, str], found: ReviewTemplate | None = None) -> HtmlPage:
    values = {
        "problems": problems,
        "repeated": found,
        "action": f"{_PLACE}/{found.id}/edit" if found else f"{_PLACE}/new",
        **await form_choices(db, form),
    }
    return HtmlPage("review_template_form.html", values, 400 if problems else 200)


async def _body(db: Db, form: Form, before: Json | None = None) -> Json:
    """Convert the form to the body of the API; numbers that are invalid stay text, so that the API reports them.

    `before` is the stored review of the template: parts that the form does not send are kept.
    """
    before = before or {}
    review = {**before, **body_of(await with_people(db, form, *PEOPLE), before.get("stages", ()))}
    # The name in the form is the template's name, not the name of its reviews.
    review.pop("name", None)
    numbers = {name: integer(first(form, name)) for name in _NUMBERS}
    return {**given(form, "name", "nextOn"), **numbers, "opens": first(form, "opens") == "yes", "review": review}


_NUMBERS = ("everyMonths", "daysToReview")


@screen("POST", f"{_PLACE}/new", scope=_WRITE)
async def create_review_template(db: Db, form: Form, facts: Facts) -> HtmlPage | SeeOther:
    if is_search(form):
        return await _form(db, form, {})
    try:
        async with db.transaction():
            made = await templates.create_template(db, await _body(db, form), facts)
    except Invalid as error:
        return await _form(db, form, shown_problems(error))
    return SeeOther(_PLACE, _saved(made, facts))


def _saved(template: ReviewTemplate, facts: Facts) -> str:
    """Return a notice that says what happens next: the review is opened automatically, or only drafted."""
    day = template.next_on.astimezone(facts.zone).date()
    when = "in a moment" if day <= facts.today else f"on {day:%-d %B %Y}"
    effect = "opened and its reviewers are asked" if template.opens else "drafted"
    return f"The template {template.name} was saved. Its next review is {effect} {when}."


@screen("GET", f"{_PLACE}/{{id:str}}/edit", scope=_WRITE)
async def show_template_form(db: Db, id: str, config: Config) -> HtmlPage:
    found = await templates.get(db, id)
    return await _form(db, _fields_of(found, config), {}, found)


def _fields_of(found: ReviewTemplate, config: Config) -> Form:
    review, scope = found.review, found.review.get("scope", {})
    stages = {f"stage{n}": [stage["reviewer"]] for n, stage in enumerate(review.get("stages", []), 1)}
    fallback = review.get("fallback") or {}
    texts = ("description", "type", "explained", "onSilence", "statement")
    return {
        **{name: [str(review.get(name, ""))] for name in texts},
        **stages,
        "name": [found.name],
        "everyMonths": [str(found.every_months)],
        "daysToReview": [str(found.days_to_review)],
        "nextOn": [found.next_on.astimezone(config.timezone).date().isoformat()],
        "opens": ["yes" if found.opens else ""],
        **fields_of_scope(scope),
        "fallback": [fallback.get("reviewer", "")],
        "fallbackPerson": [fallback.get("identityId") or ""],
        "ownerId": [review.get("ownerId") or ""],
        "stagePerson": [next((one["identityId"] for one in review.get("stages", []) if "identityId" in one), "")],
    }


@screen("POST", f"{_PLACE}/{{id:str}}/edit", scope=_WRITE)
async def change_review_template(db: Db, id: str, form: Form, facts: Facts) -> HtmlPage | SeeOther:
    found = await templates.get(db, id)
    if is_search(form):
        return await _form(db, form, {}, found)
    try:
        async with db.transaction():
            raw = await _body(db, form, found.review)
            # The name of a template cannot be changed, so leave it out.
            raw.pop("name", None)
            changed = await templates.change_template(db, id, raw, facts)
    except Invalid as error:
        return await _form(db, form, shown_problems(error), found)
    return SeeOther(_PLACE, _saved(changed, facts))


@screen("POST", f"{_PLACE}/{{id:str}}/delete", scope=_WRITE)
async def delete_review_template(db: Db, id: str) -> SeeOther:
    await templates.delete_template(db, id)
    return SeeOther(_PLACE, "The template was deleted. Its reviews stay.")


HANDLERS: list[HTTPRouteHandler] = [
    show_review_templates,
    show_new_template,
    create_review_template,
    show_template_form,
    change_review_template,
    delete_review_template,
]
