"""Define the values that a screen returns: a page, a redirect, or the results of a bulk action."""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from litestar.response.base import ASGIResponse

from rolecall.core.errors import Invalid, RolecallError


class HtmlPage(msgspec.Struct, frozen=True):
    template: str
    values: dict[str, Any] = {}
    status: int = 200


class SeeOther(msgspec.Struct, frozen=True):
    """A redirect with a notice for the next page; `session` is the secret of a new session, or '' to sign out."""

    location: str
    notice: str | None = None
    kind: Literal["good", "warn", "bad"] = "good"
    session: str | None = None


class ItemResult(msgspec.Struct, frozen=True):
    """A result of a bulk action, for one record or for several with the same result."""

    text: str
    failed: bool = False


def failure(record: str, error: RolecallError) -> ItemResult:
    return ItemResult(f"{record} is unchanged: {sentence(error)}", failed=True)


def several(location: str, results: Sequence[ItemResult]) -> SeeOther:
    """Return a redirect with a notice that has one line per result; the notice is an error if any result is one."""
    # Remove line breaks from each text: the page shows every line of the notice as a result.
    lines = [f"{'✗' if one.failed else '✓'} {' '.join(one.text.split())}" for one in results]
    return SeeOther(location, "\n".join(lines), "bad" if any(one.failed for one in results) else "good")


def sentence(error: RolecallError) -> str:
    """Return the message of an error as text; for an invalid form, the messages of all its problems."""
    return ". ".join(problem.message for problem in error.problems) if isinstance(error, Invalid) else str(error)


Answer = HtmlPage | SeeOther | ASGIResponse
