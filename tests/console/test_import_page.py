"""Test the page of an import: what a held import would remove, what a finished one changed, and its rollback."""

import re
from html import unescape

import httpx2
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db
from tests.application_imports.running import Files, Imports
from tests.builders import an_application, an_identity
from tests.console.test_matrix import sign_in

FILES: Files = {
    "Users": "Username,Name\nada,Ada Byron\nbob,Bob Kahn\ncyd,Cyd Dee\n",
    "Memberships": "Username,Group\nada,Clerks\nbob,Clerks\ncyd,Clerks\n",
}
FEW: Files = {"Users": "Username,Name\nada,Ada Byron\n", "Memberships": "Username,Group\nada,Clerks\n"}


@pytest.fixture
def imports(client: httpx2.AsyncClient, config: Config) -> Imports:
    return Imports(client, config)


async def test_rollback_is_offered_only_if_a_later_import_has_finished(
    administrator: httpx2.AsyncClient, imports: Imports, db: Db
) -> None:
    application = await an_application(db)
    first = await imports.finish(application, FILES)
    action = f'action="/imports/{first["id"]}/rollback"'
    assert action not in (await administrator.get(f"/imports/{first['id']}")).text

    last = await imports.finish(application, FEW)

    assert action in (await administrator.get(f"/imports/{first['id']}")).text
    assert "/rollback" not in (await administrator.get(f"/imports/{last['id']}")).text


async def test_finished_import_shows_how_many_memberships_it_changed(
    administrator: httpx2.AsyncClient, imports: Imports, db: Db
) -> None:
    run = await imports.finish(await an_application(db), FILES)

    page = (await administrator.get(f"/imports/{run['id']}")).text

    tile = '<a href="?kind=Membership#changes"><strong>3</strong>new memberships<br>0 altered, 0 removed</a>'
    assert tile in page
    assert "?kind=Assignment#changes" not in page


async def test_held_import_separates_its_reasons_and_links_to_the_removals(
    administrator: httpx2.AsyncClient, imports: Imports, db: Db
) -> None:
    application = await an_application(db, guard={"minCount": 2, "maxRemovedPercent": 20})
    await imports.finish(application, FILES)
    held = await imports.run(application, FEW)

    page = unescape((await administrator.get(f"/imports/{held['id']}")).text)

    reasons = "it would remove 2 of 3 accounts, more than 20 %; it would remove 2 of 3 memberships, more than 20 %"
    assert f"<strong>The guard holds this import:</strong> {reasons}. Its changes:" in page
    (link,) = re.findall(r'<a href="([^"]*)">Show 4 removals</a>', page)
    shown = (await administrator.get(f"/imports/{held['id']}{link.partition('#')[0]}")).text
    assert len(re.findall(r"<td>Membership</td>|<td>Account</td>", shown)) == 4


async def test_home_of_the_owner_says_that_the_last_import_is_held(
    administrator: httpx2.AsyncClient, imports: Imports, db: Db
) -> None:
    owner = await an_identity(db, "Olga", "Owner")
    application = await an_application(db, ownerId=str(owner), guard={"minCount": 2, "maxRemovedPercent": 20})
    await imports.finish(application, FILES)
    held = await imports.run(application, FEW)

    await sign_in(administrator, db, owner)
    home = (await administrator.get("/")).text

    shown = home[home.index(f'href="/imports/{held["id"]}"') :].partition("</dd>")[0]
    assert "Held" in shown
    assert "Running" not in shown


async def test_page_says_that_changed_access_alters_an_account(
    administrator: httpx2.AsyncClient, imports: Imports, db: Db
) -> None:
    application = await an_application(db)
    first = await imports.finish(application, FILES)
    moved: Files = {**FILES, "Memberships": FEW["Memberships"]}

    run = await imports.finish(application, moved)

    pages = [(await administrator.get(f"/imports/{each['id']}")).text for each in (first, run)]
    assert ["counts as altered if only its memberships" in page for page in pages] == [False, True]
