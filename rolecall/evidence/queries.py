"""Read the evidence about a person, the ids of the audited records, and the links of the audit chains."""

from collections.abc import AsyncIterator
from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.access_requests import queries as access_requests
from rolecall.conflicts import queries as conflicts
from rolecall.core.db import Db, fetch_rows, stream_rows
from rolecall.core.errors import Invalid, NotFound
from rolecall.effective_access.queries import access_of
from rolecall.evidence.shapes import EvidenceFile, ImportEvidence, PersonEvidence
from rolecall.identities import finding
from rolecall.identities import queries as identities
from rolecall.personnel_events import queries as personnel_events

# The identity's current and former accounts.
_ACCOUNTS = """SELECT number FROM accounts WHERE identity_id = %(id)s
               UNION SELECT account_number FROM past_matches WHERE identity_id = %(id)s"""


async def find_identity(db: Db, text: str) -> UUID:
    """Return the id of the person with this id, employee ID, e-mail or full name, ignoring case."""
    fits = await finding.meant(db, text)
    if not fits:
        raise NotFound("Identity", text)
    if len(fits) > 1:
        raise Invalid.on("identity", finding.several(text, fits))
    return fits[0].id


async def evidence_of(db: Db, id: UUID, as_of: datetime | None, now: datetime) -> PersonEvidence:
    # Read all events and requests, even for a past time, so that the choice of a time hides none of them
    # (docs/decisions/0046).
    events = await fetch_rows(db, "SELECT id FROM personnel_events WHERE identity_id = %(id)s", id=id)
    requests = await fetch_rows(db, "SELECT id FROM access_requests WHERE identity_id = %(id)s", id=id)
    return PersonEvidence(
        identity=await identities.get(db, str(id)),
        access=await access_of(db, id, as_of),
        events=list((await personnel_events.by_id(db, [event for (event,) in events])).values()),
        requests=await access_requests.details(db, [request for (request,) in requests]),
        imports=await imports_in(db, _IMPORTS_OF_PERSON, id=id),
        conflicts=await conflicts.of_identity(db, id, now),
    )


# The imports that changed the person's record, their accounts, or the memberships and assignments of these accounts.
_IMPORTS_OF_PERSON = f"""
    WITH held AS ({_ACCOUNTS}), numbers AS (
        SELECT from_import, until_import FROM account_versions WHERE account_number IN (SELECT number FROM held)
        UNION ALL
        SELECT from_import, until_import FROM memberships WHERE account_number IN (SELECT number FROM held)
        UNION ALL
        SELECT from_import, until_import FROM assignments WHERE holder_number IN (SELECT number FROM held)
        UNION ALL
        SELECT from_import, until_import FROM identity_versions WHERE identity_id = %(id)s)
    SELECT from_import FROM numbers UNION SELECT until_import FROM numbers"""


async def imports_in(db: Db, numbers: str, **values: object) -> list[ImportEvidence]:
    """Return the imports whose numbers a query selects, with the digests of their files."""
    rows = await fetch_rows(
        db,
        f"""SELECT i.id, i.number, a.name, i.type, i.status, i.created_by, i.build_start, i.build_end, i.metrics,
                  (SELECT coalesce(jsonb_agg(jsonb_build_object('fileGroup', f.file_group, 'name', f.name,
                              'sha256', encode(f.sha256, 'hex'), 'size', f.size) ORDER BY f.position), '[]')
                   FROM import_files f WHERE f.import_id = i.id)
           FROM application_imports i JOIN applications a ON a.id = i.application_id
           WHERE i.number IN ({numbers}) ORDER BY i.number""",
        **values,
    )
    return [ImportEvidence(*(*row[:-1], msgspec.convert(row[-1], list[EvidenceFile]))) for row in rows]


async def things_of(db: Db, id: UUID, evidence: PersonEvidence) -> list[UUID]:
    """Return the ids of the person and of the records about them, whose audit entries the bundle contains."""
    accounts = await fetch_rows(db, f"SELECT id FROM accounts WHERE number IN ({_ACCOUNTS})", id=id)
    worked_on = [*(event.id for event in evidence.events), *(request.id for request in evidence.requests)]
    worked_on += [conflict.id for conflict in evidence.conflicts]
    return [id, *(account for (account,) in accounts), *worked_on, *(run.id for run in evidence.imports)]


async def links(db: Db) -> AsyncIterator[tuple[int, int, str]]:
    """Stream chain, number and digest of every entry, so that each chain can be followed from its start to its head."""
    # Read only digests, because a bundle must not contain the entries of other people.
    async for chain, number, digest in stream_rows(
        db,
        """SELECT chain, number, encode(sha256(convert_to(entry, 'UTF8')), 'hex') FROM audit_events ORDER BY number""",
    ):
        yield chain, number, digest
