"""Test the report and the lists of a bundle row by row, and that they contain no records of other people."""

import html
import io
import json
import re
import zipfile
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import httpx2
import msgspec
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.evidence.bundle import write_bundle
from tests.application_imports.running import Imports
from tests.builders import an_access_model, an_application, an_identity
from tests.conflicts.test_exceptions import WISH, a_cast, act, approve
from tests.duties.separating import a_company

NOW = datetime(2035, 5, 6, 7, 8, 9, tzinfo=UTC)
USERS = "Username,Email,Active\nada,ada@example.com,Yes\nada-old,ada@example.com,No\nbob,bob@example.com,Yes\n"


class Story(msgspec.Struct):
    ada: UUID
    bob: UUID
    members: dict[str, bytes]

    def read(self, name: str) -> Any:
        return json.loads(self.members[name])

    def tables(self) -> dict[str, list[list[str]]]:
        """Return the table rows under each heading of the page; rows before the first heading are about the person."""
        found = {}
        for part in re.split(r"<h[23]>", self.members["report.html"].decode()):
            title, _, rest = part.partition("<")
            lines = [re.findall(r"<t[dh]>(.*?)</t[dh]>", line) for line in re.findall(r"<tr>(.*?)</tr>", rest)]
            found[html.unescape(title)] = [[html.unescape(cell) for cell in line] for line in lines]
        return found


@pytest.fixture
async def story(client: httpx2.AsyncClient, db: Db, config: Config) -> Story:
    grace = await an_identity(db, "Grace", "Hopper", email="grace@example.com")
    ada = await an_identity(
        db, "Ada", "Lovelace", email="ada@example.com", supervisorId=str(grace), department="Finance"
    )
    await db.execute("UPDATE identities SET last_name = 'Love\u202elace' WHERE id = %s", (ada,))
    bob = await an_identity(db, "Bob", "Stone", email="bob@example.com", supervisorId=str(grace))
    payroll, other = await an_application(db, "Payroll"), await an_application(db, "Other")
    await an_access_model(db, "Clerks of Finance", access=[{"applicationId": str(payroll), "groups": ["Clerks"]}])
    imports = Imports(client, config)
    files = {
        "Users": USERS,
        "Memberships": "Username,Group\nada,Clerks\nbob,Clerks\n",
        "Permissions": "Username,Header,Section,Permission,Access,Risk Rating\n"
        "ada,Ledger,Book,Post,Grant,High\nbob,Ledger,,Close,Grant,Low\n",
    }
    await imports.finish(payroll, files)
    others = {
        "Users": "Username,Email\nbob,bob@example.com\n",
        "Memberships": "Username,Group\nbob,Clerks\n",
        "Permissions": "Username,Header,Permission,Access\nbob,Ledger,Close,Grant\n",
    }
    await imports.finish(other, others)
    for person in (ada, bob):
        asked = {"action": "Change", "applicationId": str(payroll), "identityId": str(person)}
        privileges = [{"header": "Ledger", "permission": "Close"}]
        made = (await client.post("/api/access-requests", json={**asked, "privileges": privileges})).json()["id"]
        answer = {"type": "Approve", "response": "Approved", "reviewerId": str(grace)}
        assert (await client.post(f"/api/access-requests/{made}/respond", json=answer)).status_code == 200
        leaving = {"identityId": str(person), "effectiveDate": "2035-06-01"}
        assert (await client.post("/api/personnel-events/offboard", json=leaving)).status_code == 201
    file = io.BytesIO()
    await write_bundle(db, file, ada, None, NOW)
    with zipfile.ZipFile(file) as archive:
        return Story(ada, bob, {name: archive.read(name) for name in archive.namelist()})


def without_times(rows: list[list[str]]) -> list[list[str]]:
    """Return the rows with `<time>` instead of each time."""
    return [[re.sub(r"20[23][0-9]-\d\d-\d\d \d\d:\d\d:\d\d UTC", "<time>", cell) for cell in row] for row in rows]


async def test_page_names_the_person_and_when_it_was_made(story: Story) -> None:
    page, head = story.members["report.html"].decode(), story.read("heads.json")["head"]

    assert "<title>Access of Ada Love\\u202elace</title>" in page
    assert "<h1>Access of Ada Love\\u202elace</h1>" in page
    assert "Made 2035-05-06 07:08:09 UTC by Rolecall, as of 2035-05-06 07:08:09 UTC." in page
    assert f"Head of the audit: <code>{head}</code>" in page
    assert page.endswith("</body></html>")
    assert story.tables()[""] == [
        ["id", str(story.ada)],
        ["email address", "ada@example.com"],
        ["type", "Employee"],
        ["title", ""],
        ["department", "Finance"],
        ["company", ""],
        ["supervisor name", "Hopper, Grace"],
        ["status", "Active"],
    ]


async def test_open_conflict_has_a_blank_end(db: Db) -> None:
    company = await a_company(db)
    file = io.BytesIO()

    await write_bundle(db, file, company.sofia, None, NOW)

    with zipfile.ZipFile(file) as archive:
        story = Story(company.sofia, company.noor, {"report.html": archive.read("report.html")})
    head, row = story.tables()["Conflicts of duties"]
    assert (row[head.index("Rule")], row[head.index("Until")]) == ("Prepare and release", "")


async def test_page_names_the_approvers_of_an_exception(client: httpx2.AsyncClient, db: Db) -> None:
    cast = await a_cast(db)

    async def exceptions() -> str:
        file = io.BytesIO()
        await write_bundle(db, file, cast.company.sofia, None, NOW)
        with zipfile.ZipFile(file) as archive:
            story = Story(cast.company.sofia, cast.una, {"report.html": archive.read("report.html")})
        head, row = story.tables()["Conflicts of duties"]
        return row[head.index("Exceptions")]

    await act(client, cast.conflict, "except", cast.wish())
    requested = await exceptions()
    await approve(client, db, cast.conflict, cast.company.owner)
    approved = await exceptions()

    assert requested.endswith(f": {WISH['control']}")
    assert approved.endswith(f": {WISH['control']}, approved by Hana Makinen")


async def test_page_lists_access_by_account_and_marks_inactive_accounts(story: Story) -> None:
    tables = story.tables()

    assert tables["Payroll: ada"] == [
        ["Privilege", "Access", "Through", "Risk", "Since import", "Requests", "Access models"],
        ["Group / Clerks", "Grant", "", "None", "1", "", "Clerks of Finance"],
        ["Ledger / Book / Post", "Grant", "", "High", "1", "", ""],
    ]
    assert tables["Payroll: ada-old, not active"] == []
    assert '<h3>Payroll: ada-old, not active</h3>\n<p class="quiet">None.</p>' in story.members["report.html"].decode()


async def test_page_lists_events_requests_and_imports(story: Story) -> None:
    tables = {title: without_times(rows) for title, rows in story.tables().items()}

    by = "<time> API Token - tests"
    assert tables["Personnel events"][1:] == [
        ["#1", "Offboard", "Scheduled", "<time>", f"{by}: Offboard with effect from 2035-06-01"]
    ]
    assert tables["Access requests"][1:] == [
        [
            "#1",
            "Change",
            "Payroll",
            "Open",
            "Ledger / Close: Grant",
            "Approve: Grace Hopper Approved; Resolve: Administrators Pending",
            f"{by}: Access request created; {by}: Grace Hopper approved, recorded by API Token - tests; "
            "<time> System: Provisioning may start",
        ]
    ]
    (run,) = story.read("imports.json")
    files = "; ".join(f"{file['name']} {file['sha256']}" for file in run["files"])
    assert tables["Imports"][1:] == [["#1", "Payroll", "API Token - tests", "<time>", files]]


async def test_page_lists_audit_entries_with_fields_before_and_after(story: Story) -> None:
    rows = story.tables()["Audit"]
    lines = [json.loads(line) for line in story.members["audit.jsonl"].splitlines()]

    assert [row[0] for row in rows[1:]] == [str(line["number"]) for line in lines]
    assert rows[0] == ["Entry", "When", "Who", "Action", "What", "Fields"]
    assert [row[2:5] for row in rows][-1] == ["API Token - tests (Token)", "Offboard", "Personnel Event #1"]
    responded = next(row for row in rows if row[3] == "Respond")
    assert {"status", "startedOn", "approvedOn"} <= set(responded[5].split(", "))


async def test_bundle_has_nothing_about_other_people(story: Story) -> None:
    lines = [json.loads(line)["entry"] for line in story.members["audit.jsonl"].splitlines()]

    assert [run["application"] for run in story.read("imports.json")] == ["Payroll"]
    assert [file["fileGroup"] for file in story.read("imports.json")[0]["files"]] == [
        "Users",
        "Memberships",
        "Permissions",
    ]
    assert [request["number"] for request in story.read("requests.json")] == [1]
    assert [event["number"] for event in story.read("events.json")] == [1]
    assert {line["entity"]["kind"] for line in lines} == {"Identity", "Import", "Access Request", "Personnel Event"}
    assert not [
        name for name, content in story.members.items() if b"bob" in content or str(story.bob).encode() in content
    ]


async def test_links_lead_to_the_end_of_every_chain(story: Story) -> None:
    numbers = [int(line.split()[1]) for line in story.members["links.txt"].decode().splitlines()]
    heads = [head["number"] for head in story.read("heads.json")["heads"]]

    assert numbers == list(range(numbers[0], max(heads) + 1))


async def test_bundle_of_a_past_day_names_the_day(story: Story, db: Db) -> None:
    file = io.BytesIO()
    seal = await write_bundle(db, file, story.ada, datetime(2020, 1, 31, 23, 59, 59, tzinfo=UTC), NOW)

    with zipfile.ZipFile(file) as archive:
        page, manifest = archive.read("report.html").decode(), json.loads(archive.read("manifest.json"))
        assert archive.read("manifest.sha256").decode() == f"{seal}\n"
    assert "Made 2035-05-06 07:08:09 UTC by Rolecall, as of 2020-01-31 23:59:59 UTC." in page
    assert (manifest["identityId"], manifest["asOf"]) == (str(story.ada), "2020-01-31T23:59:59Z")
    assert manifest["createdDate"] == "2035-05-06T07:08:09Z"
