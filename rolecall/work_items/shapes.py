"""The activity and comments of access requests, personnel events and other records."""

from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.core.checking import Body, SomeText


class PersonReference(msgspec.Struct, frozen=True):
    id: UUID
    name: str


class ActivityEntry(msgspec.Struct, rename="camel"):
    created_date: datetime
    author: str
    action: str | None
    content: str


class Comment(msgspec.Struct, rename="camel"):
    created_date: datetime
    author: str
    content: str


class CommentBody(Body):
    content: SomeText


def person(id: UUID | None, name: str | None) -> PersonReference | None:
    return PersonReference(id, name) if id is not None and name is not None else None
