"""The exceptions of the client, apart from those of the model so that an application need not load numpy.

::

    ClientError              anything the caller can put right; its text is one line
    ├── AddressError         where the coordinator is, or the token that opens it
    ├── UsageError           a wrong argument, or a call out of its order
    └── CoordinatorError     an order that the coordinator refuses, or that finds none

To an application, a coordinator that is absent, slow or gone is no error: it goes on without it.
"""

from __future__ import annotations


class ClientError(Exception):
    """What went wrong, in one line that the caller can act on."""


class AddressError(ClientError):
    """The address or the token of the coordinator cannot be used."""


class UsageError(ClientError):
    """A wrong argument, or a call that does not fit what is under way."""


class CoordinatorError(ClientError):
    """The coordinator refuses an order, or there is none to take it."""
