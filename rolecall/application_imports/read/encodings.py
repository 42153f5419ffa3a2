"""Detect the encoding of a text that is not UTF-8, and say which encoding to set."""

import re

from rolecall.application_imports.read.code_pages import example_in, is_western, likely_code_page

# The bytes of accented letters and common punctuation in windows-1252. Other bytes indicate another encoding.
_LETTERS = {*range(0xC0, 0x100), 0x8A, 0x8C, 0x8E, 0x9A, 0x9C, 0x9E, 0x9F}
_SIGNS = bytes.fromhex("80 85 91 92 93 94 95 96 97 99 a0 a3 a7 a9 aa ab ae b0 b4 b5 b7 ba bb")
_PLAUSIBLE = bytes(_LETTERS) + _SIGNS
_ASCII = bytes(range(0x80))
# Two bytes that are one accented letter in UTF-8 and a rare combination of letters in other encodings.
_UTF8_LETTER = re.compile(rb"[\xc3-\xc5][\x80-\xbf]")
_SAMPLE = 4096


def detected(content: bytes) -> str | None:
    """Return the encoding of a text without byte order mark, or None if it is UTF-8 or unknown."""
    if content.isascii() and b"\x00" not in content[:_SAMPLE]:
        return None
    if (found := wide(content)) is not None:
        return found
    if _is_utf8(content):
        return None
    others = content.translate(None, _ASCII + _PLAUSIBLE)
    if others or _is_damaged(content):
        return None
    return "windows-1252" if is_western(content) else None


def detected_or_likely(content: bytes) -> str | None:
    """Return the detected encoding or else the most likely code page; None for UTF-8, damaged or unrecognized text.

    The calling code must show the result to a person, because it may be wrong.
    """
    if (found := detected(content)) is not None or _is_utf8(content) or _is_damaged(content):
        return found
    return likely_code_page(content)


def advice(content: bytes) -> str:
    """Return the advice for a text that is not UTF-8: set the most likely encoding, or save the file as UTF-8."""
    found = None if _is_damaged(content) else likely_code_page(content)
    if found is None:
        return "save the file as UTF-8, or name its encoding in the connector"
    shown = example_in(content, found)
    return f"it looks like {found} ({shown}): set encoding to {found} if that is right, or save the file as UTF-8"


def wide(content: bytes) -> str | None:
    """Return the variant of UTF-16 if nearly every second byte is NUL, as in ASCII text; otherwise None."""
    sample = content[:_SAMPLE]
    for name, at in (("utf-16-le", 1), ("utf-16-be", 0)):
        if len(sample) >= 4 and sample[at::2].count(0) > len(sample) * 0.4 and not sample[1 - at :: 2].count(0):
            return name
    return None


def _is_damaged(content: bytes) -> bool:
    """Return whether a text is damaged UTF-8, not in another encoding: at least half of its non-ASCII text is UTF-8."""
    if not _UTF8_LETTER.search(content):
        return False
    text = content.decode(errors="replace")
    lost = text.count("\ufffd")
    return sum(character > "\x7f" for character in text) - lost >= lost


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True
