"""A pytest plug-in: tests find what Python 3.11.0 has, whichever Python runs them.

A type checker knows what each minor release has; these came with a later 3.11.
"""

import tarfile
from typing import Final

ADDED_SINCE: Final = {
    tarfile: ("data_filter", "fully_trusted_filter", "tar_filter"),
    tarfile.TarInfo: ("replace",),
}

for owner, names in ADDED_SINCE.items():
    for name in names:
        if hasattr(owner, name):
            delattr(owner, name)
