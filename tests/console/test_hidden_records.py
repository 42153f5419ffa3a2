"""Test that hidden records do not affect anything that a person who sees only their own records can read."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from difflib import unified_diff
from uuid import UUID

import httpx2

from rolecall.core import clock
from rolecall.core.caller import Caller, Scope
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value
from rolecall.personnel_events import actions as events
from tests.builders import an_access_request, an_application, an_identity, facts
from tests.console.firm import Firm, a_firm
from tests.console.test_matrix import sign_in
from tests.duties.separating import a_duty, a_rule
from tests.holdings import a_finished_import, an_account

_TODAY = datetime.now(UTC).date().isoformat()
# The pages and exports that people who see only their own records can open: lists, filters, searches and pickers,
# also with the ids of hidden records.
LISTED = (
    *("/", "/search?q=Zim", "/search?q=zz-", "/people?q=Zim", "/people?q=zoe@hidden.example", "/stand-ins"),
    *("/notifications", "/reviews", "/applications", "/requests", "/requests?asks=Approve", "/requests?asks=Verify"),
    *("/requests?status=Pending", "/requests?type=Add", "/requests?person=Zim", "/requests?page=2"),
    *("/requests?identityId={person}", "/requests?applicationId={application}", "/requests/new?identityId={person}"),
    *("/identities", "/identities?name=Zim", "/identities?department=Undercover", "/identities?status=Active"),
    *("/events", "/events?type=Absence", "/events?person=Zim", "/events?identityId={person}", "/events/calendar"),
    *(
        "/events/new",
        "/events/new?type=Role Transition",
        "/events/new?identityId={person}",
        "/export/events?format=jsonl",
        "/export/identities?format=jsonl",
    ),
    *("/export/access-requests?format=jsonl", "/export/access-requests?identityId={person}&format=jsonl"),
    *("/export/search-identities?q=Zim&format=jsonl", "/export/requests-to-answer?asks=Approve&format=jsonl"),
    *("/export/applications?format=jsonl", "/export/notifications?format=jsonl"),
    # Pages and exports about records that are not hidden. They list and count related records.
    *(f"/identities/{{ada}}{day}" for day in ("", f"?asOf={_TODAY}")),
    *(f"/applications/{{payroll}}{part}" for part in ("", f"?asOf={_TODAY}", "?match=Unmatched")),
    *("/requests/{request}", "/requests?selected={request}", "/conflicts/{conflict}", "/access/{group}"),
    *(f"/export/person-access?id={{ada}}&format=jsonl{day}" for day in ("", f"&asOf={_TODAY}")),
)
VIEWERS = ("self", "supervisor", "far", "owner", "provisioner", "asked", "stand-in", "stranger")
# Paths of hidden records, now and at a past time. All must respond with Not Found.
HIDDEN = (
    *(f"/identities/{{person}}{day}" for day in ("", f"?asOf={_TODAY}")),
    *(f"/accounts/{{account}}{day}" for day in ("", f"?asOf={_TODAY}")),
    *(f"/applications/{{application}}{day}" for day in ("", f"?asOf={_TODAY}")),
    *("/requests/{theirs}", "/requests?selected={theirs}", "/events/{event}", "/conflicts/{conflict_of_zoe}"),
    *(f"/export/person-access?id={{person}}{day}" for day in ("", f"&asOf={_TODAY}")),
    *("/export/account-access?id={account}", "/export/accounts?id={application}", "/export/event-requests?id={event}"),
    *("/export/imports?applicationId={application}", "/export/groups?id={application}"),
)


async def a_hidden_person(db: Db, person: UUID, vault: UUID) -> dict[str, object]:
    """Give a person records of every type that have no relation to the people of the firm."""
    clerk = Caller(UUID(int=5), "Clerk", frozenset(Scope))
    await execute(
        db,
        """UPDATE identities SET first_name = 'Zoe', last_name = 'Zimmer', email_address = 'zoe@hidden.example',
                  department = 'Undercover',
                  status = 'Active' WHERE id = %(id)s""",
        id=person,
    )
    await an_account(db, vault, "zz-secret", person, permissions=(("Safe", "Open", "Grant", "High"),))
    theirs = await an_access_request(db, application_id=vault, identity_id=person)
    event = await events.begin_absence(db, clerk, {"identityId": str(person), "effectiveDate": _TODAY}, facts())
    apart = [await a_duty(db, name) for name in ("Open", "Count")]
    conflict = await a_conflict(db, await a_rule(db, "Open and count", *apart), person)
    account = await fetch_value(db, "SELECT id FROM accounts WHERE username = 'zz-secret'")
    ids = {"application": vault, "theirs": theirs, "event": event, "account": account}
    return {**ids, "person": person, "conflict_of_zoe": conflict}


async def a_conflict(db: Db, rule: UUID, person: UUID) -> UUID:
    sql = "INSERT INTO conflicts (rule_id, identity_id, since, found_on) VALUES (%(rule)s, %(id)s, now(), now())"
    conflict: UUID = await fetch_value(db, f"{sql} RETURNING id", rule=rule, id=person)
    return conflict


class PageReader:
    """Read pages as one person after another, and remove the correlation ids of errors."""

    def __init__(self, client: httpx2.AsyncClient, db: Db, firm: Firm, ids: dict[str, object]) -> None:
        self.client, self.db, self.firm, self.ids = client, db, firm, ids

    async def read(self, relation: str, paths: Sequence[str], **ids: object) -> dict[str, tuple[int, str]]:
        await sign_in(self.client, self.db, self.firm.people[relation])
        found = {}
        for path in paths:
            answer = await self.client.get(path.format(**{**self.ids, **ids}), headers={"Accept": "text/html"})
            found[path] = answer.status_code, re.sub(r"\b[0-9a-f]{32}\b", "", answer.text)
        return found


def changed(before: dict[str, tuple[int, str]], after: dict[str, tuple[int, str]]) -> list[str]:
    """Return the path and a diff of each response that changed."""
    return [
        "\n".join([path, *unified_diff(before[path][1].splitlines(), text.splitlines(), lineterm="", n=0)])
        for path, (status, text) in after.items()
        if (status, text) != before[path]
    ]


async def test_hidden_records_change_no_page_count_filter_search_picker_or_export(
    administrator: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    """Read all pages before and after another person gets records of every type; the responses must be equal."""
    firm = await a_firm(db, config)
    clock.stop_at(datetime.now(UTC))
    person = await an_identity(db, "Quiet", "One")
    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=person)
    # Everyone may request access to an application, so its name is visible.
    vault = await an_application(db, "Vault")
    await a_finished_import(db, vault)
    ids = {"ada": firm.ids["identities"], "payroll": firm.ids["applications"], "request": firm.ids["requests"]}
    ids |= {"conflict": firm.ids["conflicts"], "group": firm.ids["access"], "person": person, "application": vault}
    reader = PageReader(administrator, db, firm, ids)
    before = {viewer: await reader.read(viewer, LISTED) for viewer in VIEWERS}

    hidden = await a_hidden_person(db, person, vault)
    for viewer in VIEWERS:
        assert changed(before[viewer], await reader.read(viewer, LISTED)) == [], viewer
        guessed = await reader.read(viewer, HIDDEN, **hidden)
        assert {path: status for path, (status, _) in guessed.items() if status not in (403, 404)} == {}, viewer

    # The owner of the rule sees all its conflicts; a person who sees one of them does not learn about the others.
    rule = await fetch_value(db, "SELECT rule_id FROM conflicts WHERE id = %(id)s", id=firm.ids["conflicts"])
    await a_conflict(db, rule, person)
    for viewer in ("self", "supervisor"):
        assert changed(before[viewer], await reader.read(viewer, ["/conflicts/{conflict}"])) == [], viewer
