"""Describe a file for the person who confirms the proposal: its contents, columns, evidence and questions."""

from rolecall.core.secret_names import mask_text
from rolecall.file_shapes.files.accounting import account_beside, account_for, examples_of, sections_of
from rolecall.file_shapes.files.read_files import ReadFile, place_of
from rolecall.file_shapes.files.understood import understood_by
from rolecall.file_shapes.parts import Part
from rolecall.file_shapes.shapes import ColumnAccount, ColumnProposal, ContentProposal, FileProposal
from rolecall.file_shapes.tables.sample_table import SampleTable, raw_without_secrets


def shown_file(file: ReadFile) -> FileProposal:
    found = file.view.table if file.view else None
    return FileProposal(
        name=file.sample.name,
        size=file.sample.size,
        problem=file.problem,
        format=found.format if found else None,
        encoding=(found.encoding or "utf-8") if found else None,
        delimiter=found.delimiter if found else None,
        header_line=found.header_line if found else None,
        evidence=_evidence(found) if found else [],
        file_group=file.group,
        contents=[_content(each, part, is_first=each is file) for each in (file, *file.others) for part in each.parts],
        columns=[] if file.problem else _accounts(file),
        raw=raw_without_secrets(found) if found else [],
        sheet=found.sheet if found else None,
        sheets=found.sheets if found else [],
        records=found.records if found else None,
        lists=found.choices if found else [],
    )


def _accounts(file: ReadFile) -> list[ColumnAccount]:
    """Return the columns, sheets and lists of a file, with what becomes of each."""
    found: list[ColumnAccount] = []
    for read in (file, *file.others):
        assert read.view
        parts = [(part.content, {"columns": part.columns, "shape": part.shape}) for part in read.parts]
        sections = sections_of(parts, read.view.table.records)
        found += account_for(read.view, sections, None if read is file else place_of(read))
    assert file.view
    paths = {part.shape["records"]: part.content for part in file.parts if "records" in part.shape}
    return [*found, *account_beside(file.view.table.beside, paths)]


def _evidence(found: SampleTable) -> list[str]:
    more = [f"The last row is a total and is left out: {found.totals[0]}"] if found.totals else []
    if found.candidates:
        more.append(f"Other lines that could be the header: {', '.join(map(str, found.candidates))}")
    return [*map(mask_text, (*found.evidence, *more))]


def _content(file: ReadFile, part: Part, *, is_first: bool) -> ContentProposal:
    assert file.view
    fields = {meaning.header: meaning for meaning in part.fields.values()}
    secret = {each.header for each in file.view.profiles if each.is_secret}
    ignored = secret.union(part.shape.get("ignore", []))
    columns = []
    for profile in file.view.profiles:
        meaning = fields.get(profile.header)
        columns.append(
            ColumnProposal(
                profile.header,
                meaning.field if meaning else None,
                round(meaning.score, 2) if meaning else 0.0,
                meaning.evidence if meaning else _use_in_patterns(part, profile.header),
                profile.header in ignored,
                [] if profile.header in secret else examples_of(profile.distinct),
            )
        )
    section = {"columns": part.columns, "shape": part.shape}
    table = file.view.table
    found = part.understood = understood_by(file.sample, table.format, table.encoding, part.content, section)
    return ContentProposal(
        part.content,
        part.confidence,
        part.evidence,
        columns,
        part.shape,
        part.questions,
        found.rows,
        None if is_first else place_of(file),
        found.statements,
    )


def _use_in_patterns(part: Part, header: str) -> str:
    """Say which fields are built or unpivoted from a column; return an empty string if none are."""
    joins: dict[str, str] = part.shape.get("join", {})
    unpivot = part.shape.get("unpivot", {})
    if header in unpivot.get("columns", []):
        return f"{unpivot['cells']} is read from it and from other columns"
    signs = (f"{{{header}|", f"{{{header}}}", f"|or({header})")
    built = [field for field, pattern in joins.items() if any(sign in pattern for sign in signs)]
    return f"{' and '.join(built)} is built from it" if built else ""
