from datetime import datetime, timedelta
from typing import Any

from litestar.handlers import HTTPRouteHandler

from rolecall.access_requests.shapes import AccessRequestDetail
from rolecall.conflicts import overview as conflicts
from rolecall.console import finding, home_details, overview, own_home
from rolecall.console import queries as console
from rolecall.console.answers import HtmlPage
from rolecall.console.attention import (
    Attention,
    accounts_to_look_at,
    notifications_to_look_at,
    push_tokens_to_look_at,
    tokens_to_look_at,
)
from rolecall.console.charts import Stack, stacked_bars
from rolecall.console.frame import OWN, screen
from rolecall.console.inputs import some_words
from rolecall.console.model import Person
from rolecall.console.rendering import navigation
from rolecall.core.caller import Caller, Scope
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.effective_access.queries import access_of
from rolecall.identities import queries as identities
from rolecall.reports import queries as reports
from rolecall.reviews import coverage, workspace
from rolecall.reviews import queries as reviews
from rolecall.settings.policy import RequirementType
from rolecall.stand_ins import queries as stand_ins
from rolecall.work_items.model import WorkStatus

_CHART_TITLE = "Requests created per day in the last 30 days, by status"
# The maximum number of waiting requests and upcoming events on the home page.
_MOST_NAMED = 6
# How far ahead events are shown on the home page of people who see only their own records.
_COMING = timedelta(days=30)
# How many of the three steps (approve, provision, verify) an open request has passed, by status.
_STEPS = {WorkStatus.PENDING: 0, WorkStatus.OPEN: 1, WorkStatus.RESOLVED: 2}
_VERBS = {RequirementType.APPROVE: "Decide", RequirementType.RESOLVE: "Provision", RequirementType.VERIFY: "Verify"}


async def _attention(db: Db, caller: Caller, now: datetime) -> list[Attention]:
    accounts = await accounts_to_look_at(db, now) if Scope.APPLICATIONS_READ in caller.scopes else []
    notified = await notifications_to_look_at(db, now) if Scope.CONFIG_MANAGE in caller.scopes else []
    pushes = await push_tokens_to_look_at(db, now) if Scope.CONFIG_MANAGE in caller.scopes else []
    tokens = await tokens_to_look_at(db, now) if Scope.TOKENS_MANAGE in caller.scopes else []
    return accounts + notified + pushes + tokens


@screen("GET", "/", limits=OWN)
async def show_home(db: Db, person: Person, caller: Caller, now: datetime, config: Config) -> HtmlPage:
    if person.is_limited:
        return await _own_home(db, person, now, config)
    sees_requests = Scope.ACCESS_REQUESTS_READ in caller.scopes
    days = await overview.by_day(db, now) if sees_requests else {}
    bars = [Stack(f"{day.day} {day:%b}", parts) for day, parts in days.items()]
    progress = await overview.setup_progress(db)
    waiting = await _waiting(db, person) if Scope.ACCESS_REQUESTS_WRITE in caller.scopes else []
    return HtmlPage(
        "home.html",
        {
            "tiles": await overview.tiles(db, person, now),
            "attention": await _attention(db, caller, now),
            "failing_reports": await reports.failing(db) if Scope.CONFIG_MANAGE in caller.scopes else [],
            "open_conflicts": await conflicts.open_count(db),
            # Skip the first entry of `reviews_as`, which is the person.
            "reviews": await reviews.waiting_for(db, person.id, person.reviews_as()[1:]),
            "overdue_reviews": await workspace.count_overdue(db, now),
            "unreviewed": await coverage.overdue_count(db, now),
            "exceptions_to_approve": await conflicts.waiting_for(db, caller),
            "today": now.astimezone(config.timezone),
            "waiting": waiting,
            "team": await own_home.team_of(db, person, now) if person.supervises else None,
            "beside": await overview.beside(db, [request.id for _, request in waiting]),
            "verbs": _VERBS,
            "coming": (await console.events_between(db, now, now + timedelta(days=7), caller))[:_MOST_NAMED],
            "times": await overview.medians(db, now),
            "chart": stacked_bars(_CHART_TITLE, "requests", _drawn(bars), bars),
            "has_requests": progress.requests,
            "steps": [
                ("Add your HR system as the first application", "/applications/new", progress.applications),
                ("Upload its first files", "/applications", progress.imports),
                ("Check the people who were imported", "/identities", progress.identities),
                ("Define an access model: who gets which access", "/access-models", progress.models),
                ("Onboard a person and follow the requests", "/events/new?type=Onboard", progress.requests),
            ],
        },
    )


async def _own_home(db: Db, person: Person, now: datetime, config: Config) -> HtmlPage:
    """Show the home page of a person who sees only their own records."""
    waiting = await _waiting(db, person)
    exceptions = await conflicts.waiting_for(db, person.caller())
    own = await own_home.requests_of(db, person)
    access = (await access_of(db, person.id, None)).applications
    coming = await console.events_between(db, now, now + _COMING, person.caller())
    coming = [event for event in coming if event.status != WorkStatus.CANCELED][:_MOST_NAMED]
    values = {
        "today": now.astimezone(config.timezone),
        "waiting": waiting,
        "exceptions": exceptions,
        "deadlines": await home_details.deadlines(db, [request.id for _, request in waiting], config.timezone),
        "count": sum((await overview.waiting(db, person)).values()) + len(exceptions),
        "beside": await overview.beside(db, [request.id for _, request in waiting]),
        "creating_conflicts": await home_details.creating_conflicts(db, [request.id for _, request in waiting]),
        "verbs": _VERBS,
        "why": home_details.reasons(waiting, person),
        "reviews": await reviews.waiting_for(db, person.id, person.reviews_as()[1:]),
        "coming": coming,
        "moves": await home_details.moves_of(db, coming),
        "me": await identities.get(db, str(person.id)),
        "own": own,
        "own_beside": await overview.beside(db, [one.id for one in own.items[:5]]),
        "open_requests": await own_home.open_requests_of(db, person),
        "steps": _STEPS,
        "described": {} if person.supervises else await home_details.described(db, access),
        "people_source": await own_home.people_source(db),
        "waits_for": await home_details.waits_of(db, own.items[:5]),
        "move": await home_details.own_move(db, person.id, access, now),
        "applications": await own_home.applications_of(db, person) if person.owns else [],
        "team": await own_home.team_of(db, person, now) if person.supervises else None,
        "represented": await stand_ins.represented_by(db, person.id, now),
        "stand_ins": await stand_ins.stand_ins_of(db, person.id, now),
        "leave": await stand_ins.next_absence(db, person.id, now),
        "access": [] if person.supervises else access,
        "held_count": sum(len(account.access) for there in access for account in there.accounts),
    }
    return HtmlPage("own_home.html", values)


async def _waiting(db: Db, person: Person) -> list[tuple[RequirementType, AccessRequestDetail]]:
    """List the oldest requests that wait for this person, each with the response that it needs."""
    found = [
        (type, one)
        for type in RequirementType
        for one in (await overview.asking(db, person, type, 1, _MOST_NAMED)).items
    ]
    return sorted(found, key=lambda each: each[1].number)[:_MOST_NAMED]


def _drawn(bars: list[Stack]) -> list[str]:
    """Return the statuses that occur in the bars, in the order of the enum."""
    return [status for status in WorkStatus if any(bar.parts.get(status) for bar in bars)]


@screen("GET", "/search", limits=OWN, query={"q": some_words})
async def show_results(db: Db, person: Person, caller: Caller, query: dict[str, Any]) -> HtmlPage:
    words = query.get("q") or ""
    # Leave out records of kinds that the person must not see: the search finds records of all kinds.
    found = [one for one in await finding.search(db, words, caller) if _SCOPES[one.kind] in caller.scopes]
    screens = [
        finding.SearchResult("Screen", name, "", address)
        for group in navigation(person).values()
        for name, address, _ in group
        if words and name.lower().startswith(words.lower())
    ]
    return HtmlPage("search.html", {"words": words, "found": screens + found})


_SCOPES = {
    "Request": Scope.ACCESS_REQUESTS_READ,
    "Event": Scope.PERSONNEL_EVENTS_READ,
    "Import": Scope.IMPORTS_READ,
    "Application": Scope.APPLICATIONS_READ,
    "Access model": Scope.ACCESS_REQUESTS_READ,
    "Person": Scope.IDENTITIES_READ,
    "Group": Scope.APPLICATIONS_READ,
    "Permission": Scope.APPLICATIONS_READ,
    "Account": Scope.APPLICATIONS_READ,
    "Report": Scope.APPLICATIONS_READ,
    "Duty": Scope.DUTIES_READ,
    "Rule": Scope.DUTIES_READ,
    "Review": Scope.REVIEWS_READ,
    "Review item": Scope.REVIEWS_READ,
    "Review template": Scope.REVIEWS_WRITE,
    "Webhook": Scope.WEBHOOKS_MANAGE,
}

HANDLERS: list[HTTPRouteHandler] = [show_home, show_results]
