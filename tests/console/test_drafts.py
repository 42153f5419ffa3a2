"""The wizard without JavaScript: files, proposal, dry run, import; for a new application and for changed files."""

import re

import httpx2

from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_rows, fetch_value
from tests.application_imports.running import Imports
from tests.builders import an_application

EXPORT = (
    "Operators of CoreBank, exported 2026-11-02\n\nOpr ID,Opr Name,Emp No,Sts,Pwd,Roles\n"
    'kowalr1,"KOWALSKI, Ravi",E1061,Active,hidden,Teller;Wire\nmeyerm2,"MEYER, Malik",E1170,Qx,hidden,Teller\n'
)
# Without JavaScript a form sends every field; these are the ones of the page.
_FIELD = re.compile(r'<select name="(field\.[^"]+)".*?</select>', re.DOTALL)
_SELECTED = re.compile(r'<option(?: value="([^"]*)")? selected>([^<]*)')


def fields(page: str) -> dict[str, str]:
    found = {}
    for select in _FIELD.finditer(page):
        chosen = _SELECTED.search(select[0])
        found[select[1]] = (chosen[1] or chosen[2]) if chosen else ""
    return found


async def uploaded(administrator: httpx2.AsyncClient, path: str = "/drafts/new", text: str = EXPORT) -> str:
    sent = {"files": [("files", ("operators.csv", text.encode()))], "data": {"name": "CoreBank"}}
    answer = await administrator.post(path, **sent)  # type: ignore[arg-type]
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


async def test_unknown_export_becomes_an_application(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    imports = Imports(client, config)
    draft = await uploaded(administrator)
    page = (await administrator.get(draft)).text
    assert "The header is line 3" in page
    assert "what does Qx mean?" in page
    assert fields(page)["field.0.0.Opr ID"] == "Username"
    assert await fetch_value(db, "SELECT count(*) FROM applications WHERE name = 'CoreBank'") == 0

    answer = {**fields(page), "answer": "0|0|values.Active.Qx|No"}
    await administrator.post(draft, data=answer)
    page = (await administrator.get(draft)).text
    assert "what does Qx mean?" not in page
    await administrator.post(draft, data={**fields(page), "try": "yes"})
    assert "Waiting for a worker" in (await administrator.get(draft)).text
    await imports.work_on_dry_runs()
    page = (await administrator.get(draft)).text
    assert "What the import would change" in page
    assert "meyerm2 in Teller" in page
    assert await fetch_value(db, "SELECT count(*) FROM applications WHERE name = 'CoreBank'") == 0

    saved = await administrator.post(f"{draft}/save")
    await imports.work()

    assert "Finished" in (await administrator.get(saved.headers["location"])).text
    rows = await fetch_rows(
        db,
        """SELECT a.username, v.is_active, v.metadata FROM accounts a
           JOIN account_versions v ON v.account_number = a.number ORDER BY 1""",
    )
    assert [row[:2] for row in rows] == [("kowalr1", True), ("meyerm2", False)]
    assert "hidden" not in str(rows)
    assert await fetch_value(db, "SELECT count(*) FROM memberships") == 3
    assert (await administrator.get(draft)).status_code == 404


async def test_bad_rows_are_shown_and_can_be_left_out(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, config: Config
) -> None:
    imports = Imports(client, config)
    draft = await uploaded(administrator)
    await administrator.post(draft, data={**fields((await administrator.get(draft)).text), "try": "yes"})
    await imports.work_on_dry_runs()
    page = (await administrator.get(draft)).text
    assert "Active is Qx" in page
    assert "Save and import" not in page

    await administrator.post(f"{draft}/try", data={"rejects": "yes"})
    await imports.work_on_dry_runs()

    assert "Save and import" in (await administrator.get(draft)).text


async def test_changed_file_is_read_with_a_new_proposal(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    application = await an_application(db)
    imports = Imports(client, config)
    await imports.finish(application, {"Users": "Username\nada\n"})
    draft = await uploaded(administrator, f"/applications/{application}/files", "Opr ID,Opr Name\nada,Ada Byron\n")
    await administrator.post(draft, data={**fields((await administrator.get(draft)).text), "try": "yes"})
    await imports.work_on_dry_runs()
    assert "Ada Byron" in (await administrator.get(draft)).text

    await administrator.post(f"{draft}/save")
    await imports.work()

    accounts = await imports.items(f"/api/applications/{application}/accounts")
    assert [(one["username"], one["name"]) for one in accounts] == [("ada", "Ada Byron")]


async def test_unreadable_file_and_a_missing_name_are_refused(administrator: httpx2.AsyncClient) -> None:
    pdf = await administrator.post("/drafts/new", files=[("files", ("a.pdf", b"%PDF-1.4"))], data={"name": "X"})
    nameless = await administrator.post("/drafts/new", files=[("files", ("a.csv", b"Username\nada\n"))])

    assert pdf.status_code == nameless.status_code == 400
    assert "a.pdf: the file is a PDF" in pdf.text
    assert "Name is required" in nameless.text


async def test_draft_can_be_proposed_again_and_discarded(administrator: httpx2.AsyncClient, db: Db) -> None:
    draft = await uploaded(administrator)

    await administrator.post(draft, data={"again": "yes", "content.operators.csv": "memberships"})
    page = (await administrator.get(draft)).text
    await administrator.post(f"{draft}/discard")

    assert "Memberships <span" in page
    assert await fetch_value(db, "SELECT count(*) FROM dry_runs") == 0
