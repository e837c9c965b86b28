"""The command ``penstock``: one thin module per command, no logic."""
