"""A status changes in one way: a compare-and-set against a table of allowed moves."""

from collections.abc import Mapping, Set
from enum import StrEnum
from typing import TypeVar
from uuid import UUID

from rolecall.core.db import Db, execute

S = TypeVar("S", bound=StrEnum)


def allowed_from(moves: Mapping[S, Set[S]], to: S) -> list[S]:
    return [status for status, targets in moves.items() if to in targets]


async def move(db: Db, table: str, id: UUID, to: S, moves: Mapping[S, Set[S]]) -> bool:
    """Whether the move happened; when not, nothing changed."""
    moved = await execute(
        db,
        f"UPDATE {table} SET status = %(to)s WHERE id = %(id)s AND status = ANY(%(allowed)s)",
        id=id,
        to=to,
        allowed=allowed_from(moves, to),
    )
    return moved == 1
