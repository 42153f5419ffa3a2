"""Compare, sort, escape and join text: sort keys, normalized forms for matching, one-line forms for logs, lists."""

import re
import unicodedata
from collections.abc import Sequence

# Letters that the Unicode root collation sorts with a base letter but that do not decompose into it.
_BASE = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"})
# Character classes in the regex syntax that Python and JSON Schema share. CONTROL: control characters and line breaks.
# ZERO_WIDTH: zero-width characters, fillers and directional marks. INVISIBLE: ZERO_WIDTH and white space.
CONTROL = r"\x00-\x1f\x7f-\x9f\u2028\u2029"
ZERO_WIDTH = (
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff"
)
INVISIBLE = rf"\s{ZERO_WIDTH}"
# Lower-case letters of other alphabets whose lower- or upper-case form looks like a Latin letter (from Unicode's
# confusables.txt), and digits that look like letters.
_LOOKALIKES: dict[str, str] = {
    **dict(zip("авгеёһніїјкмоԁԛԝӏрстухѕѵґ", "abreëhhiïjkmodqwlpctyxsvr", strict=True)),
    **dict(zip("αβγεζηικμνορστυχωϲϳ", "abyeznikmvopotuxwcj", strict=True)),
    **dict(zip("ıɑɡɩɪʋօսһցոհ", "iagiivouhgnh", strict=True)),
    **dict(zip("01", "ol", strict=True)),
}
# The capital and lower-case forms of three Greek letters look like different Latin letters.
_SMALL, _CAPITAL = str.maketrans(_LOOKALIKES), str.maketrans({**_LOOKALIKES, "η": "h", "ν": "n", "υ": "y"})
# The alphabets with look-alikes: Latin beyond ASCII, Greek, Cyrillic and Armenian. Beyond ASCII, `username_skeleton` in
# the database ignores case only in these alphabets.
_ALPHABETS = range(0x80, 0x590)
_HAS_CONTROL = re.compile(f"[{CONTROL}]")
_IS_BLANK = re.compile(rf"[{CONTROL}{INVISIBLE}]*")
_IS_ZERO_WIDTH = re.compile(f"[{ZERO_WIDTH}]")


def sort_key(name: str) -> str:
    """Return a key that orders by letters, then accents, ignoring case: `Élan` sorts among the E's."""
    letters = unicodedata.normalize("NFKD", name.casefold()).translate(_BASE)
    base = "".join(c for c in letters if not unicodedata.combining(c))
    return base if base == letters else f"{base}\x02{letters}"


def without_accents(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))


def is_blank(text: str) -> bool:
    """Return whether a string is invisible: empty, or only white space, control and zero-width characters."""
    return _IS_BLANK.fullmatch(text) is not None


def has_control(text: str) -> bool:
    return _HAS_CONTROL.search(text) is not None


def without_control(text: str) -> str:
    """Return the string with a space instead of each control character and line break."""
    return _HAS_CONTROL.sub(" ", text)


def name_key(name: str) -> str:
    """Normalize a name for comparison: NFKC, case-folded, single spaces, without format characters."""
    if not name.isascii():
        shown = _IS_ZERO_WIDTH.sub("", unicodedata.normalize("NFKC", name))
        name = "".join(c for c in shown if unicodedata.category(c) != "Cf")
    return " ".join(name.split()).casefold()


def skeletons(name: str) -> set[str]:
    """Return what a name looks like in lower case and in upper case; names that share a skeleton are easily confused.

    A letter that looks like a Latin letter counts as that letter, and dots at the end are ignored.
    """
    key = name_key(name)
    return {key.translate(alike).rstrip(". ") for alike in (_SMALL, _CAPITAL)}


def skeleton_table() -> tuple[str, str]:
    """Return the characters that `username_skeleton` in the database replaces, and their replacements."""
    found = {chr(code): chr(code).casefold() for code in _ALPHABETS}
    pairs = {c: _LOOKALIKES.get(folded, folded) for c, folded in found.items() if len(folded) == 1}
    pairs |= {digit: _LOOKALIKES[digit] for digit in "01"}
    changed = {c: alike for c, alike in pairs.items() if c != alike}
    return "".join(changed), "".join(changed.values())


def fold(text: str) -> str:
    """Return the text case-folded and without white space, for matching words that people type."""
    return "".join(text.split()).casefold()


def is_storable(text: str) -> bool:
    """Return whether PostgreSQL can store the text: no NUL, and valid UTF-8."""
    try:
        return b"\x00" not in text.encode()
    except UnicodeEncodeError:
        return False


def in_one_line(text: str) -> str:
    """Return the text with line breaks and control characters escaped, to prevent log injection."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or unicodedata.category(c) == "Zs" else repr(c)[1:-1] for c in text)


def counted(count: int, one: str, several: str | None = None) -> str:
    """Return a count with its noun: `1 row`, `2,000 rows`."""
    return f"{count:,} {one if count == 1 else several or f'{one}s'}"


def and_list(names: Sequence[str]) -> str:
    """Join names in one sentence: `Ada, Bob and Eve`; with a comma before `and` if a part contains `or`."""
    *others, last = names or [""]
    if not others:
        return last
    return f"{', '.join(others)}{',' if any(' or ' in name for name in names) else ''} and {last}"


def some_of(names: Sequence[str], most: int, count: int | None = None) -> str:
    """Join the first names and count the others: `Ada, Bob and 2,000 more`.

    Pass `count`, the number of all names, if `names` has only the first ones.
    """
    shown = names[:most]
    others = (len(names) if count is None else count) - len(shown)
    return ", ".join(shown) + (f" and {others:,} more" if others > 0 else "")


def byte_size(count: int) -> str:
    """Format a size in the largest unit that is exact: `1 MiB`, `16 KiB`, `1,000 bytes`."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size and count % size == 0:
            return f"{count // size:,} {unit}"
    return counted(count, "byte")
