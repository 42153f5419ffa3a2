"""Implement the logic of calls without I/O (sans-I/O): a flow is a generator that yields steps and receives outcomes.

`http.py` performs the steps: one client blocks, the other is async.
"""

import random
import secrets
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from rolecall.client import answers, calls, errors
from rolecall.client.answers import Json, Page
from rolecall.client.calls import Call, Id
from rolecall.client.errors import Problem

T = TypeVar("T")
# The first and the longest pause before a retry of a call, in seconds; the pause doubles after each retry.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
# Shortest and longest pause, in seconds, between requests for the state of an import or dry run.
_LOOK_AGAIN, _LOOK_AGAIN_AT_MOST = 0.2, 2.0


class Request(msgspec.Struct, frozen=True):
    """A step of a flow: send this request and return the reply."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    content: bytes | None
    files: Sequence[tuple[str, Path]]
    form: Mapping[str, str]


class Reply(msgspec.Struct, frozen=True):
    status: int
    content: bytes
    correlation_id: str
    retry_after: str


class Lost(msgspec.Struct, frozen=True):
    """No reply arrived; the outcome of the call is unknown."""

    reason: str


class Pause(msgspec.Struct, frozen=True):
    """A step of a flow: wait this many seconds."""

    seconds: float


class Item(msgspec.Struct, Generic[T], frozen=True):
    """A step of a stream: an item to yield to the caller."""

    value: T


class Done(msgspec.Struct, Generic[T], frozen=True):
    """The end of a flow with its result."""

    value: T


Outcome = Reply | Lost | None
Step = TypeVar("Step")
Flow = Generator[Request | Pause, Outcome, T]
Stream = Generator[Request | Pause | Item[T], Outcome, None]
Progress = Callable[[int, int], None]
Files = Mapping[str, str | Path | Sequence[str | Path]]


def advance(flow: Generator[Step, Outcome, T], outcome: Outcome = None) -> Step | Done[T]:
    """Send the outcome of the last step to a flow; return its next step, or its end."""
    try:
        return flow.send(outcome)
    except StopIteration as end:
        return Done(end.value)


def perform(call: Call[T], patience: float) -> Flow[T]:
    """Perform one call; retry it while the service is unavailable, pausing for about `patience` seconds in total.

    Every write has an idempotency key, so that a retry does not repeat its effect.
    """
    # Generate the id here, so that an error without a response has one too.
    correlation_id = secrets.token_hex(16)
    headers = {"traceparent": f"00-{correlation_id}-{secrets.token_hex(8)}-01"}
    if call.method != "GET":
        headers["Idempotency-Key"] = call.key or secrets.token_hex(16)
    if call.body is not None:
        headers["Content-Type"] = "application/json"
    content = None if call.body is None else msgspec.json.encode(call.body)
    request = Request(call.method, call.path, call.query, headers, content, call.files, call.form)
    waited, pause = 0.0, _FIRST_PAUSE
    while True:
        outcome = yield request
        # Only the steps `Pause` and `Item` have no outcome.
        assert outcome is not None
        # Of all responses, retry only 503: after 429 (TooMany), only the caller knows whether the work can wait.
        if isinstance(outcome, Reply) and outcome.status != 503:
            return _answer(call, outcome)
        asked = _seconds(outcome.retry_after) if isinstance(outcome, Reply) else 0.0
        if waited + max(pause, asked) > patience:
            raise _unavailable(outcome, correlation_id)
        # Add jitter, so that clients do not retry at the same time.
        rest = max(asked, pause * (1 + random.random() / 2))  # noqa: S311
        yield Pause(rest)
        waited, pause = waited + rest, min(pause * 2, _LONGEST_PAUSE)


def _answer(call: Call[T], reply: Reply) -> T:
    if reply.status >= 300:
        raise error_in(reply)
    if call.answer is bytes:
        return reply.content  # type: ignore[return-value]
    # Responses with status 204 have no content.
    if not reply.content:
        return None  # type: ignore[return-value]
    return msgspec.json.decode(reply.content, type=call.answer)


class _ErrorBody(msgspec.Struct, rename="camel"):
    error: str = ""
    message: str = ""
    errors: tuple[Problem, ...] = ()


_ERRORS: dict[int, type[errors.Failed]] = {
    401: errors.NotAllowed,
    403: errors.NotAllowed,
    404: errors.NotFound,
    409: errors.Conflict,
    503: errors.Unavailable,
}


def error_in(reply: Reply) -> errors.Failed:
    try:
        body = msgspec.json.decode(reply.content, type=_ErrorBody)
    # A proxy in front of the service may respond with a body of its own.
    except (msgspec.DecodeError, UnicodeDecodeError):
        body = _ErrorBody()
    message = body.message or f"The service responded with status {reply.status}"
    if reply.status in (400, 413, 415):
        return errors.Invalid(message, reply.correlation_id, body.errors)
    if reply.status == 429:
        return errors.TooMany(message, reply.correlation_id, _seconds(reply.retry_after))
    return _ERRORS.get(reply.status, errors.Failed)(message, reply.correlation_id)


def _unavailable(outcome: Reply | Lost, correlation_id: str) -> errors.Unavailable:
    if isinstance(outcome, Lost):
        return errors.Unavailable(f"The service is unreachable: {outcome.reason}", correlation_id)
    return errors.Unavailable(str(error_in(outcome)), outcome.correlation_id or correlation_id)


def _seconds(retry_after: str) -> float:
    # The service sends seconds. A proxy may send a date; in that case wait one second.
    return float(retry_after) if retry_after.isdecimal() else 1.0


def each(call: Call[Page[T]], patience: float) -> Stream[T]:
    """Yield the items of a list, fetching page by page."""
    number = 1
    while True:
        page = yield from perform(msgspec.structs.replace(call, query={**call.query, "page": str(number)}), patience)
        for item in page.items:
            yield Item(item)
        # Use the number of pages in the last response, because the list may change meanwhile.
        if number >= page.total_pages:
            return
        number += 1


def watch(import_id: Id, patience: float) -> Stream[answers.Import]:
    """Yield the import whenever its status or log changes, until it is over."""
    known: Json | None = None
    pause = _LOOK_AGAIN
    while True:
        run = yield from perform(calls.get_import(import_id), patience)
        now: dict[str, Any] = {"status": run.status, "log": run.log}
        if now != known:
            known, pause = now, _LOOK_AGAIN
            yield Item(run)
        if run.is_over:
            return
        yield Pause(pause)
        pause = min(pause * 1.5, _LOOK_AGAIN_AT_MOST)


def dry_run(application_id: Id, files: Files, connector: Json | None, patience: float) -> Flow[answers.DryRun]:
    """Start a dry run of `files`, a mapping from file group names to paths; wait for the result and return it."""
    given = [(name, Path(path)) for name, paths in files.items() for path in _several(paths)]
    run = yield from perform(calls.start_dry_run(application_id, given, connector=connector), patience)
    pause = _LOOK_AGAIN
    while not run.is_over:
        yield Pause(pause)
        run = yield from perform(calls.get_dry_run(run.id), patience)
        pause = min(pause * 1.5, _LOOK_AGAIN_AT_MOST)
    return run


def _several(paths: str | Path | Sequence[str | Path]) -> Sequence[str | Path]:
    return [paths] if isinstance(paths, str | Path) else paths


def upload(application_id: Id, files: Files, patience: float) -> Flow[answers.NewImport]:
    """Upload `files`, a mapping from file group names (in any case) to paths; return the staged import."""
    application = yield from perform(calls.get_application(application_id), patience)
    # An upload needs the ids of its file groups.
    groups = {group.name.casefold(): group for group in (application.connector and application.connector.files) or ()}
    if unknown := [name for name in files if name.casefold() not in groups]:
        known = ", ".join(group.name for group in groups.values()) or "no file groups"
        problems = (Problem(name, f"Unknown file group; {application.name} has {known}") for name in unknown)
        raise errors.Invalid("The application has no such file group", problems=tuple(problems))
    given = [
        (groups[name.casefold()].file_group_id, Path(path)) for name, paths in files.items() for path in _several(paths)
    ]
    return (yield from perform(calls.upload_import(application_id, given), patience))
