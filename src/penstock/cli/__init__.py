"""The command ``penstock``: one thin module a command, no logic."""
