"""Generate a client with openapi-python-client, and call every operation of the specification with it."""

import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, date, datetime, timedelta
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import UUID, uuid4

import pytest

from rolecall.app import create_app
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.web.openapi import document
from rolecall.webhooks.payload import DESCRIBED
from tests.builders import an_access_request, an_application, an_identity
from tests.listening import an_api

DOCUMENT = document(create_app(Config(database_url="postgresql://")).app, "http://rolecall.test", DESCRIBED)
SPECIFIED = {
    described["operationId"]
    for methods in DOCUMENT["paths"].values()
    for described in methods.values()
    if described["tags"] == ["Access governance"] and described["security"]
}
PACKAGE = "rolecall_generated"
TODAY = datetime.now(UTC).date()
CSV = b"Username\nada\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Generate the package and make it importable."""
    here = tmp_path_factory.mktemp("generated")
    (here / "openapi.json").write_text(json.dumps(DOCUMENT))
    (here / "config.yaml").write_text("post_hooks: []\n")
    program = str(Path(sys.executable).with_name("openapi-python-client"))
    command = [program, "generate", "--path", "openapi.json", "--meta", "none", "--config", "config.yaml"]
    made = subprocess.run(
        [*command, "--output-path", PACKAGE], cwd=here, capture_output=True, text=True, check=False, env={**os.environ}
    )
    assert made.returncode == 0, made.stdout + made.stderr
    sys.path.insert(0, str(here))
    yield here / PACKAGE
    sys.path.remove(str(here))
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


class Generated:
    """The generated client, with a record of the operations that it called."""

    def __init__(self, client: Any, models: ModuleType) -> None:
        self.client = client
        self.models = models
        self.called: set[str] = set()

    async def call(self, operation: str, answer: str, *path: UUID, **given: Any) -> Any:
        """Call an operation and return its response, which must be of the documented class."""
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", operation).lower()
        module = importlib.import_module(f"{PACKAGE}.api.access_governance.{name}")
        found = await module.asyncio(*path, client=self.client, **given)
        assert type(found).__name__ == answer, found
        self.called.add(operation)
        return found


@pytest.fixture
async def generated(folder: Path, config: Config, token: str) -> AsyncIterator[Generated]:
    package, models = importlib.import_module(PACKAGE), importlib.import_module(f"{PACKAGE}.models")
    async with (
        an_api(config) as api,
        package.AuthenticatedClient(api.url, token, raise_on_unexpected_status=True) as client,
    ):
        yield Generated(client, models)


def test_generated_fields_have_types(folder: Path) -> None:
    untyped = {
        (file.stem, field)
        for file in (folder / "models").glob("*.py")
        for field, type in re.findall(r"^    (\w+): (.+)$", file.read_text(), re.MULTILINE)
        if re.search(r"\bAny\b", type) and field != "additional_properties"
    }

    # The body of a delivery and the values of a configuration may be any JSON.
    assert untyped == {("delivery_detail", "body"), ("field_change", "before"), ("field_change", "after")}
    offboard = (folder / "models" / "offboard_body.py").read_text()
    assert "effective_date: datetime.date | datetime.datetime\n" in offboard


async def test_generated_client_calls_every_specified_operation(generated: Generated, db: Db) -> None:
    await follow_imports(generated, db)
    await follow_people(generated, db)
    await follow_requests(generated, db)

    assert len(SPECIFIED) == 16
    assert generated.called == SPECIFIED


async def follow_imports(generated: Generated, db: Db) -> None:
    models, file = generated.models, importlib.import_module(f"{PACKAGE}.types").File
    id = await an_application(db, "Payroll", schedule={"cron": "0 6 * * *", "locations": {}})
    application = await generated.call("getApplication", "ApplicationDetail", id)
    groups = {group.name: str(group.file_group_id) for group in application.connector.files}
    assert isinstance(application.last_updated, datetime)

    uploads = []
    for in_query in (True, False):
        body = models.UploadBody() if in_query else models.UploadBody(application_id=id)
        for name in ("Users", "Groups"):
            body[groups[name]] = file(BytesIO(CSV), f"{name.lower()}.csv", "text/csv")
        query = {"application_id": id} if in_query else {}
        uploads.append(await generated.call("uploadImport", "Import", body=body, **query))
    for upload in uploads:
        assert [(one.name, str(one.file_group_id)) for one in upload.files] == [
            ("users.csv", groups["Users"]),
            ("groups.csv", groups["Groups"]),
        ]
        assert (upload.status, upload.build_start) == (models.ImportStatus.PENDING, None)

    staged = await generated.call("stageImport", "Import", body=models.StageBody(id))
    assert (staged.files, staged.type_) == ([], models.ImportType.API)
    canceled = await generated.call("cancelImport", "ImportDetail", body=models.CancelImportBody(staged.id))
    assert (canceled.status, canceled.application.id) == (models.ImportStatus.CANCELING, id)
    run = await generated.call("getImport", "ImportDetail", uploads[0].id)
    assert run.number == uploads[0].number
    page = await generated.call("listImports", "ImportItemPage", application_id=id)
    assert [item.id for item in page.items] == [staged.id, uploads[1].id, uploads[0].id]
    refused = await generated.call("stageImport", "ValidationError", body=models.StageBody(uuid4()))
    assert [problem.field for problem in refused.errors] == ["applicationId"]


async def follow_people(generated: Generated, db: Db) -> None:
    models = generated.models
    boss = await an_identity(db, "Charles", "Babbage")
    joiner = models.NewIdentity(first_name="Ada", last_name="Lovelace", supervisor_id=boss)
    joined = await generated.call("onboard", "EventDetail", body=models.OnboardBody(joiner, TODAY, comment="Welcome"))
    ada = joined.affected_identity.id
    assert (joined.type_, joined.needed_on) == (models.EventType.ONBOARD, midnight(TODAY))
    assert [type(stage).__name__ for stage in joined.stages] == ["StageDetail"] * 3

    in_a_week = datetime.combine(TODAY + timedelta(days=7), datetime.min.time(), UTC)
    changes = models.IdentityChanges(title="Countess", supervisor_id="")
    moved = await generated.call(
        "transitionRole", "EventDetail", body=models.RoleTransitionBody(ada, in_a_week, identity=changes)
    )
    assert (moved.needed_on, moved.needed_until) == (in_a_week, None)
    assert (moved.affected_identity.title, moved.affected_identity.supervisor_name) == ("Countess", "")
    leave = models.AbsenceBody(ada, TODAY, end_date=TODAY + timedelta(days=30))
    away = await generated.call("beginAbsence", "EventDetail", body=leave)
    assert away.needed_until == midnight(TODAY + timedelta(days=30))
    left = await generated.call("offboard", "EventDetail", body=models.OffboardBody(boss, TODAY))

    found = await generated.call("getEvent", "EventDetail", left.id)
    assert (found.number, found.affected_identity.id) == (left.number, boss)
    of_ada = await generated.call("listEvents", "EventItemPage", identity_id=ada, type_=listed_type(models, "ABSENCE"))
    assert [item.id for item in of_ada.items] == [away.id]
    people = await generated.call("listIdentities", "IdentityDetailPage")
    assert [person.id for person in people.items] == [boss, ada]
    person = await generated.call("getIdentity", "IdentityDetail", ada)
    assert (person.supervisor_name, person.inactivated_date) == ("Babbage, Charles", None)
    assert isinstance(person.created_date, datetime)


async def follow_requests(generated: Generated, db: Db) -> None:
    models = generated.models
    id = await an_access_request(db)
    request = await generated.call("getAccessRequest", "AccessRequestDetail", id)
    assert (request.action, request.status) == (models.RequestAction.ADD, models.WorkStatus.PENDING)
    assert [one.permission.permission for one in request.target.privileges] == ["Post entries"]
    page = await generated.call(
        "listAccessRequests", "AccessRequestItemPage", application_id=request.target.application.id
    )
    assert [item.id for item in page.items] == [id]


def midnight(day: date) -> datetime:
    return datetime.combine(day, datetime.min.time(), UTC)


def listed_type(models: ModuleType, name: str) -> Any:
    return getattr(models.ListEventsType, name)
