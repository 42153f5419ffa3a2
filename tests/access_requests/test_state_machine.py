"""Make random allowed and forbidden API calls, and compare the results with a small model of the table of moves.

Set `ROLECALL_MODEL_CALLS=20000` for a long run; the default is short.
"""

import asyncio
import os
from datetime import timedelta
from typing import Any

import httpx2
import psycopg
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from rolecall.access_requests import opening
from rolecall.access_requests.model import NewPrivilege
from rolecall.core import clock
from rolecall.core.caller import Scope
from rolecall.core.config import Config
from rolecall.core.db import Db, session_options
from rolecall.settings.policy import Level
from rolecall.tokens import actions as tokens
from tests.access_requests.walking import Cast, a_cast, detail_of, do, events_of
from tests.asgi import serving
from tests.builders import an_access_request, an_application, an_identity, facts
from tests.conftest import BASE_URL
from tests.figures import measured

SHORT_WALK = 300
CALLS = int(os.environ.get("ROLECALL_MODEL_CALLS", SHORT_WALK))
STEPS = 50
AT_ONCE = 5

# For each verb: the statuses that allow it, the next status, milestones, events and activity. None means that the value
# depends on the request.
TABLE: dict[str, tuple[set[str], str | None, set[str], list[str], str]] = {
    "resolve": ({"Open"}, None, {"resolvedOn"}, ["Resolved"], "Resolved"),
    "verify": ({"Resolved"}, "Completed", {"verifiedOn", "completedOn"}, ["Completed"], "Verified"),
    "reopen": ({"Resolved"}, "Open", set(), ["Reopened"], "Reopened"),
    "snooze": ({"Open"}, "Snoozed", set(), [], "Snoozed"),
    "resume": ({"Snoozed"}, "Open", set(), [], "Resumed"),
    "cancel": (
        {"Pending", "Scheduled", "Open", "Snoozed", "Resolved"}, "Canceled", {"canceledOn"}, ["Canceled"], "Canceled",
    ),
    "assign": ({"Pending", "Scheduled", "Open", "Snoozed", "Resolved"}, None, set(), ["Assigned"], "Assigned"),
}  # fmt: skip
AWAITED = {"Approve": "Pending", "Resolve": "Open", "Verify": "Resolved"}


class Modelled:
    """The expected state of a request."""

    def __init__(self, asked: dict[str, list[str]], *, waits: bool) -> None:
        self.status, self.waits = "Pending", waits
        self.asked = {type: dict.fromkeys(names, "Pending") for type, names in asked.items()}
        self.milestones: set[str] = set()
        self.events, self.activity = ["Created"], ["Created"]
        if not self.asked["Approve"]:
            self.approve()

    def move(self, to: str, milestones: set[str], events: list[str], entry: str) -> None:
        self.status = to
        self.milestones |= milestones
        self.events += events
        self.activity.append(entry)

    def approve(self) -> None:
        self.move("Scheduled", {"approvedOn"}, ["Approved"], "Approved")
        if not self.waits:
            self.start()

    def start(self) -> None:
        self.move("Open", {"startedOn"}, ["Provisioning"], "Provisioning")

    def perform(self, verb: str) -> int:
        allowed, to, milestones, events, entry = TABLE[verb]
        if self.status not in allowed:
            return 409
        match verb:
            case "resolve" if not self.asked["Verify"]:
                self.move("Completed", {*milestones, "completedOn"}, [*events, "Completed"], entry)
            case "resolve":
                self.move("Resolved", milestones, events, entry)
            case "reopen":
                self.milestones.discard("resolvedOn")
                self.move("Open", milestones, events, entry)
                for type in ("Resolve", "Verify"):
                    self.asked[type] = dict.fromkeys(self.asked[type], "Pending")
            case _:
                self.move(to or self.status, milestones, events, entry)
        return 200

    def respond(self, type: str, response: str, reviewer: str) -> int:
        if (type, response) == ("Resolve", "Rejected") or reviewer not in self.asked[type]:
            return 400
        if self.status != AWAITED[type] or self.asked[type][reviewer] != "Pending":
            return 409
        self.asked[type][reviewer] = response
        if (type, response) == ("Approve", "Rejected"):
            self.move("Canceled", {"canceledOn"}, ["Canceled"], "Rejected")
        elif (type, response) == ("Verify", "Rejected"):
            self.perform("reopen")
        elif set(self.asked[type].values()) != {"Approved"}:
            self.activity.append("Response")
        elif type == "Approve":
            self.approve()
        else:
            self.perform(type.lower())
        return 200

    def time_comes(self) -> None:
        if self.status == "Scheduled":
            self.start()
        elif self.status == "Snoozed":
            self.move("Open", set(), [], "Resumed")
        self.waits = False


class World:
    def __init__(self, runner: asyncio.Runner, client: httpx2.AsyncClient, db: Db, cast: Cast, olga: str) -> None:
        self.runner, self.client, self.db, self.cast, self.olga = runner, client, db, cast, olga
        self.applications: dict[str, Any] = {}
        self.calls = 0


class Requests(RuleBasedStateMachine):
    world: World

    def __init__(self) -> None:
        super().__init__()
        self.models: dict[str, Modelled] = {}
        self.touched: set[str] = set()
        clock.travel_home()

    def run(self, coroutine: Any) -> Any:
        self.world.calls += 1
        return self.world.runner.run(coroutine)

    def chosen(self, choice: Any) -> str:
        id: str = choice.choice(list(self.models))
        self.touched.add(id)
        return id

    @precondition(lambda self: len(self.models) < AT_ONCE)
    @rule(action=st.sampled_from(["Add", "Remove"]), risky=st.booleans(), high=st.booleans(), waits=st.booleans())
    def create(self, action: str, risky: bool, high: bool, waits: bool) -> None:
        world = self.world
        supervisor, owner = world.cast.grace, world.olga
        approvers = [] if action == "Remove" else [supervisor, owner] if risky else [supervisor]
        id = self.run(
            an_access_request(
                world.db,
                action,
                identity_id=world.cast.ada_id,
                application_id=world.applications["High" if high else "Low"],
                privileges=[NewPrivilege(header="H", permission="P", risk_rating=Level.HIGH if risky else Level.LOW)],
                scheduled_start=clock.now() + timedelta(days=1) if waits else None,
            )
        )
        asked = {"Approve": approvers, "Resolve": [world.cast.peter], "Verify": [owner] if high else []}
        self.models[str(id)] = Modelled(asked, waits=waits)
        self.touched.add(str(id))

    @precondition(lambda self: self.models)
    @rule(choice=st.randoms(use_true_random=False), verb=st.sampled_from(list(TABLE)))
    def verb(self, choice: Any, verb: str) -> None:
        id = self.chosen(choice)
        until = (clock.now() + timedelta(hours=6)).isoformat()
        body = {"snooze": {"until": until}, "assign": {"assigneeId": self.world.cast.peter}}.get(verb, {})
        answer = self.run(do(self.world.client, id, verb, **body))
        assert answer.status_code == self.models[id].perform(verb), answer.text

    @precondition(lambda self: self.models)
    @rule(
        choice=st.randoms(use_true_random=False),
        type=st.sampled_from(list(AWAITED)),
        response=st.sampled_from(["Approved", "Approved", "Rejected"]),
        who=st.sampled_from(["grace", "olga", "peter"]),
    )
    def respond(self, choice: Any, type: str, response: str, who: str) -> None:
        id = self.chosen(choice)
        reviewer = self.world.olga if who == "olga" else getattr(self.world.cast, who)
        answer = self.run(do(self.world.client, id, "respond", type=type, response=response, reviewerId=reviewer))
        assert answer.status_code == self.models[id].respond(type, response, reviewer), answer.text

    @rule()
    def time_comes(self) -> None:
        clock.travel_to(clock.now() + timedelta(days=2))
        self.run(opening.move_due(self.world.db, clock.now()))
        for id, model in self.models.items():
            model.time_comes()
            self.touched.add(id)

    @invariant()
    def what_was_touched_is_as_the_model_says(self) -> None:
        for id in self.touched:
            self.compare(id, self.models[id])
        self.touched.clear()

    def teardown(self) -> None:
        for id, model in self.models.items():
            self.compare(id, model)

    def compare(self, id: str, model: Modelled) -> None:
        detail = self.world.runner.run(detail_of(self.world.client, id))
        names = ["startedOn", "approvedOn", "resolvedOn", "verifiedOn", "completedOn", "canceledOn"]
        assert detail["status"] == model.status
        assert {name for name in names if detail[name]} == model.milestones
        assert [entry["action"] for entry in detail["activity"]] == model.activity
        events = self.world.runner.run(events_of(self.world.db, id))
        assert [event["name"].removeprefix("AccessRequest") for event in events] == model.events
        approved = detail["target"]["privileges"][0]["approvedAccess"]
        assert approved == ("Grant" if "approvedOn" in model.milestones else "None")


async def a_world(config: Config, runner: asyncio.Runner, client: httpx2.AsyncClient) -> World:
    assert config.database_url
    db: Db = await psycopg.AsyncConnection.connect(
        config.database_url, autocommit=True, options=session_options(BASE_URL)
    )
    raw = {"name": "tests", "scopes": list(Scope), "expiresInDays": None}
    token = await tokens.create_token(db, None, raw, facts())
    client.headers["Authorization"] = f"Bearer {token.secret}"
    cast, olga = await a_cast(db), str(await an_identity(db, "Olga", "Owner"))
    world = World(runner, client, db, cast, olga)
    for priority in ("High", "Low"):
        world.applications[priority] = await an_application(
            db, priority, priority=priority, ownerId=olga, provisionerIds=[cast.peter]
        )
    return world


@pytest.mark.timeout(900 + CALLS // 10)
def test_random_calls_agree_with_the_model(config: Config) -> None:
    with asyncio.Runner() as runner:
        service = serving(config)
        world = runner.run(a_world(config, runner, runner.run(service.__aenter__())))
        walk = settings(
            max_examples=-(-CALLS // STEPS),
            stateful_step_count=STEPS,
            database=None,
            # Shrinking would take longer than the test timeout, and fifty steps are readable without it.
            phases=[Phase.generate],
            derandomize=CALLS == SHORT_WALK,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        )
        try:
            while world.calls < CALLS:
                run_state_machine_as_test(type("Requests", (Requests,), {"world": world}), settings=walk)
        finally:
            runner.run(world.db.close())
            runner.run(service.__aexit__(None, None, None))
        measured(f"{world.calls:,} calls, all as the model says")
