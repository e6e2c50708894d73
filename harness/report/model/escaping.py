"""Escape text from a target, so that it is plain text wherever it is shown."""

import re
from typing import Final

_NO_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot contain at all, escaped or not."""
_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]<>#|~&@])")


def in_xml(value: str) -> str:
    """Return a value with the characters that XML cannot contain written as escapes."""
    return _NO_XML.sub(lambda found: f"\\u{ord(found.group()):04x}", value)


def in_markdown(value: str) -> str:
    """Return a value as Markdown text: no markup, mention, new line, control character or bidi mark."""
    return _MARKDOWN.sub(r"\\\1", in_terminal(" ".join(value.split())))


def in_terminal(value: str) -> str:
    """Return a value with escapes for control characters, which a terminal would obey, and bidi marks."""
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape", "backslashreplace").decode()
        for each in value
    )
