"""How a file is refused that cannot be decoded."""

from pathlib import Path


def damaged(
    path: Path, what: str, error: Exception, advice: str = "unpack the archive again"
) -> ValueError:
    """Return the error to raise: it names the file, what it should be, the reason and a way out.

    A decoder trusts the bytes that it is given, so over damaged ones it fails in ways that its
    documentation never lists. Its caller therefore catches `Exception`, around the decoder alone.
    """
    reason = " ".join(str(error).split())  # on one line
    reason = " ".join(f"{error} ({type(error).__name__})".split())  # on one line
    return ValueError(f"{path}: not a whole {what}: {reason}; {advice}")
