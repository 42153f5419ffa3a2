"""Test that Python and SQL are consistent: shared constants are written once, and statements name their triggers."""

import ast
import re
import runpy
from pathlib import Path

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
GENERAL = re.compile(r"keep_list_on_|note_(insert|update|delete)$|chain_changes$|keep_checkpoint$")
# Functions whose writes never meet the condition of the table's triggers.
QUIET = (
    "add_reviewers", "ask_import_to_verify", "_ask", "_ask_others_to_verify", "reopen", "_withdraw",
    "change_hook", "change_template", "continue_import", "create_application", "create_duty", "create_hook",
    "create_template", "delete_duty", "delete_hook", "delete_template", "discard_rule_draft", "drop_changes",
    "mark_working", "roll_back", "rotate_secret", "set_return_date", "_move",
    "_record", "_set_excepted", "_start", "_without_invalid_approvals",
)  # fmt: skip


def test_sql_constants_equal_python_constants() -> None:
    """If this fails after a change of a constant, run `make schema`."""
    generated = runpy.run_path(str(ROOT / ".ci/schema.py"))

    assert generated["CONSTANTS"].read_text() == generated["constants"]()


async def test_statements_that_fire_a_trigger_name_its_file(db: Db) -> None:
    rows = await fetch_rows(
        db, "SELECT DISTINCT tgrelid::regclass::text, tgname::text FROM pg_trigger WHERE NOT tgisinternal"
    )
    tables = {table for table, trigger in rows if not GENERAL.match(trigger)}
    table = f"(?:{'|'.join(tables)})"
    writes = re.compile(
        rf"""(?:INSERT INTO|UPDATE|DELETE FROM) {table}\b|insert_rows\(db, "{table}"|copy_in\(db, f?"{table} """
    )

    found = {(path, block) for path, text in SOURCES.items() for block in _blocks(text) if writes.search(block)}

    assert tables == {
        "access_model_members", "access_request_events", "access_requests", "accounts", "application_imports",
        "applications", "assignments", "conflict_exceptions", "conflicts", "curations", "duties",
        "duty_groups", "duty_holders", "duty_rule_duties", "duty_rules", "exception_approvals", "identities",
        "import_runs", "notification_channels", "personnel_events", "review_events", "review_items", "review_moves",
        "responses", "review_submissions", "review_templates", "stand_ins", "webhooks",
    }  # fmt: skip
    assert len(found) > 10
    silent = {block for _, block in found if not re.search(r"[Ff]ires? .*schema/\w+\.sql", block)}
    assert [block for block in silent if not re.search(rf"async def ({'|'.join(QUIET)})\(", block)] == []


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
