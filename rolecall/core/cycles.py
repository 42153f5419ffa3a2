"""Find cycles in a hierarchy in which each member has at most one parent."""

from collections.abc import Iterator, Mapping
from typing import TypeVar

T = TypeVar("T")


def cycles(parents: Mapping[T, T]) -> Iterator[list[T]]:
    """Yield each cycle once, from child to parent; the first member is the one that the search reached first."""
    done = set[T]()
    for start in parents:
        path: dict[T, None] = {}
        at: T | None = start
        while at is not None and at not in done and at not in path:
            path[at] = None
            at = parents.get(at)
        if at in path:
            members = list(path)
            yield members[members.index(at) :]
        # Not `|=`, which copies the whole set when the right side is a view of keys.
        done.update(path)
