"""Apply a person's decisions about columns of a draft that may contain access; find the contents of a draft."""

import re
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from rolecall.applications.model import Content
from rolecall.core.checking import Json
from rolecall.core.errors import Invalid
from rolecall.file_shapes.as_access import DESCRIBING, SCOPE, Offer, describe_by, offers, read_as, scope_by
from rolecall.file_shapes.draft_answers import OUT_OF_DATE
from rolecall.file_shapes.shapes import ColumnAccount, ContentProposal, ProposalDetail

NO_ACCESS = "no"
_DECISION = re.compile(r"([0-9]{1,4})\|([0-9]{1,5})\|([a-z]+)")


class Place(NamedTuple):
    """The position of a file in a proposal, and of a content in the file."""

    file: int
    part: int


def decide_access(body: Json, proposal: ProposalDetail, decision: str) -> None:
    """Apply a decision about a column: read it as access or as a detail of access, or note that it is not access."""
    match = _DECISION.fullmatch(decision)
    at, n, content = (int(match[1]), int(match[2]), match[3]) if match else (0, 0, "")
    known = {NO_ACCESS, SCOPE, *Content, *DESCRIBING}
    if content not in known or at >= len(proposal.files) or n >= len(proposal.files[at].columns):
        raise Invalid.on("columns", OUT_OF_DATE)
    file, column = proposal.files[at], proposal.files[at].columns[n]
    if content in DESCRIBING:
        describe_by(file, column, content, _sections(body, proposal, at))
    elif content == SCOPE:
        scope_by(file, column, _sections(body, proposal, at))
    elif content != NO_ACCESS:
        taken = _taken(proposal, at, column)
        read_as(file, column, Content(content), _sections(body, proposal, at), taken)
    column.may_be_access = None


def _sections(body: Json, proposal: ProposalDetail, at: int) -> Callable[[int], Json]:
    """Return a function that maps the position of a content in this file to the section of the content."""
    return lambda n: section_at(body, proposal, Place(at, n))


def _taken(proposal: ProposalDetail, at: int, column: ColumnAccount) -> list[Content]:
    """Return the contents of other files, sheets and lists, because `read_as` must not add the same content again."""
    places = parts_by_place(proposal).items()
    return [part.content for place, part in places if place.file != at or part.place != column.place]


def access_offers(body: Json, stored: Json | None) -> list[list[list[Offer]]]:
    """Return the ways to read each column of each file as access."""
    proposal = msgspec.convert(stored, ProposalDetail) if stored else ProposalDetail({}, False, [])
    return [
        [offers(file, column, _sections(body, proposal, at), _taken(proposal, at, column)) for column in file.columns]
        for at, file in enumerate(proposal.files)
    ]


def maybe_access(proposal: Json | None) -> list[str]:
    """Return the headers of the columns that may contain groups or permissions but are not read as such.

    Columns about which a person has decided are left out.
    """
    files = proposal["files"] if proposal else []
    return [column["header"] for file in files for column in file.get("columns", []) if column["mayBeAccess"]]


def parts_by_place(proposal: ProposalDetail) -> dict[Place, ContentProposal]:
    return {Place(at, n): part for at, file in enumerate(proposal.files) for n, part in enumerate(file.contents)}


def section_at(body: Json, proposal: ProposalDetail, place: Place) -> Json:
    """Return the part of the connector that reads one content of a file."""
    group = next(each for each in body["connector"]["files"] if each["name"] == proposal.files[place.file].file_group)
    group["shape"] = group["shape"] or {}
    section: Json = group if place.part == 0 else group["shape"]["contents"][place.part - 1]
    section["shape"] = section.get("shape") or {}
    return section
