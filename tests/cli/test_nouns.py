"""Run client commands against a running service."""

import json
import re
import shlex
from inspect import cleandoc
from pathlib import Path

import click
import httpx2
import pytest

from rolecall.cli import nouns
from rolecall.cli import rolecall as root
from rolecall.cli.output import Form
from rolecall.cli.verbs import NOUNS
from rolecall.client import Client
from rolecall.client.answers import Json, Page
from rolecall.client.calls import Call
from tests.builders import CONNECTOR
from tests.cli.commands import Caller, Running, free_port, rolecall

CONTEXT = click.Context(root)


def group_of(noun: str) -> click.Group:
    group = root.get_command(CONTEXT, noun)
    assert isinstance(group, click.Group)
    return group


VERBS = [(noun, verb) for noun in NOUNS for verb in group_of(noun).list_commands(CONTEXT)]
UNKNOWN = "0192e4a0-7c1e-7000-8000-000000000001"
TABLES = ["app list", "app accounts Payroll", "import list", "identity list", "event list", "request list"]
TABLES += ["request stalled", "request leftovers", "hook list", "delivery list", "model list"]


@pytest.fixture(scope="module")
def payroll(call: Caller) -> str:
    code, _, said = call("app", "create", "Payroll", "--connector", json.dumps(CONNECTOR), "--priority", "high")
    assert code == 0, said
    return "Payroll"


@pytest.mark.parametrize(("noun", "verb"), VERBS, ids=lambda word: word)
def test_help_example_of_every_verb_is_valid(noun: str, verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip # noqa: E501
    monkeypatch.chdir(tmp_path)
    for name in (
        "connector.json",
        "conditions.json",
        "access.json",
        "patterns.json",
        "scope.json",
        "contents.json",
        "review.json",
        "users.csv",
        "groups.csv",
    ):
        (tmp_path / name).write_text("[]")
    command = group_of(noun).get_command(CONTEXT, verb)
    assert command
    assert command.help
    help, _, example = cleandoc(command.help).partition("\n\nExample: ")

    program, *path, _ = typed = [*shlex.split(example.strip("`")), ""]

    assert help.endswith(".")
    assert (program, path[:2]) == ("rolecall", [noun, verb])
    command.make_context(verb, typed[3:-1])


def test_dry_run_shows_what_an_import_would_do(call: Caller, payroll: str, tmp_path: Path) -> None:
    users = tmp_path / "tried.csv"
    users.write_text("Username,Active\neve,Yes\nmax,perhaps\n")

    code, shown, said = call("import", "dry-run", payroll, f"users={users}")

    assert code == 1
    assert "tried.csv\t2\t1\t0\t1" in shown
    assert "Active is perhaps" in shown
    assert "The import would fail: tried.csv, line 3" in said
    users.write_text("Username\neve\n")
    tried = json.loads(call("import", "dry-run", payroll, f"users={users}", "--json")[1])
    assert (tried["status"], tried["metrics"]["users"]["new"]) == ("Finished", 1)
    assert call("dry-run", "changes", tried["id"], "--json")[1].count('"eve"') == 1
    assert json.loads(call("dry-run", "show", tried["id"], "--json")[1]) == tried


def test_propose_prints_the_evidence_and_a_connector(call: Caller, tmp_path: Path) -> None:
    export, broken = tmp_path / "operators.csv", tmp_path / "report.pdf"
    export.write_text("Operators\n\nOpr ID,Opr Name,Sts,Roles\nada,Ada Byron,Active,a;b\nbob,Bob Kahn,Left,a\n")
    broken.write_bytes(b"%PDF-1.4")

    code, shown, _ = call("app", "propose", str(export))
    connector = call("app", "propose", str(export), "--field", "connector")[1]
    made = call("app", "create", "Operators", "--connector", connector)
    refused, said, _ = call("app", "propose", str(broken))

    assert code == 0
    assert "operators.csv: CSV, utf-8, header in line 3" in shown
    assert "The header is line 3; line 1 is a title: Operators" in shown
    assert "users (85% certain)" in shown
    assert "Opr ID\tUsername" in shown
    assert made[0] == 0, made
    assert refused == 1
    assert "report.pdf: the file is a PDF" in said


def test_connector_templates_are_listed_saved_and_deleted(call: Caller, payroll: str) -> None:
    saved = json.loads(call("app", "save-template", payroll, "Payroll files", "--json")[1])
    shown = call("app", "templates")[1]

    deleted = call("app", "delete-template", saved["id"])[0]

    assert "Payroll files" in shown
    assert "Slack" in shown
    assert deleted == 0
    assert "Payroll files" not in call("app", "templates")[1]


def test_upload_waits_for_the_import(call: Caller, payroll: str, tmp_path: Path) -> None:
    users = tmp_path / "users.csv"
    users.write_text("Username,Name\nada,Ada Byron\nbob,Bob\n")

    assert call.url
    assert call.token
    known = {"ROLECALL_URL": call.url, "ROLECALL_TOKEN": call.token}
    uploaded = rolecall("import", "upload", payroll, f"users={users}", "--wait", "--json", **known)

    run = json.loads(uploaded.stdout)
    assert (uploaded.returncode, run["status"], run["metrics"]["users"]["new"]) == (0, "Finished", 2)
    assert "is staged" in uploaded.stderr
    _, log, _ = call("import", "log", "-f", run["id"])
    assert log.strip() == run["log"].strip()
    assert call("import", "file", run["id"], "users.csv")[1] == users.read_text()
    assert json.loads(call("import", "changes", run["id"], "--change", "new", "--json")[1])[0]["name"] == "ada"

    users.write_text("Nothing\nthat fits\n")
    code, printed, said = call("import", "upload", payroll, f"Users={users}", "--wait")
    assert code == 1
    assert "status\tFailed" in printed
    assert "Username" in said


def test_record_can_be_given_by_id_or_name(call: Caller, payroll: str) -> None:
    shown = json.loads(call("app", "show", "payroll", "--json")[1])

    code, printed, _ = call("app", "show", shown["id"])

    assert code == 0
    assert f"id\t{shown['id']}\nkind\tApplication\nname\tPayroll\npriority\tHigh\n" in printed
    assert "connector.files.0.name\tUsers\n" in printed


def test_field_option_prints_one_value(call: Caller, payroll: str) -> None:
    id = call("app", "show", payroll, "--field", "id")[1].strip()

    assert id in call("app", "list", "--field", "id")[1].splitlines()
    assert call("app", "show", id, "--field", "connector.files.0.name")[1] == "Users\n"
    assert call("app", "show", id, "--field", "connector.flies")[0] == 2


@pytest.mark.parametrize(
    ("path", "advice"),
    [("connector.files.9", "use a number from 0 to"), ("name.first", "leave out this part of the path")],
)
def test_field_path_that_leads_nowhere_is_refused_with_advice(
    call: Caller, payroll: str, path: str, advice: str
) -> None:
    code, _, said = call("app", "show", payroll, "--field", path)

    assert code == 2
    # The message is printed in a box, which breaks it into lines.
    assert advice in " ".join(said.replace("│", " ").split())


@pytest.mark.parametrize("words", TABLES)
def test_list_is_printed_as_table_or_json(call: Caller, payroll: str, words: str) -> None:
    code, printed, said = call(*words.split())
    _, as_json, _ = call(*words.split(), "--json")

    assert code == 0, said
    assert len(printed.splitlines()) == len(json.loads(as_json)) + 1


def test_list_can_be_exported_to_a_file(call: Caller, payroll: str, tmp_path: Path) -> None:
    file = tmp_path / "accounts.csv"

    assert call("app", "accounts", payroll, "--format", "csv", "--output", str(file))[0] == 0
    code, printed, _ = call("app", "list", "--format", "jsonl")

    assert file.read_text().startswith("id,username,")
    assert code == 0
    assert "Payroll" in [json.loads(line)["name"] for line in printed.splitlines()]


def test_a_refused_export_leaves_no_file(call: Caller, tmp_path: Path) -> None:
    file = tmp_path / "people.csv"

    code, _, said = call("identity", "list", "--format", "csv", "--output", str(file), ROLECALL_TOKEN="rct_wrong")

    assert code == 4, said
    assert not file.exists()


def test_truncated_list_shows_its_total(call: Caller) -> None:
    for name in ("Ada", "Bob", "Cid"):
        onboard = ("--first-name", name, "--last-name", "Byron", "--effective-date", "2035-01-01")
        assert call("event", "onboard", *onboard, "--department", "Finance", "--json")[0] == 0

    _, printed, said = call("event", "list", "--limit", 2)

    total = len(call("event", "list", "--limit", 2, "--all")[1].splitlines()) - 1
    assert len(printed.splitlines()) == 3
    assert total >= 3
    assert said == f"2 of {total}; --all shows the rest\n"


def test_list_command_reads_only_the_pages_that_it_shows() -> None:
    read: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        read.append(request.url.params.get("page", "1"))
        paging = {"totalCount": 4, "page": int(read[-1]), "pageSize": 1, "totalPages": 4}
        return httpx2.Response(200, json={**paging, "items": [{"name": f"Number {read[-1]}"}]})

    with Client("http://rolecall.test", "t") as client:
        client._http = httpx2.Client(transport=httpx2.MockTransport(answer), base_url="http://rolecall.test")
        call = Call(method="GET", path="/api/things", answer=Page[Json])
        nouns._show_list(client, call, ["name"], Form(as_json=True), 2)

    assert read == ["1", "1", "2"]


def test_errors_have_exit_codes_and_messages(call: Caller, payroll: str) -> None:
    missing = call("identity", "show", UNKNOWN)
    unnamed = call("app", "show", "Nowhere")
    forbidden = call("identity", "list", ROLECALL_TOKEN="rct_wrong")
    invalid = call("event", "onboard", "--first-name", "Ada", "--effective-date", "soon")
    usage = call("event", "onboard")
    no_json = call("app", "change", "Payroll", "--guard", "{")

    assert (missing[0], unnamed[0], forbidden[0], invalid[0], usage[0], no_json[0]) == (3, 3, 4, 5, 2, 2)
    assert missing[2].startswith(f"Error: Identity with id {UNKNOWN} not found\n  correlation id ")
    assert unnamed[2] == "Error: No records are named Nowhere; check the name, or use the id\n"
    assert "  identity.lastName: Last name is required\n" in invalid[2]
    assert "  effectiveDate: Effective date must be an ISO 8601 date or date-time\n" in invalid[2]
    assert missing[1] + invalid[1] == ""


def test_profile_provides_url_and_token(called_service: Running, call: Caller, tmp_path: Path) -> None:
    (tmp_path / "rolecall").mkdir()
    (tmp_path / "token").write_text(f"{call.token}\n")
    (tmp_path / "rolecall" / "config.toml").write_text(f"""
        default = "here"
        [profiles.here]
        url = "{called_service.url}"
        token_file = "{tmp_path}/token"
        [profiles.asked]
        url = "{called_service.url}"
        token_command = "cat {tmp_path}/token"
        [profiles.nowhere]
        url = "http://127.0.0.1:{free_port()}"
        token = "rct_wrong"
    """)
    bare = Caller(None, None)
    home = {"XDG_CONFIG_HOME": str(tmp_path)}

    assert bare("app", "list", **home)[0] == 0
    assert bare("app", "list", "--profile", "asked", **home)[0] == 0
    assert bare("app", "list", ROLECALL_PROFILE="nowhere", ROLECALL_URL=called_service.url, **home)[0] == 4
    unknown, _, said = bare("app", "list", "--profile", "other", **home)
    assert unknown == 2
    assert "hasnoprofileother;ithashere,asked,nowhere" in re.sub(r"[\s│]", "", said)
    assert "nowhere\thttp://127.0.0.1" in bare("profiles", **home)[1]
    assert bare("app", "list", XDG_CONFIG_HOME="/nowhere")[0] == 2


def test_shell_completion_offers_commands_and_values() -> None:
    words = {"COMP_WORDS": "rolecall request list --status Pen", "COMP_CWORD": "4"}

    completed = rolecall(**words, _ROLECALL_COMPLETE="bash_complete")
    script = rolecall("completion", "bash")

    assert completed.stdout == "plain,Pending\n"
    assert "_ROLECALL_COMPLETE" in script.stdout


def test_control_characters_in_records_are_escaped(call: Caller) -> None:
    name = "Evil \u202egnp"
    onboard = ("--first-name", name, "--last-name", "Byron", "--effective-date", "2035-01-01")

    _, printed, _ = call("event", "onboard", *onboard)

    assert "\u202e" not in printed
    assert "affectedIdentity.firstName\tEvil \\u202egnp\n" in printed


def test_a_report_is_created_run_and_deleted(call: Caller, payroll: str, tmp_path: Path) -> None:
    words = ("Everybody", "applications", "--column", "name", "--format", "xlsx", "--field", "format")
    assert call("reports", "create", *words)[1] == "xlsx\n"

    code, _, _ = call("reports", "run", "everybody", "--format", "jsonl", "--output", str(tmp_path / "people.jsonl"))

    assert code == 0
    assert (tmp_path / "people.jsonl").read_text().startswith('{"name":"')
    assert "Finished" in call("reports", "runs", "Everybody")[1]
    assert call("reports", "run", "Everybody", "--filter", "odd")[0] == 2
    assert call("reports", "run", "Everybody", "--filter", "colour=red")[0] == 5
    assert call("reports", "delete", "Everybody")[0] == 0
    assert call("reports", "show", "Everybody")[0] == 3


def test_bounce_reports_mail_that_is_not_a_delivery_report(call: Caller, tmp_path: Path) -> None:
    (tmp_path / "away.eml").write_bytes(b"Subject: Away\r\n\r\nBack on Monday, \xfcbrigens.\x00")

    code, printed, _ = call("notify", "bounce", tmp_path / "away.eml", "--json")
    missing = call("notify", "bounce", tmp_path / "missing.eml")

    said = "The mail contains no delivery report that can be read"
    assert (code, json.loads(printed)) == (0, {"messageId": None, "said": said})
    assert missing[0] == 2


def test_bounce_exits_75_if_the_service_refuses_so_that_the_mail_server_retries(call: Caller, tmp_path: Path) -> None:
    (tmp_path / "long.eml").write_text("Subject: Away\n\n" + "x" * 600_000)
    (tmp_path / "empty.eml").write_text("")

    read = [call("notify", "bounce", tmp_path / name)[0] for name in ("long.eml", "empty.eml")]
    wrong = [Caller(call.url, "rct_wrong"), Caller(call.url, ""), Caller(f"http://127.0.0.1:{free_port()}", call.token)]
    kept = [caller("notify", "bounce", tmp_path / "long.eml")[0] for caller in wrong]

    assert (read, kept) == ([0, 0], [75, 75, 75])
