"""Test the sample company: how it starts and stops, its records, and the calls that it prints."""

import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from rolecall.cli.verbs import NOUNS
from rolecall.demo.applications import APPLICATIONS, files_of, identities_file
from rolecall.demo.people import roster
from tests.cli.commands import Running, a_service, environment, eventually, free_port, rolecall

README = Path(__file__).parents[2] / "README.md"
STATUSES = {"Pending", "Open", "Resolved", "Completed", "Canceled", "Scheduled", "Snoozed"}
needs_curl = pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with a_service(tmp_path_factory.mktemp("demo") / "here", command="demo", seconds=400) as running:
        yield running


@pytest.fixture(scope="module")
def printed(demo: Running) -> str:
    return demo.log.read_text()


@pytest.fixture(scope="module")
def client(demo: Running, printed: str) -> Iterator[httpx2.Client]:
    token = re.search(r"Token +(rct_\w+)", printed)
    assert token
    with httpx2.Client(base_url=demo.url, headers={"Authorization": f"Bearer {token[1]}"}) as client:
        yield client


def all_of(client: httpx2.Client, path: str) -> list[dict[str, Any]]:
    first = client.get(path).json()
    pages = [client.get(path, params={"page": page}).json() for page in range(2, first["totalPages"] + 1)]
    return [item for page in (first, *pages) for item in page["items"]]


def test_approved_request_of_the_live_application_is_carried_out_and_verified(client: httpx2.Client) -> None:
    (chat,) = [each for each in all_of(client, "/api/applications") if each["name"] == "Team Chat"]
    (asked,) = all_of(client, f"/api/access-requests?applicationId={chat['id']}")
    path = f"/api/access-requests/{asked['id']}"
    rules = [
        rule for each in client.get(path).json()["requirements"] if each["type"] == "Approve" for rule in each["rules"]
    ]
    for rule in rules:
        reviewer = rule["responses"][0]["reviewer"]["id"]
        client.post(f"{path}/respond", json={"type": "Approve", "response": "Approved", "reviewerId": reviewer})

    eventually(lambda: client.get(path).json()["status"] == "Completed")

    actions = [each["action"] for each in client.get(path).json()["activity"]]
    assert actions[-5:] == ["Provisioning", "Carried Out", "Carried Out", "Resolved", "Verified"]
    assert len(rules) == 1


def test_sample_company_has_every_kind_of_record(client: httpx2.Client) -> None:
    people = all_of(client, "/api/identities")
    requests = all_of(client, "/api/access-requests")
    events = all_of(client, "/api/personnel-events")
    imports = all_of(client, "/api/application-imports")

    assert 190 <= len(people) <= 220
    assert sum(bool(person["supervisorName"]) for person in people) > 190
    assert len({person["department"] for person in people}) > 10
    assert {person["status"] for person in people} == {"Active", "Disabled", "Removed"}
    assert {request["status"] for request in requests} == STATUSES
    assert {request["action"] for request in requests} == {"Add", "Change", "Remove", "Suspend", "Restore"}
    assert {request["target"]["type"] for request in requests} == {"User", "Group"}
    assert {event["type"] for event in events} == {"Onboard", "Offboard", "Role Transition", "Absence"}
    assert {"Completed", "Scheduled", "Canceled"} <= {event["status"] for event in events}
    assert {run["status"] for run in imports} == {"Finished", "Failed", "Canceled", "Running"}
    assert len({run["application"]["id"] for run in imports}) == 7
    deliveries = all_of(client, "/api/webhook-deliveries")
    assert {one["status"] for one in deliveries} == {"Delivered", "Failed", "Pending", "Parked"}


def test_sample_catalogue_has_nested_described_and_renamed_entitlements(client: httpx2.Client) -> None:
    privileged = all_of(client, "/api/entitlements?isPrivileged=true")
    [release] = [item for item in privileged if item["displayName"] == "Release payments"]
    [auditors] = all_of(client, "/api/entitlements?search=Ledger%20Auditor")
    history = all_of(client, f"/api/entitlements/{release['id']}/history")
    [prepare] = all_of(client, "/api/entitlements?search=Prepare%20payment%20run")
    prepared = all_of(client, f"/api/entitlements/{prepare['id']}/history")

    assert len(privileged) >= 4
    assert all(item["owner"] and item["explanation"] for item in privileged)
    assert client.get(f"/api/entitlements/{auditors['id']}").json()["sameAs"]["name"] == "Audit Reader"
    assert ["Treasury Leads", "Payments Officer"] in [one["path"] for one in prepared]
    assert (
        len({one["since"]["number"] for one in history} | {(one["until"] or {}).get("number") for one in history}) > 4
    )
    assert any(one["why"]["accessRequests"] for one in history)


def test_sample_company_has_rules_and_conflicts_of_duties(client: httpx2.Client) -> None:
    conflicts = all_of(client, "/api/conflicts")
    [excepted] = [conflict for conflict in conflicts if conflict["status"] == "Excepted"]
    detail = client.get(f"/api/conflicts/{excepted['id']}").json()

    assert len(all_of(client, "/api/duty-rules")) == 2
    assert sorted(conflict["status"] for conflict in conflicts) == ["Excepted", "Open", "Open"]
    assert [each["group"] for each in detail["conflictingGroups"]] == ["Treasury Leads"]
    assert [len(one["approvals"]) for one in detail["exceptions"]] == [2]


@pytest.mark.parametrize(
    "query", ["match=Unmatched", "match=Disputed", "leaver=true&isActive=true", "dormantDays=90", "privileged=true"]
)
def test_sample_company_has_accounts_that_need_attention(client: httpx2.Client, query: str) -> None:
    assert client.get(f"/api/accounts?{query}").json()["totalCount"] > 0


def test_sample_request_has_activity_from_creation_to_completion(client: httpx2.Client) -> None:
    items = all_of(client, "/api/access-requests")
    done = [item for item in items if item["status"] == "Completed" and item["verifiedOn"] and item["approvedOn"]]

    detail = client.get(f"/api/access-requests/{done[0]['id']}").json()

    assert detail["target"]["privileges"]
    assert detail["requirements"]
    assert {"Created", "Approved"} <= {entry["action"] for entry in detail["activity"]}


def test_sample_company_has_a_completed_an_unfinished_and_an_overdue_review(client: httpx2.Client) -> None:
    now = datetime.now(UTC).isoformat()
    reviews = all_of(client, "/api/reviews")

    open_ones = [one for one in reviews if one["status"] == "Open"]
    assert [one["status"] for one in reviews if one not in open_ones] == ["Completed"]
    late, running = sorted(open_ones, key=lambda one: str(one["dueOn"]))
    assert late["dueOn"] < now < running["dueOn"]
    assert 0 < running["items"]["pending"] < sum(running["items"].values())


def test_sample_audit_names_authors_and_has_no_future_entries(client: httpx2.Client) -> None:
    entries = all_of(client, "/api/audit-events")

    callers = {entry["action"]: entry["caller"]["kind"] for entry in entries}
    assert callers["Respond"] == callers["Create access request"] == "Person"
    assert callers["Upload import"] == callers["Commit access model"] == "Token"
    assert callers["Accept callback"] == "Anyone"
    assert max(entry["createdDate"] for entry in entries) <= datetime.now(UTC).isoformat()


@needs_curl
def test_the_printed_calls_work_when_pasted(printed: str) -> None:
    calls = printed.partition("Try:")[2].replace("\\\n", " ").split("\n")
    calls = [call.strip() for call in calls if call.strip().startswith("curl")]

    answers = [paste(call) for call in calls]

    assert len(answers) == 3
    assert answers[0]["totalCount"] > 190
    assert answers[1]["items"]
    assert answers[2]["type"] == "Onboard"


@needs_curl
def test_calls_in_the_readme_work_when_pasted(demo: Running, client: httpx2.Client) -> None:
    calls = [line for line in README.read_text().splitlines() if line.startswith("curl")]
    token = client.headers["Authorization"].removeprefix("Bearer ")

    answers = [paste(f"TOKEN={token}; " + call.replace("http://127.0.0.1:8000", demo.url)) for call in calls]

    assert len(answers) == 3
    assert answers[0]["page"] == 2
    assert {item["status"] for item in answers[1]["items"]} == {"Open"}
    assert [stage["name"] for stage in answers[2]["stages"]] == ["Approval", "Provision", "Verification"]


def paste(call: str) -> Any:
    run = subprocess.run(["sh", "-c", call], capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


# Columns that no row of the sample company fills.
EMPTY = {"until", "type", "description", "schedule.cron", "last_run.status", "last_run.started_on"}


def test_sample_data_fills_every_column_of_command_line_lists(demo: Running, client: httpx2.Client) -> None:
    variables = {"ROLECALL_URL": demo.url, "ROLECALL_TOKEN": client.headers["Authorization"].split()[1]}
    for noun in ("conflict", "review", "rule", "duty", "request", "reports", "stand-in"):
        columns = NOUNS[noun].verbs["list"].columns
        _, *rows = (line.split("\t") for line in rolecall(noun, "list", **variables).stdout.splitlines())
        empty = {column for column, cells in zip(columns, zip(*rows, strict=True), strict=True) if not any(cells)}
        assert (noun, empty - EMPTY) == (noun, set())


def test_person_of_the_sample_company_can_sign_in_with_a_link(demo: Running, client: httpx2.Client) -> None:
    carla = next(person for person in all_of(client, "/api/identities") if person["status"] == "Active")

    made = rolecall("demo", "sign-in", carla["emailAddress"], "--data-dir", demo.data_dir)
    unknown = rolecall("demo", "sign-in", "nobody@halden.example", "--data-dir", demo.data_dir)

    assert made.returncode == 0, made.stderr
    with httpx2.Client(follow_redirects=True) as browser:
        assert f"Welcome, {carla['firstName']}" in browser.post(made.stdout.strip()).text
    assert unknown.returncode == 1
    assert "No active person signs in with nobody@halden.example" in unknown.stderr


def test_demo_with_a_kept_folder_starts_without_set_up(demo: Running, printed: str) -> None:
    assert demo.stop(signal.SIGINT) == 0

    with a_service(demo.data_dir, command="demo") as again:
        said = again.log.read_text()

    assert "Creating the sample company" in printed
    assert "Creating the sample company" not in said
    assert re.findall(r"Token +(rct_\w+)", said) == re.findall(r"Token +(rct_\w+)", printed)


def test_demo_stopped_during_set_up_leaves_nothing_behind(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as log:
        making = subprocess.Popen(
            [sys.executable, "-m", "rolecall", "demo", "--port", str(free_port())],
            env=environment(TMPDIR=str(tmp_path)),
            stdout=log,
            stderr=log,
        )
    eventually(lambda: "Creating the sample company" in (tmp_path / "log").read_text())

    making.send_signal(signal.SIGTERM)

    assert making.wait(30) == 128 + signal.SIGTERM
    assert [path.name for path in tmp_path.iterdir()] == ["log"]


def test_demo_refuses_the_folder_of_a_real_service(tmp_path: Path) -> None:
    (tmp_path / "postgres").mkdir()

    refused = rolecall("demo", "--data-dir", tmp_path)

    assert refused.returncode == 1
    assert "belongs to a real installation, not to a demo" in refused.stderr


def test_sample_people_and_files_are_deterministic() -> None:
    today = date(2026, 11, 1)

    assert roster(today) == roster(today)
    assert identities_file(roster(today)) == identities_file(roster(today))
    for application in APPLICATIONS:
        assert files_of(application, roster(today), today) == files_of(application, roster(today), today)


def test_sample_usernames_and_employee_ids_are_unique() -> None:
    people = roster(date(2026, 11, 1))

    assert len({person.username for person in people}) == len(people)
    assert len({person.employee_id for person in people}) == len(people)
