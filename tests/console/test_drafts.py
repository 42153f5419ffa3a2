"""Test the wizard without JavaScript for a new application and for changed files: proposal, dry run, import."""

import re

import httpx2
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.file_shapes.draft_answers import IGNORED
from tests.application_imports.running import Imports
from tests.builders import an_application

EXPORT = (
    "Operators of CoreBank, exported 2026-11-02\n\nOpr ID,Opr Name,Emp No,Sts,Pwd,Roles\n"
    'kowalr1,"KOWALSKI, Ravi",E1061,Active,hidden,Teller;Wire\nmeyerm2,"MEYER, Malik",E1170,Qx,hidden,Teller\n'
)
# Matches the select fields of the page; without JavaScript, a form sends all of them.
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


async def test_unfamiliar_export_becomes_an_application(
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
    await administrator.post(draft, data={**fields(page), "dry-run": "yes"})
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
    gone = await administrator.get(draft)
    assert gone.status_code == 404
    assert "This draft no longer exists" in gone.text
    assert 'href="/imports">Show imports' in gone.text


async def test_dry_run_names_ignored_columns(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, config: Config
) -> None:
    draft = await uploaded(administrator, text="Username,Pwd,Desk\nada,hunter2,7\nbob,hunter3,8\n")
    chosen = {**fields((await administrator.get(draft)).text), "field.0.0.Desk": IGNORED}
    await administrator.post(draft, data={**chosen, "dry-run": "yes"})
    await Imports(client, config).work_on_dry_runs()

    page = (await administrator.get(draft)).text

    assert "<td>Desk: ignored, it is left out<br>Pwd: ignored, it looks like a secret</td>" in page
    assert "hunter2" not in page


async def test_bad_rows_are_shown_and_can_be_skipped(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, config: Config
) -> None:
    imports = Imports(client, config)
    draft = await uploaded(administrator, text="Username,Active,Note\nada,Yes,No\nbob,No,No\ncy,Yes,perhaps\n")
    locked = {**fields((await administrator.get(draft)).text), "field.0.0.Note": "Locked"}
    await administrator.post(draft, data={**locked, "dry-run": "yes"})
    await imports.work_on_dry_runs()
    page = (await administrator.get(draft)).text
    assert "Locked is perhaps" in page
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
    await administrator.post(draft, data={**fields((await administrator.get(draft)).text), "dry-run": "yes"})
    await imports.work_on_dry_runs()
    assert "Ada Byron" in (await administrator.get(draft)).text

    await administrator.post(f"{draft}/save")
    await imports.work()

    accounts = await imports.items(f"/api/applications/{application}/accounts")
    assert [(one["username"], one["name"]) for one in accounts] == [("ada", "Ada Byron")]


async def test_file_with_a_new_column_is_read_as_decided_before(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    imports = Imports(client, config)
    draft = await uploaded(administrator)
    answered = {**fields((await administrator.get(draft)).text), "answer": "0|0|values.Active.Qx|No"}
    await administrator.post(draft, data={**answered, "dry-run": "yes"})
    await imports.work_on_dry_runs()
    await administrator.post(f"{draft}/save")
    await imports.work()
    application = await fetch_value(db, "SELECT id FROM applications WHERE name = 'CoreBank'")
    decided = await fetch_value(db, "SELECT shape FROM file_groups ORDER BY position LIMIT 1")

    changed = "".join(f"{line}{',Floor' if 'Opr ID' in line else ',2'}\n" for line in EXPORT.splitlines())
    again = await uploaded(administrator, f"/applications/{application}/files", changed)

    page = (await administrator.get(again)).text
    shown = await fetch_value(db, "SELECT draft->'connector'->'files'->0->'shape' FROM dry_runs WHERE status = 'Draft'")
    assert decided["values"]["Active"]["Qx"] == "No"
    assert shown == decided
    assert "the template of this application says so" in page
    assert "Floor" in page


async def test_new_status_word_in_a_changed_file_is_asked(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    imports = Imports(client, config)
    draft = await uploaded(administrator)
    answered = {**fields((await administrator.get(draft)).text), "answer": "0|0|values.Active.Qx|No"}
    await administrator.post(draft, data={**answered, "dry-run": "yes"})
    await imports.work_on_dry_runs()
    await administrator.post(f"{draft}/save")
    await imports.work()
    application = await fetch_value(db, "SELECT id FROM applications WHERE name = 'CoreBank'")

    again = await uploaded(administrator, f"/applications/{application}/files", EXPORT.replace("Active", "Zz"))

    page = (await administrator.get(again)).text
    assert "what does Zz mean?" in page
    assert "what does Qx mean?" not in page
    await administrator.post(again, data={**fields(page), "dry-run": "yes"})
    await imports.work_on_dry_runs()
    await administrator.post(f"{again}/save")
    assert await fetch_value(db, "SELECT count(*) FROM application_imports") == 1

    await administrator.post(again, data={**fields(page), "answer": "0|0|values.Active.Zz|Yes"})
    page = (await administrator.get(again)).text
    assert "All answered" in page
    await administrator.post(again, data={**fields(page), "dry-run": "yes"})
    await imports.work_on_dry_runs()
    await administrator.post(f"{again}/save")
    await imports.work()
    assert await fetch_value(db, "SELECT count(*) FROM application_imports WHERE status = 'Finished'") == 2
    active = """SELECT string_agg(username, ',') FROM accounts JOIN account_versions ON account_number = number
                WHERE is_active"""
    assert await fetch_value(db, active) == "kowalr1"


async def test_unreadable_file_and_a_missing_name_are_refused(administrator: httpx2.AsyncClient) -> None:
    pdf = await administrator.post("/drafts/new", files=[("files", ("a.pdf", b"%PDF-1.4"))], data={"name": "X"})
    nameless = await administrator.post("/drafts/new", files=[("files", ("a.csv", b"Username\nada\n"))])

    assert pdf.status_code == nameless.status_code == 400
    assert "a.pdf: the file is a PDF" in pdf.text
    assert "Name is required" in nameless.text


@pytest.mark.parametrize(
    ("name", "problem"),
    [("..", "File name is required"), ("x" * 256, "File name must be at most 255 characters")],
)
async def test_file_without_a_usable_name_is_refused(
    administrator: httpx2.AsyncClient, name: str, problem: str
) -> None:
    page = await administrator.post("/drafts/new", files=[("files", (name, EXPORT.encode()))], data={"name": "X"})

    assert (page.status_code, problem in page.text) == (400, True)


async def test_column_of_users_that_is_read_as_memberships_is_not_called_unimported(
    administrator: httpx2.AsyncClient,
) -> None:
    page = (await administrator.get(await uploaded(administrator))).text

    users = page.partition('<h2 id="part-0-0">')[2].partition("</section>")[0]
    (roles,) = re.findall(r"<tr><td><strong>Roles</strong></td>.*?</tr>", users)
    assert '<option value="ignore" selected>Read as memberships</option>' in roles
    assert '<td class="quiet">it is the Group of memberships</td>' in roles
    assert '<option value="ignore" selected>Not imported</option>' in users


async def test_discarding_a_draft_asks_for_confirmation(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, config: Config
) -> None:
    draft = await uploaded(administrator)
    reading = (await administrator.get(draft)).text
    await administrator.post(f"{draft}/try")
    await Imports(client, config).work_on_dry_runs()

    for page in (reading, (await administrator.get(draft)).text):
        (question,) = re.findall(r'<div id="discard" popover role="dialog".*?</div>', page, re.DOTALL)
        assert "Its uploaded files and your decisions about their columns are deleted" in question
        assert f'action="{draft}/discard"' in question
        assert page.count(f'action="{draft}/discard"') == 1


async def test_draft_can_be_proposed_again_and_discarded(administrator: httpx2.AsyncClient, db: Db) -> None:
    draft = await uploaded(administrator)

    await administrator.post(draft, data={"again": "yes", "content.operators.csv": "memberships"})
    page = (await administrator.get(draft)).text
    await administrator.post(f"{draft}/discard")

    assert "Memberships <span" in page
    assert await fetch_value(db, "SELECT count(*) FROM dry_runs") == 0


async def test_choosing_another_header_line_makes_a_new_proposal(administrator: httpx2.AsyncClient) -> None:
    text = "Username,Name,Email\nBenutzer,Name,Mail\nada,Ada Byron,a@b.co\nbob,Bob Kahn,b@b.co\n"
    draft = await uploaded(administrator, text=text)
    assert "Line 2 looks like a header too" in (await administrator.get(draft)).text

    await administrator.post(draft, data={"answer": "0|0|headerLine|2"})

    page = (await administrator.get(draft)).text
    assert fields(page)["field.0.0.Benutzer"] == "Username"
    assert "Line 2 looks like a header too" not in page


async def test_file_without_header_is_read_from_its_first_line(administrator: httpx2.AsyncClient) -> None:
    draft = await uploaded(administrator, text="ada;Ada Byron;Sales\nbob;Bob Kahn;Ops\ncyd;Cy Dee;Ops\n")
    assert "No word of line 1 is a known header" in (await administrator.get(draft)).text

    await administrator.post(draft, data={"answer": "0|0|headerLine|0"})

    page = (await administrator.get(draft)).text
    assert fields(page)["field.0.0.Column 1"] == "Username"
    assert "<td>ada</td>" in page


async def test_delimiter_encoding_and_split_column_can_be_changed(administrator: httpx2.AsyncClient, db: Db) -> None:
    draft = await uploaded(administrator, text="Login|Name|Roles\nada|Ada~Byron|a/b\nbob|Bob~Kahn|a\n")

    again = {"again": "yes", "delimiter.operators.csv": "tilde", "encoding.operators.csv": "windows-1252"}
    await administrator.post(draft, data=again)
    changed = (await administrator.get(draft)).text
    await administrator.post(draft, data={"again": "yes", "delimiter.operators.csv": "bar"})
    page = (await administrator.get(draft)).text
    split = {**fields(page), "split.0.0": "Roles", "separator.0.0": "slash"}
    await administrator.post(draft, data=split)

    assert "Encoding windows-1252, chosen by a person" in changed
    assert '<option selected="">tilde' in changed or "<option selected>tilde" in changed
    stored = await fetch_value(db, "SELECT draft #> '{connector,files,0,shape,split}' FROM dry_runs")
    assert stored == {"Roles": "/"}


@pytest.mark.parametrize(
    "form",
    [
        {"field.0.0.Opr ID": "Banana"},
        {"field.0.0.No such column": "Username"},
        {"field.9.9.Opr ID": "Username"},
        {"answer": "0|0|dates.x|y|z"},
        {"answer": "nonsense"},
        {"split.0.0": "No such column", "separator.0.0": "comma"},
        {"split.0.0": "Roles", "separator.0.0": "banana"},
        {"split.7.7": "Roles"},
        {"field.0.0.Opr ID": "Username", "field.0.0.Opr Name": "Username"},
    ],
)
async def test_malformed_form_is_refused_with_a_message(
    administrator: httpx2.AsyncClient, form: dict[str, str]
) -> None:
    draft = await uploaded(administrator)

    answer = await administrator.post(draft, data=form)

    assert answer.status_code == 400
    assert "This form is out of date; choose again" in answer.text or "Two columns are read as" in answer.text


async def test_invalid_choices_about_the_file_are_ignored(administrator: httpx2.AsyncClient) -> None:
    draft = await uploaded(administrator)
    odd = {"header.operators.csv": "9" * 5000, "content.operators.csv": "x", "delimiter.operators.csv": "x",
           "encoding.operators.csv": "rot13", "header.": "1", "content.other.csv": "users"}  # fmt: skip

    answer = await administrator.post(draft, data={"again": "yes", **odd})

    assert answer.status_code == 303
    assert fields((await administrator.get(draft)).text)["field.0.0.Opr ID"] == "Username"


async def test_connector_is_saved_as_a_template_and_offered_for_the_next_application(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, config: Config, db: Db
) -> None:
    imports = Imports(client, config)
    text = EXPORT.replace("Qx", "Left")
    draft = await uploaded(administrator, text=text)
    await administrator.post(draft, data={**fields((await administrator.get(draft)).text), "dry-run": "yes"})
    await imports.work_on_dry_runs()

    taken = await administrator.post(f"{draft}/save", data={"template": "Slack"})
    saved = await administrator.post(f"{draft}/save", data={"template": "CoreBank export"})

    assert taken.status_code == 400
    assert "A connector template named Slack already exists" in taken.text
    assert saved.status_code == 303
    assert "with the template CoreBank export" in (await administrator.get("/drafts/new")).text
    assert "CoreBank export" in (await administrator.get("/connector-templates")).text
    sent = {
        "files": [("files", ("other.csv", text.encode()))],
        "data": {"name": "Other", "template": "CoreBank export"},
    }
    other = (await administrator.post("/drafts/new", **sent)).headers["location"]  # type: ignore[arg-type]
    page = (await administrator.get(other)).text
    assert "Template CoreBank export: " in page
    assert fields(page)["field.0.0.Opr ID"] == "Username"
    id = await fetch_value(db, "SELECT id FROM connector_templates")
    await administrator.post(f"/connector-templates/{id}/delete")
    assert await fetch_value(db, "SELECT count(*) FROM connector_templates") == 0


async def test_file_that_does_not_fit_the_template_is_refused(administrator: httpx2.AsyncClient) -> None:
    sent = {"files": [("files", ("a.csv", b"x,y\n1,2\n"))], "data": {"name": "New", "template": "Slack"}}
    unknown = {**sent, "data": {"name": "New", "template": "No such template"}}

    answer = await administrator.post("/drafts/new", **sent)  # type: ignore[arg-type]
    missing = await administrator.post("/drafts/new", **unknown)  # type: ignore[arg-type]

    assert "no file group of the template Slack has the columns of this file" in answer.text
    assert "No connector template is named No such template" in missing.text
    assert answer.status_code == missing.status_code == 400


async def test_name_of_another_application_is_refused_with_the_files(administrator: httpx2.AsyncClient, db: Db) -> None:
    await an_application(db, name="CoreBank")

    answer = await administrator.post(
        "/drafts/new", files=[("files", ("a.csv", b"Username\nada\n"))], data={"name": "CoreBank"}
    )

    assert answer.status_code == 400
    assert "An application named CoreBank already exists" in answer.text


@pytest.mark.parametrize("path", ["", "/save"])
async def test_name_that_was_taken_in_the_meantime_can_be_changed(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, db: Db, config: Config, path: str
) -> None:
    draft = await uploaded(administrator, text="login,status\nada,Active\nbob,Inactive\n")
    await administrator.post(draft, data={"dry-run": "yes"})
    await Imports(client, config).work_on_dry_runs()
    await an_application(db, name="CoreBank")

    refused = await administrator.post(f"{draft}{path}", data={"dry-run": "yes"})
    renamed = await administrator.post(draft, data={"name": "CoreBank 2", "dry-run": "yes"})

    assert refused.status_code == 400
    assert "An application named CoreBank already exists" in refused.text
    assert '<input id="name" name="name"' in refused.text
    assert renamed.status_code == 303
    assert "CoreBank 2" in (await administrator.get(draft)).text
