"""Policies: each is one small pure function that decides who gets how much bandwidth now."""

from penstock.policies.policy import Need, Policy
from penstock.policies.registry import REGISTRY, expand, find
from penstock.policies.view import View

__all__ = ["REGISTRY", "Need", "Policy", "View", "expand", "find"]
