"""Define the results of health checks (`rolecall doctor`), and the checks that query the database."""

from collections.abc import Awaitable, Callable
from enum import StrEnum

import msgspec

from rolecall.core.db import Db


class CheckState(StrEnum):
    OK = "ok"
    WARNING = "warning"
    TROUBLE = "trouble"


class CheckResult(msgspec.Struct, frozen=True):
    """The result of a check; `advice` is empty when it passed."""

    check: str
    state: CheckState
    detail: str
    advice: str = ""


class DatabaseCheck(msgspec.Struct, frozen=True):
    """A check that queries the database; `problem` returns what is wrong, or an empty string."""

    name: str
    problem: Callable[[Db], Awaitable[str]]
    fine: str
    advice: str
    state: CheckState = CheckState.TROUBLE

    async def result(self, db: Db) -> CheckResult:
        if problem := await self.problem(db):
            return CheckResult(self.name, self.state, problem, self.advice)
        return fine(self.name, self.fine)


def fine(check: str, detail: str) -> CheckResult:
    return CheckResult(check, CheckState.OK, detail)


def trouble(check: str, detail: str, advice: str) -> CheckResult:
    return CheckResult(check, CheckState.TROUBLE, detail, advice)
