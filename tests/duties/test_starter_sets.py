"""Test that the starter sets are configuration files that can be applied."""

from pathlib import Path

import httpx2
import pytest
import yaml

SETS = sorted((Path(__file__).parents[2] / "docs/duties").glob("*.yaml"))
FILES = {path.stem: yaml.safe_load(path.read_text()) for path in SETS}


def test_there_is_a_starter_set_for_each_area() -> None:
    names = ["core-banking-wires", "general-ledger", "it-administration", "payables", "payroll"]
    assert list(FILES) == names


@pytest.mark.parametrize("name", FILES)
async def test_starter_set_can_be_applied_and_exported_again(client: httpx2.AsyncClient, name: str) -> None:
    file = FILES[name]

    applied = await client.put("/api/configuration", json=file)
    again = await client.post("/api/configuration/plan", json=file)
    exported = (await client.get("/api/configuration")).json()

    assert applied.status_code == 200, applied.text
    assert len(applied.json()["changes"]) == len(file["duties"]) + len(file["dutyRules"])
    assert again.json() == {"changes": []}
    assert {duty["name"] for duty in exported["duties"]} == {duty["name"] for duty in file["duties"]}
    assert {rule["name"] for rule in exported["dutyRules"]} == {rule["name"] for rule in file["dutyRules"]}


@pytest.mark.parametrize("name", FILES)
def test_each_duty_of_a_starter_set_says_what_to_look_for(name: str) -> None:
    assert [duty["name"] for duty in FILES[name]["duties"] if "ook for" not in duty["description"]] == []
