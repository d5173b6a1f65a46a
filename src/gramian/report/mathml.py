"""Formulas of kernels as MathML, which browsers typeset."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gramian.kernels.expression import FORMULAS

NORM = re.compile(r"\|\|([^|]+)\|\|(_1)?")
NAME = r"[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)*"
TOKEN = re.compile(rf"\s*(\*\*|>=|{NAME}|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|[-+*/^.,=()\[\]])")
INDEXED = re.compile(r"([A-Za-z])_([a-z])|([A-Za-z]|coef)(\d)")  # x_j, k1
PARAMETERS = {"degree", "length_scale", "value"}  # names of several letters, besides those of kernels
BRACKETS = re.compile(r"^<mrow><mo>\(</mo>(.*)<mo>\)</mo></mrow>$")  # around all of it
GREEK = {"alpha": "α", "gamma": "γ", "nu": "ν", "sigma": "σ"}
FENCES = {"norm": ("‖", "‖"), "norm1": ("‖", "‖"), "abs": ("|", "|")}
WORDS = ("or", "and", "on", "of", "some", "columns")
ENDS = ("", ")", "]", ",", "=", ">=", "+", "-", *WORDS)  # of a product
DEEPEST = 40  # brackets inside each other


def mathml(formula: str) -> str:
    """Return a formula as MathML, in the notation in which kernels print; "" for other texts.

    Parameters
    ----------
    formula : str
        Such as ``str(kernel)`` and the formulas of :func:`gramian.kernels.table`.

    Examples
    --------
    >>> print(mathml("x . y / 2"))
    <math><mfrac><mrow><mi>x</mi><mo>⋅</mo><mi>y</mi></mrow><mn>2</mn></mfrac></math>
    >>> mathml("<script>")
    ''
    """
    try:
        return f"<math>{_Formula(formula).whole()}</math>"
    except ValueError:
        return ""


def matrix(rows: Sequence[Sequence[float]]) -> str:
    """Return numbers as a matrix, to three digits.

    Examples
    --------
    >>> matrix([[1.0, -0.5]]).count("<mtd>")
    2
    """
    cells = ("".join(_tag("mtd", number(f"{value:.3g}")) for value in row) for row in rows)
    return _tag("mtable", *(_tag("mtr", line) for line in cells))


def _tag(name: str, *inside: str) -> str:
    return f"<{name}>{''.join(inside)}</{name}>"


def _row(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else _tag("mrow", *parts)


def _fenced(left: str, inside: str, right: str) -> str:
    return _tag("mrow", _tag("mo", left), inside, _tag("mo", right))


def number(text: str) -> str:
    """Return a number, as text with or without an exponent.

    Examples
    --------
    >>> number("-2.5")
    '<mrow><mo>−</mo><mn>2.5</mn></mrow>'
    """
    digits, _, exponent = text.removeprefix("-").partition("e")
    parts = [_tag("mo", "−")] if text.startswith("-") else []
    parts.append(_tag("mn", digits))
    if exponent:
        power = number(str(int(exponent)))
        parts += [_tag("mo", "⋅"), _tag("msup", _tag("mn", "10"), power)]
    return _row(parts)


class _Formula:
    """The tokens of a formula, read from left to right."""

    def __init__(self, formula: str) -> None:
        text = NORM.sub(lambda match: f"norm{'1' if match[2] else ''}({match[1]})", formula.strip())
        self._tokens, place = list[str](), 0
        while place < len(text):
            if (match := TOKEN.match(text, place)) is None:
                raise ValueError(text[place:])
            # A function and its bracket are one token.
            name = match[1][0].isalpha() and text[match.end() : match.end() + 1] == "("
            self._tokens.append(match[1] + "(" * name)
            place = match.end() + name
        if not text:
            raise ValueError("nothing")
        self._tokens.append("")
        self._place = self._depth = 0

    @property
    def _next(self) -> str:
        return self._tokens[self._place]

    def _take(self) -> str:
        self._place += 1
        return self._tokens[self._place - 1]

    def whole(self) -> str:
        """Return all of it."""
        return self._until("")

    def _until(self, end: str) -> str:
        """Read expressions between commas, signs of equality and words, up to the end."""
        parts = []
        self._depth += 1
        while self._next != end:
            if self._depth > DEEPEST:
                raise ValueError("nested too deeply")
            if self._next in WORDS:
                parts.append(_tag("mtext", f"\u00a0{self._take()}\u00a0"))
            elif self._next in (",", "=", ">="):
                parts.append(_tag("mo", {">=": "≥"}.get(token := self._take(), token)))
            else:
                parts.append(self._sum())
        self._take()
        self._depth -= 1
        return _row(parts or [""])

    def _sum(self) -> str:
        parts = list[str]()
        while not parts or self._next in ("+", "-"):
            if self._next in ("+", "-"):
                parts.append(_tag("mo", "−" if self._take() == "-" else "+"))
            parts.append(self._product())
        return _row(parts)

    def _product(self) -> str:
        parts = [self._factor()]
        while self._next not in ENDS:
            sign = self._take() if self._next in (".", "*", "/") else ""
            before = self._tokens[self._place - 1]
            following = self._factor()
            if sign == "/":  # the bar of a fraction is a bracket, too
                parts = [_tag("mfrac", _row(parts), BRACKETS.sub(r"<mrow>\1</mrow>", following))]
                continue
            # Numbers next to each other would read as one.
            numbers = before[:1].isdigit() and following.startswith(("<mn>", "<msup><mn>"))
            between = _tag("mo", "⋅") if sign == "." or numbers else '<mspace width="0.2em"></mspace>'
            parts += [between, following]
        return _row(parts)

    def _factor(self) -> str:
        base = self._base()
        if self._next not in ("^", "**"):
            return base
        self._take()
        sign = [_tag("mo", "−")] if self._next == "-" and self._take() else []
        return _tag("msup", base, _row([*sign, self._base()]))

    def _base(self) -> str:
        token = self._take()
        if token[1:].endswith("("):
            return self._called(token[:-1])
        if token in ("[", "("):
            close = {"[": "]", "(": ")"}[token]
            return _fenced(token, self._until(close), close)
        if token[:1].isdigit() or (token[:1] == "." and token[1:]):
            return number(token)
        if not token[:1].isalpha() or token in WORDS:
            raise ValueError(token)
        if token.startswith("sum_"):  # of all that follows
            return _tag("mrow", _tag("munder", _tag("mo", "∑"), _tag("mi", token[4:])), self._product())
        if token not in GREEK and len(token) > 1 and token not in PARAMETERS | FORMULAS.keys():
            return self._indexed(token)
        return _tag("mi", GREEK.get(token, token))

    def _indexed(self, token: str) -> str:
        if (match := INDEXED.fullmatch(token)) is None:
            raise ValueError(token)  # prose
        name, index = filter(None, match.groups())
        return _tag("msub", _tag("mi", name), _tag("mi", index))

    def _called(self, name: str) -> str:
        inside = self._until(")")
        if name in FENCES:
            left, right = FENCES[name]
            norm = _fenced(left, inside, right)
            return _tag("msub", norm, _tag("mn", "1")) if name == "norm1" else norm
        if name == "sqrt":
            return _tag("msqrt", inside)
        shown = (
            _tag("mo", "∑")
            if name == "sum"
            else self._indexed(name)
            if name[1:2].isdigit()
            else _tag("mi", name)
        )
        return _tag("mrow", shown, _fenced("(", inside, ")"))
