"""Messages in the terms of who reads them: parameters become options of the shell, or words of a page.

Errors are worded for Python, ``missing="mean"``. Here the parameters that shell and page have are replaced,
for all errors alike: ``--missing mean``, ``missing values "mean"``.
"""

import re
import shlex
from typing import Literal

Surface = Literal["shell", "page"]

# What the shell and the page call a parameter.
TERMS = {
    "alpha": ("--alpha", "alpha"),
    "checkpoint": ("--checkpoint", "checkpoint"),
    "coef0": ("--coef0", "coef0"),
    "columns": ("--columns", "columns"),
    "criterion": ("--criterion", "criterion"),
    "color": ("--color", "colour"),
    "cv": ("--cv", "number of folds"),
    "ddof": ("--ddof", "ddof"),
    "degree": ("--degree", "degree"),
    "device": ("--device", "device"),
    "direction": ("--method", "method"),
    "drop": ("--drop", "the choice to leave out"),
    "estimator": ("--estimator", "estimator"),
    "far": ("--far", "false accept rate"),
    "gamma": ("--gamma", "gamma"),
    "id": ("--id", "the column of row names"),
    "k": ("--features", "number of columns"),
    "kernel": ("--kernel", "kernel"),
    "label": ("--label", "label"),
    "labels_from": ("--labels-from", "file of labels"),
    "landmarks": ("--landmark-rule", "rule for landmarks"),
    "level": ("--level", "level"),
    "light": ("--light", "light"),
    "max_rmse": ("--max-rmse", "largest root-mean-square error"),
    "memory_limit": ("--memory-limit", "memory limit"),
    "method": ("--method", "method"),
    "missing": ("--missing", "missing values"),
    "n_boot": ("--n-boot", "number of samples"),
    "n_components": ("--components", "number of components"),
    "n_features": ("--features", "number of columns"),
    "n_features_to_select": ("--features", "number of columns"),
    "n_landmarks": ("--landmarks", "number of landmarks"),
    "na_values": ("--na-values", "marks of missing values"),
    "nested": ("--nested", "nested validation"),
    "floating": ("--floating", "floating search"),
    "normal": ("--normal", "normal rows"),
    "patience": ("--patience", "patience"),
    "preimage": ("--preimage", "pre-images"),
    "random_state": ("--seed", "seed"),
    "redundancy": ("--redundancy", "redundancy"),
    "regularization": ("--regularization", "regularization"),
    "repair": ("--repair", "repair"),
    "rows": ("--rows", "rows"),
    "scale": ("--scale", "scaling"),
    "score": ("--method", "method"),
    "scoring": ("--scoring", "score"),
    "shift": ("--shift", "shift"),
    "size": ("--size", "size of pictures"),
    "solver": ("--solver", "solver"),
    "tol": ("--tol", "tolerance"),
    "tolerance": ("--tolerance", "tolerance"),
    "transpose": ("--transpose", "swapping rows and columns"),
    "unmatched": ("--unmatched", "unmatched variants"),
    "value_tol": ("--value-tol", "error of entries"),
    "weights": ("--weights", "weights"),
    "whiten": ("--whiten", "scores of variance 1"),
    "x": ("--x", "X axis"),
    "y": ("--y", "Y axis"),
}
FLAGS = ("floating", "nested", "transpose", "whiten")
# Values that are words of their own.
PHRASES = {
    ("center", "False"): ("--no-center", "no centring"),
    ("center", "True"): ("centred data (leave out --no-center)", "centring"),
}
QUOTED = r"'[^']*'|\"[^\"]*\""
VALUE = rf"(?:{QUOTED}|\[[^\]]*\]|\([^)]*\)|[^\s,;:()'\"]*[^\s,;:()'\".])"
ALONE = [name for name in TERMS if "_" in name]
PATTERN = re.compile(
    rf"(?<![\w.-])(?<!\w\()(?P<name>{'|'.join([*TERMS, 'center'])})=(?P<value>{VALUE})"
    rf"(?P<more>(?:(?:,| or|, or| and) (?:{QUOTED})(?!=))*)"
    rf"|(?P<quoted>{QUOTED})"
    rf"|(?<![\w.-])(?P<alone>{'|'.join(ALONE)})(?![\w=(])"
)
SENTENCE = r"(?:[^.?]|[.](?=\S))*[.?]?"
# Sentences of advice name choices, which Python quotes; others may quote names of the data.
ADVICE = re.compile(rf"(?:^|(?<=[.?] ))(?:Allowed|Choose|Did you mean|Give|Or|Set|Use|Write)\b{SENTENCE}")
CHOICE = re.compile(r"(?<![\w=])(['\"])([a-z0-9:][\w:+-]*)\1")
PYTHON_ONLY = re.compile(rf" In Python\b{SENTENCE}")
NOTHING = re.compile(r",? or None\b")
CENTRED = re.compile(r"Use center=True")


def worded(text: str, surface: Surface) -> str:
    """Return a message in the terms of the command line or of a page.

    Examples
    --------
    >>> text = "scale='unitt' is not known. Allowed: 'unit', 'pareto'. Did you mean 'unit'?"
    >>> worded(text, "shell")
    '--scale unitt is not known. Allowed: unit, pareto. Did you mean unit?'
    >>> print(worded('Leave out with drop=["a b", "c"], or use missing="mean" or "drop-rows".', "shell"))
    Leave out with --drop 'a b,c', or use --missing mean or drop-rows.
    >>> print(worded('n_components=0 is too small. Use whiten=True or missing="mean".', "page"))
    Number of components 0 is too small. Use scores of variance 1 or missing values "mean".
    """
    shell = surface == "shell"

    def replaced(match: re.Match[str]) -> str:
        if match["quoted"]:
            return match["quoted"]
        if match["alone"]:
            return TERMS[match["alone"]][not shell]
        name, value = match["name"], match["value"]
        if (name, value) in PHRASES:
            return PHRASES[name, value][not shell]
        if name not in TERMS:
            return match[0]
        term = TERMS[name][not shell]
        more = match["more"]
        if shell:
            more = re.sub(QUOTED, lambda one: one[0][1:-1], more)
        if value == "True":
            return f"{term}{'' if name in FLAGS else ' true'}{more}"
        if value in ("False", "None"):
            return f"no {term}{more}"
        return f"{term}{_value(value, shell)}{more}"

    text = NOTHING.sub(", or leave it out", PYTHON_ONLY.sub("", text))
    if shell:
        text = unquoted(CENTRED.sub("Leave out --no-center", text))
    return PATTERN.sub(lambda match: _begun(replaced(match), match, shell), text)


def unquoted(text: str) -> str:
    """Return a message whose sentences of advice name choices without quotes.

    Examples
    --------
    >>> unquoted("'a' is not known. Use 'b' or 'c'.")
    "'a' is not known. Use b or c."
    """
    return ADVICE.sub(lambda match: CHOICE.sub(r"\2", match[0]), text)


def _begun(term: str, match: re.Match[str], shell: bool) -> str:
    """Return a term with a capital where it begins a sentence of a page."""
    first = not match.start() or match.string[: match.start()].endswith((". ", "? "))
    return term[:1].upper() + term[1:] if first and not shell and not match["quoted"] else term


def _value(value: str, shell: bool) -> str:
    """Return a space and a value without Python's spelling: as the shell quotes it, or in quotes."""
    if value == "[...]":
        return ""
    if value[0] in "[(":
        names = [one[1:-1] for one in re.findall(QUOTED, value)]
        more = ", ..." if "..." in value and names else ""
        joined = ",".join(names) if names else value[1:-1].replace(", ", ",")
        return f" {shlex.quote(joined) if shell and names else joined}{more}"
    if value[0] in "'\"":
        return f" {shlex.quote(value[1:-1])}" if shell else f' "{value[1:-1]}"'
    return f" {value.removesuffix('.0')}"
