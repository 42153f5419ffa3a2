"""Show conflicts and their exceptions."""

from datetime import datetime
from typing import Any

from litestar.handlers import HTTPRouteHandler

from rolecall.accounts.moments import moment_of
from rolecall.conflicts import actions, approving, queries
from rolecall.conflicts.model import ExceptionStatus
from rolecall.conflicts.removals import removals
from rolecall.console import finding
from rolecall.console import queries as console
from rolecall.console.answers import HtmlPage, SeeOther
from rolecall.console.conflict_chart import conflict_chart
from rolecall.console.forms import first, given, problems_by_field, shown
from rolecall.console.frame import screen
from rolecall.console.inputs import Form, some_words
from rolecall.console.screens.duties import RESPONSES
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.errors import Invalid
from rolecall.duties import queries as duties
from rolecall.duties.model import ConflictStatus
from rolecall.identities import queries as identities
from rolecall.identities.authority import RecordType
from rolecall.web.bodies import a_guid, a_word_of

_READ = Scope.DUTIES_READ


@screen(
    "GET",
    "/conflicts",
    scope=_READ,
    query={"status": a_word_of(ConflictStatus), "ruleId": a_guid, "identityId": a_guid, "asOf": some_words},
)
async def show_conflicts(db: Db, query: dict[str, Any], config: Config, now: datetime) -> HtmlPage:
    filters = queries.ConflictFilters(
        status=query.get("status"), rule_id=query.get("ruleId"), identity_id=query.get("identityId")
    )
    as_of, problem = None, ""
    try:
        as_of = await moment_of(db, query.get("asOf") or None, config, now)
    except Invalid as error:
        problem = error.problems[0].message
    values = {
        "page": await queries.newest_first(db, query["page"], filters, as_of),
        "query": query,
        "rules": await duties.rule_names(db),
        "statuses": list(ConflictStatus),
        "as_of": query.get("asOf") or "",
        "problem": problem,
    }
    return HtmlPage("conflicts.html", values)


@screen("GET", "/conflicts/exceptions", scope=_READ, query={"status": a_word_of(ExceptionStatus)})
async def show_exceptions(db: Db, query: dict[str, Any]) -> HtmlPage:
    status = query.get("status")
    page = await queries.exceptions(db, query["page"], [status] if status else list(ExceptionStatus))
    return HtmlPage("conflict_exceptions.html", {"page": page, "query": query, "statuses": list(ExceptionStatus)})


@screen("GET", "/conflicts/{id:str}", limits=RecordType.CONFLICT)
async def show_conflict(db: Db, id: str, caller: Caller, facts: Facts) -> HtmlPage:
    return await _page(db, id, caller, facts, {}, {})


async def _page(
    db: Db, id: str, caller: Caller, facts: Facts, form: dict[str, str], problems: dict[str, str]
) -> HtmlPage:
    conflict = await queries.get(db, id, facts.now)
    rule = await duties.get_rule(db, conflict.rule.id)
    # Only committed rules have conflicts.
    assert rule.committed
    people = await approving.approvers_for(db, conflict)
    pending, withdrawable, is_current = conflict.pending, conflict.withdrawable, conflict.until is None
    approver = approving.approver_among(caller, people, pending) if pending and is_current else None
    may_withdraw = withdrawable and await approving.may_withdraw(db, caller, conflict, withdrawable, people)
    counts = await duties.holder_counts(db, [side.duty.id for side in conflict.sides])
    spans = await queries.spans_of(db, conflict), await queries.conflict_spans(db, conflict)
    values = {
        "conflict": conflict,
        "rule": rule,
        "over_time": conflict_chart(conflict, *spans, facts.now.astimezone(facts.zone)),
        "removals": removals(conflict.sides, await queries.removal_requests(db, conflict.identity.id)),
        "supervisor": (await identities.get(db, str(conflict.identity.id))).supervisor_name,
        # For each duty, the number of holders other than this person.
        "remaining": {id: count - 1 for id, count in counts.items()},
        "control": next((duty for duty in rule.duties if duty.id == rule.committed.without), None),
        "owners": await console.people_names(db, [rule.committed.owner_id] if rule.committed.owner_id else []),
        "responses": RESPONSES,
        "approver": approver,
        "missing_approvers": approving.missing_approvers(pending) if pending else [],
        # Offer no withdrawal to people who can approve the exception: they reject it in the approval form.
        "withdrawable": withdrawable if may_withdraw and not approver else None,
        "may_request": is_current and not pending and approving.may_request(caller, conflict, people),
        "form": form,
        "problems": problems,
    }
    return HtmlPage("conflict.html", values, 400 if problems else 200)


# Exceptions need no scope: the actions check the person's relation to the conflict.
@screen("POST", "/conflicts/{id:str}/except", limits=RecordType.CONFLICT)
async def request_exception(db: Db, id: str, form: Form, caller: Caller, facts: Facts) -> HtmlPage | SeeOther:
    try:
        async with db.transaction():
            body = given(form, "reason", "control", "until")
            if words := first(form, "controlOwnerId"):
                body["controlOwnerId"] = await finding.the_colleague(db, "controlOwnerId", words, caller)
            await actions.request_exception(db, caller, id, body, facts)
    except Invalid as error:
        return await _page(db, id, caller, facts, shown(form), problems_by_field(error))
    return SeeOther(
        f"/conflicts/{id}", "The exception was requested. It takes effect when two people have approved it."
    )


@screen("POST", "/conflicts/{id:str}/approve", limits=RecordType.CONFLICT)
async def approve_exception(db: Db, id: str, form: Form, caller: Caller, facts: Facts) -> SeeOther:
    found = await actions.approve_exception(db, caller, id, {"comment": first(form, "comment") or None}, facts)
    in_force = found.status is ConflictStatus.EXCEPTED
    return SeeOther(f"/conflicts/{id}", "The exception is in force." if in_force else "Your approval was recorded.")


@screen("POST", "/conflicts/{id:str}/withdraw", limits=RecordType.CONFLICT)
async def withdraw_exception(db: Db, id: str, form: Form, caller: Caller, facts: Facts) -> SeeOther:
    await actions.withdraw_exception(db, caller, id, {"comment": first(form, "comment") or None}, facts)
    return SeeOther(f"/conflicts/{id}", "The exception was withdrawn.")


HANDLERS: list[HTTPRouteHandler] = [
    show_conflicts,
    show_exceptions,
    show_conflict,
    request_exception,
    approve_exception,
    withdraw_exception,
]
