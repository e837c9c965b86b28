"""Users' own policies: compiled with bounds checked, and stopped instead of crashing the engine.

A C function cannot raise. The guard marks all rates as missing before it calls the user's function and after that fails;
the engine refuses rates that are not numbers, and asks the function again from Python for the reason.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from penstock.model import InputError
from penstock.numeric.arrays import Floats
from penstock.numeric.compiled import JIT, ByAddress, inlinable, retargeted
from penstock.policies.view import RATES_SIGNATURE, RatesFunction, View, asked


def guarded(function: RatesFunction, name: str) -> Any:
    """Compile a user's policy as the engine calls it.

    Args:
        function: the function of (view, rates).
        name: what errors call the policy.

    Raises:
        InputError: in one line, if numba cannot compile it.
    """
    if not JIT:
        return retargeted(asked, _guard(function))
    try:
        # Without counting references a call costs half; what makes arrays needs it.
        return _compiled(function, name, _nrt=False)
    except InputError:
        return _compiled(function, name)


def _compiled(function: RatesFunction, name: str, **flags: Any) -> ByAddress:
    guarded = inlinable(_guard(inlinable(function, boundscheck=True, **flags)))
    try:
        return ByAddress(retargeted(asked, guarded), RATES_SIGNATURE, f"the policy {name}", cached=False)
    except Exception as error:  # numba has errors of many classes for what it cannot compile
        raise InputError(f"policy {name}", f"it cannot be compiled: {_reason(str(error))}") from None


def _guard(function: RatesFunction) -> RatesFunction:
    def rates_or_nothing(view: View, rates: Floats) -> None:
        for i in range(len(rates)):
            rates[i] = np.nan
        try:
            function(view, rates)
        except Exception:  # numba knows no other
            for i in range(len(rates)):
                rates[i] = np.nan

    return rates_or_nothing


def failure(function: RatesFunction, view: View) -> str | None:
    """What the `function` raises for the `view` when called from Python, in one line; None if it raises nothing."""
    try:
        function(view, np.full(len(view.cap), np.nan))
    except Exception as error:  # whatever a user's function raises
        return f"it failed with {type(error).__name__}: {' '.join(str(error).split())}"
    return None


_NOISE = re.compile(r"\x1b\[[0-9;]*m|^(Failed in nopython mode|During:|There are \d+ candidate|- Of which).*$", re.MULTILINE)
_NOT_COMPILED = re.compile(r"Untyped global name '(\w+)':.*<class 'function'>")
_PLAINER = ((r"\bView\(.*\)", "View"), (r"readonly array\([^)]*\)", "read-only array"), (r"\barray\([^)]*\)", "array"))


def _reason(text: str) -> str:
    """numba's long message as one line: the first thing it says, and where."""
    plain = _NOT_COMPILED.search(text)
    if plain:
        return f"it calls {plain[1]}, which is not compiled; expected @numba.njit above its definition"
    lines = [line.strip() for line in _NOISE.sub("", text).splitlines() if line.strip()]
    reason = next((line for line in lines if not line.startswith("File ")), "unknown reason").rstrip(".:")
    signature = next((line.removeprefix(">>> ") for line in lines if line.startswith(">>> ")), "")
    place = re.search(r'File "[^"]+", line (\d+)', text)
    message = f"{reason}{': ' + signature if signature else ''}{f' (line {place[1]})' if place else ''}"
    for pattern, plainer in _PLAINER:
        message = re.sub(pattern, plainer, message)
    return f"{message}; expected what numba can compile"
