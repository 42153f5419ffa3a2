"""Simulate the history of the sample company day by day, with the same actions as in production."""

import asyncio
import random
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, time, timedelta
from uuid import UUID

from rolecall.access_models import actions as access_models
from rolecall.application_imports import actions as imports
from rolecall.application_imports.run.next_import import run_next_import
from rolecall.applications import actions as applications
from rolecall.applications import queries as applications_queries
from rolecall.console import actions as console
from rolecall.core import clock
from rolecall.core.authors import AuthorKind, by_command_line, written_by
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.config import Config
from rolecall.core.db import Db, Pool, fetch_rows, make_pool
from rolecall.core.files import Upload, UploadedFile, Writing
from rolecall.demo import live, reviewing, separation, story
from rolecall.demo.applications import (
    APPLICATIONS,
    FINANCE_LEDGER,
    Application,
    DirectGrant,
    body_of,
    body_of_people_records,
    files_of,
    identities_file,
    permission_of,
)
from rolecall.demo.hooks import Hooks, receiving
from rolecall.demo.mail import keep_mail, send_mail
from rolecall.demo.people import Employee, roster
from rolecall.demo.requesting import Requesting
from rolecall.demo.scim_peer import ScimPeer
from rolecall.demo.signing import signed
from rolecall.demo.story import AwayPeriod, Description, Model, Request, StoryEvent, Who
from rolecall.entitlements import actions as entitlements
from rolecall.personnel_events import actions as events
from rolecall.stand_ins import actions as stand_ins
from rolecall.tokens import actions as tokens
from rolecall.tokens.model import DEFAULT_DAYS, display_name
from rolecall.worker import LOOPS, Loop

# How many times the loops except imports run in turn: a loop can create work for another that ran before it.
_ROUNDS = 2
_ALL_SCOPES = frozenset(Scope)
_MAKE = {
    "onboard": events.onboard,
    "offboard": events.offboard,
    "role-transition": events.transition_role,
    "leave-of-absence": events.begin_absence,
}


async def make_company(config: Config, administrator: str, peer: ScimPeer) -> str:
    """Create the company with this administrator (by e-mail); return the secret of a token with all scopes."""
    async with make_pool(config) as pool:
        try:
            async with receiving(config, pool) as hooks:
                return await _Company(config, pool, hooks).live(administrator, peer)
        finally:
            # The rest of this process needs the real time, to create sign-in links for example.
            clock.travel_home()


class _Company:
    def __init__(self, config: Config, pool: Pool, hooks: Hooks) -> None:
        self.config, self.pool, self.hooks = config, pool, hooks
        self.began = clock.now()
        self.midnight = datetime.combine(self.began.date(), time(), UTC)
        self.people = roster(self.midnight.date())
        self.ids: dict[Who, str] = {}
        self.grants = [self._grant(held) for held in story.GRANTS]
        self.application_ids: dict[str, UUID] = {}
        self.requesting = Requesting(pool, config, self.midnight, self.ids, self.application_ids)
        # A fixed seed makes every run identical.
        self.chance = random.Random(1905)  # noqa: S311

    async def live(self, administrator: str, peer: ScimPeer) -> str:
        self._travel(story.FIRST_DAY, 7)
        secret, self.clerk = await self._token("demo")
        await self._set_up()
        async with self._by_clerk("change_notification_settings") as db:
            await keep_mail(db, self._facts(), self.config)
        for day in story.EXPORTS:
            if day == reviewing.PROVEN_ON:
                await self._complete_a_review()
            await self._export(day)
        self._travel(story.DESCRIBED_DAY, 9)
        for description in story.DESCRIPTIONS:
            await self._describe(description)
        await separation.create_rules(self._by_clerk, self.clerk, self._facts(), self.ids)
        await self._require_reviews()
        await self._review(reviewing.OVERDUE)
        for day in range(story.LAST_MONTH, 1):
            await self._spend(day)
            if day == reviewing.OPEN.opened:
                await self._review(reviewing.OPEN)
        for request in story.REQUESTS:
            await self.requesting.ask(request)
        await self.hooks.finish(self.clerk)
        await separation.except_lead(self._by_clerk, self.clerk, self._facts(), self.ids)
        for away in story.STAND_INS:
            await self._stand_in(away)
        await self._chat(peer)
        await self._let_in(administrator)
        await send_mail(self.pool, self.config)
        return secret

    async def _review(self, review: reviewing.ReviewStory) -> UUID:
        reviewers = reviewing.Reviewing(self.pool, self.config, self.clerk, self._by_clerk, self._travel)
        owner = self.ids[Who("Internal Audit", 0)]
        return await reviewers.play(review, self.application_ids, owner, self.midnight)

    async def _require_reviews(self) -> None:
        for name, months in reviewing.EVERY_MONTHS.items():
            async with self._by_clerk("change_application") as db:
                await applications.change_application(
                    db, self.application_ids[name], {"reviewEveryMonths": months}, self._facts()
                )

    async def _complete_a_review(self) -> None:
        """Complete a review of the ledger and carry out its revocations, which the next export of the ledger shows."""
        id = await self._review(reviewing.COMPLETED)
        engineer = await self.requesting.person(Who("IT Operations", 1))
        reviewers = reviewing.Reviewing(self.pool, self.config, self.clerk, self._by_clerk, self._travel)
        await reviewers.carry_out(id, engineer)

    async def _chat(self, peer: ScimPeer) -> None:
        """Create the live application and request an account in it; the request waits for the supervisor's approval."""
        asker = self._team(live.ASKER.department)[live.ASKER.position]
        # Create no account for the person who requests one, so that the carrier must create it.
        live.fill(peer, self._here(), asker)
        people = {
            "ownerId": self.ids[Who("IT Operations", 0)],
            "provisionerIds": [self.ids[Who("IT Operations", 1)]],
        }
        async with self._by_clerk("create_application") as db:
            id = await live.create(db, self.clerk, people, peer, self._facts(), self.config)
        async with self._by_clerk("stage_import") as db:
            await imports.stage_import(db, self.clerk, {"applicationId": str(id)}, self._facts())
        await self._work()
        await self.requesting.ask_for(id, live.ASKER, live.GROUP, "I need to reach my team")

    async def _let_in(self, administrator: str) -> None:
        """Assign console roles. Do this last, so that no administrator responds to requests in the simulation."""
        async with self._by_clerk("set_role") as db:
            await console.create_administrator(db, administrator, self._facts())
            for who, role in story.ROLES.items():
                await console.set_role(db, UUID(self.ids[who]), role)

    async def _stand_in(self, away: AwayPeriod) -> None:
        raw = {
            "identityId": self.ids[away.person],
            "standInId": self.ids[away.stand_in],
            "endsOn": self._date(away.until),
            "comment": away.comment,
        }
        more = {"startsOn": self._date(away.since)} if away.since else {}
        async with self._by_clerk("create_stand_in") as db:
            await stand_ins.create_stand_in(db, self.clerk, raw | more, self._facts())

    def _travel(self, day: int, hour: int) -> None:
        """Set the clock, at most to the real time, so that no record is in the future."""
        clock.travel_to(min(self.midnight + timedelta(days=day, hours=hour), self.began))

    def _date(self, day: int) -> str:
        return (self.midnight + timedelta(days=day)).date().isoformat()

    def _facts(self) -> Facts:
        return Facts(now=clock.now(), zone=self.config.timezone)

    def _by_clerk(self, action: str) -> AbstractAsyncContextManager[Db]:
        return signed(self.pool, self.clerk, action, AuthorKind.TOKEN)

    async def _token(self, name: str) -> tuple[str, Caller]:
        author = by_command_line("token create", clock.now())
        async with self.pool.connection() as db, written_by(db, "company", author):
            # The token is created at a simulated time a year ago, so make it valid for a year longer.
            raw = {"name": name, "scopes": list(Scope), "expiresInDays": DEFAULT_DAYS - story.FIRST_DAY}
            made = await tokens.create_token(db, None, raw, self._facts())
        return made.secret, Caller(made.id, display_name(name), _ALL_SCOPES)

    def _team(self, department: str) -> list[Employee]:
        return [person for person in self.people if person.department == department]

    def _grant(self, held: story.HeldGrant) -> DirectGrant:
        person = self._team(held.who.department)[held.who.position]
        permission = permission_of(held.application, held.permission)
        return DirectGrant(held.application, person.username, permission, held.since, held.until)

    def _here(self) -> list[Employee]:
        today = clock.now().date()
        return [person for person in self.people if person.is_here(today)]

    async def _export(self, day: int) -> None:
        """Simulate one of the days before the last month: people request access, and applications export files.

        The files already show the access that is requested on the same day.
        """
        self._travel(day, 9)
        if day in story.PEOPLE_DAYS:
            await self._upload(self.records_id, {"Identities": identities_file(self._here())})
        if request := story.EARLIER.get(day):
            await self.requesting.ask(request)
        for application in story.EXPORTS[day]:
            await self._import(application, self.people, day)
        await self._work()
        if day in story.PEOPLE_DAYS:
            await self._meet_people()

    async def _describe(self, said: Description) -> None:
        application_id = self.application_ids[said.application.name]
        async with self._by_clerk("curate_entitlement") as db:
            found = await fetch_rows(
                db, "SELECT name, id::text FROM entitlements WHERE application_id = %(id)s", id=application_id
            )
            by_name: dict[str, str] = dict(found)
            raw: Json = {
                "displayName": said.display,
                "explanation": said.explanation,
                "ownerId": self.ids[said.owner],
                "riskRating": said.risk,
                "isPrivileged": said.privileged,
                "tags": list(said.tags),
            }
            if said.former:
                raw["sameAs"] = by_name[said.former]
            await entitlements.curate_entitlement(db, by_name[said.name], raw, self._facts())

    async def _set_up(self) -> None:
        """Create the applications and models. Import the people first, because they own the other applications."""
        async with self._by_clerk("create_application") as db:
            self.records_id = await applications.create_application(db, body_of_people_records(), self._facts())
        await self._upload(self.records_id, {"Identities": identities_file(self._here())})
        await self._work()
        await self._meet_people()
        engineers = [self.ids[Who("IT Operations", position)] for position in (1, 2)]
        for application in APPLICATIONS:
            raw = body_of(application, self.ids[Who(application.owner, 0)], engineers)
            async with self._by_clerk("create_application") as db:
                self.application_ids[application.name] = await applications.create_application(db, raw, self._facts())
            await self._import(application, self.people, story.FIRST_DAY)
        await self._work()
        for model in story.MODELS:
            await self._model(model)

    async def _model(self, model: Model) -> None:
        groups: dict[str, list[str]] = {}
        for application, group in model.groups:
            groups.setdefault(str(self.application_ids[application.name]), []).append(group)
        raw = {
            "name": model.name,
            "description": model.description,
            "ownerId": self.ids[Who("Information Security", 0)],
            "conditions": [[{"field": model.field, "operator": "is", "value": model.value}]],
            "access": [{"applicationId": id, "groups": names} for id, names in groups.items()],
        }
        async with self._by_clerk("create_access_model") as db:
            made = await access_models.create_model(db, raw, self._facts())
        if model.is_draft:
            return
        async with self._by_clerk("commit_access_model") as db:
            await access_models.commit_model(db, self.clerk, str(made.id), clock.now(), allow_unknown=True)

    async def _meet_people(self) -> None:
        async with self.pool.connection() as db:
            id_of: dict[str, UUID] = dict(await fetch_rows(db, "SELECT employee_id, id FROM identities"))
        for department in {person.department for person in self.people}:
            for position, person in enumerate(self._team(department)):
                # People who join later are not imported yet.
                if person.employee_id in id_of:
                    self.ids[Who(department, position)] = str(id_of[person.employee_id])

    async def _spend(self, day: int) -> None:
        announced = [event for event in story.EVENTS if event.day == day]
        is_off = day % 7 in story.DAYS_OFF
        if is_off and not announced:
            return
        self._travel(day, 9)
        for event in announced:
            await self._announce(event)
        if day == story.DRIFT_DAY:
            await self._import_what_changed()
        if day == story.SHORT_DAY:
            await self._import(story.SHORT, self.people[:140])
        if day == story.HOOKS_DAY:
            await self.hooks.create(self.clerk)
        for _ in range(0 if is_off else story.REQUESTS_A_DAY):
            application, privilege = self.chance.choice(story.USUAL)
            who = Who(self.chance.choice(application.departments), self.chance.randint(1, 4))
            # The service refuses a request that gives access to a person who has left.
            if not _has_left(who, day):
                await self.requesting.ask(Request("Add", application, who, (privilege,), ""))
        await self.requesting.answer_what_waits()
        await self._work()
        await self.hooks.deliver()
        await send_mail(self.pool, self.config)

    async def _work(self) -> None:
        """Run the worker's loops: imports concurrently, the others in a fixed order, so that every run is identical."""
        importing = [loop for loop in LOOPS if loop.run is run_next_import]
        await asyncio.gather(*(self._turn(loop) for loop in importing))
        for _ in range(_ROUNDS):
            for loop in LOOPS:
                if loop not in importing:
                    await self._turn(loop)

    async def _turn(self, loop: Loop) -> None:
        while await loop.run(self.pool, self.config, clock.now()):
            pass

    async def _upload(self, application_id: UUID, files: dict[str, bytes]) -> UUID:
        async with self.pool.connection() as db:
            detail = await applications_queries.get(db, application_id)
        assert detail.connector
        groups = {group.name: group.file_group_id for group in detail.connector.files or ()}
        with Upload(fields=[("applicationId", str(application_id))]) as upload:
            for name, content in files.items():
                writing = Writing(self.config.store)
                await writing.write(content)
                digest = await writing.finish()
                file_name = f"{name.lower()}.csv"
                upload.files.append(UploadedFile(str(groups[name]), file_name, writing.path, writing.size, digest))
            async with self._by_clerk("upload_import") as db:
                return await imports.upload_import(db, self.clerk, upload, (), self._facts(), self.config.store)

    async def _import(self, application: Application, people: Sequence[Employee], day: int = 0) -> UUID:
        return await self._upload(
            self.application_ids[application.name],
            files_of(application, people, clock.now().date(), self.grants, day),
        )

    async def _import_what_changed(self) -> None:
        """Import files in which a person is missing and titles differ, import a bad file, and cancel another import."""
        leaver = self.people.index(next(p for p in self.people if p.department == "Sales")) + 3
        staff = [person for position, person in enumerate(self.people) if position != leaver]
        staff[20:22] = [person._replace(title="Principal Engineer") for person in staff[20:22]]
        today = clock.now().date()
        here = [person for person in staff if person.is_here(today)]
        await self._upload(self.records_id, {"Identities": identities_file(here)})
        for application in story.DRIFTING:
            await self._import(application, staff)
        await self._work()
        broken = files_of(FINANCE_LEDGER, staff, clock.now().date(), self.grants)
        broken["Users"] += b"no.such.user,only,three\r\n"
        await self._upload(self.application_ids[FINANCE_LEDGER.name], broken)
        # No worker runs between the two calls, so the import is still pending and can be canceled.
        mistake = await self._import(FINANCE_LEDGER, self.people[:100])
        async with self._by_clerk("cancel_import") as db:
            await imports.cancel_import(db, self.clerk, {"applicationImportId": str(mistake)}, self._facts())

    async def _announce(self, event: StoryEvent) -> None:
        raw: Json = {"effectiveDate": self._date(event.effective), "comment": event.comment}
        if event.who:
            raw["identityId"] = self.ids[event.who]
        if event.end is not None:
            raw["endDate"] = self._date(event.end)
        if event.identity:
            raw["identity"] = dict(event.identity)
            if event.kind == "onboard":
                raw["identity"]["supervisorId"] = self.ids[Who(event.identity["department"], 0)]
        make = _MAKE[event.kind]
        async with self._by_clerk(make.__name__) as db:
            id = await make(db, self.clerk, raw, self._facts())
        if event.canceled:
            async with self._by_clerk("cancel_event") as db:
                await events.cancel_event(db, self.clerk, id, {"comment": event.canceled}, self._facts())


def _has_left(who: Who, day: int) -> bool:
    left = (event for event in story.EVENTS if event.kind == "offboard" and not event.canceled)
    return any(event.who == who and event.effective < day for event in left)
