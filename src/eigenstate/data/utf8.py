"""Where a file is not the UTF-8 text that it should be."""

from pathlib import Path


def first_fault(path: Path) -> ValueError | None:
    """Return the error that names the first line of `path` that is not UTF-8; None if all are."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                text = line.decode("utf-8")
            except UnicodeDecodeError as error:
                byte = f"byte {error.start + 1} of the line, 0x{line[error.start]:02x}, is not"
                return _fault(path, number, f"{byte} UTF-8")
            # Letters of UTF-16 without its mark: every other byte of plain English is zero.
            if "\0" in text:
                return _fault(path, number, "a byte is zero, as in UTF-16 or in a damaged file")
    return None


def _fault(path: Path, line: int, what: str) -> ValueError:
    return ValueError(f"{path}, line {line}: {what}; save the file as UTF-8")
