from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.core.config import Config
from rolecall.core.cron import next_time
from rolecall.core.db import Db, fetch_one, fetch_rows, fetch_value
from rolecall.core.errors import NotFound
from rolecall.sources.model import Source
from rolecall.sources.references import file_date
from rolecall.sources.shapes import SourceDetail

# The name of the stored secret of a source; the secret of a carrier has another name.
FETCHING = "source"


class SealedSecret(msgspec.Struct, frozen=True):
    host: str
    sealed: bytes
    set_on: datetime


class SourcedApplication(msgspec.Struct, frozen=True):
    """The facts about an application that limit its source. `groups` says whether each file group is optional."""

    is_identity_source: bool
    is_archived: bool
    groups: dict[str, bool]
    has_locations: bool


async def find(db: Db, application_id: UUID) -> Source | None:
    stored = await fetch_value(db, "SELECT definition FROM sources WHERE application_id = %(id)s", id=application_id)
    return msgspec.convert(stored, Source) if stored else None


async def by_application(db: Db, ids: Iterable[UUID]) -> dict[UUID, Source]:
    rows = await fetch_rows(
        db, "SELECT application_id, definition FROM sources WHERE application_id = ANY(%(ids)s)", ids=list(ids)
    )
    return {id: msgspec.convert(stored, Source) for id, stored in rows}


async def get(db: Db, application_id: UUID, config: Config, now: datetime) -> SourceDetail:
    rows = await fetch_rows(
        db,
        """SELECT s.definition, s.changed_on, c.cron, last.failure, k.set_on FROM sources s
           LEFT JOIN source_secrets k ON k.application_id = s.application_id AND k.name = %(name)s
           LEFT JOIN schedules c ON c.application_id = s.application_id
           LEFT JOIN LATERAL (SELECT i.failure FROM application_imports i WHERE i.application_id = s.application_id
                              ORDER BY i.number DESC LIMIT 1) AS last ON true
           WHERE s.application_id = %(id)s""",
        id=application_id,
        name=FETCHING,
    )
    if not rows:
        await application(db, application_id)
        raise NotFound("Source of application", application_id)
    stored, changed_on, cron, failure, set_on = rows[0]
    source = msgspec.convert(stored, Source)
    return SourceDetail(
        **msgspec.structs.asdict(source),
        changed_date=changed_on,
        secret_date=set_on or file_date(source.secret_ref, config),
        next_run=next_time(cron, now, config.timezone) if cron else None,
        last_failure=failure,
    )


async def application(db: Db, id: UUID) -> SourcedApplication:
    rows = await fetch_rows(
        db,
        """SELECT a.is_identity_source, a.is_archived,
                  (SELECT coalesce(jsonb_object_agg(g.name, g.is_optional), '{}')
                   FROM file_groups g JOIN connectors c ON c.id = g.connector_id WHERE c.application_id = a.id),
                  EXISTS (SELECT FROM schedules s WHERE s.application_id = a.id AND s.locations <> '{}')
           FROM applications a WHERE a.id = %(id)s""",
        id=id,
    )
    if not rows:
        raise NotFound("Application", id)
    return SourcedApplication(*rows[0])


async def sealed_secret(db: Db, application_id: UUID, name: str) -> SealedSecret | None:
    return await fetch_one(
        db,
        SealedSecret,
        "SELECT host, sealed, set_on FROM source_secrets WHERE application_id = %(id)s AND name = %(name)s",
        id=application_id,
        name=name,
    )
