"""Calls about exports."""

from rolecall.client import answers
from rolecall.client.answers import Page
from rolecall.client.calls import describe
from rolecall.client.calls.call import Call, Id


def list_exports() -> Call[Page[answers.Export]]:
    """List exports, the newest first."""
    return describe.get(Page[answers.Export], "/api/exports")


def get_export(export_id: Id) -> Call[answers.Export]:
    """Get the manifest of an export: who, when, filters, row count and SHA-256."""
    return describe.get(answers.Export, "/api/exports/{}", export_id)
