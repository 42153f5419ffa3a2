import json
from pathlib import Path

import pytest
import yaml

from tests.cli.commands import Caller

FILE = """\
settings:
  approvalLeadDays: 9
applications:
  - name: Treasury
    priority: High
    connector:
      name: Standard files
      files:
        - name: Users
          content: users
          columns: {Kennung: Username}
    guard:
      minCount: 5
"""
BROKEN = """\
settings:
  approvalLeadDays: 900
applications:
  - name: Broken
    priorty: High
    owner: nobody@example.com
    connector:
      name: Standard files
      files:
        - name: Users
          content: userz
accessModels:
  - name: Clerks
    access:
      - application: Nowhere
        groups: [a, a]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "rolecall.yaml").write_text(FILE)
    return tmp_path / "rolecall.yaml"


def test_plan_of_an_applied_file_has_no_changes(call: Caller, file: Path) -> None:
    planned = call("config", "plan", file)
    assert planned[0] == 2
    assert "+ applications Treasury\n" in planned[1]
    assert "    approvalLeadDays: 7 -> 9\n" in planned[1]
    assert "Treasury" not in call("config", "export")[1]

    assert call("config", "apply", file)[0] == 0
    assert call("config", "plan", file) == (0, "", "Nothing would change\n")
    assert call("config", "apply", file, "--json")[1] == '{\n  "changes": []\n}\n'

    code, exported, _ = call("config", "export")
    assert code == 0
    treasury = next(entry for entry in yaml.safe_load(exported)["applications"] if entry["name"] == "Treasury")
    assert treasury["connector"]["files"][0]["columns"] == {"Kennung": "Username"}
    assert treasury["guard"] == {"maxRemovedPercent": 20, "maxNewPercent": 50, "minCount": 5}
    assert call("config", "export", file)[1] == ""
    assert file.read_text() == exported
    assert call("config", "plan", file)[0] == 0


def test_every_error_is_reported_with_its_line_and_nothing_is_applied(call: Caller, file: Path) -> None:
    before = call("config", "export")[1]
    file.write_text(BROKEN)

    code, printed, said = call("config", "apply", file)

    assert (code, printed) == (5, "")
    told = [line.removeprefix(f"{file}:") for line in said.splitlines()]
    assert [line.split(": ")[:2] for line in told[:-1]] == [
        ["2", "settings.approvalLeadDays"],
        ["5", "applications.0.priorty"],
        ["6", "applications.0.owner"],
        ["11", "applications.0.connector.files.0.content"],
        ["15", "accessModels.0.access.0.application"],
        ["16", "accessModels.0.access.0.groups"],
    ]
    assert told[-1] == "Error: 6 mistakes; nothing was applied"
    assert call("config", "export")[1] == before


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("settings:\n  approvalLeadDays: 9\n  approvalLeadDays: 9\n", 3),
        ("applications: [\n", 2),
        ("settings:\n\tapprovalLeadDays: 9\n", 2),
        ("- a\n", 1),
    ],
    ids=["a key twice", "open end", "a tab", "no mapping"],
)
def test_invalid_yaml_is_reported_with_its_line(call: Caller, file: Path, text: str, line: int) -> None:
    file.write_text(text)

    code, _, said = call("config", "plan", file)

    assert code == 5
    assert said.startswith(f"{file}:{line}: ")


def test_published_schema_equals_the_output_of_config_schema(call: Caller) -> None:
    published = Path(__file__).parents[2] / "docs" / "configuration.schema.json"

    assert json.loads(call("config", "schema")[1]) == json.loads(published.read_text())
