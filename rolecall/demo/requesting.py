"""Simulate people who request access and respond to requests, with the same actions as in production."""

from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from rolecall.access_requests import actions, queries
from rolecall.access_requests.model import AWAITED, Response
from rolecall.access_requests.shapes import AccessRequestDetail
from rolecall.core import clock
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json
from rolecall.core.config import Config
from rolecall.core.db import Pool
from rolecall.demo import story
from rolecall.demo.signing import signed
from rolecall.demo.story import Request, Who
from rolecall.identities import queries as identities
from rolecall.settings.policy import RequirementType

_ALL_SCOPES = frozenset(Scope)
# Steps that respond to a requirement: its type, the response, and the maximum number of people who respond.
_ANSWERS = {
    "approve": (RequirementType.APPROVE, Response.APPROVED, 9),
    "approve one": (RequirementType.APPROVE, Response.APPROVED, 1),
    "reject": (RequirementType.APPROVE, Response.REJECTED, 1),
    "resolve": (RequirementType.RESOLVE, Response.APPROVED, 9),
    "verify": (RequirementType.VERIFY, Response.APPROVED, 9),
}
_AWAITED_TYPE = {status: type for type, status in AWAITED.items()}


class Requesting(msgspec.Struct):
    """Simulated people who request access and respond; the ids of people and applications are filled in later."""

    pool: Pool
    config: Config
    midnight: datetime
    ids: dict[Who, str]
    application_ids: dict[str, UUID]

    def _date(self, day: int) -> str:
        return (self.midnight + timedelta(days=day)).date().isoformat()

    def _facts(self) -> Facts:
        return Facts(now=clock.now(), zone=self.config.timezone)

    async def answer_what_waits(self) -> None:
        """Respond Approved to each request that has waited long enough, as the first of the people it is waiting for.

        A request whose number is divisible by five has to wait nine days, any other request one day.
        """
        async with self.pool.connection() as db:
            waiting = (await queries.stalled(db, 1, clock.now())).items
        for item in waiting:
            # Count calendar days: hours would depend on how fast the simulation runs.
            days = (clock.now().date() - item.waiting_since.date()).days
            if days < (9 if item.number % 5 == 0 else 1):
                continue
            for person in item.waiting_for[:1]:
                raw = {"type": _AWAITED_TYPE[item.status], "response": Response.APPROVED}
                caller = Caller(person.id, person.name, _ALL_SCOPES)
                async with signed(self.pool, caller, "respond") as db:
                    await actions.respond(db, caller, str(item.id), raw, self._facts())

    async def ask(self, request: Request) -> None:
        """Create a request and carry out its steps. People request for themselves, heads of departments for groups."""
        raw: Json = {
            "action": request.action,
            "applicationId": str(self.application_ids[request.application.name]),
            "privileges": [
                {"header": header, "section": section, "permission": permission}
                for header, section, permission in request.privileges
            ],
            "comment": request.comment or None,
        }
        if request.start is not None:
            raw["scheduledStart"] = self._date(request.start)
        raw |= {"group": request.group} if request.group else {"identityId": self.ids[request.who]}
        asker = await self.person(request.who)
        async with signed(self.pool, asker, "create_access_request") as db:
            detail = await actions.request_access(db, asker, raw, self._facts())
        for step in request.steps:
            detail = await self._step(detail, step)

    async def ask_for(self, application_id: UUID, who: Who, group: str, comment: str) -> None:
        """Request an account in a group for this person; the request waits for approval."""
        privileges = [{"header": "Group", "permission": group}]
        raw: Json = {"action": "Add", "applicationId": str(application_id), "privileges": privileges}
        raw |= {"identityId": self.ids[who], "comment": comment}
        asker = await self.person(who)
        async with signed(self.pool, asker, "create_access_request") as db:
            await actions.request_access(db, asker, raw, self._facts())

    async def _step(self, detail: AccessRequestDetail, step: str) -> AccessRequestDetail:
        if step in _ANSWERS:
            return await self._answer(detail, *_ANSWERS[step])
        engineer = await self.person(Who("IT Operations", 1))
        verb, raw = {
            "assign": (actions.assign, {"assigneeId": str(engineer.id)}),
            "comment": (actions.comment, {"content": story.REMARK}),
            "snooze": (actions.snooze, {"until": self._date(7)}),
            "reopen": (actions.reopen, {"comment": "The role is not active yet"}),
            "cancel": (actions.cancel, {"comment": "Requested by mistake"}),
        }[step]
        async with signed(self.pool, engineer, verb.__name__) as db:
            return await verb(db, engineer, str(detail.id), raw, self._facts())

    async def _answer(
        self, detail: AccessRequestDetail, type: RequirementType, response: Response, at_most: int
    ) -> AccessRequestDetail:
        """Respond to a requirement as the first reviewer of each rule, at most `at_most` times; return the request."""
        rules = [rule for asked in detail.requirements if asked.type == type for rule in asked.rules]
        # A person responds once, even as the first reviewer of several rules.
        reviewers = dict.fromkeys(rule.responses[0].reviewer for rule in rules)
        for reviewer in list(reviewers)[:at_most]:
            caller = Caller(reviewer.id, reviewer.name, _ALL_SCOPES)
            raw = {"type": type, "response": response}
            async with signed(self.pool, caller, "respond") as db:
                detail = await actions.respond(db, caller, str(detail.id), raw, self._facts())
        return detail

    async def person(self, who: Who) -> Caller:
        """Return a caller with the id and the name of this person, and with all scopes."""
        async with self.pool.connection() as db:
            identity = await identities.get(db, self.ids[who])
        return Caller(identity.id, f"{identity.first_name} {identity.last_name}", _ALL_SCOPES)
