"""Find sources that cannot work with the settings of this process, without connecting to them."""

import importlib.util
from uuid import UUID

import msgspec

from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_rows
from rolecall.sources.kinds import host_of, place_of
from rolecall.sources.ldap import NOT_INSTALLED
from rolecall.sources.model import Source, SourceFailed, SourceKind
from rolecall.sources.peers import listing_problem
from rolecall.sources.queries import FETCHING
from rolecall.sources.secrets import find_secret
from rolecall.sources.sql import is_inside_roots, sqlite_path


async def problems(db: Db, config: Config) -> list[str]:
    """Return the problem of each source that has one; skip archived applications."""
    rows = await fetch_rows(
        db,
        """SELECT a.id, a.name, s.definition FROM sources s JOIN applications a ON a.id = s.application_id
           WHERE NOT a.is_archived ORDER BY a.list_key""",
    )
    sources = [(id, name, msgspec.convert(stored, Source)) for id, name, stored in rows]
    found = [(name, await _problem(db, config, id, source)) for id, name, source in sources]
    return [f"{name}: {problem}" for name, problem in found if problem]


async def _problem(db: Db, config: Config, id: UUID, source: Source) -> str | None:
    if source.kind is SourceKind.SCIM_PUSH:
        return None
    if not host_of(source.url):
        path = sqlite_path(source.url)
        outside = f"{path} is outside of ROLECALL_IMPORT_ROOTS; move the file, or add its folder to the roots"
        return None if is_inside_roots(path, config) else outside
    return await connection_problem(db, config, id, source, FETCHING)


async def connection_problem(db: Db, config: Config, application_id: UUID, source: Source, name: str) -> str | None:
    """Return why no connection is possible, without trying to connect; None if no reason is found.

    `name` is the name of the stored secret.
    """
    if problem := listing_problem(host_of(source.url), config.source_hosts):
        return problem
    if source.kind is SourceKind.LDAP and importlib.util.find_spec("bonsai") is None:
        return NOT_INSTALLED
    try:
        await find_secret(db, config, source.secret_ref, application_id, name, place_of(source))
    except SourceFailed as failed:
        return str(failed)
    return None
