"""Draw charts as inline SVG. Below a large chart is a table of its numbers.

Colours come from the stylesheet. `Markup.format` escapes labels, which may come from imported data.
"""

from collections.abc import Sequence
from datetime import datetime, tzinfo

import msgspec
from markupsafe import Markup

_WIDTH, _HEIGHT, _FLOOR = 720, 180, 160
# The width of a chart in a side panel.
NARROW = 320
_STEPS = (1, 2, 5)
# The minimum distance between two labels in a step chart: about the width of a label.
_LABEL = 130


class Stack:
    def __init__(self, label: str, parts: dict[str, int]) -> None:
        self.label = label
        self.parts = parts

    @property
    def total(self) -> int:
        return sum(self.parts.values())


def stacked_bars(title: str, unit: str, names: Sequence[str], bars: Sequence[Stack]) -> Markup:
    """Draw a stacked bar per day; `names` lists the parts from the bottom up. A day without parts leaves a gap."""
    top = _round_up(max((bar.total for bar in bars), default=0))
    step = (_WIDTH - 40) / max(len(bars), 1)
    drawn = [_grid(top, unit)]
    for n, bar in enumerate(bars):
        x, y = 40 + n * step, float(_FLOOR)
        for name in names:
            height = bar.parts.get(name, 0) * (_FLOOR - 10) / top
            if height:
                y -= height
                drawn.append(
                    Markup('<rect class="part {}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"></rect>').format(
                        name.lower(), x + step * 0.12, y, step * 0.76, height
                    )
                )
        # Label every seventh day, counted back from the last one; in a chart of up to 7 days, label all.
        if (len(bars) - 1 - n) % 7 == 0 or len(bars) < 8:
            drawn.append(
                Markup('<text x="{:.1f}" y="{}" text-anchor="end">{}</text>').format(x + step, _HEIGHT - 4, bar.label)
            )
    rows = [(bar.label, *(bar.parts.get(name, 0) for name in names)) for bar in bars if bar.total]
    return _figure(title, drawn, names) + _table(title, ("Day", *names), rows)


class ChartLevel(msgspec.Struct, frozen=True):
    """A value that applies from `since` on.

    `label` describes the change, `who` names the affected people or accounts, and `cause` is the import that caused it.
    """

    since: datetime
    value: int
    label: str
    who: str
    cause: str


def step_line(
    title: str, unit: str, levels: Sequence[ChartLevel], start: datetime, end: datetime, width: int = _WIDTH
) -> Markup:
    """Draw a value over time as steps; nothing is drawn before the first level.

    The chart scales with its container. For a side panel, pass `NARROW` as width, so that the text stays readable.
    """
    top = _round_up(max((level.value for level in levels), default=0))
    # Do not divide by zero if the chart begins and ends at the same time.
    span = (end - start).total_seconds() or 1

    def across(moment: datetime) -> float:
        return 40 + (width - 44) * min(max((moment - start).total_seconds() / span, 0), 1)

    places = [(across(level.since), _FLOOR - level.value * (_FLOOR - 10) / top) for level in levels]
    drawn = [_grid(top, unit, width)]
    if places:
        drawn.append(
            Markup('<path class="area" d="{0}V{1}H{2:.1f}Z"></path><path class="line" d="{0}"></path>').format(
                _stairs(places, across(end)), _FLOOR, places[0][0]
            )
        )
    drawn += _marks(levels, places, across(start), width)
    for moment, anchor in ((start, "start"), (start + (end - start) / 2, "middle"), (end, "end")):
        drawn.append(_day_label(moment, across(moment), anchor))
    rows = [(f"{one.since.day} {one.since:%b %Y}", one.cause, one.label, one.who, f"{one.value:,}") for one in levels]
    figure = _figure(title, drawn, (), width)
    return figure + _table(title, ("From", "Import", "Change", "Who", unit.capitalize()), rows)


def _stairs(places: Sequence[tuple[float, float]], right: float) -> str:
    """Return an SVG path of steps through these points; the last step ends at `right`."""
    (x, y), *rest = places
    steps = "".join(f"H{across:.1f}V{height:.1f}" for across, height in rest)
    return f"M{x:.1f} {y:.1f}{steps}H{right:.1f}"


_SMALL_WIDTH, _SMALL_HEIGHT = 72, 20


def sparkline(title: str, levels: Sequence[tuple[datetime, int]], start: datetime, end: datetime) -> Markup:
    """Draw a value over time as a small step line for a table cell; the lower edge is zero."""
    top, span = max(value for _, value in levels) or 1, (end - start).total_seconds() or 1
    places = [
        (
            _SMALL_WIDTH * min(max((moment - start).total_seconds() / span, 0), 1),
            _SMALL_HEIGHT - 1.5 - value * (_SMALL_HEIGHT - 3) / top,
        )
        for moment, value in levels
    ]
    return Markup(
        '<svg class="sparkline" viewBox="0 0 {} {}" role="img" aria-label="{}"><title>{}</title>'
        '<path d="{}"></path></svg>'
    ).format(_SMALL_WIDTH, _SMALL_HEIGHT, title, title, _stairs(places, _SMALL_WIDTH))


class Burndown(msgspec.Struct, frozen=True):
    """The number of remaining items over time, and the dates of the plan."""

    left: Sequence[tuple[datetime, int]]
    start: datetime
    due: datetime
    now: datetime

    @property
    def end(self) -> datetime:
        return max(self.due, self.now)


def burndown(title: str, drawn_from: Burndown) -> Markup:
    """Draw the number of remaining items as steps until now, and the plan as a straight line to the due date."""
    left, start, end = drawn_from.left, drawn_from.start, drawn_from.end
    span = (end - start).total_seconds() or 1
    top = _round_up(max((count for _, count in left), default=0))

    def across(moment: datetime) -> float:
        return 40 + (_WIDTH - 44) * min(max((moment - start).total_seconds() / span, 0), 1)

    def down(count: int) -> float:
        return _FLOOR - count * (_FLOOR - 10) / top

    first, last = left[0][1], left[-1][1]
    here = across(min(drawn_from.now, end))
    line = _stairs([(across(start), down(first)), *((across(moment), down(count)) for moment, count in left[1:])], here)
    drawn = [
        _grid(top, "items"),
        Markup('<path class="area" d="{0}V{1}H{2:.1f}Z"></path><path class="line" d="{0}"></path>').format(
            line, _FLOOR, across(start)
        ),
        Markup('<line class="plan" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{}"></line>').format(
            across(start), down(first), across(drawn_from.due), _FLOOR
        ),
        Markup('<circle class="dot" cx="{:.1f}" cy="{:.1f}" r="3.5"></circle>').format(here, down(last)),
        _day_label(start, across(start), "start"),
        _day_label(drawn_from.due, across(drawn_from.due), "end"),
    ]
    rows = [(f"{moment.day} {moment:%b %Y}", f"{count:,}") for moment, count in left]
    return _figure(title, drawn, ()) + _table(title, ("From", "Items left"), rows)


def _day_label(moment: datetime, x: float, anchor: str) -> Markup:
    return Markup('<text x="{:.1f}" y="{}" text-anchor="{}">{} {:%b %Y}</text>').format(
        x, _HEIGHT - 4, anchor, moment.day, moment
    )


def meter(parts: Sequence[tuple[str, int]], total: int, size: str = "") -> Markup:
    """Draw the parts of a total as a stacked bar. The text next to it has the numbers."""
    x, drawn = 0.0, []
    for name, count in parts:
        # Set attributes instead of a style, because the content security policy forbids inline styles.
        width = count * 100 / (total or 1)
        drawn.append(
            Markup('<rect class="part {}" x="{:.2f}%" width="{:.2f}%" height="100%"></rect>').format(name, x, width)
        )
        x += width
    return Markup('<span class="meter {}"><svg aria-hidden="true">{}</svg></span>').format(size, Markup("").join(drawn))


class TimeBar(msgspec.Struct, frozen=True):
    """An interval in the row `name`; without an end it lasts until now. `part` is its CSS class."""

    name: str
    since: datetime
    until: datetime | None
    part: str
    label: str = ""

    def in_zone(self, zone: tzinfo | None) -> "TimeBar":
        until = self.until.astimezone(zone) if self.until else None
        return msgspec.structs.replace(self, since=self.since.astimezone(zone), until=until)


class _BarRows(msgspec.Struct, frozen=True):
    """The layout of bars over time: bars begin at `left`; `name` and `bar` are vertical positions within a row."""

    width: int
    left: int
    height: int
    name: int
    bar: int


_TOP = 18
# Names are next to the bars or, on a narrow screen, above them.
_ROWS = {"roomy": _BarRows(_WIDTH, 150, 28, 16, 3), "cramped": _BarRows(NARROW, 0, 42, 14, 20)}


def bars_over_time(title: str, bars: Sequence[TimeBar], start: datetime, end: datetime, now: datetime) -> Markup:
    """Draw intervals as bars, one row per name, with a line for today; once for wide and once for narrow screens."""
    drawn = [
        Markup('<div class="{}">{}</div>').format(style, _bars(title, bars, (start, end, now), rows))
        for style, rows in _ROWS.items()
    ]
    lines = [(bar.name, day_of(bar.since), day_of(bar.until) if bar.until else "now", bar.label) for bar in bars]
    return Markup("").join([*drawn, _table(title, ("What", "From", "Until", "Note"), lines)])


def _bars(title: str, bars: Sequence[TimeBar], times: tuple[datetime, datetime, datetime], rows: _BarRows) -> Markup:
    start, end, now = times
    names = list(dict.fromkeys(bar.name for bar in bars))
    floor, span = _TOP + rows.height * len(names), (end - start).total_seconds() or 1

    def across(moment: datetime) -> float:
        return rows.left + (rows.width - rows.left - 8) * min(max((moment - start).total_seconds() / span, 0), 1)

    def top(name: str) -> int:
        return _TOP + rows.height * names.index(name)

    drawn = [
        Markup('<text class="on" x="0" y="{}">{}</text>').format(top(name) + rows.name, _short(name)) for name in names
    ]
    for bar in bars:
        drawn += _bar(bar, across(bar.since), across(bar.until or now), top(bar.name) + rows.bar, rows.width)
    drawn.append(_today(across(now), floor))
    for moment, anchor in ((start, "start"), (start + (end - start) / 2, "middle"), (end, "end")):
        drawn.append(
            Markup('<text x="{:.1f}" y="{}" text-anchor="{}">{} {:%b %Y}</text>').format(
                across(moment), floor + 14, anchor, moment.day, moment
            )
        )
    return _figure(title, drawn, (), rows.width, floor + 20)


def _today(x: float, floor: int) -> Markup:
    return Markup(
        '<line class="now" x1="{0:.1f}" x2="{0:.1f}" y1="0" y2="{1}"></line>'
        '<text x="{2:.1f}" y="10" text-anchor="end">Today</text>'
    ).format(x, floor, x - 6)


def _bar(bar: TimeBar, x: float, right: float, y: int, width: int) -> list[Markup]:
    """Draw a bar with its label: on the bar if there is room, else next to it."""
    rect = Markup('<rect class="part {}" x="{:.1f}" y="{}" width="{:.1f}" height="18" rx="3"></rect>')
    # Keep a short interval visible.
    drawn = [rect.format(bar.part, x, y, max(right - x, 3))]
    if bar.label:
        # A character is about 7 units wide.
        room = len(bar.label) * 7
        place, anchor = (x + 6, "start") if right - x > room or right + room < width else (x - 6, "end")
        place = right + 6 if anchor == "start" and right - x <= room else place
        text = Markup('<text x="{:.1f}" y="{}" text-anchor="{}">{}</text>')
        drawn.append(text.format(place, y + 13, anchor, bar.label))
    return drawn


def _short(name: str) -> str:
    return name if len(name) <= 22 else name[:21] + "…"


def day_of(moment: datetime) -> str:
    return f"{moment.day} {moment:%b %Y}"


def _marks(
    levels: Sequence[ChartLevel], places: Sequence[tuple[float, float]], start: float, width: int
) -> list[Markup]:
    """Draw a dot at each step that has a label, and write the labels for which there is room, newest first."""
    drawn, free, after = [], float(width), float(width)
    befores = [start, *(x for x, _ in places)]
    for level, (x, y), before in reversed(list(zip(levels, places, befores[:-1], strict=True))):
        if x <= start or not level.label:
            continue
        drawn.append(Markup('<circle class="dot" cx="{:.1f}" cy="{:.1f}" r="3.5"></circle>').format(x, y))
        is_right = x - before < _LABEL <= min(after, free) - x
        if is_right or (x <= free and x - start >= _LABEL):
            # Between close steps there is room only for the number; the table below has the names.
            who = level.who if is_right or x - before >= _LABEL else ""
            drawn.append(_step_label(level.label, who, x, y, is_right=is_right))
            free = x - (0 if is_right else _LABEL)
        after = x
    return drawn


def _step_label(label: str, who: str, x: float, y: float, *, is_right: bool) -> Markup:
    """Label a rise above the line and a fall below it, on the left of the step or, if `is_right`, on its right."""
    words = Markup('<tspan class="who-changed"> {}</tspan>').format(who) if who else ""
    height = y + 16 if label.startswith("−") else max(y - 6, 14)
    place, anchor = (x + 8, "start") if is_right else (x - 8, "end")
    return Markup('<text class="on" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}{}</text>').format(
        place, height, anchor, label, words
    )


def _grid(top: int, unit: str, width: int = _WIDTH) -> Markup:
    """Draw three grid lines with their values, the highest one with the unit."""
    lines = []
    for share in (0, 0.5, 1):
        y = _FLOOR - share * (_FLOOR - 10)
        lines.append(
            Markup(
                '<line x1="36" x2="{0}" y1="{1:.1f}" y2="{1:.1f}"></line>'
                '<text x="30" y="{2:.1f}" text-anchor="end">{3:,g}</text>'
            ).format(width, y, y + 4, share * top)
        )
    lines.append(Markup('<text x="42" y="4">{}</text>').format(unit))
    return Markup("").join(lines)


def _figure(
    title: str, drawn: Sequence[Markup], names: Sequence[str], width: int = _WIDTH, height: int = _HEIGHT
) -> Markup:
    keys = Markup("").join(Markup('<li><i class="part {}"></i>{}</li>').format(name.lower(), name) for name in names)
    style = "chart narrow-chart" if width == NARROW else "chart"
    svg = Markup('<svg class="{}" viewBox="0 0 {} {}" role="img" aria-label="{}"><title>{}</title>{}</svg>').format(
        style, width, height, title, title, Markup("").join(drawn)
    )
    return Markup('{}<ul class="legend">{}</ul>').format(svg, keys) if names else svg


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> Markup:
    cells = Markup("").join(Markup('<th scope="col">{}</th>').format(name) for name in head)
    lines = Markup("").join(
        Markup("<tr>{}</tr>").format(Markup("").join(Markup("<td>{}</td>").format(value) for value in row))
        for row in rows
    )
    return Markup(
        '<details><summary>Show as a table</summary><div class="scroll" tabindex="0" role="region" aria-label="{}">'
        "<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div></details>"
    ).format(title, cells, lines)


def _round_up(value: int) -> int:
    """Round up to 2, 10, 20, 50 and so on: an even number, so that the middle line is a whole number."""
    scale = 1
    while True:
        for step in _STEPS:
            if step * scale >= max(value, 2) and step * scale % 2 == 0:
                return step * scale
        scale *= 10


def shares(parts: Sequence[tuple[str, int]], title: str) -> Markup:
    """Draw one horizontal bar that shows the share of each part."""
    total = sum(count for _, count in parts) or 1
    x, drawn = 0.0, []
    for name, count in parts:
        width = count * 100 / total
        drawn.append(
            Markup('<rect class="part {}" x="{:.2f}" y="0" width="{:.2f}" height="6"></rect>').format(
                name.lower(), x, width
            )
        )
        x += width
    return Markup(
        '<svg class="shares" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>'
    ).format(title, Markup("").join(drawn))
