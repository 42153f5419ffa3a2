"""Take the files of one import through the stages read and compare, on a connection outside the transaction.

Files are compared by line where possible. If a comparison returns a `Doubt`, its files are read completely and compared
again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

from rolecall.application_imports import actions, connectors
from rolecall.application_imports.compare.accounts import AccountChanges, compare_accounts
from rolecall.application_imports.compare.holdings import HoldingChanges, compare_holdings
from rolecall.application_imports.compare.people import PeopleChanges, compare_people
from rolecall.application_imports.compare.state import CurrentState
from rolecall.application_imports.model import RejectedRow
from rolecall.application_imports.read import file_delta
from rolecall.application_imports.read.file_delta import Doubt, FileDelta
from rolecall.application_imports.read.sources import (
    ContentSource,
    InputFile,
    InputGroup,
    Sources,
    files_of,
    groups_of,
    is_unchanged,
    settings_of,
    sources_after,
)
from rolecall.application_imports.run.guard import OpenPoints
from rolecall.application_imports.run.job import ImportRun, Job
from rolecall.application_imports.run.progress import record_progress
from rolecall.application_imports.run.steps import Steps
from rolecall.applications.model import Content
from rolecall.core import clock
from rolecall.core.db import Db

Found = TypeVar("Found")
# How often the progress of a long file is recorded.
_PROGRESS_SECONDS = 0.5


class Pipeline:
    def __init__(self, job: Job, run: ImportRun, steps: Steps) -> None:
        self.job = job
        self.run = run
        self.steps = steps
        self.before: Sources = {}
        self.groups: dict[Content, InputGroup] = {}
        self.files: dict[Content, list[InputFile]] = {}
        self.deltas: dict[Content, FileDelta] = {}
        self.unchanged: set[Content] = set()
        connector = connectors.installed().get(run.connector)
        self.reader = connector.read if connector else None
        self.people: PeopleChanges | None = None
        self.contents_read: set[Content] = set()

    async def find_files(self, db: Db) -> None:
        """Find the files for each kind of content, and the files that the current state was read from."""
        self.before = await sources_after(db, self.run.application_id)
        sent = await self.sent_files(db)
        for group in await groups_of(db, self.run.application_id):
            if files := sent.get(group.id):
                self.groups[group.content], self.files[group.content] = group, files

    async def sent_files(self, db: Db) -> dict[UUID, list[InputFile]]:
        """Return the files of the import by file group."""
        return await files_of(db, self.run.id)

    async def accounts(self, db: Db) -> AccountChanges:
        state = CurrentState(db, self.run.application_id)

        async def compare() -> AccountChanges | Doubt:
            return await compare_accounts(state, self.run.number, self.deltas.get(Content.USERS), clock.now())

        return await self._read_and_compare(db, "Accounts compared", {Content.USERS}, compare)

    async def holdings(self, db: Db, accounts: AccountChanges) -> HoldingChanges:
        """Compare everything except accounts, including people if there is a file of them."""
        state = CurrentState(db, self.run.application_id)

        async def compare() -> HoldingChanges | Doubt:
            people = None
            if delta := self.deltas.get(Content.IDENTITIES):
                people = await compare_people(db, self.run.application_id, delta)
            if isinstance(people, Doubt):
                return people
            found = await compare_holdings(state, self.run.number, accounts, self.deltas, self.unchanged)
            if people and isinstance(found, HoldingChanges):
                self.people = people
                found.applied[Content.IDENTITIES] = people.applied
            return found

        return await self._read_and_compare(db, "Access compared", self.groups.keys() - {Content.USERS}, compare)

    async def _read_and_compare(
        self, db: Db, step: str, contents: set[Content], compare: Callable[[], Awaitable[Found | Doubt]]
    ) -> Found:
        await self._read(db, contents)
        found = await compare()
        while isinstance(found, Doubt):
            await self.log(db, f"{self.groups[found.content].name}: all lines are read, because {found.reason}")
            self.unchanged.discard(found.content)
            await self._read_group(db, found.content, None)
            found = await compare()
        for content, delta in self.deltas.items():
            if content in contents and delta.repeats:
                await self.log(db, f"{delta.group.name}: {delta.repeats:,} repeated rows merged")
        await self.log(db, self.steps.done(step))
        return found

    async def _read(self, db: Db, contents: set[Content]) -> None:
        for content, group in self.groups.items():
            if content not in contents:
                continue
            source, settings = self.before.get(content), self.settings(group)
            if is_unchanged(source, settings, self.files[content]):
                await self.log(db, f"{group.name}: the same files as before")
                self.unchanged.add(content)
                await self._record_progress(db, content)
            else:
                await self._read_group(db, content, source if source and source.settings == settings else None)

    async def _read_group(self, db: Db, content: Content, source: ContentSource | None) -> None:
        """Read the lines that differ from `source`, or the whole files."""
        group, files, zone = self.groups[content], self.files[content], ZoneInfo(self.job.timezone)
        delta = None
        if source and source.is_by_line and not source.is_stale and self.reader is None:
            delta = file_delta.read_lines(group, files, source, self.job.store, zone)
        if delta is None:
            delta = await self._read_whole(db, group, files)
        self.deltas[content] = delta
        await self._record_progress(db, content)
        how = f"{delta.after.height:,} rows" if delta.is_whole else f"{delta.after.height:,} changed lines"
        rows = f"{sum(delta.rows):,} rows in {len(files)} {'file' if len(files) == 1 else 'files'}"
        await self.log(db, self.steps.done(f"{group.name}: {rows}, {how} read"))
        for note in delta.notes:
            await self.log(db, f"{group.name}: {note}")

    async def _read_whole(self, db: Db, group: InputGroup, files: list[InputFile]) -> FileDelta:
        """Read files in a thread, and meanwhile record how much of them is read."""
        read = [0]
        zone = ZoneInfo(self.job.timezone)
        arguments = (group, files, self.job.store, zone, self.reader, read.append)
        reading = asyncio.create_task(asyncio.to_thread(file_delta.read_whole, *arguments))
        while not (await asyncio.wait({reading}, timeout=_PROGRESS_SECONDS))[0]:
            await self._record_read(db, read[-1])
        return reading.result()

    async def _record_progress(self, db: Db, content: Content) -> None:
        """Record that a content is read; a file that feeds several contents is read once for each."""
        self.contents_read.add(content)
        await self._record_read(db, 0)

    async def _record_read(self, db: Db, more: int) -> None:
        """Record the bytes of the contents that are read, and `more` of the one that is being read."""
        sizes = {content: sum(file.size for file in files) for content, files in self.files.items()}
        read = sum(size for content, size in sizes.items() if content in self.contents_read) + more
        await record_progress(db, self.run.id, min(read, sum(sizes.values())), sum(sizes.values()), clock.now())

    def check_rejects(self) -> None:
        """Fail on a malformed row unless its file group allows rejects; call it after all files are read."""
        for content in Content:
            if delta := self.deltas.get(content):
                delta.check_rejects()

    def _missing(self) -> list[str]:
        """Return why files are not the whole list; a file may feed several contents."""
        return list(dict.fromkeys(delta.missing for delta in self.deltas.values() if delta.missing))

    def open_points(self) -> OpenPoints:
        asked = [question for group in self.groups.values() if group.shape for question in group.shape.open_questions]
        return OpenPoints(self._missing(), list(dict.fromkeys(asked)))

    def rejected_rows(self) -> list[RejectedRow]:
        """Return each rejected line once: a line may become several rows and feed several contents."""
        found = [delta.rejected_rows(self.job.store, self.reader) for delta in self.deltas.values()]
        by_line = {(row.file_id, row.line): row for rows in reversed(found) for row in reversed(rows)}
        return list(reversed(by_line.values()))

    def settings(self, group: InputGroup) -> str:
        """Return what decides how files are read: with other settings they are read again."""
        settings = settings_of(group, self.run.connector, self.job.timezone)
        today = f" {clock.now():%Y-%m-%d}" if group.shape and group.shape.depends_on_date else ""
        return f"{settings}{today}"

    async def log(self, db: Db, message: str) -> None:
        await actions.log_line(db, self.run.id, message, clock.now())
