"""Screens of duties, rules and conflicts."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import httpx2

from rolecall.conflicts.overview import waiting_for
from rolecall.core.db import Db, execute, fetch_rows, fetch_value
from tests.conflicts.test_exceptions import a_cast, act, approve
from tests.console.test_matrix import sign_in
from tests.duties.separating import a_company, conflict_of, join, leave
from tests.stand_ins.standing_in import caller_of


async def test_persons_page_and_home_show_current_conflicts(administrator: httpx2.AsyncClient, db: Db) -> None:
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


async def test_duty_in_use_is_not_deleted(administrator: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)

    await administrator.post(f"/duties/{company.prepare}/delete")

    assert "is used by the rules" in (await administrator.get("/duties")).text


async def test_conflict_page_offers_the_removal_of_each_access(administrator: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    page = (await administrator.get(f"/conflicts/{await conflict_of(db, company.sofia)}")).text

    links = re.findall(r'href="(/requests/new\?[^"]*)"', page)
    forms = [(await administrator.get(unescape(link))).text for link in links]

    assert len(links) == 2
    for link, form in zip(links, forms, strict=True):
        (privilege,) = parse_qs(urlsplit(unescape(link)).query)["privileges"]
        assert privilege in unescape(form)
        assert "<option selected>Remove</option>" in form or 'value="Remove" selected' in form


async def test_conflict_page_draws_it_over_time_and_names_who_remains(
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
    # Noor also prepares payments; no other person releases them.
    assert "1 person remains who can prepare payments." in page
    assert "0 people remain who can release payments." in page


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


async def test_home_lists_exceptions_that_an_application_owner_can_approve(
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

    assert counts == ["0", "1", "0"]
    assert "As of must not be in the future" in future
