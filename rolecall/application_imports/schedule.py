"""Schedules: when an application's imports are due, and where their files come from."""

import asyncio
import glob
import re
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast
from uuid import UUID

import aiohttp
import fsspec
import structlog
from cronsim import CronSim
from fsspec.implementations.local import LocalFileSystem
from yarl import URL

from rolecall.application_imports import actions, queries
from rolecall.application_imports.broken import BrokenFile
from rolecall.application_imports.finish import Run
from rolecall.application_imports.model import ImportType
from rolecall.applications.model import is_plain
from rolecall.applications.shapes import FileGroup
from rolecall.core import clock
from rolecall.core.authors import by_system, written_by
from rolecall.core.caller import SYSTEM
from rolecall.core.config import Config
from rolecall.core.db import Db, Pool, execute, fetch_rows
from rolecall.core.files import Upload, UploadedFile, Writing, is_disk_full, without_path

log = structlog.get_logger("rolecall.imports")

_PIECE = 1024 * 1024
_QUERY = re.compile(r"\?[^\s'\"]+")
_OUTSIDE = "it is outside of ROLECALL_IMPORT_ROOTS"


async def fire_schedules(db: Db, config: Config, now: datetime) -> None:
    """An import for each schedule that came due; what was missed while nobody looked is made up for once."""
    rows = await fetch_rows(
        db,
        """SELECT s.application_id, s.cron, f.fired_at FROM schedules s
           JOIN applications a ON a.id = s.application_id AND NOT a.is_archived
           LEFT JOIN schedule_firings f ON f.application_id = s.application_id""",
    )
    for application_id, cron, fired_at in rows:
        due = now if fired_at is None else next(CronSim(cron, fired_at.astimezone(config.timezone)), None)
        if due and due <= now:
            async with written_by(db, "schedule", by_system("fire_schedule", now)):
                await _fire(db, application_id, fired_at, now)


async def _fire(db: Db, application_id: UUID, fired_at: datetime | None, now: datetime) -> None:
    """Only one of several workers fires. A schedule seen for the first time counts from now."""
    fired = await execute(
        db,
        """INSERT INTO schedule_firings AS f (application_id, fired_at) VALUES (%(id)s, %(now)s)
           ON CONFLICT (application_id) DO UPDATE SET fired_at = EXCLUDED.fired_at WHERE f.fired_at = %(last)s""",
        id=application_id,
        now=now,
        last=fired_at,
    )
    if fired_at is None or not fired:
        return
    at_work = await fetch_rows(
        db,
        """SELECT id, number, status FROM application_imports
           WHERE application_id = %(id)s AND status IN ('Pending', 'Running', 'Canceling') AND type = 'Scheduled'
           ORDER BY number LIMIT 1""",
        id=application_id,
    )
    if not at_work:
        await actions.create_import(db, application_id, type=ImportType.SCHEDULED, created_by=SYSTEM.name, now=now)
    for id, number, status in at_work:
        await _skip(db, application_id, id, now)
        log.warning("schedule skipped", application=str(application_id), run=number, status=status)


async def _skip(db: Db, application_id: UUID, import_id: UUID, now: datetime) -> None:
    """Runs of a schedule never pile up: the one at work says that it kept another from beginning."""
    await actions.log_line(db, import_id, "The schedule came due again and was skipped: this import is not done", now)
    await execute(
        db, "UPDATE schedule_firings SET skipped = skipped + 1 WHERE application_id = %(id)s", id=application_id
    )


async def fetch_files(pool: Pool, config: Config, run: Run) -> None:
    """Copy the files of the schedule into the import; they are read from there, again if need be."""
    async with pool.connection() as db:
        rows = await fetch_rows(
            db, "SELECT locations FROM schedules WHERE application_id = %(id)s", id=run.application_id
        )
        target = await queries.target(db, run.application_id)
    locations: dict[str, str] = rows[0][0] if rows else {}
    groups = [group for group in (target and target.file_groups) or () if group.name in locations]
    if not groups:
        raise BrokenFile("the schedule names no location for any file group")
    with Upload() as upload:
        for group in groups:
            upload.files.append(await _fetch(config, group, locations[group.name]))
        async with pool.connection() as db, written_by(db, "fetch", by_system("fetch_files", clock.now())):
            for position, (group, file) in enumerate(zip(groups, upload.files, strict=True)):
                await actions.add_file(db, run.id, position, group, file, config.store, clock.now())
                said = f"{group.name}: fetched {file.name}, {file.size:,} bytes"
                await actions.log_line(db, run.id, said, clock.now())


async def _fetch(config: Config, group: FileGroup, location: str) -> UploadedFile:
    try:
        name, source = await asyncio.to_thread(_open, config, location)
    except (OSError, ImportError, ValueError) as error:
        raise _unreadable(group, location, error) from None
    writing = Writing(config.store)
    try:
        with source:
            while piece := await asyncio.to_thread(source.read, _PIECE):
                await writing.write(piece)
                if writing.size > config.max_file_bytes:
                    raise BrokenFile(f"{group.name}: {name} is larger than {config.max_file_bytes:,} bytes")
        sha256 = await writing.finish()
    except OSError as error:
        writing.abandon()
        if is_disk_full(error):
            raise
        raise _unreadable(group, location, error) from None
    except BaseException:
        writing.abandon()
        raise
    return UploadedFile(str(group.file_group_id), without_path(name), writing.path, writing.size, sha256)


def _unreadable(group: FileGroup, location: str, error: Exception) -> BrokenFile:
    """What stands behind the `?` of a URL may be a secret, and more people read logs than schedules."""
    said = f"{location} cannot be read: {error}"
    return BrokenFile(f"{group.name}: {re.sub(_QUERY, '?…', said) if '://' in location else said}")


def _open(config: Config, location: str) -> tuple[str, BinaryIO]:
    if "://" not in location:
        roots = [root for root in config.import_roots if "://" not in root]
        return _open_path(roots, [Path(path) for path in glob.glob(location)])
    root = _root_of(config, location)
    # A page that redirects, or lists links, says where to go next: the root holds there, too.
    options = {"get_client": partial(_client, root), "skip_instance_cache": True} if _is_http(location) else {}
    files, path = fsspec.core.url_to_fs(location, **options)
    beginning = f"{str(files._strip_protocol(root)).rstrip('/')}/"
    listed = files.glob(path) if glob.has_magic(path) else [path]
    found = [one for one in listed if one.startswith(beginning) and is_plain(one)]
    if not found:
        raise FileNotFoundError("there is no such file")
    if isinstance(files, LocalFileSystem):
        return _open_path([beginning], [Path(one) for one in found])
    newest = max(found, key=files.modified) if len(found) > 1 else found[0]
    return newest.partition("?")[0] if options else newest, cast(BinaryIO, files.open(newest, "rb"))


def _open_path(roots: Sequence[str], paths: Sequence[Path]) -> tuple[str, BinaryIO]:
    found = [path for path in paths if path.is_file()]
    if not found:
        raise FileNotFoundError("there is no such file")
    newest = max(found, key=lambda path: path.stat().st_mtime_ns).resolve()
    # Resolved first: neither `..` nor a link leads out.
    if not any(newest.is_relative_to(Path(root).resolve()) for root in roots):
        raise PermissionError(_OUTSIDE)
    return newest.name, newest.open("rb")


def _root_of(config: Config, url: str) -> str:
    roots = (f"{root.rstrip('/')}/" for root in config.import_roots if "://" in root)
    # `::` would put one file system into another, past the root.
    found = next((root for root in roots if url.startswith(root)), None)
    if found is None or "::" in url or not is_plain(url):
        raise PermissionError(_OUTSIDE)
    return found


def _is_http(url: str) -> bool:
    return url.startswith(("http://", "https://"))


async def _client(root: str, **options: Any) -> aiohttp.ClientSession:
    async def stay(_: object, __: object, redirect: aiohttp.TraceRequestRedirectParams) -> None:
        target = str(redirect.url.join(URL(redirect.response.headers.get("Location", ""))))
        if not target.startswith(root) or not is_plain(target):
            raise PermissionError(_OUTSIDE)

    trace = aiohttp.TraceConfig()
    trace.on_request_redirect.append(stay)
    return aiohttp.ClientSession(trace_configs=[trace], **options)
