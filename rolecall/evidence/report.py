"""Render the evidence of a person as one HTML page without scripts or external resources; imported text is escaped."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cache

from jinja2 import Environment

from rolecall.access_requests.shapes import AccessRequestDetail, Permission, ReviewerResponse
from rolecall.audit.shapes import AuditEventItem
from rolecall.conflicts.shapes import ConflictDetail, ConflictException
from rolecall.core.templates import environment
from rolecall.effective_access.shapes import AccessEntry
from rolecall.evidence.shapes import ImportEvidence, PersonEvidence
from rolecall.personnel_events.shapes import EventDetail
from rolecall.work_items.shapes import ActivityEntry


def report(evidence: PersonEvidence, entries: Sequence[AuditEventItem], head: str, now: datetime) -> str:
    person = evidence.identity
    sections = [
        ("Personnel events", _EVENT, [_event(event) for event in evidence.events]),
        ("Access requests", _REQUEST, [_request(request) for request in evidence.requests]),
        ("Conflicts of duties", _CONFLICT, [_conflict(one) for one in evidence.conflicts]),
        ("Imports", IMPORT_HEADERS, [import_row(run) for run in evidence.imports]),
        ("Audit", _ENTRY, [_entry(entry) for entry in entries]),
    ]
    return (
        _environment()
        .get_template("report.html")
        .render(
            name=f"{person.first_name} {person.last_name}",
            facts=[(fact.replace("_", " "), getattr(person, fact)) for fact in _FACTS],
            access=evidence.access,
            privilege_headers=_PRIVILEGE,
            sections=sections,
            head=head,
            now=now,
        )
    )


@cache
def _environment() -> Environment:
    return environment("rolecall.evidence", shown=shown, privilege=_privilege)


Row = tuple[object, ...]
_FACTS = ("id", "email_address", "type", "title", "department", "company", "supervisor_name", "status")
_PRIVILEGE = ("Privilege", "Access", "Through", "Risk", "Since import", "Requests", "Access models")
_EVENT = ("Event", "Type", "Status", "Needed on", "What happened")
_REQUEST = ("Request", "Action", "Application", "Status", "Asked for", "Responses", "What happened")
_CONFLICT = ("Rule", "Risk", "Status", "Since", "Until", "Duties", "Exceptions")
IMPORT_HEADERS = ("Import", "Application", "By", "Ended", "Files (SHA-256)")
_ENTRY = ("Entry", "When", "Who", "Action", "What", "Fields")


def _privilege(held: AccessEntry) -> Row:
    return (
        _named(held),
        held.access,
        held.group,
        held.risk_rating,
        held.why.application_import.number,
        ", ".join(f"#{request.number}" for request in held.why.access_requests),
        ", ".join(model.name for model in held.why.access_models),
    )


def _event(event: EventDetail) -> Row:
    return f"#{event.number}", event.type, event.status, event.needed_on, _story(event.activity)


def _request(request: AccessRequestDetail) -> Row:
    asked = request.target.privileges
    responses = [
        f"{requirement.type}: {_responded(response)}"
        for requirement in request.requirements
        for rule in requirement.rules
        for response in rule.responses
    ]
    return (
        f"#{request.number}",
        request.action,
        request.target.application.name,
        request.status,
        "; ".join(f"{_named(one.permission)}: {one.requested_access}" for one in asked),
        "; ".join(responses),
        _story(request.activity),
    )


def _responded(response: ReviewerResponse) -> str:
    """Return the response, with the names of the reviewer and of the stand-in who responded for them, if any."""
    by = f" by {response.stand_in.name} as stand-in" if response.stand_in else ""
    return f"{response.reviewer.name} {response.response}{by}"


def _conflict(conflict: ConflictDetail) -> Row:
    return (
        conflict.rule.name,
        conflict.rule.risk,
        conflict.status,
        conflict.since,
        conflict.until,
        "; ".join(side.duty.name for side in conflict.sides),
        "; ".join(_excepted(one) for one in conflict.exceptions),
    )


def _excepted(exception: ConflictException) -> str:
    """Return a description of an exception, with its approvers and the people who approved for them."""
    by = [
        each.approver.name + (f" by {each.stand_in.name} as stand-in" if each.stand_in else "")
        for each in exception.approvals
    ]
    approved = f", approved by {' and '.join(by)}" if by else ""
    return f"{exception.status} until {_time(exception.until)}: {exception.control}{approved}"


def import_row(run: ImportEvidence) -> Row:
    files = "; ".join(f"{file.name} {file.sha256}" for file in run.files)
    return f"#{run.number}", run.application, run.created_by, run.build_end, files


def _entry(entry: AuditEventItem) -> Row:
    return (
        entry.number,
        entry.created_date,
        f"{entry.caller.name} ({entry.caller.kind})",
        entry.action,
        f"{entry.entity.kind} {entry.entity.name or ''}",
        ", ".join({**(entry.before or {}), **(entry.after or {})}),
    )


def _named(permission: Permission | AccessEntry) -> str:
    return " / ".join(word for word in (permission.header, permission.section, permission.permission) if word)


def _story(activity: Iterable[ActivityEntry]) -> str:
    return "; ".join(f"{_time(one.created_date)} {one.author}: {one.content}" for one in activity)


def shown(value: object) -> str:
    text = _time(value) if isinstance(value, datetime) else "" if value is None else str(value)
    # Escape unprintable characters, such as control and bidi characters, so that they cannot change how the text looks.
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
