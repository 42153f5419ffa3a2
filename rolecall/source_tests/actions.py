"""Connect to a source, fetch the first records of each file group, and read them as an import would."""

import asyncio
from uuid import UUID

import msgspec

from rolecall.application_imports.read.sources import InputGroup, groups_of, may_be_empty
from rolecall.audit.actions import record
from rolecall.core.caller import Caller
from rolecall.core.checking import Facts, Json
from rolecall.core.config import Config
from rolecall.core.db import Db, Pool
from rolecall.core.errors import Invalid, NotFound
from rolecall.core.json_paths import flattened
from rolecall.file_shapes.files.proposing import UnderstoodRows, read_in_child
from rolecall.source_tests.shapes import SourceTest, TestedContent, UnderstoodContent
from rolecall.sources import actions as sources
from rolecall.sources import queries
from rolecall.sources.fetching import NO_RECORDS
from rolecall.sources.kinds import connect, place_of
from rolecall.sources.model import (
    FetchedRecord,
    Source,
    SourceAccess,
    SourceConnection,
    SourceContent,
    SourceFailed,
)
from rolecall.sources.secrets import FoundSecret, find_secret
from rolecall.sources.snapshot import Snapshot

MOST_RECORDS = 100
_MOST_SECONDS = 30.0
# How long the server may make the test wait in total; a person waits for the result.
_MAX_WAIT_SECONDS = 5.0
_MOST_FIELDS = 100
_LINES = msgspec.json.Encoder().encode_lines


async def test_source(
    pool: Pool, caller: Caller, application_id: UUID, raw: Json, facts: Facts, config: Config
) -> SourceTest:
    """Test the source in the body, or the saved source.

    Release the database connection before the test, because the source may be slow.
    """
    async with pool.connection() as db:
        # Check the rights of the caller here, before the stored secret is used; `record_test` checks them again.
        sources.require_right(caller, await queries.application(db, application_id))
        source, sent = await _source(db, application_id, raw, facts, config)
        groups = await groups_of(db, application_id)
        try:
            name, host = queries.FETCHING, place_of(source)
            secret = sent or await find_secret(db, config, source.secret_ref, application_id, name, host)
        except SourceFailed as failed:
            return SourceTest(False, str(failed), None, None, [])
    access = SourceAccess(source, secret.text, config, _MAX_WAIT_SECONDS, pool, application_id)
    result = SourceTest(True, None, None, secret.set_on, [])
    try:
        async with asyncio.timeout(_MOST_SECONDS), connect(access) as connection:
            result.login = await connection.login() or None
            for group, content in source.contents.items():
                result.contents.append(await _tested(connection, group, content, groups, config))
    except SourceFailed as failed:
        result.problem = str(failed)
    except TimeoutError:
        result.problem = f"the source is slow: the test did not end within {_MOST_SECONDS:.0f} s"
    result.is_working = result.problem is None and not any(_problems(result))
    return result


def _problems(result: SourceTest) -> list[str]:
    tested = [each.problem for each in result.contents]
    understood = [each.problem for tested in result.contents for each in tested.understood]
    return [problem for problem in (*tested, *understood) if problem]


async def record_test(db: Db, caller: Caller, application_id: UUID, result: SourceTest) -> None:
    """Require the right to see the records, and audit the test, because it used the credentials of the source."""
    sources.require_right(caller, await queries.application(db, application_id))
    await record(db, "Application", application_id, {"testedSource": "works" if result.is_working else "fails"})


async def _source(
    db: Db, application_id: UUID, raw: Json, facts: Facts, config: Config
) -> tuple[Source, FoundSecret | None]:
    """Return the source to test, and the secret if the body contains one."""
    application = await queries.application(db, application_id)
    if raw.get("source") is not None:
        # Use the field names of the source in problems, because the console shows them beside the same form.
        if not isinstance(raw["source"], dict):
            raise Invalid.on("source", "Source must be an object")
        body, source = sources.checked_source(application, raw["source"], facts, config)
        return source, FoundSecret(body.secret, facts.now) if body.secret else None
    saved = await queries.find(db, application_id)
    if saved is None:
        raise NotFound("Source of application", application_id)
    return saved, None


async def _tested(
    connection: SourceConnection, group: str, content: SourceContent, groups: list[InputGroup], config: Config
) -> TestedContent:
    snapshot = Snapshot(content, is_snapshot=connection.is_snapshot, is_scim=connection.is_scim)
    records: list[FetchedRecord] = []
    is_complete = True
    try:
        async for page in connection.pages(content):
            snapshot.add(page)
            records += snapshot.shape(page)
            if snapshot.count >= MOST_RECORDS or len(records) >= MOST_RECORDS:
                # The list is not read to its end, so make only one of the final checks: that of `each`.
                is_complete = snapshot.count == snapshot.total
                snapshot.require_each()
                break
        else:
            snapshot.finish()
    except SourceFailed as failed:
        return TestedContent(group, snapshot.count, snapshot.total, False, [], [], str(failed))
    names = list(dict.fromkeys(name for record in records for name, _ in flattened(record)))
    named = next((each.id for each in groups if each.name == group), None)
    # An import would reject an empty list too.
    problem = None if records or (named and may_be_empty(named, groups)) else NO_RECORDS
    understood = await _understood(records[:MOST_RECORDS], group, groups, config) if records else []
    return TestedContent(group, snapshot.count, snapshot.total, is_complete, names[:_MOST_FIELDS], understood, problem)


async def _understood(
    records: list[FetchedRecord], group: str, groups: list[InputGroup], config: Config
) -> list[UnderstoodContent]:
    first = next((each for each in groups if each.name == group), None)
    fed = [each for each in groups if first and each.id == first.id]
    text = _LINES(records)
    try:
        # Use a child process with limits on memory and time, because the records come from another system.
        found = await read_in_child([(each, text) for each in fed], config.timezone)
    except Invalid as error:
        found = [UnderstoodRows(problem=error.problems[0].message) for _ in fed]
    return [UnderstoodContent(each.content, rows.rows, rows.problem) for each, rows in zip(fed, found, strict=True)]
