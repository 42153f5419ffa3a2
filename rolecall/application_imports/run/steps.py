"""Time the steps of a build for the log of an import."""

from datetime import datetime

from rolecall.core import clock


class Steps:
    """Split a build's time into consecutive steps, so that the logged times add up to the whole.

    Work in parallel with a step counts only for the time that it takes after that step has ended.
    """

    def __init__(self, started: datetime) -> None:
        self._at = started

    def done(self, step: str, now: datetime | None = None) -> str:
        """Return the log line of a step that ends now and began where the step before it ended."""
        now = now or clock.now()
        took, self._at = now - self._at, now
        return f"{step} in {max(took.total_seconds(), 0):.1f} s"
