"""Test that the pages of the wizard and of imports lead to the next step: drafts, failed imports, missing columns."""

import httpx2

from rolecall.core.config import Config
from rolecall.core.db import Db, execute
from rolecall.core.ids import new_id
from tests.application_imports.running import Imports
from tests.builders import an_application
from tests.console.test_drafts import fields, uploaded

USERS = {"name": "Users", "content": "users", "columns": {"Login": "Username", "State": "Active"}}
TEAMS = {"content": "memberships", "columns": {"Login": "Username", "Team": "Group"}, "shape": {"headerLine": 3}}
HR = "Ref,First Name,Last Name\n7,Ada,Byron\n"


async def test_drafts_are_listed_for_their_author(administrator: httpx2.AsyncClient, db: Db) -> None:
    draft = await uploaded(administrator)
    for page in ("/drafts/new", "/applications"):
        assert f'href="{draft}"' in (await administrator.get(page)).text

    await execute(db, "UPDATE dry_runs SET caller_id = %(other)s", other=new_id())

    for page in ("/drafts/new", "/applications"):
        assert draft not in (await administrator.get(page)).text


async def test_form_for_changed_files_lists_only_drafts_of_the_application(
    administrator: httpx2.AsyncClient, db: Db
) -> None:
    application = await an_application(db, connector={"name": "Files", "files": [USERS]})
    other = await uploaded(administrator)
    own = await uploaded(administrator, f"/applications/{application}/files", "Login,State\nada,Yes\n")

    page = (await administrator.get(f"/applications/{application}/files")).text

    assert f'href="{own}"' in page
    assert other not in page


async def test_failed_import_leads_to_the_update_for_changed_files(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    application = await an_application(db, connector={"name": "Files", "files": [USERS]})

    run = await Imports(client, config).run(application, {"Users": "Login,Account State\nada,No\n"})

    assert f'<a href="/applications/{application}/files">' in (await administrator.get(f"/imports/{run['id']}")).text


async def test_upload_names_the_columns_of_the_connector(administrator: httpx2.AsyncClient, db: Db) -> None:
    shaped = {**USERS, "name": "Staff", "shape": {"headerLine": 3, "contents": [TEAMS]}}
    plain = await an_application(db, connector={"name": "Files", "files": [USERS]})
    titled = await an_application(db, "Titled", connector={"name": "Files", "files": [shaped]})

    first, second = [(await administrator.get(f"/applications/{id}/upload")).text for id in (plain, titled)]

    assert "Columns that are read: Login, State, Name, " in first
    assert "Columns that are read: Login, State, Team." in second
    assert ("data-fields" in first, "data-fields" in second) == (True, False)


async def test_required_field_that_no_column_gives_is_named(administrator: httpx2.AsyncClient) -> None:
    draft = await uploaded(administrator, text=HR)

    await administrator.post(draft, data={"again": "yes", "content.operators.csv": "identities"})

    assert "No column is read as Employee ID" in (await administrator.get(draft)).text


async def test_people_of_an_identity_source_are_counted_as_people(
    administrator: httpx2.AsyncClient, client: httpx2.AsyncClient, config: Config
) -> None:
    imports = Imports(client, config)
    draft = await uploaded(administrator, text=HR)
    await administrator.post(draft, data={"again": "yes", "content.operators.csv": "identities"})
    page = (await administrator.get(draft)).text

    await administrator.post(draft, data={**fields(page), "field.0.0.Ref": "Employee ID", "dry-run": "yes"})
    await imports.work_on_dry_runs()
    checked = (await administrator.get(draft)).text
    saved = await administrator.post(f"{draft}/save")
    await imports.work()
    finished = (await administrator.get(saved.headers["location"])).text

    assert "</strong>people<br>1 new" in checked
    assert "0 accounts" not in checked
    assert "</strong>people<br>1 new" in finished
