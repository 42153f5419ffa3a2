"""Decide on whose authority a schedule runs: the owner of the report, or else its last author.

The last author is the person, token or system that last saved the report. Each run checks whether the owner or last
author may still read the list, and fails if not. To repair the report, set another owner or, if it has none, let
someone who may read the list save it.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.audit import queries as audit
from rolecall.core.authors import AuthorKind
from rolecall.core.caller import SYSTEM, Caller
from rolecall.core.db import Db
from rolecall.core.errors import NotFound
from rolecall.reports.shapes import ReportDetail
from rolecall.tokens import queries as tokens

# A function that returns the scopes of a person. It is a parameter, because reports must not import the console.
ScopesOf = Callable[[Db, UUID], Awaitable[frozenset[str]]]


class ScheduleAuthority(msgspec.Struct, frozen=True):
    """The caller on whose behalf a schedule reads its list; `refusal` says why the caller must not, or is None."""

    caller: Caller
    refusal: str | None


async def authority_of(
    db: Db, report: ReportDetail, scope: str, scopes_of: ScopesOf, now: datetime
) -> ScheduleAuthority:
    if report.owner:
        caller = Caller(report.owner.id, report.owner.name, await scopes_of(db, report.owner.id))
        refusal = f"{caller.name} owns the report but may no longer read its list. Choose another owner"
    else:
        caller = await _who_saved(db, report.id, scope, scopes_of, now)
        said = (
            f"{caller.name} saved the report but may no longer read its list"
            if caller.name
            else "The report has no owner, and no audit entry shows who saved it"
        )
        refusal = f"{said}. Choose an owner, or save the report to take it over"
    return ScheduleAuthority(caller, None if scope in caller.scopes else refusal)


async def _who_saved(db: Db, id: UUID, scope: str, scopes_of: ScopesOf, now: datetime) -> Caller:
    """Return the last author of the report according to the audit, with their current scopes.

    If the report was last saved by a command, by the service itself or directly in the database, return the system as
    the caller, with `scope`. If the audit has no entry, return a caller without a name and without scopes.
    """
    newest = (await audit.newest_first(db, 1, audit.Filter(entity_id=id))).items
    if not newest:
        return Caller(SYSTEM.id, "", frozenset())
    who = newest[0].caller
    if who.kind == AuthorKind.PERSON and who.id:
        return Caller(who.id, who.name, await scopes_of(db, who.id))
    if who.kind == AuthorKind.TOKEN and who.id:
        return Caller(who.id, who.name, await _scopes_of_token(db, who.id, now))
    # Someone at the command line or in the database has no role or token here that could be withdrawn.
    return Caller(SYSTEM.id, SYSTEM.name, frozenset([scope]))


async def _scopes_of_token(db: Db, id: UUID, now: datetime) -> frozenset[str]:
    try:
        token = await tokens.get(db, id)
    except NotFound:
        return frozenset()
    is_usable = token.revoked_at is None and (token.expires_at is None or now < token.expires_at)
    return frozenset(token.scopes) - frozenset(token.refused_scopes) if is_usable else frozenset()
