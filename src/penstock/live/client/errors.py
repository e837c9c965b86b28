"""The exceptions of the client. They are separate from those of `penstock.model`, so that applications need not load numpy.

::

    ClientError              anything that the caller can correct; its text is one line
    ├── AddressError         the coordinator's address, or its token
    ├── UsageError           a wrong argument, or a call out of order
    └── CoordinatorError     a command that the coordinator refuses, or no coordinator

An absent, slow or dead coordinator is no error for an application: it goes on without it.
"""

from __future__ import annotations


class ClientError(Exception):
    """What went wrong and what is expected, in one line."""


class AddressError(ClientError):
    """The address or the token of the coordinator cannot be used."""


class UsageError(ClientError):
    """A wrong argument, or a call out of order."""


class CoordinatorError(ClientError):
    """The coordinator refuses a command, or there is no coordinator."""
