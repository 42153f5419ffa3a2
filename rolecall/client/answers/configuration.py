"""Responses about configuration."""

from typing import Any

from rolecall.client.answers.common import Answer


class FieldChange(Answer):
    field: str
    before: Any
    after: Any


class EntryChange(Answer):
    section: str
    name: str
    change: str
    fields: list[FieldChange]


class ConfigurationChanges(Answer):
    changes: list[EntryChange]
