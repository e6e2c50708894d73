"""What a target may have sent, spelt so that it is text wherever it is read."""

import re
from typing import Final

_NO_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot contain at all, escaped or not."""
_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]<>#|~&])")


def in_xml(value: str) -> str:
    """Spell out the characters that XML cannot contain."""
    return _NO_XML.sub(lambda found: f"\\u{ord(found.group()):04x}", value)


def in_markdown(value: str) -> str:
    """Make text of it: no markup, no new line, no control character, and nothing that turns text around."""
    return _MARKDOWN.sub(r"\\\1", in_terminal(" ".join(value.split())))


def in_terminal(value: str) -> str:
    """Spell out what does not print: control characters, which a terminal would obey, and bidi marks."""
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape", "backslashreplace").decode()
        for each in value
    )
