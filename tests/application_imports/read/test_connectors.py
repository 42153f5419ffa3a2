import re
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from rolecall.application_imports.connectors import GROUP, Connector
from rolecall.core.db import Db
from tests.application_imports.running import Imports
from tests.builders import an_application

PAGE = Path(__file__).parents[3] / "docs" / "connectors.md"
PASSWD = "root:x:0:0:The boss:/root:/bin/sh\nada:x:1:1:Ada Lovelace:/home/ada:/sbin/nologin\n"


@pytest.fixture
def passwd_connector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the connector of the documentation page as a package."""
    code = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[0]
    assert len(code.splitlines()) < 50
    folder = tmp_path / "installed"
    about = folder / "passwd_connector-1.dist-info"
    about.mkdir(parents=True)
    (folder / "passwd_connector.py").write_text(code)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: passwd-connector\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[rolecall.connectors]\npasswd = passwd_connector:passwd\n")
    monkeypatch.syspath_prepend(folder)


@pytest.mark.usefixtures("passwd_connector")
async def test_installed_connector_reads_its_own_format(imports: Imports, db: Db) -> None:
    files = [{"name": "passwd", "content": "users"}]
    application = await an_application(db, connector={"name": "Unix passwd", "files": files})

    await imports.finish(application, {"passwd": PASSWD})
    broken = await imports.run(application, {"passwd": PASSWD + "oops\n"})

    ada, root = await imports.items(f"/api/applications/{application}/accounts")
    assert (ada["username"], ada["name"], ada["isActive"]) == ("ada", "Ada Lovelace", False)
    assert root["metadata"] == [{"key": "Home", "value": "/root"}, {"key": "UID", "value": "0"}]
    assert "passwd.csv, line 3: a passwd line has 7 fields" in broken["log"]


def test_service_ships_with_two_connectors() -> None:
    """Find the built-in connectors by entry point, like the connectors of other packages."""
    project = tomllib.loads((PAGE.parents[1] / "pyproject.toml").read_text())["project"]
    points = [EntryPoint(name, value, GROUP) for name, value in project["entry-points"][GROUP].items()]

    assert [point.load().name for point in points] == ["Standard files", "HR file"]
    assert all(isinstance(point.load(), Connector) for point in points)


async def test_connector_maps_any_header_to_a_field(imports: Imports, db: Db) -> None:
    files = [{"name": "Users", "content": "users", "columns": {"Kennung": "Username", "Name": "Email"}}]
    application = await an_application(db, connector={"name": "Mapped", "files": files})

    await imports.finish(application, {"Users": "kennung;Name;Username\nada;ada@x.test;kept\n"})

    (ada,) = await imports.items(f"/api/applications/{application}/accounts")
    assert (ada["username"], ada["email"]) == ("ada", "ada@x.test")
    assert ada["metadata"] == [{"key": "Username", "value": "kept"}]


async def test_encoding_of_the_connector_is_used(imports: Imports, db: Db) -> None:
    files = [{"name": "Users", "content": "users", "encoding": "windows-1252"}]
    application = await an_application(db, connector={"name": "Encoded", "files": files})

    await imports.finish(application, {"Users": "Username,Name\nada,Adélaïde\n".encode("windows-1252")})

    (ada,) = await imports.items(f"/api/applications/{application}/accounts")
    assert ada["name"] == "Adélaïde"
