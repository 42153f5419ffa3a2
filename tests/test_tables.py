"""Test that the SQL of a package names only its own tables and tables of packages below it in the import order."""

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from rolecall.core import schema

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "rolecall"
OWNERS = {
    "core": "heartbeats list_changes list_contents lists migrations schema_files stored_pages",
    "web": "idempotency_keys request_times",
    "exports": "exports",
    "entitlements": "curations entitlements holder_counts",
    "audit": "audit_checkpoints audit_events audit_heads",
    "settings": "settings",
    "tokens": "tokens",
    "identities": "console_roles identities past_departures unconfirmed_emails",
    "applications": "application_imports applications connectors file_groups schedules",
    "accounts": "account_versions accounts assignments group_versions groups"
    " identities_to_match matchings memberships past_matches permission_holders permission_values permission_versions"
    " permissions",
    "application_imports": "application_totals dry_run_files dry_run_rejects dry_runs finished_imports group_listings"
    " identity_versions import_files"
    " import_log import_rejects import_runs previewed_changes previews read_progress schedule_firings",
    "scim_server": "scim_members scim_pushes scim_resources scim_tokens",
    "sources": "source_secrets sources",
    "connector_templates": "connector_templates",
    "access_models": "access_model_grants access_model_members access_model_versions access_models past_model_members",
    "work_items": "activity comments",
    "stand_ins": "absences stand_ins",
    "duties": "conflicts duties duty_entitlements duty_groups duty_holders duty_rule_duties duty_rule_versions"
    " duty_rules identities_to_evaluate past_sides",
    "conflicts": "conflict_exceptions exception_approvals",
    "access_requests": "access_request_events access_requests past_resolutions people_to_recheck privileges"
    " related_items request_conflict_people request_conflicts responses waiting_requests",
    "carriers": "carried_requests carrier_steps carriers",
    "reviews": "imports_to_review reasons_to_list review_acceptances review_bulks review_changes review_decisions"
    " review_events review_item_reasons review_items review_moves review_news review_populations review_scopes"
    " review_steps review_submissions review_templates reviews",
    "personnel_events": "event_news personnel_events stages",
    "webhooks": "webhook_attempts webhook_callbacks webhook_deliveries webhook_tallies webhooks",
    "reports": "report_firings reports",
    "notifications": "notification_channels notification_messages notification_preferences notification_secrets"
    " notification_settings notification_steps notification_template_faults notification_zones notifications",
    "console": "console_passwords console_sessions sign_in_attempts sign_in_links sign_in_mails",
}
OWNER = {table: package for package, tables in OWNERS.items() for table in tables.split()}
# Tables with records that audit entries refer to; EXCEPTIONS adds some more.
_AUDITED = "access_models access_requests accounts application_imports applications identities personnel_events tokens"
_AUDITED += " conflicts duties duty_rules review_items review_templates reviews"
# Packages whose code uses a table of a package above them, with the reason.
EXCEPTIONS: dict[tuple[str, str], str] = {
    ("applications", "import_files"): "the detail of an application shows its last import",
    ("applications", "import_log"): "the detail of an application shows its last import",
    ("applications", "sources"): "a schedule with locations and a live source exclude each other",
    ("applications", "carriers"): "an identity source and a carrier exclude each other",
    ("applications", "scim_pushes"): "an application with SCIM tokens cannot become an identity source",
    ("accounts", "entitlements"): "a person may rate a group or permission higher than the import does, or privileged",
    ("accounts", "application_totals"): "an import ends with new totals, so their number is the version of a list",
    ("entitlements", "application_totals"): "an import ends with new totals, so their number is the version of a list",
    ("settings", "identities"): "the approval policy may name people, and a check must know them",
    ("tokens", "identities"): "the token of a person who left is refused",
    ("tokens", "console_roles"): "a token does no more than the role of its owner allows",
    ("notifications", "reports"): "recipients are notified of a report by its name",
    ("access_requests", "personnel_events"): "people do not see the requests of their own planned offboarding",
    ("access_requests", "carrier_steps"): "what a carrier changed stays changed when the request is canceled",
    ("work_items", "access_requests"): "the audit entry of a comment says what was commented on",
    **{
        ("audit", table): "an audit entry names its entity"
        for table in (*_AUDITED.split(), "connector_templates", "exports", "reports", "webhook_deliveries", "webhooks")
    },
}
_NAMED = re.compile(r"\b(?:FROM|JOIN|INTO|UPDATE|ONLY|ON|TABLE|keep_list\('|keep_audit\(')\s*(\w+)")
_WRITERS = ("insert_rows", "copy_in")


def ranks() -> dict[str, int]:
    """Return the layer of each package in pyproject.toml as a number; 0 is the lowest."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = [re.findall(r"\w+", layer) for layer in contracts[0]["layers"]]
    return {package: rank for rank, layer in enumerate(reversed(layers)) for package in layer}


def texts() -> Iterator[tuple[str, str]]:
    """Yield each string of the code and each schema file, with its package."""
    for path in PACKAGE.rglob("*.py"):
        package = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Constant(value=str(text)):
                    yield package, text
                case ast.Call(func=ast.Name(id=name), args=[_, ast.Constant(value=str(table)), *_]) if name in _WRITERS:
                    yield package, f"INTO {table}"
                case ast.keyword(arg="table", value=ast.Constant(value=str(table))):
                    yield package, f"FROM {table}"
    for name in schema.PACKAGES:
        if name != "constants":
            yield name, re.sub(r"--.*", "", (schema.FOLDER / f"{name}.sql").read_text())


@cache
def named() -> set[tuple[str, str]]:
    """Return pairs of a package and a table that its SQL names."""
    return {(package, table) for package, text in texts() for table in _NAMED.findall(text) if table in OWNER}


def test_every_table_has_one_owner() -> None:
    tables = re.findall(r"^CREATE TABLE public\.(\w+)", (ROOT / "docs/schema.sql").read_text(), re.MULTILINE)

    assert sorted(tables) == sorted(OWNER)


def test_sql_names_no_table_of_a_package_above() -> None:
    rank = ranks()

    upward = {
        (package, table)
        for package, table in named()
        if package != OWNER[table] and rank.get(package, -1) <= rank[OWNER[table]]
    }

    assert upward == EXCEPTIONS.keys()


@pytest.mark.parametrize("package", OWNERS)
def test_owner_of_a_table_uses_it(package: str) -> None:
    found = {table for found, table in named() if found == package}

    assert set(OWNERS[package].split()) - found == set()
