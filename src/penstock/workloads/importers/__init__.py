"""Importers: logs, accounting and measurements of a real machine become workloads."""
