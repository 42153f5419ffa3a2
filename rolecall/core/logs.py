"""Log to stderr, one line per event, as text or JSON. Bodies are never logged."""

import asyncio
import json
import logging
import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, BinaryIO

import msgspec
import structlog
from structlog.typing import EventDict, Processor

from rolecall.core.text import in_one_line

_SHARED: list[Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
]


_log = structlog.get_logger("rolecall.http")
_ENCODER = msgspec.json.Encoder(enc_hook=repr)
# Formats a request as one line; None if structlog formats it, with colors.
_request_line: Callable[[dict[str, Any]], str] | None = None
_unwritten: list[bytes] = []
# Values with one of these characters are quoted in text logs.
_QUOTED = frozenset(" =\"'")


def log_request(**fields: Any) -> None:
    """Log a request. Avoid structlog, which costs a third as much as reading a record, unless the output is colored."""
    if _request_line is None:
        _log.info("request", **fields)
        return
    # Coalesce the lines of one event loop iteration: each write releases the GIL and waits to get it back.
    if not _unwritten:
        asyncio.get_running_loop().call_soon(_write, sys.stderr.buffer)
    _unwritten.append(_request_line(fields).encode() + b"\n")


def _json_line(fields: dict[str, Any]) -> str:
    return _encode({**fields, "event": "request", "level": "info", "time": datetime.now(UTC)})


def _text_line(fields: dict[str, Any]) -> str:
    """Return the line of a request as structlog's console renderer would write it."""
    shown = " ".join(f"{key}={_quoted(_shown(fields[key]))}" for key in sorted(fields))
    return f"{datetime.now(UTC).isoformat()[:-6]}Z [info     ] request {shown}"


def _quoted(value: object) -> object:
    return value if not isinstance(value, str) or _QUOTED.isdisjoint(value) else repr(value)


def _write(lines: BinaryIO) -> None:
    lines.writelines(_unwritten)
    lines.flush()
    _unwritten.clear()


def configure(form: str) -> None:
    """Configure logging once per process, including the warnings of libraries."""
    global _request_line  # noqa: PLW0603
    _request_line = _json_line if form == "json" else None if _is_colored() else _text_line
    render = _json_renderer() if form == "json" else _text_renderer()
    structlog.configure(
        processors=[*_SHARED, *render],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        cache_logger_on_first_use=True,
    )
    out = logging.StreamHandler(sys.stderr)
    out.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=_SHARED,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *render],
        )
    )
    logging.basicConfig(level=logging.WARNING, handlers=[out], force=True)


def _json_renderer() -> list[Processor]:
    return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(_encode)]


def _text_renderer() -> list[Processor]:
    return [
        structlog.processors.format_exc_info,
        _in_one_line,
        structlog.dev.ConsoleRenderer(colors=_is_colored(), pad_event_to=0, timestamp_key="time"),
    ]


def _is_colored() -> bool:
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR")


def _in_one_line(_: object, __: str, event: EventDict) -> EventDict:
    """Escape line breaks and control characters, to prevent log injection."""
    if "exception" in event:
        event["raised"] = " | ".join(line.strip() for line in event.pop("exception").splitlines())
    return {key: _shown(value) for key, value in event.items()}


def _shown(value: object) -> object:
    text = value if isinstance(value, str) else repr(value)
    return value if text.isprintable() else in_one_line(text)


def _encode(event: Any, **_: Any) -> str:
    """Return the event as JSON; escape control characters and line separators that JSON leaves unchanged."""
    try:
        text = _ENCODER.encode(event).decode()
    except UnicodeEncodeError:  # a lone surrogate, for example in a file name
        text = json.dumps(event, default=str)
    return text if text.isascii() else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
