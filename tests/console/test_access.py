"""Test the pages of the console about access, such as the catalogue, without a browser."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape

import httpx2
import pytest
from msgspec.structs import replace

from rolecall.access_requests.model import NewPrivilege
from rolecall.console import holders_chart
from rolecall.core.db import Db, execute, fetch_value
from tests.builders import an_access_model, an_access_request, an_application, an_identity
from tests.entitlements.test_list import a_ledger
from tests.entitlements.test_reasons import a_granted_request
from tests.holdings import a_finished_import, an_account


async def text_of(visitor: httpx2.AsyncClient, path: str, **params: str) -> str:
    answer = await visitor.get(path, params=params)
    assert answer.status_code == 200, answer.text
    main = answer.text.partition("<main")[2].partition("</main>")[0]
    return " ".join(unescape(re.sub("<[^>]+>", " ", main)).split())


async def id_of(db: Db, name: str) -> str:
    return str(await fetch_value(db, "SELECT id FROM entitlements WHERE name = %(name)s", name=name))


async def test_catalogue_lists_and_filters_groups_and_permissions(administrator: httpx2.AsyncClient, db: Db) -> None:
    await a_ledger(db)

    every, groups = await text_of(administrator, "/access"), await text_of(administrator, "/access", kind="Group")

    assert all(name in every for name in ("Approve", "Clerks", "Close", "Wire approvers"))
    assert "Close" not in groups
    assert "No group or permission found" in await text_of(administrator, "/access", search="nothing like it")


async def test_catalogue_filters_show_counts_and_can_be_removed(administrator: httpx2.AsyncClient, db: Db) -> None:
    await a_ledger(db)

    every = await text_of(administrator, "/access")
    page = (await administrator.get("/access", params={"kind": "Group"})).text

    assert "Kind Group 2 Permission 2" in every
    assert "Risk Critical" in every
    assert 'href="?kind=Permission"' in page
    assert re.search(r'href="\?" aria-current="true"><span>Group</span>', page)


async def test_the_catalogue_of_a_past_day_names_applications_without_data(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    await a_ledger(db)
    await execute(db, "UPDATE application_imports SET build_end = now() - interval '9 days'")
    today = datetime.now(UTC).date()

    then = await text_of(administrator, "/access", asOf=str(today - timedelta(days=3)))
    before = await text_of(administrator, "/access", asOf="2020-01-01")
    ahead = await text_of(administrator, "/access", asOf=str(today + timedelta(days=3)))

    assert "As imported by the end of" in then
    assert "Wire approvers" in then
    assert "Ledger: no data before" in before
    assert "Wire approvers" not in before
    assert "The day must not be in the future" in ahead


async def test_entitlement_page_shows_its_holders_and_their_paths_on_a_past_day(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    await a_ledger(db)
    await execute(db, "UPDATE application_imports SET build_end = now() - interval '9 days'")
    path, day = f"/access/{await id_of(db, 'Approve')}", datetime.now(UTC).date() - timedelta(days=3)

    then = await text_of(administrator, path, asOf=str(day))
    before = await text_of(administrator, path, asOf="2020-01-01")
    history = await text_of(administrator, path, history="true")
    ahead = await text_of(administrator, path, asOf=str(day + timedelta(days=30)))

    assert f"Who held it on {day.day} {day:%b %Y}" in then
    assert "through Clerks → Wire approvers" in then
    assert "No request or model on record" in then
    assert "when the first import of Ledger finished" in before
    assert "No account held it then" not in before
    assert "still held" in history
    assert "The day must not be in the future" in ahead


async def test_past_day_means_the_end_of_that_day_as_in_the_api(administrator: httpx2.AsyncClient, db: Db) -> None:
    ledger = await a_ledger(db)
    await execute(db, "UPDATE application_imports SET build_end = '2026-02-01'")
    second = await a_finished_import(db, ledger)
    await execute(db, "UPDATE memberships SET until_import = %(n)s", n=second)
    last = "UPDATE application_imports SET build_end = '2026-03-01T23:59:59.999999Z' WHERE number = %(n)s"
    await execute(db, last, n=second)
    path = f"/access/{await id_of(db, 'Wire approvers')}"

    before, after = [await text_of(administrator, path, asOf=day) for day in ("2026-02-28", "2026-03-01")]

    assert "No account held it then" not in before
    assert "No account held it then" in after


async def test_unexplained_access_links_its_groups_and_a_request_that_removes_it(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    await a_ledger(db)

    page = await administrator.get(f"/access/{await id_of(db, 'Approve')}")
    asks = re.search('<a [^>]*href="(/requests/new[^"]+)">Request its removal', page.text)
    assert asks
    form = (await administrator.get(unescape(asks[1]))).text

    assert f'through <a href="/access/{await id_of(db, "Clerks")}">Clerks</a>' in page.text
    assert "<option selected>Remove<" in form
    assert ">Clerks</textarea>" in form


async def test_entitlement_page_has_a_step_chart_of_its_holders(administrator: httpx2.AsyncClient, db: Db) -> None:
    ledger = await a_ledger(db)
    await execute(db, "UPDATE application_imports SET build_end = now() - interval '500 days'")
    later = await a_finished_import(db, ledger)
    await execute(
        db, "UPDATE application_imports SET build_end = now() - interval '50 days' WHERE number = %(n)s", n=later
    )
    await an_account(db, ledger, "cy", None, groups=("Wire approvers",), run=later)
    path = f"/access/{await id_of(db, 'Approve')}"

    page = (await administrator.get(path)).text
    shown = await text_of(administrator, path)
    whole = await text_of(administrator, path, period="All")

    name = "Accounts that hold Approve: 3 now, 2 to 3 since"
    assert re.search(f'<svg class="chart"[^>]* role="img" aria-label="{name} [^"]+">', page)
    assert len(re.findall('class="dot"', page)) == 1
    assert re.search(r"#\d+ \+1 cy 3", shown)
    assert "No data before" in shown
    assert name in whole
    assert (await administrator.get(path, params={"period": "10 years"})).status_code == 400


async def test_catalogue_draws_the_number_of_accounts_over_twelve_months(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    ledger = await a_ledger(db)
    await execute(db, "UPDATE application_imports SET build_end = now() - interval '500 days'")
    later = await a_finished_import(db, ledger)
    await execute(
        db, "UPDATE application_imports SET build_end = now() - interval '73 days' WHERE number = %(n)s", n=later
    )
    await an_account(db, ledger, "cy", None, groups=("Wire approvers",), run=later)
    before = str(datetime.now(UTC).date() - timedelta(days=100))

    page = (await administrator.get("/access")).text
    then = (await administrator.get("/access", params={"asOf": before})).text

    assert re.findall(r'<svg class="sparkline"[^>]* role="img" aria-label="([^"]+)">', page) == [
        "2 to 3 accounts in 12 months",
        "1 account in 12 months",
        "1 account in 12 months",
        "2 to 3 accounts in 12 months",
    ]
    # The line is at two accounts for four fifths of the year, then at three, which is the top.
    assert '<path d="M0.0 7.2H57.6V1.5H72.0"></path>' in page
    assert re.findall('class="sparkline"[^>]* aria-label="([^"]+)"', then)[0] == "2 accounts in 12 months"


async def test_sparklines_that_take_long_are_loaded_after_the_page(
    administrator: httpx2.AsyncClient, db: Db, monkeypatch: pytest.MonkeyPatch
) -> None:
    await a_ledger(db)
    monkeypatch.setattr(holders_chart, "_MOST_AT_ONCE", 1)

    page = (await administrator.get("/access", params={"kind": "Group"})).text
    [address] = re.findall('hx-get="([^"]+)"', page)
    [wanted] = re.findall('hx-select-oob="([^"]+)"', page)
    loaded = (await administrator.get(unescape(address))).text

    assert 'class="sparkline"' not in page
    assert len(re.findall('<span id="trend-[^"]+"><svg class="sparkline"', loaded)) == 2
    assert all(f'id="{each[1:]}"' in loaded for each in wanted.split(","))
    # The sparklines were stored when they were loaded, so the page contains them.
    assert 'class="sparkline"' in (await administrator.get("/access", params={"kind": "Group"})).text
    assert "trends" not in loaded


async def test_entitlement_without_an_owner_links_to_the_form_only_for_people_who_may_edit_it(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    await a_ledger(db)
    id = await id_of(db, "Approve")

    links = [
        f'href="/access/{id}/edit#owner"' in (await administrator.get(path)).text
        for path in ("/access", f"/access/{id}")
    ]
    form = (await administrator.get(f"/access/{id}/edit")).text
    await execute(db, "UPDATE console_roles SET role = 'Auditor'")
    seen = [(await administrator.get(path)).text for path in ("/access", f"/access/{id}")]

    assert (links, 'id="owner"' in form) == ([True, True], True)
    assert not any("Set an owner" in page for page in seen)
    assert "No owner" in seen[1]


async def test_pages_say_who_committed_the_model_and_who_approved_for_whom(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    boss, sam = await an_identity(db, "Carla", "Abadi"), await an_identity(db, "Sam", "Ray")
    ada = await an_identity(db, "Ada", "Lovelace", department="Finance")
    ledger = await an_application(db, "Ledger")
    await an_account(db, ledger, "ada", ada, groups=("Clerks",))
    await an_access_model(db, "Bookkeeping", access=[{"applicationId": str(ledger), "groups": ["Clerks"]}])
    await a_granted_request(db, ledger, ada, "Clerks", given=0)
    await execute(
        db,
        """UPDATE responses SET response = 'Approved', reviewer_id = %(boss)s, reviewer_name = 'Carla Abadi',
           stand_in_id = %(sam)s, stand_in_name = 'Sam Ray' WHERE type = 'Approve'""",
        boss=boss,
        sam=sam,
    )

    for path in (f"/access/{await id_of(db, 'Clerks')}", f"/identities/{ada}"):
        shown = await text_of(administrator, path)
        assert "Model Bookkeeping v1 , committed by System," in shown
        assert ", approved by Sam Ray for Carla Abadi" in shown


async def test_access_of_a_person_today_can_be_exported(administrator: httpx2.AsyncClient, db: Db) -> None:
    ada = await an_identity(db, "Ada", "Lovelace")
    await an_account(db, await an_application(db, "Ledger"), "ada", ada, groups=("Clerks",))
    today = str(datetime.now(UTC).date())

    page = (await administrator.get(f"/identities/{ada}", params={"asOf": today})).text
    form = page.partition('action="/export/person-access"')[2].partition("</form>")[0]
    fields = dict(re.findall('<input type="hidden" name="([^"]+)" value="([^"]*)"', form))
    answer = await administrator.get("/export/person-access", params={**fields, "format": "csv"})

    assert (answer.status_code, "Clerks" in answer.text) == (200, True)


async def test_entitlement_page_names_groups_that_give_it_and_models_that_grant_the_groups(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    ledger = await a_ledger(db)
    access = [{"applicationId": str(ledger), "groups": ["Clerks"]}]
    await an_access_model(db, "Bookkeeping", access=access)

    shown = await text_of(administrator, f"/access/{await id_of(db, 'Approve')}")

    assert "Groups that give it Wire approvers 2 accounts Clerks 1 account" in shown
    assert "Bookkeeping through Clerks" in shown


async def test_entitlement_can_be_described_in_a_form(administrator: httpx2.AsyncClient, db: Db) -> None:
    await a_ledger(db)
    await an_identity(db, "Greta", "Das", email="greta@example.com")
    path = f"/access/{await id_of(db, 'Approve')}"
    form = {"displayName": "Approve wires", "explanation": "Releases money.", "owner": "Greta Das",
            "riskRating": "High", "tags": "SOX, Treasury", "isPrivileged": "yes"}  # fmt: skip

    saved = await administrator.post(path, data=form)
    refused = await administrator.post(path, data={**form, "owner": "Nemo", "displayName": "x" * 257})

    assert saved.status_code == 303
    shown = await text_of(administrator, path)
    assert all(word in shown for word in ("Approve wires", "Releases money.", "Greta Das", "High", "SOX", "Treasury"))
    assert "No person matches Nemo" in refused.text
    edit = await administrator.get(f"{path}/edit")
    assert 'value="Approve wires"' in edit.text


async def test_page_of_an_account_without_an_identity_shows_its_access(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    await a_ledger(db)
    id = await fetch_value(db, "SELECT id FROM accounts WHERE username = 'bo'")

    shown = await text_of(administrator, f"/accounts/{id}")

    assert "through Wire approvers" in shown
    assert f'href="/access/{await id_of(db, "Approve")}"' in (await administrator.get(f"/accounts/{id}")).text
    assert "bo" in await text_of(administrator, "/accounts", search="bo")


@pytest.mark.parametrize(
    ("words", "kind", "name"),
    [
        ("clerk", "Group", "Clerks"),
        ("APPR", "Permission", "Approve"),
        ("bo", "Account", "bo"),
        ("AD", "Account", "Ledger, Ada Ledger"),
    ],
)
async def test_search_finds_groups_permissions_and_accounts(
    administrator: httpx2.AsyncClient, db: Db, words: str, kind: str, name: str
) -> None:
    await a_ledger(db)

    found = await text_of(administrator, "/search", q=words)

    assert name in found
    assert kind in found


async def test_list_of_accounts_says_since_when_the_days_count(administrator: httpx2.AsyncClient, db: Db) -> None:
    await a_ledger(db)
    await execute(db, "UPDATE accounts SET match = 'Unmatched', pin = NULL WHERE username = 'bo'")
    await execute(db, "UPDATE account_versions SET last_login = '2020-01-01T00:00:00Z' WHERE name <> 'bo'")

    unmatched = await text_of(administrator, "/accounts", search="bo")
    dormant = await text_of(administrator, "/accounts", dormantDays="90")
    page = (await administrator.get("/accounts")).text
    assert 'size="26" placeholder="Username, name or e-mail"' in page
    gone = "UPDATE identities SET status = 'Disabled', inactivated_date = '2026-01-01' WHERE last_name = 'Ledger'"
    await execute(db, gone)
    left = await text_of(administrator, "/accounts", leaver="true")

    assert "0 days since it became unmatched" in unmatched
    assert "days since the last login" in dormant
    assert "days since the person left" in left


async def test_home_counts_accounts_that_need_attention(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, db: Db
) -> None:
    await a_ledger(db)
    await execute(db, "UPDATE accounts SET match = 'Unmatched', pin = NULL WHERE username = 'bo'")
    await execute(db, "UPDATE identities SET status = 'Disabled' WHERE first_name = 'Ada' AND last_name = 'Ledger'")
    await execute(db, "UPDATE account_versions SET last_login = '2020-01-01T00:00:00Z' WHERE name = 'bo'")

    home = await text_of(administrator, "/")

    for words in ("1 Accounts of people who left", "1 Accounts without a person", "1 Accounts unused for 90 days"):
        assert words in home
    assert "match several people" not in home
    left = await text_of(administrator, "/accounts", leaver="true", isActive="true")
    assert "ada" in left
    assert "privileged access" not in home
    await client.patch(f"/api/entitlements/{await id_of(db, 'Approve')}", json={"isPrivileged": True})
    assert "2 Accounts with privileged access" in await text_of(administrator, "/")


async def test_people_are_filtered_by_status_type_and_department(administrator: httpx2.AsyncClient, db: Db) -> None:
    await an_identity(db, "Greta", "Das", department="Treasury")
    await an_identity(db, "Omar", "Santos", department="Sales", identityType="Vendor")

    assert "Santos" not in await text_of(administrator, "/identities", department="treasury")
    assert "Das" not in await text_of(administrator, "/identities", type="Vendor")
    assert "No person found" in await text_of(administrator, "/identities", status="Removed")


async def test_page_of_a_permission_lists_only_the_requests_that_name_it(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    ledger, wiki = await an_application(db, "Ledger"), await an_application(db, "Wiki")
    await an_account(db, ledger, "ada", await an_identity(db), permissions=(("Books", "Close", "Grant", "Low"),))
    close = NewPrivilege(header="Books", permission="Close")
    similar = [replace(close, header="Journal"), replace(close, section="Year"), replace(close, permission="Open")]
    named = [await an_access_request(db, application_id=ledger, privileges=[close, *similar]) for _ in range(2)]
    for each in similar:
        await an_access_request(db, application_id=ledger, privileges=[each])
    await an_access_request(db, application_id=wiki, privileges=[close])

    page = (await administrator.get(f"/access/{await id_of(db, 'Close')}")).text

    panel = page.partition('id="about-it"')[2].partition("</section>")[0]
    assert re.findall('href="/requests/([^"]+)"', panel) == [str(id) for id in reversed(named)]
