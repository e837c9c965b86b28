"""Shows the examples of docstrings as code.

To griffe an ``Example:`` is a remark in Markdown, where ``>>>`` is a quotation and ``[1, 2][0]`` a reference; ``Examples:`` is a
section of code that can be run.
"""

import re
from typing import Any

from griffe import Extension, Object

HEADING = re.compile(r"^(\s*)Example:$", re.MULTILINE)


class Examples(Extension):
    """Reads every ``Example:`` as ``Examples:``."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Change the heading in the docstring of a module, class, function or attribute."""
        if obj.docstring is not None:
            obj.docstring.value = HEADING.sub(r"\1Examples:", obj.docstring.value)
