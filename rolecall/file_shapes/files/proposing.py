"""Run proposals in a child process with limits for memory and time, because a small file may inflate to gigabytes."""

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from zoneinfo import ZoneInfo

import msgspec
import structlog

from rolecall.application_imports.read.sources import InputGroup
from rolecall.application_imports.run.child import CRASHES, ChildDied, run_in_child
from rolecall.application_imports.run.limits import GIB, limit_process
from rolecall.applications.model import Content
from rolecall.core.checking import Json
from rolecall.core.errors import Invalid
from rolecall.file_shapes.shapes import ProposalDetail, Understood
from rolecall.file_shapes.tables.sample import Sample

log = structlog.get_logger("rolecall.file_shapes")

MEMORY = 1 * GIB
_CPU_SECONDS = 30
LONGEST_SECONDS = 60.0
# The number of child processes that one process of the service runs at a time; other calls wait.
_AT_ONCE = asyncio.Semaphore(2)
_LESS = "save the data as CSV, or send fewer files at once"
_TOO_MUCH = f"Reading the files needs more memory than a proposal may use; {_LESS}"
_TOO_LONG = f"Reading the files takes longer than a proposal may take; {_LESS}"
_FAULT = "The files cannot be read because of an internal error; see the log of the service"


class Reading(msgspec.Struct, frozen=True):
    """The settings to read one content of a file and show its first rows."""

    sample: Sample
    format: str
    encoding: str | None
    content: Content
    section: Json
    # Whether an account may have several rows, one for each grant.
    is_per_grant: bool = False


class UnderstoodRows(msgspec.Struct):
    """The first rows of one content as an import would store them, or why they cannot be read."""

    rows: list[dict[str, str]] = []
    problem: str | None = None


class _Answer(msgspec.Struct):
    proposal: ProposalDetail | None = None
    understood: list[Understood] = []
    records: list[UnderstoodRows] = []
    problem: str | None = None
    # The tracebacks of unexpected exceptions, which the parent logs.
    faults: list[str] = []


async def propose_in_child(
    samples: Sequence[Sample], chosen: Mapping[str, Json] | None = None, template: Json | None = None
) -> ProposalDetail:
    """Propose a connector; raise Invalid if the child dies or exceeds limits. `chosen` maps file names to decisions."""
    answer = await _ask(_propose, list(samples), dict(chosen or {}), template)
    assert answer.proposal
    return answer.proposal


async def understand_in_child(readings: Sequence[Reading]) -> list[Understood]:
    """Return how an import would read each content."""
    return (await _ask(_understand, list(readings))).understood


async def read_in_child(groups: Sequence[tuple[InputGroup, bytes]], zone: ZoneInfo) -> list[UnderstoodRows]:
    """Read the first records of each group with the settings of its application."""
    return (await _ask(_read, list(groups), str(zone))).records


async def _ask(target: object, *args: object) -> _Answer:
    try:
        async with _AT_ONCE:
            sent = await run_in_child(_main, target, args, MEMORY, seconds=LONGEST_SECONDS)
    except TimeoutError:
        raise Invalid.on("files", _TOO_LONG) from None
    except ChildDied as died:
        log.error("proposal died", code=died.code)
        raise Invalid.on("files", _problem_of_death(died.code)) from None
    answer = msgspec.json.decode(sent, type=_Answer)
    for fault in answer.faults:
        log.error("a file cannot be read", traceback=fault)
    if answer.problem:
        raise Invalid.on("files", answer.problem)
    return answer


def _problem_of_death(code: int) -> str:
    if code == -signal.SIGXCPU:
        return _TOO_LONG
    if -code in CRASHES:
        crashed = f"The process that reads the files was ended by {signal.Signals(-code).name}"
        return f"{crashed}; often the files need more memory than a proposal may use; {_LESS}"
    return _FAULT


def _main(target: object, args: tuple[object, ...], memory: int, parent: Connection) -> None:
    too_much = msgspec.json.encode(_Answer(problem=_TOO_MUCH))
    limit_process(parent, cpu_seconds=_CPU_SECONDS, memory=lambda: memory, too_much=too_much)
    assert callable(target)
    parent.send_bytes(msgspec.json.encode(target(*args)))
    os._exit(0)


def _propose(samples: list[Sample], chosen: dict[str, Json], template: Json | None) -> _Answer:
    from rolecall.file_shapes.files.faulty_files import propose_without_faulty
    from rolecall.file_shapes.files.proposals import Chosen, Template

    known = {name: msgspec.convert(each, Chosen) for name, each in chosen.items()}
    found = propose_without_faulty(samples, known, msgspec.convert(template, Template | None))
    return _Answer(found.proposal, faults=found.faults)


def _read(groups: list[tuple[InputGroup, bytes]], zone: str) -> _Answer:
    from rolecall.application_imports.read.broken_file import BrokenFile
    from rolecall.file_shapes.files.faulty_files import UNEXPECTED, traceback_of
    from rolecall.file_shapes.files.understood import first_understood

    answer = _Answer()
    for group, text in groups:
        try:
            answer.records.append(UnderstoodRows(first_understood(group, text, ZoneInfo(zone))))
        except BrokenFile as broken:
            answer.records.append(UnderstoodRows(problem=str(broken)))
        except UNEXPECTED as error:
            answer.faults.append(traceback_of(error))
            answer.records.append(UnderstoodRows(problem=_FAULT))
    return answer


def _understand(readings: list[Reading]) -> _Answer:
    from rolecall.file_shapes.files.faulty_files import UNEXPECTED, traceback_of
    from rolecall.file_shapes.files.understood import state_unlisted, understood_by

    answer = _Answer()
    for each in readings:
        try:
            found = understood_by(
                each.sample, each.format, each.encoding, each.content, each.section, is_per_grant=each.is_per_grant
            )
        except UNEXPECTED as error:
            answer.faults.append(traceback_of(error))
            found = Understood()
        answer.understood.append(found)
    read = zip(readings, answer.understood, strict=True)
    state_unlisted([(each.content, each.section["shape"] or {}, found) for each, found in read])
    for found in answer.understood:
        found.usernames = None
    return answer
