"""Apply the keys of a shape that change the rows or columns of a table, whole columns at a time, with polars."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import msgspec
import polars as pl

from rolecall.application_imports.read.broken_file import BrokenFile
from rolecall.application_imports.read.cell_lists import SEVERAL_NAMES, unread_members, values_of
from rolecall.application_imports.read.columns import listed
from rolecall.application_imports.read.dates import are_past
from rolecall.application_imports.read.keyed_values import only_describes
from rolecall.application_imports.read.names import halves_of
from rolecall.application_imports.read.table import Table
from rolecall.applications.field_words import NO_ACCESS, parted_state
from rolecall.applications.file_shape import (
    BETWEEN_WORDS,
    JSON,
    FileShape,
    Placeholder,
    RowCondition,
    Unpivot,
    columns_in,
    pattern_parts,
)
from rolecall.applications.model import FIELDS, Content, same_header
from rolecall.core.text import counted, some_of

# In these contents, a row is dropped if the cell to split is blank.
_PAIRS = (Content.MEMBERSHIPS, Content.PERMISSIONS)
LOST_LIST = r"^(?:System|Microsoft)\.[A-Za-z.+]+(?:\[\]|Collection|List(?:`1\[.*\])?)$"
_MOST_NAMED = 3
# The number of bytes of whitespace that a cell may have around a word.
_AROUND = 8
_RDN = r"^\s*[^=,]+=((?:\\.|[^,\\])*)"


def columns_named(shape: FileShape, columns: Iterable[str]) -> set[str]:
    """Return the columns that a mapping (`columns`) or a shape uses. For JSON, these may be paths."""
    in_patterns = [part for pattern in shape.join.values() for part in pattern_parts(pattern)]
    placeholders = [part for part in in_patterns if isinstance(part, Placeholder)]
    filters = [each for part in placeholders for each in part.filters]
    conditions = [text.partition("=")[0].strip() for name, text in filters if name in ("when", "unless", "or")]
    return {
        *columns,
        *shape.split,
        *shape.dates,
        *shape.keep,
        *shape.fill_down,
        *(condition.column for condition in shape.skip_rows_where),
        *(part.column for part in placeholders),
        *conditions,
        *(_in_matrix(shape.unpivot) if shape.unpivot else ()),
    }


def _in_matrix(matrix: Unpivot) -> list[str]:
    """Return every column that a matrix names."""
    return [*matrix.keep, *(matrix.columns or ())]


class ShapedTable:
    """A table to which the keys of a shape are applied one after another."""

    def __init__(self, table: Table, mapping: Mapping[str, str], content: Content) -> None:
        self.headers = list(table.headers)
        self.frame = table.frame
        self.ragged = table.ragged
        self.mapping = {same_header(header): field for header, field in mapping.items()}
        # Whether the files of a group have different headers for a field. A condition may then concern only some files.
        self.is_mixed = len({*mapping.values()}) < len(mapping)
        self.content = content
        self.is_records = table.is_records
        self.made: dict[str, int] = {}
        self.notes: list[str] = []
        self.left_out = Counter[str]()

    @contextmanager
    def leaving_out(self, reason: str) -> Iterator[None]:
        """Count the rows of the file that the `with` block leaves out. A row counts if no row made from it remains."""
        before = self._rows()
        yield
        self.left_out[reason] += before - self._rows()

    def _rows(self) -> int:
        return self.frame.get_column("line").n_unique() + len(self.ragged)

    def at(self, name: str, key: str) -> str:
        """Return the position of a column, given its header or field; `key` is the key of the shape that names it.

        If there is no such column, raise BrokenFile; for a file of records, add a blank column instead.
        """
        if name in self.headers:
            return str(self.headers.index(name))
        folded = [same_header(header) for header in self.headers]
        if same_header(name) in folded:
            return str(folded.index(same_header(name)))
        for header, field in self.mapping.items():
            if same_header(field) == same_header(name) and header in folded:
                return str(folded.index(header))
        for field, place in self.made.items():
            if same_header(field) == same_header(name):
                return str(place)
        if not self.is_records:
            raise BrokenFile(
                f"shape.{key} names the column {name}, which the file does not have; {listed(self.headers)}", line=1
            )
        self.notes.append(f"shape.{key} names {name}, which no record has")
        return self.add(name, pl.lit(""))

    def add(self, header: str, values: pl.Expr) -> str:
        position = str(len(self.headers))
        self.headers.append(header)
        self.frame = self.frame.with_columns(values.alias(position))
        return position

    def make(self, field: str, values: pl.Expr) -> None:
        """Add a column for a field. It takes precedence over a column with the same name."""
        name = next(name for name in FIELDS[self.content] if same_header(name) == same_header(field))
        # A join may make a field that unpivot has already made, so the headers of the two columns must differ.
        header = f"{name} by {'unpivot and join' if name in self.made else 'the shape'}"
        self.made[name] = int(self.add(header, values))

    def blank(self, words: Iterable[str]) -> None:
        """Blank the cells whose text is one of these words, ignoring case."""
        folded = [word.strip().lower() for word in words]
        # To save time, compare only distinct cells, and only those that are short enough to be one of the words.
        longest = max(len(word.encode()) for word in folded) + _AROUND
        for position in (column for column in self.frame.columns if column != "line"):
            cells = self.frame.get_column(position)
            short = cells.filter(cells.str.len_bytes() <= longest).unique()
            texts = short.filter(short.str.strip_chars().str.to_lowercase().is_in(folded)).to_list()
            if texts:
                kept = pl.when(pl.col(position).is_in(texts)).then(pl.lit("")).otherwise(pl.col(position))
                self.frame = self.frame.with_columns(kept.alias(position))

    def skip_rows(self, conditions: Iterable[RowCondition]) -> None:
        for condition in conditions:
            with self.leaving_out(condition.in_words):
                self._skip_rows(condition)

    def _skip_rows(self, condition: RowCondition) -> None:
        if self.is_mixed and same_header(condition.column) not in map(same_header, self.headers):
            self.notes.append(f"shape.skipRowsWhere names {condition.column}, which the file does not have")
            return
        position = self.at(condition.column, "skipRowsWhere")
        self.ragged = [each for each in self.ragged if not _is_skipped(each.row, int(position), condition)]
        if condition.is_past:
            self.frame = self.frame.filter(~are_past(self.frame.get_column(position), condition.is_past))
        else:
            self.frame = self.frame.filter(~_matches(position, condition))

    def fill_down(self, columns: Iterable[str]) -> None:
        """Fill blank cells with the value above; begin again at each row with a value in the leftmost of `columns`."""
        places = sorted({self.at(column, "fillDown") for column in columns}, key=int)
        for place in places:
            cell = pl.col(place)
            filled = pl.when(cell.str.strip_chars() != "").then(cell).forward_fill()
            if place != places[0]:
                filled = filled.over((pl.col(places[0]).str.strip_chars() != "").cum_sum())
            # Write to temporary columns, because the unfilled first column is needed to fill the others.
            self.frame = self.frame.with_columns(filled.fill_null("").alias(f"filled {place}"))
        self.frame = self.frame.with_columns(pl.col(f"filled {place}").alias(place) for place in places).drop(
            f"filled {place}" for place in places
        )

    def split(self, separators: Mapping[str, str]) -> None:
        for column, separator in separators.items():
            position = self.at(column, "split")
            lists = self._lists(column, self.frame.get_column(position), separator)
            self.frame = self.frame.with_columns(lists.alias(position)).explode(position, empty_as_null=True)
            if self.content in _PAIRS:
                with self.leaving_out(f"{column} is blank"):
                    self.frame = self.frame.filter(pl.col(position).is_not_null())
            self.frame = self.frame.with_columns(pl.col(position).fill_null(""))

    def _lists(self, column: str, cells: pl.Series, separator: str) -> pl.Series:
        if separator == JSON and (unread := [name for name in unread_members(cells) if not only_describes(name)]):
            self.notes.append(f"{column} has objects; their members {some_of(unread, _MOST_NAMED)} are not read")
        return values_of(self._without_list_types(column, cells), separator)

    def _without_list_types(self, column: str, cells: pl.Series) -> pl.Series:
        """Blank the cells in which PowerShell wrote the type of a list instead of its values."""
        lost = cells.str.contains(LOST_LIST)
        if not lost.any():
            return cells
        count = counted(int(lost.sum()), "row")
        self.notes.append(
            f"{column} has {cells.filter(lost)[0]} in place of a list in {count}; export it again with the "
            f"values joined, such as ($_.{column} -join ';')"
        )
        return pl.select(pl.when(lost).then(pl.lit("")).otherwise(cells)).to_series()

    def across(self, matrix: Unpivot) -> list[str]:
        """Return the positions of the columns that a matrix unpivots."""
        named = {self.at(name, "unpivot") for name in _in_matrix(matrix)}
        if matrix.columns:
            return sorted(named, key=int)
        named |= {str(i) for i, header in enumerate(self.headers) if same_header(header) in self.mapping}
        return [str(i) for i in range(len(self.headers)) if str(i) not in named]

    def unpivot(
        self,
        matrix: Unpivot,
        words: Iterable[str],
        separators: Mapping[str, str],
        conditions: Collection[RowCondition],
    ) -> None:
        """Make a row from each value in the matrix. Leave out blanks and, if cells give Access, words for no access.

        `words` are the words that `values.Access` maps; they are kept even if they usually mean no access. `separators`
        split cells with several values, and `conditions` say which of these values are left out.
        """
        across = self.across(matrix)
        if not across:
            raise BrokenFile("shape.unpivot keeps every column of the file, so no column is left for the matrix")
        crossed = set(across)
        index = ["line", *(str(i) for i in range(len(self.headers)) if str(i) not in crossed)]
        cell = pl.col("cell").str.strip_chars()
        nothing = {""} if matrix.cells != "Access" else {"", *NO_ACCESS} - {word.strip().lower() for word in words}
        # Most cells of a matrix are blank: drop them column by column, before the others become rows.
        lists = {self.at(column, "split"): (column, separator) for column, separator in separators.items()}
        kept = [self.frame.get_column(each) for each in index]
        frames = {position: self._cells(position, kept) for position in across}
        for position, (column, separator) in lists.items():
            frames[position] = self._values(frames[position], column, separator, conditions)
        frame = pl.concat(frames.values()).filter(~cell.str.to_lowercase().is_in(list(nothing)))
        headers = pl.col("header")
        self.headers = [self.headers[int(position)] for position in index[1:]]
        renamed = {position: str(i) for i, position in enumerate(index[1:])}
        self.frame = frame.select("line", *(pl.col(old).alias(new) for old, new in renamed.items()), headers, cell)
        if matrix.headers != matrix.cells:
            self.make(matrix.headers, pl.col("header"))
        self.make(matrix.cells, pl.col("cell"))
        self.frame = self.frame.drop("header", "cell")

    def _cells(self, position: str, kept: Iterable[pl.Series]) -> pl.DataFrame:
        """Return a row for each non-blank cell of a column: the columns `kept`, the header and the cell.

        Filter the columns one by one, because a query for each of thousands of columns would take seconds.
        """
        cells = self.frame.get_column(position).alias("cell")
        is_filled = cells != ""
        cells = cells.filter(is_filled)
        header = pl.Series("header", [self.headers[int(position)]]).new_from_index(0, len(cells))
        return pl.DataFrame([*(each.filter(is_filled) for each in kept), header, cells])

    def _values(
        self, cells: pl.DataFrame, column: str, separator: str, conditions: Iterable[RowCondition]
    ) -> pl.DataFrame:
        """Make one row for each value in the cells of a column. Leave out values that match a condition."""
        lists = self._lists(column, cells.get_column("cell"), separator)
        values = cells.with_columns(lists.alias("cell")).explode("cell").filter(pl.col("cell").is_not_null())
        for condition in conditions:
            values = values.filter(~_matches("cell", condition)) if condition.column == column else values
        return values

    def join(self, patterns: Mapping[str, str]) -> None:
        made = {
            field: self._joined(pattern) for field, pattern in patterns.items() if not self._has_own(field, pattern)
        }
        for field, values in made.items():
            self.make(field, values)

    def _has_own(self, field: str, pattern: str) -> bool:
        """Return whether the file has a column named like the field, but none of the columns to join.

        If so, note this in the log.
        """
        folded = [*map(same_header, self.headers)]
        columns = columns_in(pattern)
        if same_header(field) not in folded or any(same_header(column) in folded for column in columns):
            return False
        self.notes.append(
            f"shape.join names {', '.join(columns)}, which the file does not have; {field} is read instead"
        )
        return True

    def _joined(self, pattern: str) -> pl.Expr:
        parts = pattern_parts(pattern)
        texts = [pl.lit(part) if isinstance(part, str) else self._filled(part) for part in parts]
        filled = [text for text, part in zip(texts, parts, strict=True) if isinstance(part, Placeholder)]
        joined = pl.concat_str(texts).str.replace_all(r"\s+", " ").str.strip_chars()
        # If the pattern contains text, all columns must have values: `ada.` is not a username. Otherwise one value is
        # enough: `Ada` is a name.
        must_be_whole = any(isinstance(part, str) and part.strip() for part in parts)
        quantifier = pl.any_horizontal if must_be_whole else pl.all_horizontal
        return pl.when(quantifier(text == "" for text in filled)).then(pl.lit("")).otherwise(joined)

    def _filled(self, placeholder: Placeholder) -> pl.Expr:
        text = pl.col(self.at(placeholder.column, "join")).str.strip_chars()
        if placeholder.filters[:1] == [("rdn", "")]:
            self._expect_one_name(placeholder.column)
        for name, argument in placeholder.filters:
            text = self._filtered(text, name, argument)
        return text.fill_null("").str.strip_chars()

    def _expect_one_name(self, column: str) -> None:
        """Fail if a cell has several distinguished names, because only the first would be read."""
        cells = self.frame.get_column(self.at(column, "join"))
        if len(several := cells.filter(cells.str.contains(SEVERAL_NAMES))):
            advice = f"set shape.split.{column} to their separator, or to json for spaces and commas"
            raise BrokenFile(f"{column} has several distinguished names in a cell ({several[0][:80]}); {advice}")

    def _filtered(self, text: pl.Expr, name: str, argument: str) -> pl.Expr:
        match name:
            case "lower":
                return text.str.to_lowercase()
            case "upper":
                return text.str.to_uppercase()
            case "initial":
                return text.str.slice(0, 1)
            case "first":
                return halves_of(text)[0]
            case "last":
                return halves_of(text)[1]
            case "rdn":
                return pl.coalesce(text.str.extract(_RDN).str.replace_all(r"\\(.)", "${1}"), text)
            case "before":
                return pl.coalesce(text.str.extract(f"(?s)^(.*?){re.escape(argument)}"), text)
            case "after":
                return pl.coalesce(text.str.extract(f"(?s)^.*?{re.escape(argument)}(.*)$"), text)
            case "past":
                return text.map_batches(lambda cells: _past_dates(cells, argument), return_dtype=pl.String)
            case "or":
                other = pl.col(self.at(argument.strip(), "join")).str.strip_chars()
                return pl.when(text != "").then(text).otherwise(other)
            case "else":
                return pl.when(text != "").then(text).otherwise(pl.lit(argument))
            case "as":
                return pl.when(text != "").then(pl.lit(argument)).otherwise(pl.lit(""))
            case "starting":
                return pl.when(text.str.starts_with(argument)).then(text).otherwise(pl.lit(""))
            case "state" | "stateless":
                return text.map_batches(lambda cells: _parted(cells, name, argument), return_dtype=pl.String)
            case "prefix":
                return pl.when(text == "").then(text).otherwise(pl.lit(argument) + text)
            case "suffix":
                return pl.when(text == "").then(text).otherwise(text + pl.lit(argument))
        column, _, wanted = argument.partition("=")
        other = pl.col(self.at(column.strip(), "join")).str.strip_chars().str.to_lowercase()
        is_wanted = other == wanted.strip().lower()
        return pl.when(is_wanted if name == "when" else ~is_wanted).then(text).otherwise(pl.lit(""))


def _matches(position: str, condition: RowCondition) -> pl.Expr:
    """Return an expression for whether the text of a column matches a condition. Ignore `is_past` of the condition."""
    cell = pl.col(position).str.strip_chars().str.to_lowercase()
    matches = pl.lit(False)
    for word in (text.strip().lower() for text in condition.is_ or condition.is_not):
        # A list of values is written as a JSON array.
        matches = matches | (cell == word) | (
            cell.str.starts_with("[") & cell.str.contains(msgspec.json.encode(word).decode(), literal=True)
        )  # fmt: skip
    for word in (text.strip().lower() for text in condition.starts_with):
        matches = matches | cell.str.starts_with(word)
    for word in (text.strip().lower() for text in condition.ends_with):
        matches = matches | cell.str.ends_with(word)
    return ~matches if condition.is_not else matches


def _past_dates(cells: pl.Series, format: str) -> pl.Series:
    return pl.select(pl.when(are_past(cells, format)).then(cells).otherwise(pl.lit(""))).to_series()


def _parted(cells: pl.Series, name: str, argument: str) -> pl.Series:
    """Return the states behind the names in these cells (`state`), or the names without their states."""
    distinct, more = cells.unique().to_list(), argument.split(BETWEEN_WORDS) if argument else []
    found = [parted_state(text or "", more)[name == "state"] for text in distinct]
    return cells.replace_strict(distinct, found, return_dtype=pl.String)


def _is_skipped(row: list[str], position: int, condition: RowCondition) -> bool:
    """Return whether to skip a line with too few or too many fields, such as a total.

    A line that is not skipped is rejected later.
    """
    if position >= len(row):
        return False
    if not condition.is_not:
        return condition.matches(row[position])
    # If a line was not split into columns, its first field is the whole line, so compare only the beginning.
    text = row[0].strip().lower()
    return position == 0 and not any(text.startswith(word.strip().lower()) for word in condition.is_not)


def shaped(table: Table, shape: FileShape, columns: Mapping[str, str], content: Content) -> Table:
    """Apply a shape to a table: return rows of one content, with columns for the fields that the shape makes."""
    work = ShapedTable(table, columns, content)
    if shape.blank:
        work.blank(shape.blank)
    # A condition on a column of lists applies to each value of a list.
    later = [each for each in shape.skip_rows_where if each.column in shape.split]
    work.skip_rows(each for each in shape.skip_rows_where if each not in later)
    work.fill_down(shape.fill_down)
    across = work.across(shape.unpivot) if shape.unpivot else []
    inside = {column: each for column, each in shape.split.items() if work.at(column, "split") in across}
    work.split({column: each for column, each in shape.split.items() if column not in inside})
    among = [each for each in later if each.column in inside]
    work.skip_rows(each for each in later if each not in among)
    if shape.unpivot:
        words = next((words for field, words in shape.values.items() if same_header(field) == "access"), {})
        with work.leaving_out(_no_value_in([work.headers[int(place)] for place in across])):
            work.unpivot(shape.unpivot, words, inside, among)
    work.join(shape.join)
    is_by_line = table.is_by_line and not shape.changes_rows
    notes = (*table.notes, *work.notes)
    return table._replace(
        headers=work.headers,
        frame=work.frame,
        ragged=work.ragged,
        is_by_line=is_by_line,
        notes=notes,
        made=work.made,
        left_out={**table.left_out, **{reason: count for reason, count in work.left_out.items() if count}},
    )


def _no_value_in(headers: Sequence[str]) -> str:
    """Return the reason for leaving out a row that has no value in these columns."""
    if len(headers) > _MOST_NAMED:
        return f"none of {len(headers):,} columns has a value"
    return f"{' and '.join(headers)} {'has' if len(headers) == 1 else 'have'} no value"


def derived_users(table: Table, position: int) -> Table:
    """Return a table of the distinct usernames in a table of memberships or permissions."""
    username = pl.col(str(position)).str.strip_chars()
    frame = table.frame.select("line", username.alias("0")).filter(pl.col("0") != "").unique("0", keep="first")
    return Table(["Username"], frame.sort("line"), [], is_by_line=False, notes=table.notes)
