"""Test the wizard with several sheets or lists, with templates from applications, and with large files."""

import httpx2

from rolecall.application_imports.model import ReadProgress
from rolecall.application_imports.queries import progress_of
from rolecall.application_imports.run.progress import record_progress
from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_value
from rolecall.core.ids import new_id
from tests.application_imports.running import Imports
from tests.builders import an_application, facts
from tests.console.test_drafts import fields
from tests.file_shapes.test_more_exports import workbook
from tests.file_shapes.test_sheets_and_lists import COVER, MEMBERS, USERS


async def drafted(administrator: httpx2.AsyncClient, name: str, content: bytes) -> str:
    sent = {"files": [("files", (name, content))], "data": {"name": "Ledger"}}
    answer = await administrator.post("/drafts/new", **sent)  # type: ignore[arg-type]
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


async def test_sheets_of_a_workbook_are_imported_together(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    imports = Imports(client, config)
    draft = await drafted(administrator, "app.xlsx", workbook(COVER, USERS, MEMBERS))
    page = (await administrator.get(draft)).text
    assert '<option value="Sheet 2" selected>' in page
    assert "Not read: sheet Sheet 1." in page

    await administrator.post(draft, data={**fields(page), "dry-run": "yes"})
    await imports.work_on_dry_runs()
    id = draft.rpartition("/")[2]
    read = await fetch_value(db, "SELECT read = total FROM read_progress WHERE id = %(id)s", id=id)
    tile = "<strong>3</strong>rows read from app.xlsx<br>3 would be applied, 0 unchanged, 0 rejected"
    assert tile in (await administrator.get(draft)).text
    await administrator.post(f"{draft}/save")
    await imports.work()

    assert read is True
    assert await fetch_value(db, "SELECT count(*) FROM accounts") == 3
    assert await fetch_value(db, "SELECT count(*) FROM memberships") == 3


async def test_proposal_for_another_sheet_uses_the_rows_of_that_sheet(administrator: httpx2.AsyncClient) -> None:
    draft = await drafted(administrator, "app.xlsx", workbook([["Staff"], [], *USERS], MEMBERS))
    about = {"content.app.xlsx": "users", "header.app.xlsx": "3"}

    answer = await administrator.post(draft, data={"again": "yes", **about, "sheet.app.xlsx": "Sheet 2"})

    assert answer.status_code == 303
    page = (await administrator.get(draft)).text
    assert fields(page)["field.0.0.Group Name"] == "Group"
    assert fields(page)["field.0.0.Login"] == "Username"


async def test_sheet_that_does_not_exist_is_refused(administrator: httpx2.AsyncClient) -> None:
    draft = await drafted(administrator, "app.xlsx", workbook(USERS, MEMBERS))

    answer = await administrator.post(draft, data={"again": "yes", "sheet.app.xlsx": "None"})

    assert answer.status_code == 400
    assert "there is no sheet None" in answer.text


async def test_answer_to_the_question_about_states_sets_the_column(administrator: httpx2.AsyncClient) -> None:
    text = b"username,enabled,suspended\nada,true,false\nbob,true,true\ncy,false,false\n"
    draft = await drafted(administrator, "users.csv", text)
    page = (await administrator.get(draft)).text
    assert "Which column says who is active?" in page

    answer = await administrator.post(draft, data={**fields(page), "answer": "0|0|Active|suspended"})

    assert answer.status_code == 303
    assert fields((await administrator.get(draft)).text)["field.0.0.suspended"] == "Active"


async def test_connector_of_an_application_is_saved_as_a_template(administrator: httpx2.AsyncClient, db: Db) -> None:
    id = await an_application(db)
    assert "Save as connector template" in (await administrator.get(f"/applications/{id}?tab=connector")).text

    saved = await administrator.post(f"/applications/{id}/template", data={"template": "Our ledger"})
    again = await administrator.post(f"/applications/{id}/template", data={"template": "Our ledger"})

    assert saved.headers["location"].startswith("/connector-templates")
    assert "Our ledger" in (await administrator.get("/connector-templates")).text
    assert again.status_code == 400
    assert "A connector template named Our ledger already exists" in again.text


async def test_progress_counts_the_bytes_that_were_read(db: Db) -> None:
    id = new_id()

    await record_progress(db, id, 10, 40, facts().now)
    await record_progress(db, id, 30, 40, facts().now)

    assert await progress_of(db, id) == ReadProgress(30, 40)
