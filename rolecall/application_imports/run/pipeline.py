"""Read and compare the files of one import, on a connection outside the transaction.

Files are compared by line where possible. If a comparison returns a `Doubt` about a content, the files of this content
are read completely and compared again. Large files are compared in parts (`read/parts.py`), so that memory does not
depend on their size.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from enum import Enum
from uuid import UUID
from zoneinfo import ZoneInfo

from rolecall.application_imports import actions, connectors
from rolecall.application_imports.apply.count import totals_before
from rolecall.application_imports.compare.accounts import AccountComparison, AccountsAfter
from rolecall.application_imports.compare.change_set import ChangeSet
from rolecall.application_imports.compare.holdings import HoldingComparison
from rolecall.application_imports.compare.people import PeopleChanges, compare_people
from rolecall.application_imports.compare.state import CurrentState
from rolecall.application_imports.model import RejectedRow
from rolecall.application_imports.read import file_delta
from rolecall.application_imports.read.accounting import WARNING, in_words
from rolecall.application_imports.read.file_delta import Doubt, FileDelta
from rolecall.application_imports.read.parts import ONE_PART, Parting, parting_of
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
from rolecall.application_imports.read.unlisted import MOST_NAMED, derived_in_words, unlisted_in_words
from rolecall.application_imports.run.guard import OpenPoints
from rolecall.application_imports.run.job import ImportRun, Job
from rolecall.application_imports.run.progress import record_progress
from rolecall.application_imports.run.steps import Steps
from rolecall.applications.model import Content
from rolecall.core import clock
from rolecall.core.db import Db
from rolecall.core.text import counted

# How often the progress of a long file is recorded.
_PROGRESS_SECONDS = 0.5
# The usual size of a record in a file, to estimate how much memory the current state needs.
_ACCOUNT_BYTES, _HELD_BYTES = 500, 50


class Savepoint(Enum):
    """A mark between change sets: set a savepoint, or roll back to it if a Doubt invalidates the changes after it."""

    BEGIN = "begin"
    UNDO = "undo"


class ChangeTotals:
    """The totals of all change sets of an import."""

    def __init__(self) -> None:
        # How many rows of each file change something (`applied`), and how many rows each table gains (`added`).
        self.applied: dict[Content, Counter[int]] = {}
        self.added = Counter[str]()
        # The permissions of removed lines that no added line contains.
        self.maybe_unused: list[int] = []

    def add(self, changes: ChangeSet) -> None:
        self._add(changes.applied, changes.added(), changes.maybe_unused)

    def update(self, other: "ChangeTotals") -> None:
        self._add(other.applied, other.added, other.maybe_unused)

    def _add(
        self, applied: Mapping[Content, Mapping[int, int]], added: Mapping[str, int], maybe_unused: Iterable[int]
    ) -> None:
        for content, files in applied.items():
            self.applied.setdefault(content, Counter()).update(files)
        self.added.update(added)
        self.maybe_unused += maybe_unused


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
        self.parting = ONE_PART
        self.people: PeopleChanges | None = None
        self.contents_read: set[Content] = set()
        self.accounts: AccountsAfter | None = None
        self.tally = ChangeTotals()
        # Contents that have no file in this import, but lose rows because accounts are removed.
        self.stale: set[Content] = set()

    async def find_files(self, db: Db) -> None:
        """Find the files for each kind of content, and the files that the current state was read from."""
        self.before = await sources_after(db, self.run.application_id)
        sent = await self.sent_files(db)
        for group in await groups_of(db, self.run.application_id):
            if files := sent.get(group.id):
                self.groups[group.content], self.files[group.content] = group, files
        self.parting = await self._parting(db)

    async def _parting(self, db: Db) -> Parting:
        """Choose the number of parts for the size of the files, or of the current state if it is larger."""
        totals = await totals_before(db, self.run.application_id)
        held = totals.memberships + totals.assignments
        now = sum(file.size for files in self.files.values() for file in files)
        size = max(now, _ACCOUNT_BYTES * totals.accounts + _HELD_BYTES * held)
        return parting_of(size, self.job.store.folder / "incoming")

    async def sent_files(self, db: Db) -> dict[UUID, list[InputFile]]:
        """Return a map from file groups to the files of the import."""
        return await files_of(db, self.run.id)

    async def changes(self, db: Db) -> AsyncIterator[ChangeSet | Savepoint]:
        """Read and compare files; yield the changes of a few parts at a time."""
        async for found in self._stage(db, "Accounts compared", {Content.USERS}, self._compare_accounts):
            yield found
        others = self.groups.keys() - {Content.USERS}
        async for found in self._stage(db, "Access compared", others, self._compare_others):
            yield found

    async def _compare_accounts(self, db: Db) -> AsyncIterator[ChangeSet | Doubt]:
        state = CurrentState(db, self.run.application_id, self.parting)
        comparison = AccountComparison(state, self.run.number, self.deltas.get(Content.USERS), clock.now())
        self.accounts = comparison.after
        async for found in comparison.changes():
            yield found

    async def _compare_others(self, db: Db) -> AsyncIterator[ChangeSet | Doubt]:
        """Compare everything except accounts; compare people only if the import has a file of people."""
        state = CurrentState(db, self.run.application_id, self.parting)
        assert self.accounts
        if delta := self.deltas.get(Content.IDENTITIES):
            people = await compare_people(db, self.run.application_id, delta)
            if isinstance(people, Doubt):
                yield people
                return
            self.people = people
        comparison = HoldingComparison(state, self.run.number, self.accounts, self.deltas, self.unchanged)
        async for found in comparison.changes():
            yield found
        self.stale = comparison.stale

    async def _stage(
        self, db: Db, step: str, contents: set[Content], compare: Callable[[Db], AsyncIterator[ChangeSet | Doubt]]
    ) -> AsyncIterator[ChangeSet | Savepoint]:
        """Read contents and yield their changes. After a Doubt, read its content completely and begin again."""
        await self._read(db, contents)
        doubt: Doubt | None = None
        while True:
            tally = ChangeTotals()
            if self.parting.count > 1:
                yield Savepoint.BEGIN
            async for found in compare(db):
                if isinstance(found, Doubt):
                    doubt = found
                else:
                    tally.add(found)
                    yield found
            if doubt is None:
                break
            if tally.added:
                yield Savepoint.UNDO
            await self._read_completely(db, doubt)
            doubt = None
        self.tally.update(tally)
        for content, delta in self.deltas.items():
            if content in contents and delta.repeats:
                await self.log(db, f"{delta.group.name}: {counted(delta.repeats, 'repeated row')} merged")
            if content in contents and delta.unlisted:
                told = unlisted_in_words(delta.unlisted, delta.unlisted.total())
                await self.log(db, f"{WARNING}{delta.group.name}: {told}")
        await self.log(db, self.steps.done(step))

    async def _read_completely(self, db: Db, doubt: Doubt) -> None:
        await self.log(db, f"{self.groups[doubt.content].name}: all lines are read, because {doubt.reason}")
        self.unchanged.discard(doubt.content)
        await self._read_group(db, doubt.content, None)
        for delta in self.deltas.values():
            delta.compare_again()

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
        """Read the files of one content: only the lines that differ from `source` if possible, otherwise all lines."""
        group, files, zone = self.groups[content], self.files[content], ZoneInfo(self.job.timezone)
        delta = None
        if source and source.is_by_line and not source.is_stale and self.reader is None:
            arguments = (group, files, source, self.job.store, zone, self.parting)
            delta = await asyncio.to_thread(file_delta.read_lines, *arguments)
        if delta is None:
            delta = await self._read_whole(db, group, files)
        self.deltas[content] = delta
        await self._record_progress(db, content)
        how = counted(delta.after.height, "row" if delta.is_whole else "changed line")
        rows = f"{counted(sum(delta.rows), 'row')} in {counted(len(files), 'file')}"
        await self.log(db, self.steps.done(f"{group.name}: {rows}, {how} read"))
        for line in (*self._account_lines(delta), *(f"{group.name}: {note}" for note in delta.notes)):
            await self.log(db, line)

    def _account_lines(self, delta: FileDelta) -> Iterator[str]:
        """Yield log lines about the columns and rows of files that were read completely."""
        if delta.group.is_derived and delta.is_whole and delta.after.height:
            names = delta.after.part(0).get_column("username").head(MOST_NAMED)
            named = derived_in_words(delta.after.height, names)
            yield f"{delta.group.name}: no file lists the users; the rows of this file name {named}"
        earlier = self.before[delta.content].columns if delta.content in self.before else []
        for file, account in zip(delta.files, delta.accounts, strict=False):
            yield from in_words(f"{delta.group.name}: {file.name}", account, earlier)

    async def _read_whole(self, db: Db, group: InputGroup, files: list[InputFile]) -> FileDelta:
        """Read files in a thread, and meanwhile record the progress."""
        read = [0]
        zone = ZoneInfo(self.job.timezone)
        arguments = (group, files, self.job.store, zone, self.reader, read.append, self.parting)
        reading = asyncio.create_task(asyncio.to_thread(file_delta.read_whole, *arguments, is_dry=self.run.is_dry))
        while not (await asyncio.wait({reading}, timeout=_PROGRESS_SECONDS))[0]:
            await self._record_read(db, read[-1])
        return reading.result()

    async def _record_progress(self, db: Db, content: Content) -> None:
        """Record that a content was read. A file with several contents is read once for each of them."""
        self.contents_read.add(content)
        await self._record_read(db, 0)

    async def _record_read(self, db: Db, more: int) -> None:
        """Record the progress: the size of all contents that were read, plus `more` bytes of the current one."""
        sizes = {content: sum(file.size for file in files) for content, files in self.files.items()}
        read = sum(size for content, size in sizes.items() if content in self.contents_read) + more
        await record_progress(db, self.run.id, min(read, sum(sizes.values())), sum(sizes.values()), clock.now())

    def check_rejects(self) -> None:
        """Fail on a rejected row unless its file group allows rejects. Call this after all files are compared."""
        for content in Content:
            if delta := self.deltas.get(content):
                delta.check_rejects()

    def _missing(self) -> list[str]:
        """Return why pages of lists seem to be missing; several contents of a file give the same reason only once."""
        return list(dict.fromkeys(delta.missing for delta in self.deltas.values() if delta.missing))

    def open_points(self) -> OpenPoints:
        asked = [question for group in self.groups.values() if group.shape for question in group.shape.open_questions]
        return OpenPoints(self._missing(), list(dict.fromkeys(asked)))

    def rejected_rows(self) -> list[RejectedRow]:
        """Return each rejected line once, with its first reason, even if several rows or contents were read from it."""
        found = [delta.rejected_rows(self.job.store, self.reader) for delta in self.deltas.values()]
        by_line = {(row.file_id, row.line): row for rows in reversed(found) for row in reversed(rows)}
        return list(reversed(by_line.values()))

    def settings(self, group: InputGroup) -> str:
        """Return the hash of the settings for reading files, followed by today's date if the shape depends on it."""
        settings = settings_of(group, self.run.connector, self.job.timezone)
        today = f" {clock.now():%Y-%m-%d}" if group.shape and group.shape.depends_on_date else ""
        return f"{settings}{today}"

    async def log(self, db: Db, message: str) -> None:
        await actions.log_line(db, self.run.id, message, clock.now())
