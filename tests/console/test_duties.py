"""Test the screens of duties, rules and conflicts."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from urllib.parse import parse_qs, urlsplit
from uuid import UUID
from zoneinfo import ZoneInfo

import httpx2

from rolecall.access_requests.model import NewPrivilege
from rolecall.accounts.model import Access
from rolecall.conflicts import queries
from rolecall.conflicts.overview import waiting_for
from rolecall.console.conflict_chart import conflict_chart
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from rolecall.settings.policy import RequestAction
from tests.builders import an_access_request
from tests.conflicts.test_exceptions import a_cast, act, approve, except_sofia
from tests.conflicts.test_list import give_both
from tests.console.test_matrix import sign_in
from tests.duties.separating import a_company, a_duty, a_rule, conflict_of, join, leave
from tests.stand_ins.standing_in import caller_of


async def test_request_form_shows_conflicts_before_the_request_is_sent(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db)
    asked = {"identityId": "Noor Hansen", "action": "Add", "applicationId": str(company.ledger)}

    async def send(group: str, **form: object) -> httpx2.Response:
        return await administrator.post("/requests/new", data={**asked, "privileges": group, **form})

    harmless = await send("Juniors")
    shown = await send("Approvers")
    confirmed = [unescape(each) for each in re.findall('name="confirmed" value="([^"]*)"', shown.text)]
    another = await send("Approvers\nJuniors", confirmed=confirmed)
    sent = await send("Approvers", confirmed=confirmed)

    assert [each.status_code for each in (harmless, shown, another, sent)] == [303, 200, 200, 303]
    said = "The rule <strong>Prepare and release</strong> keeps these duties apart: Hana Makinen must approve it."
    assert said in shown.text
    groups = await fetch_rows(
        db, "SELECT p.permission FROM access_requests r JOIN privileges p ON p.request_id = r.id ORDER BY r.number"
    )
    assert groups == [("Juniors",), ("Approvers",)]


async def test_page_of_a_person_and_home_show_current_conflicts(administrator: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    await join(db, company, "noor", "Approvers")
    await leave(db, company, "noor", "Approvers")

    sofia = (await administrator.get(f"/identities/{company.sofia}")).text
    noor = (await administrator.get(f"/identities/{company.noor}")).text
    home = (await administrator.get("/")).text

    assert f"/conflicts/{await conflict_of(db, company.sofia)}" in sofia
    assert "Conflicts of duties" not in noor
    assert "Open conflicts of duties" in home


async def test_rule_is_drafted_simulated_and_committed(administrator: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    form = {"name": "Also apart", "conflicts": [str(company.prepare)], "risk": "High", "response": "Warn"}

    one = await administrator.post("/rules/new", data=form)
    await administrator.post("/duties/new", data={"name": "Approvers", "patterns": "Finance Ledger: group Approvers"})
    duty = await fetch_value(db, "SELECT id FROM duties WHERE name = 'Approvers'")
    both = {**form, "conflicts": [str(company.prepare), str(duty)], "enabled": "yes"}
    made = await administrator.post("/rules/new", data=both)
    simulated = (await administrator.get(made.headers["location"])).text
    rule = made.headers["location"].partition("?")[0]
    await administrator.post(f"{rule}/commit")

    assert one.status_code == 400
    assert "at least two duties" in one.text
    assert "would begin" in simulated
    assert "Sofia Dubois" in simulated
    assert "version 1" in (await administrator.get(rule)).text
    assert await fetch_value(db, "SELECT count(*) FROM conflicts WHERE status = 'Open'") == 2


async def test_duty_in_use_cannot_be_deleted(administrator: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)

    await administrator.post(f"/duties/{company.prepare}/delete")

    assert "is used in rules" in (await administrator.get("/duties")).text


async def test_conflict_page_offers_to_remove_each_access(administrator: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    page = (await administrator.get(f"/conflicts/{await conflict_of(db, company.sofia)}")).text

    links = re.findall(r'href="(/requests/new\?[^"]*)"', page)
    forms = [(await administrator.get(unescape(link))).text for link in links]

    assert len(links) == 2
    for link, form in zip(links, forms, strict=True):
        (privilege,) = parse_qs(urlsplit(unescape(link)).query)["privileges"]
        assert privilege in unescape(form)
        assert "<option selected>Remove</option>" in form or 'value="Remove" selected' in form


async def test_group_that_gives_both_duties_is_offered_once_for_removal(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db)
    await give_both(db, company)

    page = (await administrator.get(f"/conflicts/{await conflict_of(db, company.noor)}")).text

    assert len(re.findall(r'href="/requests/new\?', page)) == 1
    # Sofia also holds both duties.
    assert "1 other person holds Prepare payments." in page
    assert "1 other person holds Release payments." in page


async def test_removal_that_was_already_requested_is_not_offered_again(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db)
    page = f"/conflicts/{await conflict_of(db, company.sofia)}"
    removed = [NewPrivilege(header="Group", permission="Approvers", requested_access=Access.NONE)]
    request = await an_access_request(
        db,
        action=RequestAction.REMOVE,
        application_id=company.ledger,
        identity_id=company.sofia,
        target_name="sofia",
        privileges=removed,
    )

    shown = (await administrator.get(page)).text

    assert len(re.findall(r'href="/requests/new\?', shown)) == 1
    assert f'href="/requests/{request}"' in shown
    assert "already removes it" in shown
    assert f'href="/identities/{company.sofia}"' in shown


async def test_conflict_page_names_the_owner_of_the_rule_even_if_others_decide(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db)
    auditor = "INSERT INTO console_roles (identity_id, role) VALUES (%(id)s, 'Auditor')"
    await execute(db, auditor, id=company.owner)

    page = (await administrator.get(f"/conflicts/{await conflict_of(db, company.sofia)}")).text

    rule = page[page.index('id="rule"') : page.index('id="ways"')]
    assert "Hana Makinen" in rule


async def test_forms_offer_all_duties_and_rules(administrator: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    for n in range(60):
        await a_duty(db, f"Duty {n:02}")
    last = await a_duty(db, "Zebra")
    for n in range(51):
        await a_rule(db, f"Rule {n:02}", company.prepare, last, committed=False)

    form = (await administrator.get("/rules/new")).text
    listed = (await administrator.get("/conflicts")).text
    overview = (await administrator.get("/duties")).text
    second = (await administrator.get("/duties/all?page=2")).text

    assert f'value="{last}"' in form
    assert "Rule 50" in listed
    assert ("Zebra" in overview, "Zebra" in second, 'href="/duties/all"' in overview) == (False, True, True)


async def test_overview_shows_an_old_exception_that_is_in_force(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, db: Db
) -> None:
    cast = await a_cast(db)
    await except_sofia(client, db, cast)
    for _ in range(50):
        await act(client, cast.conflict, "except", cast.wish())
        await act(client, cast.conflict, "withdraw")

    page = (await administrator.get("/duties")).text

    panel = page[page.index('id="exceptions"') : page.index('id="named"')]
    assert "Sofia Dubois" in panel


async def test_saving_a_duty_unchanged_keeps_its_patterns_and_exceptions(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, db: Db
) -> None:
    cast = await a_cast(db)
    await except_sofia(client, db, cast)
    duty = f"/duties/{cast.company.prepare}/edit"
    before = await fetch_value(db, "SELECT patterns FROM duties WHERE id = %(id)s", id=cast.company.prepare)

    form = fields_of((await administrator.get(duty)).text)
    saved = await administrator.post(duty, data=form)

    after = await fetch_value(db, "SELECT patterns FROM duties WHERE id = %(id)s", id=cast.company.prepare)
    assert (saved.status_code, after) == (303, before)
    assert await fetch_value(db, "SELECT status FROM conflict_exceptions") == "Approved"


async def test_change_of_patterns_that_ends_conflicts_requires_confirmation(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db)
    edit, conflict = f"/duties/{company.release}/edit", await conflict_of(db, company.sofia)
    form = {"name": "Release payments", "patterns": "*: permission Nothing"}

    asked = await administrator.post(edit, data=form)
    other = await administrator.post(edit, data={**form, "confirmed": "*: permission Something"})
    before = await fetch_value(db, "SELECT status FROM conflicts WHERE id = %(id)s", id=conflict)
    saved = await administrator.post(edit, data={**form, "confirmed": form["patterns"]})

    assert "1 conflict would end and 0 conflicts would begin" in asked.text
    assert (asked.status_code, other.status_code, before, saved.status_code) == (200, 200, "Open", 303)
    assert await fetch_value(db, "SELECT status FROM conflicts WHERE id = %(id)s", id=conflict) == "Ended"


def fields_of(page: str) -> dict[str, str]:
    """Return the fields of the form of a duty."""
    name = re.search(r'name="name"[^>]*value="([^"]*)"', page)
    patterns = re.search(r'<textarea[^>]*name="patterns"[^>]*>([^<]*)</textarea>', page)
    assert name
    assert patterns
    return {"name": unescape(name[1]), "patterns": unescape(patterns[1])}


async def test_conflict_page_has_a_chart_and_counts_other_holders_of_each_duty(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db)

    page = (await administrator.get(f"/conflicts/{await conflict_of(db, company.sofia)}")).text

    chart = page[page.index('id="over-time"') :]
    assert [name for name in ("Prepare payments", "Release payments", "Conflict") if f">{name}</text>" in chart] == [
        "Prepare payments",
        "Release payments",
        "Conflict",
    ]
    # Of the other people, Noor prepares payments and nobody releases them.
    assert "1 other person holds Prepare payments." in page
    assert "0 other people hold Release payments." in page


async def test_chart_shows_the_last_day_of_an_exception_in_the_configured_time_zone(
    client: httpx2.AsyncClient, db: Db
) -> None:
    cast = await a_cast(db)
    zone = ZoneInfo("America/New_York")
    now = datetime.now(zone)
    last = (now + timedelta(days=30)).replace(hour=23)
    await act(client, cast.conflict, "except", cast.wish(until=last.isoformat()))
    found = await queries.get(db, cast.conflict, now)

    chart = conflict_chart(found, [], [], now)

    assert last.astimezone(UTC).day != last.day
    assert f"until {last.day} {last:%b %Y}, requested" in chart


async def test_page_of_an_entitlement_shows_the_conflicts_that_it_contributes_to(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db)
    conflict = f"/conflicts/{await conflict_of(db, company.sofia)}"
    ids: dict[str, UUID] = dict(await fetch_rows(db, "SELECT name, id FROM entitlements"))

    async def is_shown(name: str) -> bool:
        return conflict in (await administrator.get(f"/access/{ids[name]}")).text

    shown = [await is_shown(name) for name in ("Release run", "Approvers", "Officers", "Prepare run")]
    await leave(db, company, "sofia", "Approvers")

    assert (shown, await is_shown("Release run")) == ([True, True, True, True], False)


async def test_home_lists_exceptions_that_the_person_can_approve(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, db: Db
) -> None:
    cast = await a_cast(db)
    chief = await fetch_value(db, "SELECT owner_id FROM applications WHERE name = 'Finance Ledger'")

    async def waiting(person: UUID) -> int:
        return len(await waiting_for(db, await caller_of(db, person)))

    before = await waiting(chief)
    await act(client, cast.conflict, "except", cast.wish())
    people = (chief, cast.company.owner, cast.company.sofia, cast.una)
    asked = [await waiting(person) for person in people]
    await approve(client, db, cast.conflict, chief)
    after = [await waiting(person) for person in people]

    assert (before, asked, after) == (0, [1, 1, 0, 0], [0, 1, 0, 0])
    await sign_in(administrator, db, cast.company.owner)
    assert f'href="/conflicts/{cast.conflict}"' in (await administrator.get("/")).text


async def test_conflict_page_says_whose_approvals_an_exception_waits_for(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, db: Db
) -> None:
    cast = await a_cast(db)
    await act(client, cast.conflict, "except", cast.wish())

    async def waits_for() -> list[str]:
        page = unescape((await administrator.get(f"/conflicts/{cast.conflict}")).text)
        return re.findall(r"Waiting for ([^<]*)<", page)

    first = "the rule's owner, or an administrator if the owner cannot approve"
    second = "an owner of an application on either side, or an administrator"
    before = await waits_for()
    await approve(client, db, cast.conflict, cast.company.owner)

    assert (before, await waits_for()) == ([first, second], [second])


async def test_overview_of_a_past_day_counts_the_conflicts_of_that_day(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    company = await a_company(db)
    before, ended = datetime.now(UTC) - timedelta(days=10), datetime.now(UTC) - timedelta(days=3)
    await execute(db, "UPDATE application_imports SET build_end = %(then)s", then=before)
    await execute(db, "UPDATE conflicts SET since = %(then)s", then=before)
    run = await leave(db, company, "sofia", "Approvers")
    await execute(db, "UPDATE application_imports SET build_end = %(then)s WHERE number = %(run)s", then=ended, run=run)
    await execute(db, "UPDATE conflicts SET until = %(then)s WHERE until IS NOT NULL", then=ended)

    async def cell(**query: str) -> str:
        page = (await administrator.get("/duties", params=query)).text
        found = re.search(r'class="unseen">Prepare and release: </span><b>(\d+)</b>', page)
        return found[1] if found else page

    past = (datetime.now(UTC) - timedelta(days=5)).date()
    earlier = (datetime.now(UTC) - timedelta(days=12)).date()
    counts = [await cell(), await cell(asOf=past.isoformat()), await cell(asOf=earlier.isoformat())]
    future = (await administrator.get("/duties", params={"asOf": "2999-01-01"})).text
    pages = [(await administrator.get("/duties", params=each)).text for each in ({}, {"asOf": past.isoformat()})]

    assert counts == ["0", "1", "0"]
    # The totals of rules are those of now, so a past day does not show them.
    assert ['<th scope="col" class="number">Excepted</th>' in page for page in pages] == [True, False]
    assert "The day must not be in the future" in future


async def test_page_of_a_request_shows_for_whom_it_waits_and_why(administrator: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    approvers = [NewPrivilege(header="Group", permission="Approvers")]
    request = await an_access_request(
        db, RequestAction.ADD, application_id=company.ledger, identity_id=company.noor, privileges=approvers
    )

    page = " ".join((await administrator.get(f"/requests/{request}")).text.split())

    assert "would hold Prepare payments and Release payments" in page
    # A step that is not done has no participle, which would say that the people beside it have done it.
    assert "<strong>Approval</strong>" in page
    assert "<strong>Approved</strong>" not in page
    assert f'<a href="/rules/{company.rule}">Prepare and release</a>' in page
    assert "waits for <strong>Hana Makinen</strong> to approve the conflict" in page
