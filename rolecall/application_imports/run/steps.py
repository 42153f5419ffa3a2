"""Time the steps of a build for the log of an import."""

from datetime import datetime

from rolecall.core import clock


class Steps:
    """Split the time of a build into consecutive steps, so that the logged times add up to the build time.

    Work that runs in parallel with a step is counted only from the end of that step.
    """

    def __init__(self, started: datetime) -> None:
        self._at = started

    def done(self, step: str, now: datetime | None = None) -> str:
        """End a step that began when the previous step ended, and return its log line."""
        now = now or clock.now()
        took, self._at = now - self._at, now
        return f"{step} in {max(took.total_seconds(), 0):.1f} s"
