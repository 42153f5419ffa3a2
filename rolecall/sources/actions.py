"""Set and remove the source of an application."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from uuid import UUID

import msgspec
from psycopg.types.json import Jsonb

from rolecall.applications.model import no_such_group
from rolecall.applications.queries import lock_application
from rolecall.core import sealing
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json, check
from rolecall.core.config import Config
from rolecall.core.db import Db, execute
from rolecall.core.errors import Forbidden, NotFound, Problem
from rolecall.core.text import fold
from rolecall.scim_server.actions import begin_push, end_push
from rolecall.scim_server.schema import ENDPOINTS
from rolecall.sources import queries
from rolecall.sources.kinds import KINDS, host_of, place_of
from rolecall.sources.model import Authentication, Paging, Source, SourceKind
from rolecall.sources.peers import listing_problem
from rolecall.sources.queries import FETCHING, SourcedApplication
from rolecall.sources.references import REFERENCES, SEALED
from rolecall.sources.shapes import PeerBody, SourceBody, SourceContentBody
from rolecall.sources.sql import is_inside_roots, sqlite_path

_FIELDS = frozenset(field.encode_name for field in msgspec.structs.fields(Source))
_COMMON = frozenset({"kind", "url", "contents", "secret"})


async def put_source(db: Db, caller: Caller, application_id: UUID, raw: Json, facts: Facts, config: Config) -> None:
    """Set the source, and store its secret if one is given."""
    # Lock against a concurrent change of the schedule: its locations and a source exclude each other.
    await lock_application(db, application_id)
    application = await queries.application(db, application_id)
    require_right(caller, application)
    body, source = checked_source(application, raw, facts, config)
    await execute(
        db,
        """INSERT INTO sources (application_id, definition, changed_on) VALUES (%(id)s, %(definition)s, %(now)s)
           ON CONFLICT (application_id) DO UPDATE SET definition = EXCLUDED.definition, changed_on = EXCLUDED.changed_on
           WHERE sources.definition <> EXCLUDED.definition""",
        id=application_id,
        definition=Jsonb(msgspec.to_builtins(source)),
        now=facts.now,
    )
    await keep_secret(db, application_id, FETCHING, source, body.secret, facts.now, config)
    if source.kind is SourceKind.SCIM_PUSH:
        await begin_push(db, application_id, facts.now)
    else:
        await end_push(db, application_id, facts.now)


def checked_source(
    application: SourcedApplication, raw: Json, facts: Facts, config: Config
) -> tuple[SourceBody, Source]:
    """Check a body against its application and the settings of the service; return it with the source to store."""
    body = check(SourceBody, raw, facts, [*url_problems(raw, config), *_group_problems(raw, application)])
    # These rules need a valid body, so they are checked after the others.
    problems = list(_key_problems(raw, body))
    if problems:
        check(SourceBody, raw, facts, problems)
    return body, body.as_source(body.secret_ref or (SEALED if body.secret else ""))


async def delete_source(db: Db, caller: Caller, application_id: UUID, now: datetime) -> None:
    """Remove the source, its secret, its SCIM tokens and its pushed records; keep imported data."""
    await lock_application(db, application_id)
    require_right(caller, await queries.application(db, application_id))
    await end_push(db, application_id, now)
    await delete_secret(db, application_id, FETCHING)
    if not await execute(db, "DELETE FROM sources WHERE application_id = %(id)s", id=application_id):
        raise NotFound("Source of application", application_id)


def require_right(caller: Caller, application: SourcedApplication) -> None:
    """Require `identities:write` for an identity source: its records decide who supervises whom."""
    if application.is_identity_source and Scope.IDENTITIES_WRITE not in caller.scopes:
        raise Forbidden(Scope.IDENTITIES_WRITE)


async def keep_secret(
    db: Db, application_id: UUID, name: str, source: Source, secret: str | None, now: datetime, config: Config
) -> None:
    """Store the given secret if the reference of the source is `sealed`; otherwise store none.

    Keep an earlier secret only if the reference is still `sealed`, no new secret is given, and host, port, encryption
    and login are the same.
    """
    host = place_of(source)
    kept = [host] if source.secret_ref == SEALED and secret is None else []
    await delete_secret(db, application_id, name, kept)
    if secret is not None and source.secret_ref == SEALED:
        await execute(
            db,
            """INSERT INTO source_secrets (application_id, name, host, sealed, set_on)
               VALUES (%(id)s, %(name)s, %(host)s, %(sealed)s, %(now)s)""",
            id=application_id,
            name=name,
            host=host,
            sealed=sealing.seal(sealing.load_key(config), secret.encode(), application_id),
            now=now,
        )


async def delete_secret(db: Db, application_id: UUID, name: str, kept_hosts: Sequence[str] = ()) -> None:
    await execute(
        db,
        "DELETE FROM source_secrets WHERE application_id = %(id)s AND name = %(name)s AND host <> ALL(%(kept)s)",
        id=application_id,
        name=name,
        kept=list(kept_hosts),
    )


def url_problems(raw: Json, config: Config) -> Iterator[Problem]:
    """Yield the problems of the URL of a source or a carrier. The kind decides which URLs are valid."""
    url, kind = raw.get("url") or "", _kind(raw)
    if not isinstance(url, str) or kind is None:
        return
    url = url.strip()
    if not KINDS[kind].example:
        if url:
            yield Problem("url", f"{kind} must not have a URL: identity providers send to this service")
    elif not url:
        yield Problem("url", "URL is required")
    elif not KINDS[kind].is_url(url):
        yield Problem("url", f"URL must look like {KINDS[kind].example}, without a username or password")
    elif not (host := host_of(url)):
        if not is_inside_roots(sqlite_path(url), config):
            yield Problem("url", "URL must refer to a file inside ROLECALL_IMPORT_ROOTS")
    elif problem := listing_problem(host, config.source_hosts):
        yield Problem("url", problem)


def _kind(raw: Json) -> SourceKind | None:
    given = fold(str(raw.get("kind")))
    return next((kind for kind in KINDS if fold(kind) == given), None)


def _group_problems(raw: Json, application: SourcedApplication) -> Iterator[Problem]:
    contents = raw.get("contents")
    if not isinstance(contents, dict) or not contents:
        return
    named = {str(name).strip() for name in contents}
    for name in sorted(named - application.groups.keys()):
        yield Problem(f"contents.{name}", no_such_group(name, application.groups))
    for name, is_optional in sorted(application.groups.items()):
        if not is_optional and name not in named:
            yield Problem(f"contents.{name}", f"{name} is required: add the settings of this file group")
    if application.has_locations:
        yield Problem("contents", "The schedule has locations; remove them, because the records come from the source")


def _content_problems(kind: SourceKind, group: str, content: SourceContentBody) -> Iterator[Problem]:
    """Yield the problems of keys whose valid values depend on the kind or on other keys."""
    place = f"contents.{group}"
    if kind is SourceKind.REST and content.paging in (Paging.CURSOR, Paging.NEXT) and not content.next:
        yield Problem(
            f"{place}.next", f"Next is required for paging {content.paging}: the path of the next page in the response"
        )
    if kind is SourceKind.SCIM_PUSH and content.path not in ENDPOINTS:
        yield Problem(f"{place}.path", f"Path must be {' or '.join(ENDPOINTS)}")
    if kind is SourceKind.SCIM and content.paging not in (Paging.NONE, Paging.CURSOR):
        yield Problem(f"{place}.paging", "Paging must be Cursor, or None to page by index")
    if (content.resolve or content.nested) and not content.each:
        yield Problem(f"{place}.each", "Each is required for resolve or nested: set it to the attribute of the members")
    if content.resolve and content.each and set(content.resolve) != {content.each}:
        example = f"{{{content.each}: sAMAccountName}}"
        yield Problem(f"{place}.resolve", f"Resolve must have exactly one entry, for {content.each}, such as {example}")


def _key_problems(raw: Json, body: SourceBody) -> Iterator[Problem]:
    """Yield the problems: keys that the kind does not use, missing keys, and keys that contradict each other."""
    kind = KINDS[body.kind]
    for name in sorted(set(raw) & _FIELDS - _COMMON - kind.keys):
        if raw[name] not in (None, "", {}, [], False):
            yield Problem(name, f"{body.kind} does not use {name}")
    for group, content in body.contents.items():
        yield from _content_problems(body.kind, group, content)
        given = content.model_dump(by_alias=True, exclude_defaults=True, exclude_none=True)
        for name in sorted(given.keys() - kind.content_keys):
            yield Problem(f"contents.{group}.{name}", f"{body.kind} does not use {name}")
        for name in sorted(kind.required - given.keys()):
            yield Problem(f"contents.{group}.{name}", f"{body.kind} needs {name}")
    yield from credential_problems(body, body.secret)


def credential_problems(body: PeerBody, secret: str | None) -> Iterator[Problem]:
    if body.authentication is Authentication.HEADER and not body.header:
        yield Problem("header", "Header is required: the name of the HTTP header that contains the secret")
    if body.authentication is not Authentication.NONE and not (body.secret_ref or secret):
        yield Problem("secretRef", f"Enter the secret, or a secret reference such as {REFERENCES}")
