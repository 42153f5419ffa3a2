"""Define the tables of the lake.

Each copies a single table of the database, because changed rows are found by the id of the transaction that wrote them.
Other tables are joined only to translate numbers to ids, which never change.
"""

from collections.abc import Mapping

import msgspec
import polars as pl

TEXT, INTEGER, FLAG, TEXTS = pl.String(), pl.Int64(), pl.Boolean(), pl.List(pl.String())
TIME = pl.Datetime("us", "UTC")
_EPOCH = "(extract(epoch FROM {}) * 1000000)::bigint"


class LakeTable(msgspec.Struct, frozen=True, kw_only=True):
    """A table of the lake: its source, its key and its columns.

    `columns` has the type and the SQL expression of each column. In `source`, `t` is the table that is copied.
    """

    name: str
    source: str
    key: tuple[str, ...]
    columns: Mapping[str, tuple[pl.DataType, str]]
    partition: str | None = None

    @property
    def base(self) -> str:
        """Return the name of the table that is copied."""
        return self.source.split()[0]

    @property
    def schema(self) -> pl.Schema:
        return pl.Schema({name: type for name, (type, _) in self.columns.items()})

    def statement(self, where: str = "true") -> str:
        """Return the SQL that selects the rows as JSON, with times in microseconds."""
        selected = ", ".join(
            f'{_EPOCH.format(sql) if type == TIME else sql} AS "{name}"' for name, (type, sql) in self.columns.items()
        )
        return f"SELECT row_to_json(r) FROM (SELECT {selected} FROM {self.source} WHERE {where}) AS r"


def _own(type: pl.DataType, names: str) -> dict[str, tuple[pl.DataType, str]]:
    """Return columns that have the same names in the lake as in the database."""
    return {name: (type, f't."{name}"') for name in names.split()}


_IMPORTS = _own(INTEGER, "from_import until_import")
# Accounts and groups are numbered from one sequence, so each holder is found in exactly one of the two tables.
_HOLDERS = """
    LEFT JOIN accounts a ON a.number = t.holder_number
    LEFT JOIN groups g ON g.number = t.holder_number"""

TABLES = (
    LakeTable(
        name="applications",
        source="applications t",
        key=("id",),
        columns=_own(TEXT, "id name priority owner_id") | _own(FLAG, "is_archived is_identity_source"),
    ),
    LakeTable(
        name="imports",
        source="application_imports t",
        key=("id",),
        columns=_own(TEXT, "id application_id type status created_by failure")
        | _own(INTEGER, "number")
        | _own(TIME, "created_at build_start build_end"),
    ),
    LakeTable(
        name="identities",
        source="identities t",
        key=("id",),
        columns=_own(TEXT, "id first_name last_name email_address type status title company division department office")
        | _own(TEXT, "supervisor_id employee_id")
        # JSON columns are copied as text, because their fields differ from row to row.
        | {"custom_fields": (TEXT, "t.custom_fields::text")}
        | _own(TIME, "created_date updated_date first_seen_date inactivated_date"),
    ),
    LakeTable(
        name="accounts",
        source="accounts t",
        key=("id",),
        columns=_own(TEXT, "id application_id username match identity_id") | _own(TIME, "matched_on"),
    ),
    LakeTable(
        name="account_versions",
        source="account_versions t JOIN accounts a ON a.number = t.account_number",
        key=("account_id", "from_import"),
        partition="application_id",
        columns={"account_id": (TEXT, "a.id"), "application_id": (TEXT, "a.application_id")}
        | _IMPORTS
        | _own(TEXT, "name first_name last_name email employee_id last_login password_changed metadata")
        | _own(FLAG, "is_active is_locked"),
    ),
    LakeTable(
        name="entitlements",
        source="entitlements t",
        key=("id",),
        columns=_own(TEXT, "id application_id kind header section name display_name description risk_rating owner_id")
        | _own(FLAG, "is_present is_privileged")
        | _own(INTEGER, "first_import gone_import")
        | _own(TEXTS, "tags"),
    ),
    LakeTable(
        name="group_versions",
        source="group_versions t JOIN groups g ON g.number = t.group_number",
        key=("group_id", "from_import"),
        columns={"group_id": (TEXT, "g.id"), "application_id": (TEXT, "g.application_id")}
        | _IMPORTS
        | _own(TEXT, "description nomenclature parent metadata"),
    ),
    LakeTable(
        name="assignments",
        source=f"assignments t JOIN permissions p ON p.number = t.permission_number {_HOLDERS}",
        key=("holder_id", "entitlement_id", "from_import"),
        partition="application_id",
        columns={
            "application_id": (TEXT, "p.application_id"),
            "holder_kind": (TEXT, "CASE WHEN a.id IS NULL THEN 'Group' ELSE 'Account' END"),
            "holder_id": (TEXT, "coalesce(a.id, g.id)"),
            "entitlement_id": (TEXT, "p.id"),
        }
        | _own(TEXT, "access value")
        | _IMPORTS,
    ),
    LakeTable(
        name="memberships",
        source="""memberships t
    JOIN accounts a ON a.number = t.account_number
    JOIN groups g ON g.number = t.group_number""",
        key=("account_id", "group_id", "from_import"),
        partition="application_id",
        columns={
            "application_id": (TEXT, "g.application_id"),
            "account_id": (TEXT, "a.id"),
            "group_id": (TEXT, "g.id"),
        }
        | _IMPORTS,
    ),
    LakeTable(
        name="models",
        source="access_models t",
        key=("id",),
        columns=_own(TEXT, "id name")
        | _own(INTEGER, "version")
        | _own(FLAG, "is_in_effect")
        | {"definition": (TEXT, "t.definition::text")}
        | _own(TIME, "created_at changed_at"),
    ),
    LakeTable(
        name="model_memberships",
        source="access_model_members t",
        key=("model_id", "identity_id"),
        columns=_own(TEXT, "model_id identity_id") | _own(TIME, "since"),
    ),
    LakeTable(
        name="past_model_memberships",
        source="past_model_members t",
        key=("model_id", "identity_id", "since"),
        columns=_own(TEXT, "model_id identity_id") | _own(TIME, "since until"),
    ),
    LakeTable(
        name="requests",
        source="access_requests t",
        key=("id",),
        columns=_own(INTEGER, "number")
        | _own(TEXT, "id action status reporter_id reporter_name assignee_id assignee_name target_type target_name")
        | _own(TEXT, "nomenclature identity_id application_id")
        | {"access_models": (TEXT, "t.access_models::text"), "metadata": (TEXT, "t.metadata::text")}
        | _own(TIME, "created_at scheduled_start started_on approved_on resolved_on verified_on completed_on")
        | _own(TIME, "canceled_on snoozed_until postponed_until status_since"),
    ),
    LakeTable(
        name="request_privileges",
        source="privileges t",
        key=("request_id", "position"),
        columns=_own(INTEGER, "position")
        | _own(TEXT, "request_id initial_access requested_access approved_access lowered_access header section")
        | _own(TEXT, "permission description risk_rating value")
        | _own(TEXTS, "sources origins"),
    ),
    LakeTable(
        name="request_decisions",
        source="responses t",
        key=("request_id", "type", "rule", "position"),
        columns=_own(INTEGER, "rule position")
        | _own(TEXT, "request_id type reason reviewer_id reviewer_name response stand_in_id stand_in_name")
        | _own(FLAG, "asked"),
    ),
    LakeTable(
        name="review_decisions",
        source="review_decisions t",
        key=("number",),
        columns=_own(INTEGER, "number stage")
        | _own(TEXT, "review_id item_id reviewer_id decision new_access comment decided_by decided_by_name bulk_id")
        | _own(TIME, "until decided_on"),
    ),
    LakeTable(
        name="conflicts",
        source="conflicts t",
        key=("id",),
        columns=_own(INTEGER, "number since_import until_import")
        | _own(TEXT, "id rule_id identity_id status")
        | _own(TIME, "since until found_on"),
    ),
    LakeTable(
        name="audit",
        source="audit_events t",
        key=("number",),
        partition="month",
        columns=_own(INTEGER, "number chain")
        | {
            "month": (TEXT, "left(t.created_key, 7)"),
            "created_on": (TIME, "(t.created_key || 'Z')::timestamptz"),
            "action": (TEXT, "t.entry::jsonb ->> 'action'"),
        }
        | _own(TEXT, "caller_id entity_id entry")
        | {"previous": (TEXT, "encode(t.previous, 'hex')"), "hash": (TEXT, "encode(t.hash, 'hex')")},
    ),
)
