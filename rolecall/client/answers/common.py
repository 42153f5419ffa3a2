"""Define response types that several modules share."""

from datetime import datetime
from typing import Any, Generic, TypeVar
from uuid import UUID

import msgspec

T = TypeVar("T")
Json = dict[str, Any]


class Answer(msgspec.Struct, rename="camel"):
    pass


class WithoutData(Answer):
    application_id: UUID
    application: str
    no_data_before: datetime


class Page(Answer, Generic[T]):
    items: list[T]
    total_count: int
    page: int
    page_size: int
    total_pages: int


class PastPage(Page[T], Generic[T]):
    no_data_before: list[WithoutData]


class Person(Answer):
    id: UUID
    name: str


class Pair(Answer):
    key: str
    value: str


class Entry(Answer):
    created_date: datetime
    author: str
    action: str | None
    content: str


class Comment(Answer):
    created_date: datetime
    author: str
    content: str


class Identity(Answer):
    id: UUID
    kind: str
    first_name: str
    last_name: str
    email_address: str
    type: str
    title: str
    company: str
    division: str
    department: str
    office: str
    supervisor_name: str
    created_date: datetime
    updated_date: datetime
    first_seen_date: datetime
    inactivated_date: datetime | None
    status: str


class ApplicationSummary(Answer):
    id: UUID
    kind: str
    name: str
    priority: str
    is_archived: bool
    last_updated: datetime
