"""Who gets how much bandwidth now: one small pure function a policy."""

from penstock.policies.policy import Need, Policy
from penstock.policies.registry import REGISTRY, expand, find
from penstock.policies.view import View

__all__ = ["REGISTRY", "Need", "Policy", "View", "expand", "find"]
