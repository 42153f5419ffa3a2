"""Records that do not concern a limited person change nothing that the person reads."""

from datetime import UTC, datetime
from uuid import UUID

import httpx2

from rolecall.core import clock
from rolecall.core.caller import Caller, Scope
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value
from rolecall.core.ids import new_id
from rolecall.personnel_events import actions as events
from tests.builders import an_access_request, an_application, an_identity, facts
from tests.console.firm import Firm, a_firm
from tests.console.test_matrix import sign_in
from tests.holdings import an_account

_TODAY = datetime.now(UTC).date().isoformat()
# What a limited person can read of lists: every filter, search, picker and export, with the ids of hidden records too.
LISTED = (
    *("/", "/search?q=Zim", "/search?q=zz-", "/people?q=Zim", "/people?q=zoe@hidden.example", "/stand-ins"),
    *("/notifications", "/reviews", "/applications", "/requests", "/requests?asks=Approve", "/requests?asks=Verify"),
    *("/requests?status=Pending", "/requests?type=Add", "/requests?person=Zim", "/requests?page=2"),
    *("/requests?identityId={person}", "/requests?applicationId={application}", "/requests/new?identityId={person}"),
    *("/identities", "/identities?name=Zim", "/identities?department=Undercover", "/identities?status=Active"),
    *("/events", "/events?type=Absence", "/events?person=Zim", "/events?identityId={person}", "/events/calendar"),
    *("/events/new?identityId={person}", "/export/events?format=jsonl", "/export/identities?format=jsonl"),
    *("/export/access-requests?format=jsonl", "/export/access-requests?identityId={person}&format=jsonl"),
    *("/export/search-identities?q=Zim&format=jsonl", "/export/requests-to-answer?asks=Approve&format=jsonl"),
    *("/export/applications?format=jsonl", "/export/notifications?format=jsonl"),
    # Records of the firm, whose panes count and list others.
    *(f"/identities/{{ada}}{day}" for day in ("", f"?asOf={_TODAY}")),
    *(f"/applications/{{payroll}}{part}" for part in ("", f"?asOf={_TODAY}", "?match=Unmatched")),
    *("/requests/{request}", "/requests?selected={request}", "/conflicts/{conflict}", "/access/{group}"),
    *(f"/export/person-access?id={{ada}}&format=jsonl{day}" for day in ("", f"&asOf={_TODAY}")),
)
# Hidden records themselves: not found, now or at a past moment.
HIDDEN = (
    *(f"/identities/{{person}}{day}" for day in ("", f"?asOf={_TODAY}")),
    *(f"/accounts/{{account}}{day}" for day in ("", f"?asOf={_TODAY}")),
    *(f"/applications/{{application}}{day}" for day in ("", f"?asOf={_TODAY}")),
    *("/requests/{theirs}", "/requests?selected={theirs}", "/events/{event}", "/conflicts/{conflict_of_zoe}"),
    *(f"/export/person-access?id={{person}}{day}" for day in ("", f"&asOf={_TODAY}")),
    *("/export/account-access?id={account}", "/export/accounts?id={application}", "/export/event-requests?id={event}"),
    *("/export/imports?applicationId={application}", "/export/groups?id={application}"),
)


async def a_hidden_person(db: Db, firm: Firm, person: UUID) -> dict[str, object]:
    """Give a person records of every type that nobody of the firm has a relation to."""
    clerk = Caller(UUID(int=5), "Clerk", frozenset(Scope))
    vault = await an_application(db, "Vault")
    await execute(
        db,
        """UPDATE identities SET first_name = 'Zoe', last_name = 'Zimmer', email_address = 'zoe@hidden.example',
                  department = 'Undercover', status = 'Active' WHERE id = %(id)s""",
        id=person,
    )
    await an_account(db, vault, "zz-secret", person, permissions=(("Safe", "Open", "Grant", "High"),))
    theirs = await an_access_request(db, application_id=vault, identity_id=person)
    leave = {"identityId": str(person), "effectiveDate": _TODAY}
    event = await events.begin_absence(db, clerk, leave, facts())
    rule = "SELECT rule_id FROM conflicts WHERE id = %(id)s"
    conflict = await fetch_value(
        db,
        """INSERT INTO conflicts (rule_id, identity_id, since, found_on) VALUES (%(rule)s, %(zoe)s, now(), now())
           RETURNING id""",
        rule=await fetch_value(db, rule, id=firm.ids["conflicts"]),
        zoe=person,
    )
    account = await fetch_value(db, "SELECT id FROM accounts WHERE username = 'zz-secret'")
    ids = {"application": vault, "theirs": theirs, "event": event, "account": account}
    return {**ids, "person": person, "conflict_of_zoe": conflict}


async def read_as(
    client: httpx2.AsyncClient, db: Db, person: UUID, paths: dict[str, str]
) -> dict[str, tuple[int, str]]:
    await sign_in(client, db, person)
    answers = {path: await client.get(address, headers={"Accept": "text/html"}) for path, address in paths.items()}
    return {path: (answer.status_code, answer.text) for path, answer in answers.items()}


async def test_hidden_records_change_no_page_count_facet_search_picker_or_export(
    administrator: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    """Read everything before and after a person got records of every type; the answers must be the same."""
    firm = await a_firm(db, config)
    clock.stop_at(datetime.now(UTC))
    person = await an_identity(db, "Quiet", "One")
    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE id = %(id)s", id=person)
    known = {"ada": firm.ids["identities"], "payroll": firm.ids["applications"], "request": firm.ids["requests"]}
    known |= {"conflict": firm.ids["conflicts"], "group": firm.ids["access"]}
    ids = {"person": person, "application": new_id(), **known}
    viewers = ("self", "supervisor", "far", "owner", "provisioner", "asked", "stand-in", "stranger")
    paths = {path: path.format(**ids) for path in LISTED}
    before = {viewer: await read_as(administrator, db, firm.people[viewer], paths) for viewer in viewers}

    hidden = await a_hidden_person(db, firm, person)
    for viewer in viewers:
        after = await read_as(administrator, db, firm.people[viewer], paths)
        assert {path for path in LISTED if after[path] != before[viewer][path]} == set(), viewer
        guessed = {path: path.format(**hidden) for path in HIDDEN}
        found = await read_as(administrator, db, firm.people[viewer], guessed)
        assert {path: status for path, (status, _) in found.items() if status not in (403, 404)} == {}, viewer
