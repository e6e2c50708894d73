"""The regular expressions that Kafka's library RE2/J accepts, and its error messages for others.

The parser reads an expression from left to right and reports the first error. `docs/regular-expressions.md`
lists where RE2 and Python differ.
"""

import re
from typing import Final

_REPEAT_MAX: Final = 1000
_DIGITS_MAX: Final = 8
_LAST_CODE_POINT: Final = 0x10FFFF
_INVALID_CHAR_RANGE: Final = "invalid character class range"
_INVALID_ESCAPE: Final = "invalid escape sequence"
_INVALID_NAMED_CAPTURE: Final = "invalid named capture"
_MISSING_BRACKET: Final = "missing closing ]"
_MISSING_PAREN: Final = "missing closing )"

_REPEAT: Final = re.compile(r"\{(0|[1-9][0-9]*)(,(0|[1-9][0-9]*)?)?\}")
_FLAGS: Final = re.compile(r"\?[imsU]*(?:-[imsU]+)?[:)]")
_CAPTURE_NAME: Final = re.compile(r"[0-9A-Za-z_]+")
_PERL_CLASSES: Final = frozenset("dDsSwW")
_EMPTY_WIDTH: Final = frozenset("AbBz")
_OCTAL: Final = re.compile(r"0[0-7]{0,2}|[1-7][0-7]{1,2}")
_HEXADECIMAL: Final = re.compile(r"x(?:\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{2}))")
_CONTROLS: Final = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_POSIX_CLASS: Final = re.compile(
    r"\[:\^?(?:alnum|alpha|ascii|blank|cntrl|digit|graph|lower|print|punct|space|upper|word|xdigit):\]"
)
_UNICODE_CLASSES: Final = frozenset(
    re.findall(
        r"\w+",
        """
        Any C Cc Cf Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm
        So Z Zl Zp Zs Arabic Armenian Avestan Balinese Bamum Batak Bengali Bopomofo Brahmi Braille
        Buginese Buhid Canadian_Aboriginal Carian Cham Cherokee Common Coptic Cuneiform Cypriot
        Cyrillic Deseret Devanagari Egyptian_Hieroglyphs Ethiopic Georgian Glagolitic Gothic Greek
        Gujarati Gurmukhi Han Hangul Hanunoo Hebrew Hiragana Imperial_Aramaic Inherited
        Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi Kannada Katakana Kayah_Li
        Kharoshthi Khmer Lao Latin Lepcha Limbu Linear_B Lisu Lycian Lydian Malayalam Mandaic
        Meetei_Mayek Mongolian Myanmar New_Tai_Lue Nko Ogham Ol_Chiki Old_Italic Old_Persian
        Old_South_Arabian Old_Turkic Oriya Osmanya Phags_Pa Phoenician Rejang Runic Samaritan
        Saurashtra Shavian Sinhala Sundanese Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham
        Tai_Viet Tamil Telugu Thaana Thai Tibetan Tifinagh Ugaritic Unknown Vai Yi
        """,
    )
)
"""RE2/J supports Unicode 6.0. Source: UnicodeTables.CATEGORIES and SCRIPTS (RE2/J 1.8)."""


class RegexSyntaxError(ValueError):
    """The expression is invalid. The message is RE2/J's. Source: PatternSyntaxException#getDescription."""


def check_syntax(text: str, *, names_groups_without_p: bool) -> None:
    """Check the syntax of an expression.

    Decided in: Utils#throwIfRegularExpressionIsInvalid (4.3.1), com.google.re2j.Parser#parseInternal.

    Raises:
        RegexSyntaxError: the expression is invalid. The error is the first one in it.
    """
    _Parser(text, names_groups_without_p=names_groups_without_p).parse_internal()


class _Parser:
    """The state of parsing an expression. Source: com.google.re2j.Parser (RE2/J 1.8)."""

    def __init__(self, text: str, *, names_groups_without_p: bool) -> None:
        self._text: Final = text
        self._named_group: Final = ("(?P<", "(?<") if names_groups_without_p else ("(?P<",)
        self._at = 0
        self._open_groups = 0
        self._names: Final[set[str]] = set()
        self._has_operand = False
        """Whether there is something to repeat since the last `(` or `|`."""
        self._after_repeat = False

    def parse_internal(self) -> None:
        """Source: Parser#parseInternal."""
        while self._more():
            is_repeat = self._step()
            self._after_repeat = is_repeat
        if self._open_groups:
            raise RegexSyntaxError(_MISSING_PAREN)

    def _step(self) -> bool:
        """Read one element. Return whether a repetition may not follow it."""
        match self._text[self._at]:
            case "(":
                self._parse_left_paren()
            case "|":
                self._at += 1
                self._has_operand = False
            case ")":
                self._parse_right_paren()
            case "[":
                self._parse_class()
            case "*" | "+" | "?":
                self._at += 1
                self._repeat()
                return True
            case "{":
                self._parse_repeat()
                # RE2/J counts a brace as a repetition even if it is a literal.
                return True
            case "\\":
                self._parse_backslash()
            case _:
                self._at += 1
                self._has_operand = True
        return False

    def _parse_left_paren(self) -> None:
        if self._text.startswith(self._named_group, self._at):
            self._parse_named_group()
        elif self._text.startswith("(?", self._at):
            self._parse_perl_flags()
        else:
            self._at += 1
            self._open_group()

    def _open_group(self) -> None:
        self._open_groups += 1
        self._has_operand = False

    def _parse_right_paren(self) -> None:
        """Source: Parser#parseRightParen, whose stack is empty if no group is open."""
        if not self._open_groups:
            raise RegexSyntaxError("regexp/syntax: internal error")
        self._at += 1
        self._open_groups -= 1
        self._has_operand = True

    def _parse_named_group(self) -> None:
        """Decided in: Parser#parsePerlFlags."""
        begin = self._text.index("<", self._at) + 1
        end = self._text.find(">", begin)
        if end < 0:
            raise RegexSyntaxError(_INVALID_NAMED_CAPTURE)
        name = self._text[begin:end]
        if not _CAPTURE_NAME.fullmatch(name):
            raise RegexSyntaxError(_INVALID_NAMED_CAPTURE)
        if name in self._names:
            raise RegexSyntaxError("duplicate capture group name")
        self._names.add(name)
        self._at = end + 1
        self._open_group()

    def _parse_perl_flags(self) -> None:
        """Source: Parser#parsePerlFlags."""
        flags = _FLAGS.match(self._text, self._at + 1)
        if flags is None:
            raise RegexSyntaxError("invalid or unsupported Perl syntax")
        self._at = flags.end()
        if flags[0].endswith(":"):
            self._open_group()

    def _parse_repeat(self) -> None:
        """Read a repeat count, or a brace that is a literal. Source: Parser#parseRepeat."""
        count = _REPEAT.match(self._text, self._at)
        if count is None:
            self._at += 1
            self._has_operand = True
            return
        self._at = count.end()
        least = _repeat_count(count[1])
        most = least if count[2] is None else _REPEAT_MAX if count[3] is None else _repeat_count(count[3])
        if not least <= most <= _REPEAT_MAX:
            raise RegexSyntaxError("invalid repeat count")
        self._repeat()

    def _repeat(self) -> None:
        """Source: Parser#repeat."""
        if self._text.startswith("?", self._at):
            self._at += 1
        if self._after_repeat:
            raise RegexSyntaxError("invalid nested repetition operator")
        if not self._has_operand:
            raise RegexSyntaxError("missing argument to repetition operator")

    def _parse_backslash(self) -> None:
        following = self._text[self._at + 1 : self._at + 2]
        if following == "Q":
            self._parse_quoted()
            return
        if following and following in _EMPTY_WIDTH:
            self._at += 2
        elif not self._parse_escaped_class():
            self._parse_escape()
        self._has_operand = True

    def _parse_quoted(self) -> None:
        begin = self._at + 2
        end = self._text.find("\\E", begin)
        self._at = len(self._text) if end < 0 else end + 2
        self._has_operand |= begin < (self._at if end < 0 else end)

    def _parse_escaped_class(self) -> bool:
        r"""Read a class such as `\pL` or `\d`, if there is one.

        Decided in: Parser#parseUnicodeClass, Parser#parsePerlClassEscape.
        """
        following = self._text[self._at + 1 : self._at + 2] if self._text[self._at] == "\\" else ""
        if following and following in _PERL_CLASSES:
            self._at += 2
            return True
        if not following or following not in "pP":
            return False
        name = self._text[self._at + 2 : self._at + 3]
        self._at += 3
        if name == "{":
            end = self._text.find("}", self._at)
            if end < 0:
                raise RegexSyntaxError(_INVALID_CHAR_RANGE)
            name = self._text[self._at : end]
            self._at = end + 1
        if name.removeprefix("^") not in _UNICODE_CLASSES:
            raise RegexSyntaxError(_INVALID_CHAR_RANGE)
        return True

    def _parse_escape(self) -> int:
        """Read an escaped character, and return it. Source: Parser#parseEscape."""
        self._at += 1
        if not self._more():
            raise RegexSyntaxError("trailing backslash at end of expression")
        if octal := _OCTAL.match(self._text, self._at):
            self._at = octal.end()
            return int(octal[0], 8)
        if hexadecimal := _HEXADECIMAL.match(self._text, self._at):
            code_point = int(hexadecimal[1] or hexadecimal[2], 16)
            if code_point <= _LAST_CODE_POINT:
                self._at = hexadecimal.end()
                return code_point
        escaped = self._text[self._at]
        if escaped not in _CONTROLS and escaped.isascii() and escaped.isalnum():
            raise RegexSyntaxError(_INVALID_ESCAPE)
        self._at += 1
        return _CONTROLS.get(escaped, ord(escaped))

    def _parse_class(self) -> None:
        """Source: Parser#parseClass."""
        self._at += 1
        if self._text.startswith("^", self._at):
            self._at += 1
        is_first = True
        while is_first or not self._text.startswith("]", self._at):
            is_first = False
            if not self._more():
                raise RegexSyntaxError(_MISSING_BRACKET)
            if not self._parse_named_class() and not self._parse_escaped_class():
                self._parse_class_range()
        self._at += 1
        self._has_operand = True

    def _parse_named_class(self) -> bool:
        """Read a class such as `[:alpha:]`, if there is one. Source: Parser#parseNamedClass."""
        if not self._text.startswith("[:", self._at):
            return False
        end = self._text.find(":]", self._at)
        if end < 0:
            return False
        if not _POSIX_CLASS.fullmatch(self._text, self._at, end + 2):
            raise RegexSyntaxError(_INVALID_CHAR_RANGE)
        self._at = end + 2
        return True

    def _parse_class_range(self) -> None:
        low = self._parse_class_char()
        if self._text.startswith("-", self._at) and not self._text.startswith("-]", self._at):
            self._at += 1
            if self._parse_class_char() < low:
                raise RegexSyntaxError(_INVALID_CHAR_RANGE)

    def _parse_class_char(self) -> int:
        """Source: Parser#parseClassChar."""
        if not self._more():
            raise RegexSyntaxError(_MISSING_BRACKET)
        if self._text[self._at] == "\\":
            return self._parse_escape()
        self._at += 1
        return ord(self._text[self._at - 1])

    def _more(self) -> bool:
        return self._at < len(self._text)


def _repeat_count(digits: str) -> int:
    # Longer numbers are not converted, so the interpreter's limit of digits does not matter.
    return int(digits) if len(digits) <= _DIGITS_MAX else _REPEAT_MAX + 1
