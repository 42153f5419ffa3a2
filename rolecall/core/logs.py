"""Log to stderr, one line per event, as text or JSON. Bodies are never logged."""

import asyncio
import json
import logging
import os
import sys
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
_json_lines: BinaryIO | None = None
_unwritten: list[bytes] = []


def say_request(**fields: Any) -> None:
    """Log a request. JSON lines bypass structlog, which would cost a third as much as reading the record."""
    if _json_lines is None:
        _log.info("request", **fields)
        return
    # Coalesce the lines of one event loop iteration: each write releases the GIL and waits to get it back.
    if not _unwritten:
        asyncio.get_running_loop().call_soon(_write, _json_lines)
    line = {**fields, "event": "request", "level": "info", "time": datetime.now(UTC)}
    _unwritten.append(_encode(line).encode() + b"\n")


def _write(lines: BinaryIO) -> None:
    lines.writelines(_unwritten)
    lines.flush()
    _unwritten.clear()


def configure(form: str) -> None:
    """Configure logging once per process; route warnings of libraries the same way."""
    global _json_lines  # noqa: PLW0603
    _json_lines = sys.stderr.buffer if form == "json" else None
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
    colors = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    return [
        structlog.processors.format_exc_info,
        _in_one_line,
        structlog.dev.ConsoleRenderer(colors=colors, pad_event_to=0, timestamp_key="time"),
    ]


def _in_one_line(_: object, __: str, event: EventDict) -> EventDict:
    """Escape line breaks and control characters (log injection)."""
    if "exception" in event:
        event["raised"] = " | ".join(line.strip() for line in event.pop("exception").splitlines())
    return {key: _shown(value) for key, value in event.items()}


def _shown(value: object) -> object:
    text = value if isinstance(value, str) else repr(value)
    return value if text.isprintable() else in_one_line(text)


def _encode(event: Any, **_: Any) -> str:
    """Escape control characters and Unicode line separators that JSON leaves as they are."""
    try:
        text = _ENCODER.encode(event).decode()
    except UnicodeEncodeError:  # a lone surrogate, for example in a file name
        text = json.dumps(event, default=str)
    return text if text.isascii() else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
