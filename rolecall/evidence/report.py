"""Render the bundle as one HTML page without scripts or external resources; all imported text is escaped."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from html import escape

from rolecall.access_requests.shapes import AccessRequestDetail, Permission
from rolecall.audit.shapes import AuditEventItem
from rolecall.effective_access.shapes import AccessEntry
from rolecall.evidence.shapes import ImportEvidence, PersonEvidence
from rolecall.personnel_events.shapes import EventDetail
from rolecall.work_items.shapes import ActivityEntry

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color: #1c2430; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2rem; border-bottom: 1px solid #ccd3dc; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid #e6eaef; }
th, td, code { overflow-wrap: anywhere; } th, .quiet { color: #55606e; }
"""


def report(evidence: PersonEvidence, entries: Sequence[AuditEventItem], head: str, now: datetime) -> str:
    return "\n".join(_page(evidence, entries, head, now))


def _page(evidence: PersonEvidence, entries: Sequence[AuditEventItem], head: str, now: datetime) -> Iterator[str]:
    person = evidence.identity
    name = _text(f"{person.first_name} {person.last_name}")
    yield f"""<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Access of {name}</title>
<style>{_STYLE}</style></head><body><h1>Access of {name}</h1>
<p class="quiet">Made {_time(now)} by Rolecall, as of {_time(evidence.access.as_of or now)}.
The files beside this page contain the same data; <code>python verify.py</code> checks them.
Head of the audit: <code>{_text(head)}</code></p>"""
    yield _table((), [(fact.replace("_", " "), getattr(person, fact)) for fact in _FACTS])
    yield "<h2>Access</h2>"
    for there in evidence.access.applications:
        if there.is_unknown(evidence.access.as_of) and there.no_data_before:
            yield f"<h3>{_text(there.application.name)}</h3><p>No data before {_time(there.no_data_before)}.</p>"
        for account in there.accounts:
            state = "" if account.is_active else ", not active"
            yield f"<h3>{_text(there.application.name)}: {_text(account.username)}{state}</h3>"
            yield _table(_PRIVILEGE, map(_privilege, account.access))
    for title, headers, rows in (
        ("Personnel events", _EVENT, map(_event, evidence.events)),
        ("Access requests", _REQUEST, map(_request, evidence.requests)),
        ("Imports", _IMPORT, map(_import, evidence.imports)),
        ("Audit", _ENTRY, map(_entry, entries)),
    ):
        yield f"<h2>{title}</h2>"
        yield _table(headers, rows)
    yield "</body></html>"


Row = tuple[object, ...]
_FACTS = ("id", "email_address", "type", "title", "department", "company", "supervisor_name", "status")
_PRIVILEGE = ("Privilege", "Access", "Through", "Risk", "Since import", "Requests", "Access models")
_EVENT = ("Event", "Type", "Status", "Needed on", "What happened")
_REQUEST = ("Request", "Action", "Application", "Status", "Asked for", "Responses", "What happened")
_IMPORT = ("Import", "Application", "By", "Ended", "Files (SHA-256)")
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
        f"{requirement.type}: {response.reviewer.name} {response.response}"
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


def _import(run: ImportEvidence) -> Row:
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


def _table(headers: Sequence[str], rows: Iterable[Row]) -> str:
    lines = [f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows]
    if not lines:
        return '<p class="quiet">None.</p>'
    head = f"<tr>{''.join(f'<th>{header}</th>' for header in headers)}</tr>" if headers else ""
    return f"<table>{head}{''.join(lines)}</table>"


def _text(value: object) -> str:
    text = _time(value) if isinstance(value, datetime) else "" if value is None else str(value)
    # Show control and bidi characters as escapes, so that they cannot change how the text looks.
    return escape("".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text))


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
