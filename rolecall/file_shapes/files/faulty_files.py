"""Propose a connector even if reading a file raises an unexpected exception: report a problem of this file instead."""

import traceback
from collections.abc import Mapping, Sequence

import msgspec
from polars.exceptions import PanicException

from rolecall.file_shapes.files.proposals import Chosen, Template, propose
from rolecall.file_shapes.shapes import ProposalDetail
from rolecall.file_shapes.tables.sample import Sample

# The panics of polars do not derive from Exception.
UNEXPECTED = (Exception, PanicException)
_ALONE = (
    "an internal error occurred while reading the file; save it as CSV with one header line and choose it again, "
    "or report the error from the log of the service"
)
_TOGETHER = (
    "an internal error occurred while reading the files together; choose each file alone, "
    "or report the error from the log of the service"
)


class Attempts(msgspec.Struct):
    """A proposal, and the tracebacks of the unexpected exceptions on the way to it."""

    proposal: ProposalDetail
    faults: list[str]


def propose_without_faulty(
    samples: Sequence[Sample], chosen: Mapping[str, Chosen], template: Template | None
) -> Attempts:
    """Propose a connector. Leave out the files that cannot be read because of an unexpected exception.

    If the other files cannot be read together, leave out all files.
    """
    faults: list[str] = []
    if found := _attempt(samples, chosen, template, {}, faults):
        return Attempts(found, faults)
    problems = {each.name: _ALONE for each in samples if not _attempt([each], chosen, template, {}, faults)}
    found = _attempt(samples, chosen, template, problems, faults) if problems else None
    if found is None:
        problems = {each.name: problems.get(each.name, _TOGETHER) for each in samples}
        found = propose(samples, chosen, template, problems)
    return Attempts(found, list(dict.fromkeys(faults)))


def _attempt(
    samples: Sequence[Sample],
    chosen: Mapping[str, Chosen],
    template: Template | None,
    problems: Mapping[str, str],
    faults: list[str],
) -> ProposalDetail | None:
    try:
        return propose(samples, chosen, template, problems)
    except UNEXPECTED as error:
        faults.append(traceback_of(error))
        return None


def traceback_of(error: BaseException) -> str:
    """Return the traceback of an exception without its message, which may quote a secret of the file."""
    return "".join([*traceback.format_tb(error.__traceback__), type(error).__name__])
