"""Kill the worker at every fault point of a carrier: no change is lost or repeated, and the directory is as approved.

`ROLECALL_CARRIER_KILLS=224` kills more often.
"""

import asyncio
import os
import re
import signal
from collections import Counter
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.carriers import carrying as code
from rolecall.core.config import Config
from rolecall.core.db import Db, execute, fetch_value
from tests.access_requests.walking import a_cast
from tests.builders import an_application
from tests.carriers.carrying import LDAP, NOWHERE, Carrying, entries
from tests.carriers.killing import carry_out_everything
from tests.carriers.test_ldap import account, members
from tests.figures import measured
from tests.sources.peers import Directory, a_directory, needs_ldap
from tests.sources.sourcing import allowing

KILLS = int(os.environ.get("ROLECALL_CARRIER_KILLS", "18"))
ACTS = ("begin", "begin-step", "end-step", "refuse-step", "finish", "leave", "postpone", "stage-verification")
# Not killed here: it sends nothing and writes in one transaction, so a kill leaves all or nothing of it.
UNSENT = "undo"
POINTS = [f"carrier-{act}.{side}-commit" for act in ACTS for side in ("before", "after")]
POINTS += ["carrier.before-send", "carrier.after-send"]


def test_list_of_fault_points_is_complete() -> None:
    text = Path(code.__file__).read_text()
    acts = {name.strip("_").replace("_", "-") for name in re.findall(r"(?:_write|_close)\(\s*pool,\s*([\w.]+)", text)}

    assert {act.rpartition(".")[2] for act in acts if act != "act"} == {*ACTS, UNSENT}
    assert set(re.findall(r'fault\("([a-z.-]+)"\)', text)) == set(POINTS[-2:])


class Directories:
    """Requests, and the content that the directory must have after they are carried out."""

    def __init__(self, carrying: Carrying, broken: Carrying) -> None:
        self.carrying, self.broken = carrying, broken
        self.active: dict[str, bool] = {}
        self.groups: dict[str, set[str]] = {}
        self.left: set[str] = set()
        self.done: list[str] = []

    async def ask(self, n: int) -> None:
        """Create requests: Add, Change, Suspend, Remove, Add of an unknown group, and Add in an unreachable system."""
        carrying = self.carrying
        name = f"new{n}"
        await self._ask(name, {"Staff", "Clerks"}, "Add", await carrying.person(name), gives=("Staff", "Clerks"))
        for verb, action in (("change", "Change"), ("suspend", "Suspend"), ("remove", "Remove")):
            name = f"{verb}{n}"
            person = await carrying.account(name, groups=("Staff",))
            if action == "Change":
                groups = {"gives": ("Clerks",), "takes": ("Staff",)}
                await self._ask(name, {"Clerks"}, action, person, target_name=name, **groups)
            else:
                left = {"Staff"} if action == "Suspend" else set()
                await self._ask(name, left, action, person, target_name=name, privileges=[])
                self.active[name] = False
        unknown = await carrying.request("Add", await carrying.person(f"lost{n}"), gives=("Nowhere",))
        self.left.add(unknown)
        self.left.add(await self.broken.request("Add", await carrying.person(f"dark{n}"), gives=("Staff",)))

    async def _ask(self, name: str, groups: set[str], action: str, person: UUID, **asked: Any) -> None:
        self.done.append(await self.carrying.request(action, person, **asked))
        self.active[name], self.groups[name] = True, groups

    async def check(self, directory: Directory) -> str:
        held = {group: members(directory, group) for group in ("Staff", "Clerks")}
        for name, is_active in self.active.items():
            entry = account(directory, name)
            assert entry is not None, f"{name} is lost"
            assert entry["employeeType"] == (["Yes"] if is_active else ["No"]), name
            assert {group for group in held if name in held[group]} == self.groups[name], name
        await self._check_requests()
        changes = Counter(self._changed(each) for each in directory.changes())
        assert [each for each, count in changes.items() if count > 1] == [], "a change was made twice"
        return f"{len(self.done) + len(self.left)} requests, {len(changes)} changes, none twice"

    def _changed(self, record: str) -> str:
        """Return a change record without its time and version."""
        lines = [line for line in record.splitlines() if not re.match(r"#|entryCSN|modif|create|entryUUID|-", line)]
        return "\n".join(line for line in lines if not re.match(r"replace: (entryCSN|modif)", line))

    async def _check_requests(self) -> None:
        for id in self.done:
            detail = await self.carrying.detail(id)
            assert detail["status"] == "Completed", detail["activity"]
            actions = [each["action"] for each in detail["activity"] if each["author"] == "Carrier"]
            steps = await fetch_value(
                self.carrying.db, "SELECT count(*) FROM carrier_steps WHERE request_id = %(id)s", id=id
            )
            assert actions == ["Carried Out"] * steps + ["Resolved"]
        for id in self.left:
            said = [action for action, _ in await self.carrying.said(id)]
            assert (said.count("Left To Person"), (await self.carrying.detail(id))["status"]) == (1, "Open")


@pytest.mark.timeout(300 + KILLS * 20)
async def test_kills_neither_lose_nor_repeat_a_change(
    client: httpx2.AsyncClient, db: Db, config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_ldap()
    config, faults = allowing(config), tmp_path / "faults"
    faults.mkdir()
    monkeypatch.setenv("ROLECALL_FAULTS", str(faults))
    cast = await a_cast(db)
    carrying, broken = [
        Carrying(client, db, config, await an_application(db, name, provisionerIds=[cast.peter]), cast)
        for name in ("Ledger", "Dark")
    ]
    people = [f"{verb}{n}" for verb in ("change", "suspend", "remove") for n in range(KILLS)]
    folder = tmp_path / "slapd"
    folder.mkdir()
    with a_directory(folder, entries(*people)) as directory:
        limits = {"stepsPerMinute": 10_000, "removalsPerHour": 100_000}
        await carrying.put(directory.url, LDAP, **limits)
        await broken.put(NOWHERE, LDAP, **limits)
        work = Directories(carrying, broken)
        killed = await kill_at_each_point(config, db, work, faults)
        while await fetch_value(db, "SELECT EXISTS (SELECT FROM carried_requests WHERE state = 'Waiting')"):
            await make_due(db)
            assert await asyncio.to_thread(carry_out_everything, config) == 0
        figures = await work.check(directory)
    assert set(killed) == set(POINTS[:KILLS])
    measured(f"{killed.total()} kills at {len(killed)} points; {figures}")
    assert killed.total() == KILLS


async def kill_at_each_point(config: Config, db: Db, work: Directories, faults: Path) -> Counter[str]:
    """Arm the fault points in turn, create more requests when a worker has nothing left to do, and count the kills."""
    killed, asked = Counter[str](), 0
    while killed.total() < KILLS:
        point = POINTS[killed.total() % len(POINTS)]
        (faults / point).touch()
        await make_due(db)
        if await asyncio.to_thread(carry_out_everything, config) == -signal.SIGKILL:
            killed[point] += 1
        else:
            assert asked < KILLS, f"no worker reached {point}"
            await work.ask(asked)
            asked += 1
    return killed


async def make_due(db: Db) -> None:
    """Make all waiting requests due now."""
    await execute(db, "UPDATE carried_requests SET next_on = 'epoch' WHERE state = 'Waiting'")
