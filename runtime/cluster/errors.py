"""What can go wrong between kuik and its surroundings; no error of a library leaves this package.

ClusterError
├── Unavailable       not reached, or too busy: the same request may succeed later
├── Refused           not allowed, or not known who asks
├── NotFound          there is no such object
├── Conflict          the object has changed since it was read
├── Expired           the version that a watch or a list goes on from is forgotten
├── Rejected          the request is wrong, and always will be
└── LeadershipLost    another may lead now
"""

from __future__ import annotations

from typing import Final

from compiler.duration import Nanoseconds

__all__ = [
    "ClusterError",
    "Conflict",
    "Expired",
    "LeadershipLost",
    "NotFound",
    "Refused",
    "Rejected",
    "Unavailable",
    "error_of_status",
]


class ClusterError(Exception):
    """Something between kuik and its surroundings failed; the message says what."""


class Unavailable(ClusterError):
    """The same request may succeed later.

    Attributes:
        retry_after: how long the server asked to be left alone; 0 when it didn't say.
    """

    def __init__(self, message: str, retry_after: Nanoseconds = 0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Refused(ClusterError):
    """kuik may not do this: a credential or a right is missing."""


class NotFound(ClusterError):
    """There is no such object, or no such kind."""


class Conflict(ClusterError):
    """The object has changed since it was read; reading it again and trying again may succeed at once."""


class Expired(ClusterError):
    """The version that a watch or a list goes on from is forgotten; only a fresh list helps."""


class Rejected(ClusterError):
    """The request itself is wrong."""


class LeadershipLost(ClusterError):
    """The lease could not be renewed, or another holds it."""


_BY_STATUS: Final[dict[int, type[ClusterError]]] = {
    401: Refused,
    403: Refused,
    404: NotFound,
    409: Conflict,
    410: Expired,
}


def error_of_status(status: int, message: str, retry_after: Nanoseconds = 0) -> ClusterError:
    """Make the error for an HTTP status of 400 or more."""
    if status == 429 or status >= 500:
        return Unavailable(message, retry_after)
    return _BY_STATUS.get(status, Rejected)(message)
