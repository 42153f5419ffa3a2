"""Draw a conflict over time: when each duty was held, when the conflict existed, and when an exception applied."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from markupsafe import Markup

from rolecall.conflicts.shapes import ConflictDetail, HeldSpan
from rolecall.console.charts import TimeBar, bars_over_time, day_of
from rolecall.console.rendering import marked


def conflict_chart(
    conflict: ConflictDetail, spans: Sequence[HeldSpan], others: Sequence[HeldSpan], now: datetime
) -> Markup:
    """Draw a row for each duty, one for the conflicts of this rule and person, and one for the exceptions.

    Exceptions that ended without approval are left out. Days are in the time zone of `now`.
    """
    bars = [TimeBar(marked(span.name), span.since, span.until, "held") for span in spans]
    bars += [TimeBar("Conflict", span.since, span.until, "failed") for span in others]
    # `exceptions` begins with the newest; draw the oldest first.
    for one in reversed(conflict.exceptions):
        start, end = one.approved_on, one.ended_on or one.until
        if start or one.ended_on is None:
            said = f"until {day_of(end.astimezone(now.tzinfo))}" + ("" if start else ", requested")
            bars.append(TimeBar("Exception", start or one.created_date, end, "covered" if start else "asked", said))
    bars = [bar.in_zone(now.tzinfo) for bar in bars]
    first = min((bar.since for bar in bars), default=now)
    last = max((bar.until for bar in bars if bar.until), default=now)
    room = max((max(last, now) - first) / 20, timedelta(days=1))
    title = f"{marked(conflict.identity.name)}: in conflict for {conflict.days} day{'' if conflict.days == 1 else 's'}"
    return bars_over_time(title, bars, first - room, max(last, now), now)
