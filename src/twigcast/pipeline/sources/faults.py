"""Which errors are about a file, and which about the moment.

A damaged archive is damaged on every attempt: that is the problem of a row.  A disk or a mount that
does not answer, or too many open files, may be well a minute later: such an error is raised, so
that Spark tries the task again, on another machine if there is one, and fails the job at last
rather than reject documents that are good.
"""

from __future__ import annotations

import errno
from typing import Final

_LASTING: Final = frozenset(
    {
        errno.ENOENT,
        errno.ENOTDIR,
        errno.EISDIR,
        errno.EACCES,
        errno.EPERM,
        errno.ELOOP,
        errno.ENAMETOOLONG,
        # An archive may point to offsets that no file has.
        errno.EINVAL,
        errno.EOVERFLOW,
    }
)


def raise_passing(error: BaseException) -> None:
    """Raise what the operating system said, unless that is about the file itself.

    Readers of archives may have made an error of their own out of it.  What Python's readers say
    about damaged data carries no number of the operating system.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno not in (None, *_LASTING):
            raise cause
        cause = cause.__context__
