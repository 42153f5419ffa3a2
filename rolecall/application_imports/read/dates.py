"""Convert the date formats of exports to ISO 8601, whole columns at a time.

The order of day and month comes from the shape, from a value that allows only one order, or from dots: in dates with
dots, the day comes first.
"""

import re
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

import polars as pl

from rolecall.application_imports.read.broken_file import BrokenFile, ReadAtOnce
from rolecall.applications.field_words import NO_DATE
from rolecall.core import clock
from rolecall.core.text import counted

CANONICAL = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"
_TIME = r"(?:[ T,]+(\d{1,2}):(\d\d)(?::(\d\d))?(?:[.,]\d+)?\s*([AaPp])?\.?(?:[Mm]\.?)?)?\s*(?:Z|UTC|GMT)?$"
_NUMBERS = r"^(\d{1,2})[./-](\d{1,2})[./-](\d{4}|\d\d)" + _TIME
_YEAR_FIRST = r"^(\d{4})[./-](\d{1,2})[./-](\d{1,2})" + _TIME
# A date without separators, as SAP writes it.
_COMPACT = r"^((?:19|20)\d\d|9999)(\d\d)(\d\d)" + _TIME
# A date with dots in the time, as IBM databases write it.
_DOTTED = r"^(\d{4})-(\d\d)-(\d\d)-(\d\d)\.(\d\d)\.(\d\d)(?:\.\d+)?()$"
_BLANK_OFFSET = re.compile(r"(\d) ([+-]\d\d:?\d\d)$")
_IS_UTC = r"(?:Z|UTC|GMT)$"
NAMED_DATES = (
    "%d-%b-%Y",
    "%d %b %Y",
    "%d %B %Y",
    "%b %d, %Y",
    "%B %d, %Y",
    "%d-%b-%y",
    "%d/%b/%Y",
    "%d/%b/%y",
    "%a, %d %b %Y",
    "%A, %B %d, %Y",
)
_UNIX_DATE = "%a %b %d %H:%M:%S %z %Y"
DATE_TIMES = ("", " %H:%M:%S", " %H:%M", " %I:%M:%S %p", " %I:%M %p", " %H:%M:%S UTC", " %H:%M:%S GMT", ", %I:%M %p")
# Values of a Windows FILETIME (units of 100 ns since 1601): one for 1970-01-01, and one that means never.
_WINDOWS_EPOCH = 116_444_736_000_000_000
_WINDOWS_NEVER = 2**63 - 1
# The Excel serial date of 1970-01-01.
_EXCEL_EPOCH = 25_569


class ReadDates(NamedTuple):
    """The values of a column, in which recognized dates are in ISO 8601, and notes about the column for the log."""

    texts: pl.Series
    notes: list[str]
    # Whether the order of day and month was inferred from the whole column. If so, no line can be read on its own.
    is_inferred: bool = False


def read_dates(
    texts: pl.Series, format: str | None, zone: ZoneInfo, *, is_shaped: bool, is_piece: bool = False
) -> ReadDates:
    """Read the dates of a column. The name of the series is the name of the column.

    Without a format, raise BrokenFile if the order of day and month is ambiguous or differs between values. For a
    piece of a file, raise ReadAtOnce if the order must be inferred from the whole file.
    """
    found = texts.filter((texts != "") & ~texts.str.contains(CANONICAL)).unique()
    # Strip each distinct text once, not the whole column.
    found = found.filter(found.str.strip_chars() != "")
    if not len(found):
        return ReadDates(texts, [])
    odd = found.str.strip_chars()
    notes: list[str] = []
    moments, is_inferred = (
        (_in_format(odd, format, zone), False) if format else _recognized(odd, zone, notes, is_piece=is_piece)
    )
    written = moments.dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    if format or is_shaped:
        is_word = odd.str.strip_chars().str.to_lowercase().is_in(list(NO_DATE))
        written = pl.select(pl.when(is_word).then(pl.lit("")).otherwise(written)).to_series()
    lost = odd.filter(written.is_null())
    if len(lost):
        shown = ", ".join(lost.head(3).to_list())
        notes.append(
            f"{texts.name}: {counted(len(lost), 'value')} not recognized as a date ({shown}); "
            f"set shape.dates.{texts.name} to their format, or list words for no date in shape.blank"
        )
    written = pl.select(pl.coalesce(written, odd)).to_series()
    return ReadDates(texts.replace(found, written), notes, is_inferred)


def are_past(cells: pl.Series, format: str) -> pl.Series:
    """Return whether each cell contains a date in this format that is before today."""
    texts = cells.unique()
    texts = texts.filter(~texts.str.strip_chars().str.to_lowercase().is_in(list(NO_DATE)))
    moments = _in_format(texts.str.strip_chars(), format, ZoneInfo("UTC"))
    today = clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
    return cells.is_in(texts.filter((moments < today).fill_null(False)).implode())


def _recognized(odd: pl.Series, zone: ZoneInfo, notes: list[str], *, is_piece: bool) -> tuple[pl.Series, bool]:
    moments = _first(odd, [_iso, _year_first, _dotted, _ldap, _named], zone)
    rest = odd.filter(moments.is_null() & odd.str.contains(_NUMBERS))
    if not len(rest):
        return moments, False
    if is_piece:
        raise ReadAtOnce
    order, because = _order(rest)
    notes.append(f"{odd.name} is read {order}, because {because}")
    ordered = _ordered(odd, zone, day_first=order == "day first")
    return pl.select(pl.coalesce(moments, ordered)).to_series(), True


def _order(rest: pl.Series) -> tuple[str, str]:
    """Infer the order of day and month; return it with the reason. Fail if the values allow or need both orders."""
    parts = rest.str.extract_groups(_NUMBERS)
    first, second = (parts.struct.field(name).cast(pl.Int32) for name in "12")
    if rest.str.contains(r"^\d+\.\d+\.").all() and not (second > 12).any():
        return "day first", "its dates are written with dots"
    by_first, by_second = rest.filter(first > 12), rest.filter(second > 12)
    choose = f"set shape.dates.{rest.name} to day first or month first"
    if len(by_first) and len(by_second):
        both = f"dates with the day first ({by_first[0]}) and with the month first ({by_second[0]})"
        raise BrokenFile(f"{rest.name} has {both}; export them in one order, or {choose} and lose the others")
    if len(by_first):
        return "day first", f"{by_first[0]} cannot start with the month"
    if len(by_second):
        return "month first", f"{by_second[0]} cannot start with the day"
    raise BrokenFile(f"{rest.name} has dates such as {rest[0]}, in which day and month are ambiguous; {choose}")


def _in_format(odd: pl.Series, format: str, zone: ZoneInfo) -> pl.Series:
    match format:
        case "iso":
            return _iso(odd, zone)
        case "year first":
            return _first(odd, [_iso, _year_first, _dotted], zone)
        case "day first" | "month first":
            ordered = _ordered(odd, zone, day_first=format == "day first")
            others = _first(odd, [_iso, _year_first, _named], zone)
            return pl.select(pl.coalesce(ordered, others)).to_series()
        case "epoch" | "epoch ms":
            seconds = odd.str.strip_chars().cast(pl.Float64, strict=False) / (1000 if format.endswith("ms") else 1)
            return _from_seconds(seconds)
        case "windows":
            ticks = odd.str.strip_chars().cast(pl.Int64, strict=False)
            known = pl.select(pl.when((ticks > _WINDOWS_EPOCH) & (ticks < _WINDOWS_NEVER)).then(ticks)).to_series()
            return _from_seconds(((known - _WINDOWS_EPOCH) // 10_000_000).cast(pl.Float64))
        case "ldap":
            return _ldap(odd, zone)
        case "excel":
            days = odd.str.strip_chars().cast(pl.Float64, strict=False) - _EXCEL_EPOCH
            return _local(_from_seconds((days * 86_400).round()).dt.replace_time_zone(None), zone)
    try:
        if any(part in format for part in ("%H", "%I", "%T", "%R", "%s", "%c", "%+")):
            return _local(odd.str.to_datetime(format, strict=False, time_unit="us"), zone)
        return _local(odd.str.to_date(format, strict=False).cast(pl.Datetime("us")), zone)
    except pl.exceptions.PolarsError as error:
        raise BrokenFile(f"shape.dates.{odd.name}: {format} is not a date pattern: {error}") from None


def _first(odd: pl.Series, readers: list[Callable[[pl.Series, ZoneInfo], pl.Series]], zone: ZoneInfo) -> pl.Series:
    """Apply the readers in order, each to the values that earlier ones could not parse."""
    moments = pl.Series(odd.name, [None] * len(odd), pl.Datetime("us", "UTC"))
    for read in readers:
        left = moments.is_null()
        if not left.any():
            break
        tried = pl.DataFrame({"m": odd.filter(left), "d": read(odd.filter(left), zone)}).unique("m")
        moments = (
            pl.DataFrame({"m": odd, "known": moments})
            .join(tried, on="m", how="left", maintain_order="left")
            .select(pl.coalesce("known", "d").alias(odd.name))
            .to_series()
        )
    return moments


def _iso(odd: pl.Series, zone: ZoneInfo) -> pl.Series:
    found: list[datetime | None] = []
    for text in odd.to_list():
        try:
            found.append(clock.parse(_BLANK_OFFSET.sub(r"\1\2", text), zone))
        except (ValueError, OverflowError):
            found.append(None)
    return pl.Series(odd.name, found, pl.Datetime("us", "UTC"))


def _ldap(odd: pl.Series, zone: ZoneInfo) -> pl.Series:
    digits = odd.str.extract(r"^(\d{14})(?:\.\d+)?Z$")
    return digits.str.to_datetime("%Y%m%d%H%M%S", strict=False, time_unit="us").dt.replace_time_zone("UTC")


def _named(odd: pl.Series, zone: ZoneInfo) -> pl.Series:
    """Read dates that contain the name of the month, so that day and month are unambiguous."""
    found = pl.Series(odd.name, [None] * len(odd), pl.Datetime("us"))
    if not odd.str.contains(r"[A-Za-z]{3}").any():
        return found.dt.replace_time_zone("UTC")
    for date in NAMED_DATES:
        for time in DATE_TIMES:
            pattern = f"{date}{time}"
            if not time:
                tried = odd.str.to_date(pattern, strict=False).cast(pl.Datetime("us"))
            else:
                tried = odd.str.to_datetime(pattern, strict=False, time_unit="us")
            # Ignore years before 100: a pattern with a four-digit year reads 26 as the year 26, not 2026.
            found = pl.select(pl.coalesce(found, pl.when(tried.dt.year() > 99).then(tried))).to_series()
    # The format of lastlog and other Unix programs.
    unix = odd.str.replace_all(r"\s+", " ").str.to_datetime(_UNIX_DATE, strict=False, time_unit="us")
    return pl.select(pl.coalesce(_local(found, zone), _local(unix, zone))).to_series()


def _year_first(odd: pl.Series, zone: ZoneInfo) -> pl.Series:
    found = [_from_parts(odd, pattern, ("1", "2", "3"), zone) for pattern in (_YEAR_FIRST, _COMPACT)]
    return pl.select(pl.coalesce(found)).to_series()


def _dotted(odd: pl.Series, zone: ZoneInfo) -> pl.Series:
    return _from_parts(odd, _DOTTED, ("1", "2", "3"), zone)


def _ordered(odd: pl.Series, zone: ZoneInfo, *, day_first: bool) -> pl.Series:
    return _from_parts(odd, _NUMBERS, ("3", "2", "1") if day_first else ("3", "1", "2"), zone)


def _from_parts(odd: pl.Series, pattern: str, places: tuple[str, str, str], zone: ZoneInfo) -> pl.Series:
    """Build moments from the capture groups of a pattern; `places` names those for year, month and day."""
    frame = pl.DataFrame({"odd": odd}).select(pl.col("odd"), pl.col("odd").str.extract_groups(pattern).alias("g"))
    number = {name: pl.col("g").struct.field(name).cast(pl.Int32, strict=False) for name in "123456"}
    year, month, day = (number[place] for place in places)
    year = pl.when(year < 70).then(year + 2000).when(year < 100).then(year + 1900).otherwise(year)
    half = pl.col("g").struct.field("7").str.to_lowercase()
    hour = number["4"].fill_null(0)
    hour = pl.when(half == "p").then(hour % 12 + 12).when(half == "a").then(hour % 12).otherwise(hour)
    is_date = year.is_between(1, 9999) & month.is_between(1, 12) & day.is_between(1, 31) & (hour < 24)
    text = pl.format(
        "{}-{}-{} {}:{}:{}",
        year.cast(pl.String).str.zfill(4),
        *(
            part.cast(pl.String).str.zfill(2)
            for part in (month, day, hour, number["5"].fill_null(0), number["6"].fill_null(0))
        ),
    )
    found = frame.select(
        pl.when(is_date).then(text).str.to_datetime("%Y-%m-%d %H:%M:%S", strict=False, time_unit="us")
    ).to_series()
    is_utc = odd.str.contains(_IS_UTC)
    local, utc = _local(found, zone), found.dt.replace_time_zone("UTC")
    return pl.select(pl.when(is_utc).then(utc).otherwise(local)).to_series().rename(odd.name)


def _local(moments: pl.Series, zone: ZoneInfo) -> pl.Series:
    if moments.dtype.time_zone is not None:  # type: ignore[attr-defined]
        return moments.dt.convert_time_zone("UTC")
    return moments.dt.replace_time_zone(zone.key, ambiguous="earliest", non_existent="null").dt.convert_time_zone("UTC")


def _from_seconds(seconds: pl.Series) -> pl.Series:
    # Only datetimes in the years 1 to 9999 are valid.
    within = pl.select(pl.when(seconds.is_between(-62_135_596_800, 253_402_300_799)).then(seconds)).to_series()
    return (within * 1_000_000).cast(pl.Int64).cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
