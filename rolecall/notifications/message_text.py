"""Write messages: one template gives the subject, the plain text and the HTML.

A template is text with names in double braces, such as `{{ person }}`. If a line of the body contains names and all of
them are empty, the line is omitted. The facts (who, what, why, by when, what happens without a response) and the link
follow every template, so that no edit can remove them.
"""

import re
from base64 import b64encode
from collections.abc import Sequence
from difflib import get_close_matches
from functools import lru_cache
from hashlib import sha256

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from rolecall.core.errors import Problem
from rolecall.notifications.model import MessageTemplate, NotificationKind, NotificationPolicy
from rolecall.notifications.notification_facts import NotificationFacts

# The names that templates can use, with an example of each for the preview.
EXAMPLES = {
    "recipient": "Grace Hopper",
    "person": "Ada Lovelace",
    "what": "Add access in Payroll: Post entries",
    "asked": "Approve",
    "by": "Charles Babbage",
    "result": "approved",
    "application": "Payroll",
    "why": "The supervisor approves added and changed access",
    "due": "Friday, 4 December 2026",
    "silence": "After 7 working days, your supervisor can respond too; until someone does, nothing changes",
}
_FACTS = {
    "person": "Person",
    "what": "What",
    "by": "By",
    "why": "Why you",
    "due": "Due",
    "silence": "Without a response",
}
_OPENS = {
    NotificationKind.PERSONNEL_EVENT: "Open the event",
    NotificationKind.IMPORT_FAILED: "Open the import",
    NotificationKind.IMPORT_HELD: "Open the import",
    NotificationKind.SCHEDULE_FAILED: "Open the import",
    NotificationKind.WEBHOOK_FAILING: "Open the webhook",
    NotificationKind.CHANNEL_FAILING: "Open the settings",
    NotificationKind.CONFLICT_OPENED: "Open the conflicts",
    NotificationKind.CONFLICT_ENDED: "Open the conflicts",
    NotificationKind.CONFLICT_EXCEPTION: "Open the conflict",
    NotificationKind.REPORT: "Open the report",
    NotificationKind.OWNERSHIP: "Open the application",
    NotificationKind.STAND_IN: "Open the stand-ins",
    NotificationKind.REVIEW: "Open the review",
}
DEFAULTS = {
    NotificationKind.WAITING: (
        "{{ asked }}: {{ what }} for {{ person }}",
        "{{ by }} requested this. Please respond.",
    ),
    NotificationKind.DUE: (
        "Reminder: {{ what }} for {{ person }}",
        "Your response is still pending. Please respond by {{ due }}.",
    ),
    NotificationKind.ESCALATED: (
        "No response yet: {{ what }} for {{ person }}",
        "No reviewer has responded yet, so you can respond too.",
    ),
    NotificationKind.ASSIGNED: (
        "Assigned to you: {{ what }} for {{ person }}",
        "{{ by }} created it.",
    ),
    NotificationKind.DECIDED: (
        "Your request was {{ result }}: {{ what }} for {{ person }}",
        "{{ by }} {{ result }} it.",
    ),
    NotificationKind.PERSONNEL_EVENT: ("{{ person }}: {{ what }} was {{ result }}", "{{ by }} entered this event."),
    NotificationKind.IMPORT_FAILED: ("{{ what }} failed", "Reason: {{ result }}"),
    NotificationKind.IMPORT_HELD: (
        "{{ what }} is held",
        "The guard holds the import: {{ result }}\n\nContinue it if the change is right, or cancel it.",
    ),
    NotificationKind.SCHEDULE_FAILED: ("Scheduled: {{ what }} failed", "Reason: {{ result }}"),
    NotificationKind.WEBHOOK_FAILING: (
        "{{ what }}: {{ result }}",
        "Check the receiver. The webhook's page lists its deliveries, and each delivery lists its attempts.",
    ),
    NotificationKind.CHANNEL_FAILING: ("{{ what }} cannot be sent", "Reason: {{ result }}"),
    NotificationKind.CONFLICT_OPENED: (
        "{{ what }}: {{ result }}",
        "In conflict with the rule: {{ person }}. Remove the access, or request an exception.",
    ),
    NotificationKind.CONFLICT_ENDED: (
        "{{ what }}: {{ result }}",
        "{{ by }} changed a duty, the rule, a name, an account or an application."
        " Check that the change is right: the people may still have the access.",
    ),
    NotificationKind.CONFLICT_EXCEPTION: ("{{ what }} for {{ person }} {{ result }}", "{{ by }} requested it."),
    NotificationKind.REPORT: ("{{ what }} {{ result }}", "{{ what }} {{ result }}."),
    NotificationKind.OWNERSHIP: (
        "You act as the owner of {{ what }}",
        "{{ person }} owned {{ what }} and is no longer active."
        " Choose yourself or another person as the owner, or ask an administrator to choose one.",
    ),
    NotificationKind.REVIEW: (
        "{{ asked }} {{ what }}: {{ result }}",
        "{{ by }} created the review. Please decide and submit by {{ due }}.",
    ),
    NotificationKind.STAND_IN: ("{{ result }}", "{{ by }} named the stand-in."),
}
_ABOUT_LINK = "Opening the link does not decide anything. You may have to sign in first."
# Do not match optional white space around the name: `{{` and a line of blanks would take cubic time (ReDoS).
_NAME = re.compile(r"{{([^{}]*)}}")
# Text that mail programs turn into a link: a URL scheme, a Windows share, and a dot in a possible host name, unless a
# file extension follows. Browsers also accept three other Unicode characters as dots in host names.
_SCHEME = re.compile(r"(?<=\w):(?=//)|(?:(?<=mailto)|(?<=tel)|(?<=sms)|(?<=file)):(?=\S)", re.I)
_SHARE = re.compile(r"(?<!\S)\\\\(?=\S)")
_HOST_DOT = re.compile(
    r"(?<=[\w-])[.\u3002\uff0e\uff61](?!(?:csv|tsv|txt|xlsx?|jsonl?|xml|parquet|log)\b)"
    r"(?=[^\W\d_](?:[^\W\d_]|[^\x00-\x7f]))",
    re.I,
)
_BRACE = re.compile(r"{{|}}|{%|%}")
_environment = Environment(
    loader=PackageLoader("rolecall.notifications"),
    # Names and comments must not become HTML; the plain text is not escaped.
    autoescape=select_autoescape(["html"]),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
)


_STYLE = _environment.get_template("message.html").render(
    notes=[], subject="", recipient="", about_link="", settings="", is_digest=False
)
# The hash of the only inline style of messages, for the Content-Security-Policy of pages that show a message.
STYLE_SHA256 = b64encode(sha256(_STYLE.partition("<style>")[2].partition("</style>")[0].encode()).digest()).decode()


class TemplateFault(Exception):
    """A template that cannot be used; the message says where and why."""


class Note(msgspec.Struct, frozen=True):
    """The text of one notification in a message."""

    subject: str
    paragraphs: list[str]
    facts: list[tuple[str, str]]
    link: str
    opens: str


class WrittenMessage(msgspec.Struct, frozen=True):
    subject: str
    text: str
    html: str


def default_template(kind: NotificationKind) -> MessageTemplate:
    return MessageTemplate(kind, *DEFAULTS[kind])


def template_in(policy: NotificationPolicy, kind: NotificationKind) -> MessageTemplate:
    return policy.template_of(kind) or default_template(kind)


@lru_cache(maxsize=64)
def template_problems(template: MessageTemplate) -> tuple[Problem, ...]:
    """Return what is wrong with a template, with the field and the line of each problem."""
    found = []
    for field, text in (("subject", template.subject), ("body", template.body)):
        for number, line in enumerate(text.split("\n"), 1):
            found += [Problem(field, f"Line {number}: {said}") for said in _line_problems(line)]
    if "\n" in template.subject:
        found.append(Problem("subject", "Subject must be one line"))
    return tuple(found)


def _line_problems(line: str) -> list[str]:
    unknown = [name for name in _names(line) if name not in EXAMPLES]
    said = [f"{name or 'an empty name'} is unknown{_instead(name)}" for name in unknown]
    if _BRACE.search(_NAME.sub("", line)):
        said.append("braces are only for names; write a name as {{ person }}")
    return said


def _names(line: str) -> list[str]:
    return [name.strip() for name in _NAME.findall(line)]


def _instead(name: str) -> str:
    near = get_close_matches(name, EXAMPLES, 1)
    return f"; did you mean {near[0]}?" if near else f"; the names are {', '.join(EXAMPLES)}"


def note_of(template: MessageTemplate, about: NotificationFacts, recipient: str, base_url: str) -> Note:
    """Return the note that a template gives for these facts; raise TemplateFault if the template is broken."""
    if problems := template_problems(template):
        raise TemplateFault(f"{problems[0].field}: {problems[0].message}")
    values = {
        **{name: without_links(getattr(about, name, "")) for name in EXAMPLES},
        "recipient": without_links(recipient),
    }
    body = [line for line in template.body.split("\n") if _is_said(line, values)]
    paragraphs = [_one_line(part) for part in re.split(r"\n\s*\n", _filled("\n".join(body), values)) if part.strip()]
    facts = [(label, values[name]) for name, label in _FACTS.items() if values[name]]
    link = f"{base_url}{about.link}"
    return Note(_one_line(_filled(template.subject, values)), paragraphs, facts, link, _opens(template.kind, about))


def _opens(kind: NotificationKind, about: NotificationFacts) -> str:
    return "Open the event" if about.link.startswith("/events/") else _OPENS.get(kind, "Open the request")


def _is_said(line: str, values: dict[str, str]) -> bool:
    names = _names(line)
    return not names or any(values[name] for name in names)


def _filled(text: str, values: dict[str, str]) -> str:
    return _NAME.sub(lambda found: values[found[1].strip()], text)


def without_links(value: str) -> str:
    """Return a value as one line that mail programs do not turn into a link: a name could contain a URL."""
    return _HOST_DOT.sub("[.]", _SCHEME.sub("[:]", _SHARE.sub("[\\\\\\\\]", _one_line(value))))


def _one_line(text: str) -> str:
    """Return one line of printable text, to prevent header injection: no value can add a header or a line."""
    plain = " ".join(text.split())
    return plain if plain.isprintable() else " ".join("".join(c if c.isprintable() else " " for c in plain).split())


def subject_of(notes: Sequence[Note]) -> str:
    return notes[0].subject if len(notes) == 1 else f"{len(notes)} notifications from Rolecall"


def write(
    notes: Sequence[Note], recipient: str, base_url: str, *, is_digest: bool, about_link: str = _ABOUT_LINK
) -> WrittenMessage:
    """Return a message with its notes as plain text and as HTML; `about_link` is the sentence about its links."""
    subject = subject_of(notes)
    values = {
        "subject": subject,
        "notes": notes,
        "recipient": without_links(recipient),
        "settings": f"{base_url}/notifications",
        "is_digest": is_digest,
        "about_link": about_link,
    }
    text, html = (_environment.get_template(f"message.{form}").render(values) for form in ("txt", "html"))
    return WrittenMessage(subject, text, html)
