"""Screens of duties, rules and conflicts."""

import re
from html import unescape
from urllib.parse import parse_qs, urlsplit

import httpx2

from rolecall.core.db import Db, fetch_value
from tests.duties.separating import a_company, conflict_of, join, leave


async def test_persons_page_and_home_show_current_conflicts(administrator: httpx2.AsyncClient, db: Db) -> None:
    company = await a_company(db)
    await join(db, company, "noor", "Approvers")
    await leave(db, company, "noor", "Approvers")

    sofia = (await administrator.get(f"/identities/{company.sofia}")).text
    noor = (await administrator.get(f"/identities/{company.noor}")).text
    home = (await administrator.get("/")).text

    assert f"/conflicts/{await conflict_of(db, company.sofia)}" in sofia
    assert "Conflicts of duties" not in noor
    assert "open conflicts of duties" in home


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
