"""Test that Python and SQL are consistent: shared constants are written once, and statements name their triggers."""

import ast
import re
import runpy
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from rolecall import worker
from rolecall.application_imports.actions import CHANNEL as IMPORTS
from rolecall.application_imports.dry_runs.model import CHANNEL as DRY_RUNS
from rolecall.application_imports.run.finish import FINISHED_CHANNEL
from rolecall.carriers.model import CHANNEL as CARRIERS
from rolecall.console.sign_in_mail import CHANNEL as SIGN_IN_MAILS
from rolecall.core import schema
from rolecall.core.db import Db, fetch_rows
from rolecall.personnel_events.model import CHANNEL as PERSONNEL_EVENTS
from rolecall.reports.model import CHANNEL as REPORTS
from rolecall.reviews.model import CHANNEL as REVIEWS
from rolecall.webhooks.actions import CHANNEL as DELIVERIES

ROOT = Path(__file__).parents[1]
SOURCES = {path.relative_to(ROOT): path.read_text() for path in (ROOT / "rolecall").rglob("*.py")}
# Generic triggers of lists and audit; core/paging.py and core/authors.py refer to them.
GENERAL = re.compile(r"keep_list_on_|note_(insert|update|delete)$|chain_changes$")
# Functions whose writes never meet the condition of the table's triggers.
QUIET = (
    "add_reviewers", "ask_import_to_verify", "_ask", "_ask_others_to_verify", "reopen", "_withdraw",
    "change_hook", "change_template", "continue_import", "create_application", "create_duty", "create_hook",
    "create_template", "delete_duty", "delete_hook", "delete_template", "discard_rule_draft", "drop_changes",
    "mark_working", "roll_back", "rotate_secret", "set_return_date", "_move",
    "_record", "_set_excepted", "_start", "_without_invalid_approvals",
)  # fmt: skip


def test_sql_constants_equal_python_constants() -> None:
    """If this fails after a change to a constant, run `make schema`."""
    generated = runpy.run_path(str(ROOT / ".ci/schema.py"))

    assert generated["CONSTANTS"].read_text() == generated["constants"]()


class Trigger(NamedTuple):
    table: str
    name: str
    # The bits of pg_trigger.tgtype.
    type: int
    is_conditional: bool
    # The columns after UPDATE OF; empty if the trigger lists none.
    columns: list[str]

    def fires_on(self, write: "Write") -> bool:
        of_columns = not self.columns or any(re.search(rf"\b{each}\s*=|{{", write.assigned) for each in self.columns)
        return self.table == write.table and bool(self.type & write.event) and (write.event != UPDATE or of_columns)


class Write(NamedTuple):
    event: int
    table: str
    # The assignments of an UPDATE.
    assigned: str


INSERT, DELETE, UPDATE = 4, 8, 16
EVENTS = {"INSERT INTO": INSERT, "DELETE FROM": DELETE, "UPDATE": UPDATE}


async def triggers(db: Db) -> list[Trigger]:
    rows = await fetch_rows(
        db,
        """SELECT tgrelid::regclass::text, tgname::text, tgtype::int, tgqual IS NOT NULL,
                  ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = tgrelid AND attnum = ANY(tgattr))
           FROM pg_trigger WHERE NOT tgisinternal""",
    )
    return [Trigger(*row) for row in rows if not GENERAL.match(row[1])]


def writes_of(block: str, tables: Collection[str]) -> list[Write]:
    """Return the statements of a block that write to these tables."""
    table = f"({'|'.join(tables)})"
    updates = re.compile(rf"UPDATE {table}\b(?:\s+(?!SET\b)\w+)?\s+SET\s+(.*?)(?:WHERE|FROM|\"|$)", re.DOTALL)
    others = re.findall(rf"(INSERT INTO|DELETE FROM) {table}\b", block)
    calls = re.findall(rf"""(?:insert_rows\(db, "|copy_in\(db, f?"){table}\b""", block)
    return [
        *(Write(UPDATE, table, assigned) for table, assigned in updates.findall(block)),
        *(Write(EVENTS[verb], table, "") for verb, table in others),
        *(Write(INSERT, table, "") for table in calls),
    ]


async def test_statements_that_fire_triggers_name_them_all(db: Db) -> None:
    known = await triggers(db)
    tables = {trigger.table for trigger in known}
    blocks = [(path, block) for path, text in SOURCES.items() for block in _blocks(text)]
    found = [(path, block, writes) for path, block in blocks if (writes := writes_of(block, tables))]
    faults = []
    for path, block, writes in found:
        fired = [trigger for trigger in known if any(trigger.fires_on(write) for write in writes)]
        named = {trigger.name for trigger in known if re.search(rf"\b{trigger.name}\b", block)}
        needed = {trigger.name for trigger in fired if not trigger.is_conditional}
        if re.search(rf"async def ({'|'.join(QUIET)})\(", block) or "lists them" in block:
            continue
        is_silent = fired and not re.search(r"[Ff]ires? .*schema/\w+\.sql", block)
        if is_silent or not needed <= named:
            faults.append((str(path), block.partition("def ")[2].partition("(")[0], sorted(needed - named)))

    assert tables == {
        "access_model_members", "access_request_events", "access_requests", "accounts", "application_imports",
        "applications", "assignments", "conflict_exceptions", "conflicts", "curations", "duties",
        "duty_groups", "duty_holders", "duty_rule_duties", "duty_rules", "exception_approvals", "identities",
        "import_runs", "notification_channels", "personnel_events", "review_events", "review_items", "review_moves",
        "responses", "review_submissions", "review_templates", "stand_ins",
        "unconfirmed_emails", "webhooks",
    }  # fmt: skip
    assert len(found) > 10
    assert faults == []


async def test_first_comment_of_identities_sql_lists_all_triggers_of_other_packages(db: Db) -> None:
    text = (schema.FOLDER / "identities.sql").read_text()
    head = text.partition("\n\n")[0]
    own = re.findall(r"CREATE OR REPLACE TRIGGER (\w+)", text)

    others = {each.name for each in await triggers(db) if each.table == "identities" and each.name not in own}
    missing = [name for name in others if not any(name.startswith(word) for word in re.findall(r"\w+", head))]

    assert missing == []


def test_references_to_schema_files_resolve() -> None:
    texts = [*SOURCES.values(), *(path.read_text() for path in schema.FOLDER.glob("*.sql"))]
    named = {name for text in texts for name in re.findall(r"schema/(\w+\.sql)", text)}
    files = {path.name for path in schema.FOLDER.glob("*.sql")}

    assert named - {"schema.sql"} <= files


def test_references_to_python_files_in_sql_resolve() -> None:
    texts = {path.name: path.read_text() for path in schema.FOLDER.glob("*.sql")}
    named = {(name, path) for name, text in texts.items() for path in re.findall(r"(?:\w+/)+\w+\.py", text)}

    assert [(name, path) for name, path in named if not (ROOT / "rolecall" / path).exists()] == []


def test_every_channel_that_the_worker_listens_to_has_a_notifier() -> None:
    listened = {loop.channel for loop in worker.LOOPS if loop.channel} | {DELIVERIES}
    code = "".join(SOURCES.values()) + "".join(path.read_text() for path in schema.FOLDER.glob("*.sql"))
    notifiers = {
        IMPORTS: "nudge(db, actions.CHANNEL)",
        FINISHED_CHANNEL: "nudge(db, FINISHED_CHANNEL)",
        PERSONNEL_EVENTS: "pg_notify(personnel_events_channel(), '')",
        DRY_RUNS: "nudge(db, CHANNEL)",
        REPORTS: "nudge(db, CHANNEL)",
        REVIEWS: "pg_notify(reviews_channel(), '')",
        CARRIERS: "pg_notify(carriers_channel(), '')",
        SIGN_IN_MAILS: "nudge(db, CHANNEL)",
        DELIVERIES: "pg_notify(deliveries_channel(), '')",
    }

    assert listened == notifiers.keys()
    assert all(notifier in code for notifier in notifiers.values())


def test_sql_takes_channel_names_from_functions() -> None:
    notified = {
        name
        for path in (ROOT / "rolecall/schema").glob("*.sql")
        for name in re.findall(r"pg_notify\(([^,]+),", path.read_text())
    }

    assert notified == {
        "personnel_events_channel()",
        "carriers_channel()",
        "deliveries_channel()",
        "notifications_channel()",
        "reviews_channel()",
    }


def _blocks(text: str) -> list[str]:
    """Split a module into its top-level statements, each with the comments before it."""
    lines, start, blocks = text.splitlines(), 0, []
    for node in ast.parse(text).body:
        assert node.end_lineno
        blocks.append("\n".join(lines[start : node.end_lineno]))
        start = node.end_lineno
    return blocks
