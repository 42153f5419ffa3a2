"""Set up separation of duties in the sample company: duties, rules and an exception for one conflict."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from uuid import UUID

from rolecall.conflicts import actions as conflicts
from rolecall.console.signing_in import person_of
from rolecall.core.caller import Caller
from rolecall.core.checking import Facts, Json
from rolecall.core.db import Db, fetch_value
from rolecall.demo.story import Who
from rolecall.duties import actions as duties

ByClerk = Callable[[str], AbstractAsyncContextManager[Db]]

_DUTIES: Mapping[str, Json] = {
    "Prepare payments": {"application": "Finance Ledger", "header": "Payments", "permission": "Prepare*"},
    "Release payments": {"application": "Finance Ledger", "header": "Payments", "permission": "Release*"},
    "Post journals": {"application": "Finance Ledger", "header": "General Ledger", "permission": "Post*"},
}
_OWNER, _SECOND = Who("Internal Audit", 0), Who("Accounting", 0)
_RULES: tuple[Json, ...] = (
    {
        "name": "Prepare and release payments",
        "description": "A person who prepares payments must not release them.",
        "conflicts": ["Prepare payments", "Release payments"],
        "risk": "Critical",
        "response": "Approve",
    },
    {
        "name": "Post journals and release payments",
        "description": "A person who posts journals must not release payments.",
        "conflicts": ["Post journals", "Release payments"],
        "risk": "High",
        "response": "Warn",
    },
)
_EXCEPTION: Json = {
    "reason": "Treasury is small, and two people are on leave until January.",
    "control": "Every release above 10,000 is checked against the bank statement the next morning.",
}
_EXCEPTION_LASTS = timedelta(days=76)


async def create_rules(by_clerk: ByClerk, clerk: Caller, facts: Facts, people: Mapping[Who, str]) -> None:
    ids = {}
    for name, pattern in _DUTIES.items():
        async with by_clerk("create_duty") as db:
            ids[name] = str((await duties.create_duty(db, {"name": name, "patterns": [pattern]}, facts)).id)
    for rule in _RULES:
        raw = {**rule, "conflicts": [ids[name] for name in rule["conflicts"]], "ownerId": people[_OWNER]}
        async with by_clerk("create_duty_rule") as db:
            made = await duties.create_rule(db, raw, facts)
        async with by_clerk("commit_duty_rule") as db:
            await duties.commit_rule(db, clerk, str(made.id), facts.now)


async def except_lead(by_clerk: ByClerk, clerk: Caller, facts: Facts, people: Mapping[Who, str]) -> None:
    """Request and approve an exception for the head of treasury, whose group alone gives both duties."""
    async with by_clerk("request_exception") as db:
        id = str(
            await fetch_value(
                db,
                "SELECT id FROM conflicts WHERE identity_id = %(lead)s AND until IS NULL",
                lead=people[Who("Treasury", 0)],
            )
        )
        until = (facts.now + _EXCEPTION_LASTS).isoformat()
        raw = {**_EXCEPTION, "controlOwnerId": people[_SECOND], "until": until}
        await conflicts.request_exception(db, clerk, id, raw, facts)
    for approver in (_OWNER, _SECOND):
        async with by_clerk("approve_exception") as db:
            # Act as the person, because the same token cannot request and approve.
            person = await person_of(db, UUID(people[approver]), facts.now)
            assert person
            await conflicts.approve_exception(db, person.caller(), id, {}, facts)
