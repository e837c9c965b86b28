"""The commands as functions: `penstock.simulate`, `compare`, `bounds`, `campaign`, `pack`, `place` and so on.

A function takes the words of the command's options and returns a result with ``to_dict()`` (what ``--json`` prints),
``to_pandas()`` and a table for notebooks. The commands parse their arguments, call these functions and print.
"""
