"""Text: how names sort, when words are the same, and how a log shows them."""

import unicodedata

# Letters that Unicode's root order places with a base letter but that do not decompose into it.
_BASE = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"})


def sort_key(name: str) -> str:
    """Orders by letters, then by accents, never by case: `Élan` stands among the E's."""
    letters = unicodedata.normalize("NFKD", name.casefold()).translate(_BASE)
    base = "".join(c for c in letters if not unicodedata.combining(c))
    return base if base == letters else f"{base}\x02{letters}"


def fold(text: str) -> str:
    """For matching words people type: no case, no spaces."""
    return "".join(text.split()).casefold()


def is_storable(text: str) -> bool:
    """Tell whether PostgreSQL can hold the text: it has no NUL and can be written as UTF-8."""
    try:
        return b"\x00" not in text.encode()
    except UnicodeEncodeError:
        return False


def in_one_line(text: str) -> str:
    """For logs: what would end the line, or what a terminal obeys, is shown as an escape."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or unicodedata.category(c) == "Zs" else repr(c)[1:-1] for c in text)
