"""Steering running applications: the deciding core, and the shells around it that talk, remember and show (003)."""
