"""Log to stderr, one line per event, as text or JSON. Bodies are never logged."""

import asyncio
import contextlib
import json
import logging
import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any, TextIO, cast

import msgspec
import structlog
from structlog.typing import EventDict, Processor

from rolecall.core.text import in_one_line

_SHARED: list[Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
]


_ENCODER = msgspec.json.Encoder(enc_hook=repr)
_unwritten: list[bytes] = []


class _Style(msgspec.Struct, frozen=True):
    """The formats of a request line and of one field in it, the same as in structlog's console renderer."""

    line: str
    field: str


_PLAIN = _Style("%s [info     ] request %s", "%s=%s")
_COLORED = _Style(
    "\x1b[2m%s\x1b[0m [\x1b[32m\x1b[1minfo     \x1b[0m] \x1b[1mrequest\x1b[0m %s",
    "\x1b[36m%s\x1b[0m=\x1b[35m%s\x1b[0m",
)


def log_request(**fields: Any) -> None:
    """Log a request without structlog, whose overhead would be a third of the time for reading one record."""
    if _request_line is None:
        return
    # Coalesce the lines of one event loop iteration: each write releases the GIL and waits to get it back.
    if not _unwritten:
        asyncio.get_running_loop().call_soon(_write_lines)
    _unwritten.append(_request_line(fields).encode() + b"\n")


def _json_line(fields: dict[str, Any]) -> str:
    return _encode({**fields, "event": "request", "level": "info", "time": datetime.now(UTC)})


def _text_line(style: _Style, fields: dict[str, Any]) -> str:
    shown = [style.field % (key, _as_text(fields[key])) for key in sorted(fields)]
    # Format with msgspec, which is five times as fast as `isoformat`.
    return style.line % (_ENCODER.encode(datetime.now(UTC)).decode()[1:-1], " ".join(shown))


def _as_text(value: object) -> object:
    """Return the value for a text log: on one line, and in quotes if it contains a space, an equals sign or a quote."""
    shown = value if isinstance(value, int | float) else _shown(value)
    if isinstance(shown, str) and (" " in shown or "=" in shown or '"' in shown or "'" in shown):
        return repr(shown)
    return shown


# The function that formats a request as one line. Unless `configure` has set it, requests are not logged.
_request_line: Callable[[dict[str, Any]], str] | None = None


def _write_lines() -> None:
    lines = b"".join(_unwritten)
    # Clear first: if the write fails, the lines are lost, but later requests are logged.
    _unwritten.clear()
    with contextlib.suppress(OSError):
        sys.stderr.buffer.write(lines)
        sys.stderr.buffer.flush()


class _Lossy:
    """A stream that drops what it cannot write, so that a full disk or a closed pipe stops only the log."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()


def configure(form: str) -> None:
    """Configure logging once per process, including the warnings of libraries."""
    global _request_line  # noqa: PLW0603
    _request_line = _json_line if form == "json" else partial(_text_line, _COLORED if _is_colored() else _PLAIN)
    render = _json_renderer() if form == "json" else _text_renderer()
    structlog.configure(
        processors=[*_SHARED, *render],
        logger_factory=structlog.PrintLoggerFactory(cast(TextIO, _Lossy(sys.stderr))),
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
