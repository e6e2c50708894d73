"""The errors of reporting."""


class ReportError(Exception):
    """A run folder cannot be reported on.

    The message names what is missing or unreadable and the remedy; it is shown to the user as it is.
    """
