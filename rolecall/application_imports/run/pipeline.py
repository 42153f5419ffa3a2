"""What the files of an import say, and what that changes. Looked up beside the transaction that writes it."""

from collections.abc import Awaitable, Callable
from typing import TypeVar
from zoneinfo import ZoneInfo

from rolecall.application_imports import actions, connectors
from rolecall.application_imports.compare import people as people_file
from rolecall.application_imports.compare.accounts import AccountDraft
from rolecall.application_imports.compare.holdings import HoldingDraft
from rolecall.application_imports.compare.state import State
from rolecall.application_imports.read import file_delta as deltas
from rolecall.application_imports.read.file_delta import Delta, Doubt
from rolecall.application_imports.read.sources import (
    FileGroup,
    Source,
    Sources,
    StoredFile,
    files_of,
    groups_of,
    is_unchanged,
    settings_of,
    sources_after,
)
from rolecall.application_imports.run.finish import Run
from rolecall.application_imports.run.job import Job
from rolecall.application_imports.run.steps import Steps
from rolecall.applications.model import Content
from rolecall.core import clock
from rolecall.core.db import Db

Drawn = TypeVar("Drawn")


class Findings:
    def __init__(self, job: Job, run: Run, steps: Steps) -> None:
        self.job = job
        self.run = run
        self.steps = steps
        self.before: Sources = {}
        self.groups: dict[Content, FileGroup] = {}
        self.files: dict[Content, list[StoredFile]] = {}
        self.deltas: dict[Content, Delta] = {}
        self.unchanged: set[Content] = set()
        connector = connectors.installed().get(run.connector)
        self.reader = connector.read if connector else None
        self.people: people_file.PeopleDraft | None = None

    async def sort(self, db: Db) -> None:
        """Which files are there, of which content, and what came before them."""
        run = self.run
        self.before = await sources_after(db, run.application_id)
        sent = await files_of(db, run.id)
        for group in await groups_of(db, run.application_id):
            if files := sent.get(group.id):
                self.groups[group.content], self.files[group.content] = group, files

    async def accounts(self, db: Db) -> AccountDraft:
        async def draw_up() -> AccountDraft:
            draft = AccountDraft(State(db, self.run.application_id), self.run.number)
            await draft.draw_up(self.deltas.get(Content.USERS), clock.now())
            return draft

        return await self._find(db, "Accounts compared", {Content.USERS}, draw_up)

    async def holdings(self, db: Db, accounts: AccountDraft) -> HoldingDraft:
        """And people, if there is a file of them."""
        run = self.run

        async def draw_up() -> HoldingDraft:
            draft = HoldingDraft(State(db, run.application_id), run.number, accounts, self.deltas, self.unchanged)
            if people := self.deltas.get(Content.IDENTITIES):
                self.people = await people_file.draw_up(db, run, people)
                draft.applied[Content.IDENTITIES] = self.people.applied
            await draft.draw_up()
            return draft

        return await self._find(db, "Access compared", self.groups.keys() - {Content.USERS}, draw_up)

    async def _find(self, db: Db, step: str, contents: set[Content], draw_up: Callable[[], Awaitable[Drawn]]) -> Drawn:
        await self._read(db, contents)
        drawn = await self._without_doubt(db, draw_up)
        for content, delta in self.deltas.items():
            if content in contents and delta.repeats:
                await self.tell(db, f"{delta.group.name}: {delta.repeats:,} repeated rows merged")
        await self.tell(db, self.steps.done(step))
        return drawn

    async def _without_doubt(self, db: Db, draw_up: Callable[[], Awaitable[Drawn]]) -> Drawn:
        """A doubt about what lines mean is settled by reading the files whole."""
        while True:
            try:
                return await draw_up()
            except Doubt as doubt:
                await self.tell(db, f"{self.groups[doubt.content].name}: read whole, because {doubt.reason}")
                self.unchanged.discard(doubt.content)
                await self._read_group(db, doubt.content, None)

    async def _read(self, db: Db, contents: set[Content]) -> None:
        for content, group in self.groups.items():
            if content not in contents:
                continue
            source, settings = self.before.get(content), self.settings(group)
            if is_unchanged(source, settings, self.files[content]):
                await self.tell(db, f"{group.name}: the same files as before")
                self.unchanged.add(content)
            else:
                await self._read_group(db, content, source if source and source.settings == settings else None)

    async def _read_group(self, db: Db, content: Content, source: Source | None) -> None:
        group, files, zone = self.groups[content], self.files[content], ZoneInfo(self.job.timezone)
        delta = None
        if source and source.is_by_line and not source.is_stale and self.reader is None:
            delta = deltas.read_lines(group, files, source.locations, self.job.store, zone)
        if delta is None:
            delta = deltas.read_whole(group, files, self.job.store, zone, self.reader)
        self.deltas[content] = delta
        how = f"{delta.after.height:,} rows" if delta.is_whole else f"{delta.after.height:,} changed lines"
        rows = f"{sum(delta.rows):,} rows in {len(files)} file(s)"
        await self.tell(db, self.steps.done(f"{group.name}: {rows}, {how} read"))

    def settings(self, group: FileGroup) -> str:
        return settings_of(group, self.run.connector, self.job.timezone)

    async def tell(self, db: Db, message: str) -> None:
        await actions.log_line(db, self.run.id, message, clock.now())
