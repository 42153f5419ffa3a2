"""Logs: one line an event, to stderr, as text for people or JSON for programs. Bodies are never logged."""

import logging
import os
import sys
from typing import Any

import msgspec
import structlog
from structlog.typing import Processor

_SHARED: list[Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
]


def configure(form: str) -> None:
    """Once a process. Libraries that log through `logging` come out the same way, from warnings up."""
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
        structlog.dev.ConsoleRenderer(
            colors=colors, pad_event_to=0, timestamp_key="time", exception_formatter=structlog.dev.plain_traceback
        )
    ]


def _encode(event: Any, **_: Any) -> str:
    return msgspec.json.encode(event, enc_hook=repr).decode()
