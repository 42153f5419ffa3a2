"""Check that the person in conflict, the requester and both approvers of an exception are different people."""

from collections.abc import Sequence
from uuid import UUID

import msgspec

from rolecall.conflicts.shapes import ConflictDetail, ConflictException
from rolecall.core.caller import Caller
from rolecall.core.db import Db, fetch_rows
from rolecall.core.errors import Conflict
from rolecall.tokens.queries import own_id


class Parties(msgspec.Struct, frozen=True):
    """The people who have a part in an exception.

    `approvers` are the people in whose name an approval was given, and the stand-ins who gave it. `recorders` are the
    callers who recorded an approval, and the people between an approver and an indirect stand-in. A token counts as its
    owner; a token without an owner counts as itself.
    """

    requester: UUID
    recorders: frozenset[UUID]
    approvers: frozenset[UUID]

    @property
    def everyone(self) -> frozenset[UUID]:
        return self.recorders | self.approvers | {self.requester}


async def parties_of(db: Db, exceptions: Sequence[ConflictException]) -> list[Parties]:
    """Return the people who have a part in each exception."""
    rows = await fetch_rows(
        db,
        """SELECT e.id, e.requester_id, ARRAY(
                      SELECT unnest(p.recorder_id || p.through_ids) FROM exception_approvals p
                      WHERE p.exception_id = e.id)
           FROM conflict_exceptions e WHERE e.id = ANY(%(ids)s)""",
        ids=[each.id for each in exceptions],
    )
    stored = {id: (requester, frozenset(recorders)) for id, requester, recorders in rows}
    return [Parties(*stored[each.id], _approvers(each)) for each in exceptions]


def _approvers(exception: ConflictException) -> frozenset[UUID]:
    """Return everyone who approved an exception, for themselves or as a stand-in."""
    both = [(each.approver.id, each.stand_in and each.stand_in.id) for each in exception.approvals]
    return frozenset(id for pair in both for id in pair if id)


async def require_uninvolved(
    db: Db, caller: Caller, conflict: ConflictDetail, requested: ConflictException, approvers: set[UUID]
) -> None:
    """Refuse an approval if an approver, or the person or token that records it, already has a part in the exception.

    `approvers` are the person who approves, the stand-in, and the people between them in a chain of stand-ins.
    """
    (parties,) = await parties_of(db, [requested])
    own = await own_id(db, caller)
    # One person at the command line could create several tokens without an owner, request the exception with one of
    # them, and give both approvals with others.
    if own == caller.id and not caller.is_person:
        raise Conflict(
            "A token without an owner cannot record an approval:"
            " use a token that a person created in the console, or approve there"
        )
    acting = approvers | {own}
    if conflict.identity.id in acting:
        raise Conflict("The person in conflict cannot approve the exception; another person must decide")
    # The third of these checks covers the first two, which only give more precise messages.
    if approvers & parties.approvers:
        raise Conflict("This person has already approved; another person must give the other approval")
    if parties.requester in acting:
        raise Conflict("The person who requested the exception, or their token, cannot approve it; ask another person")
    if acting & parties.everyone:
        raise Conflict("A person who took part in the other approval cannot take part in this one; ask another person")
