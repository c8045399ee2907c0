"""Put what `eigenstate benchmark` wrote into the documents: docs/results.md and docs/results/.

    python tools/results.py results/pendulum results/rates ...

Each folder holds results.md and results.json of one suite. Nothing in them is changed but the depth
of the headings, so that every figure is one that the runner wrote.
"""

import argparse
import re
import sys
from pathlib import Path

from eigenstate.files import replace_text

DOCS = Path(__file__).resolve().parent.parent / "docs"
INTRODUCTION = """\
# Results

Every section was written by the command that stands in it. A run that was stopped goes on where
it was; a finished one is not trained again; the same seed on the same machine gives the same
figure. The JSON beside each table, in [results/](results), has every run by itself.
"""


def section(page: str) -> str:
    """Return a page of the runner as one section: every heading one level deeper."""
    return re.sub(r"^#", "##", page, flags=re.MULTILINE).strip() + "\n"


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    folders = parser.parse_args(argv).folders
    try:
        pages = [(folder / "results.md").read_text(encoding="utf-8") for folder in folders]
        tables = [(folder / "results.json").read_text(encoding="utf-8") for folder in folders]
    except OSError as error:
        parser.error(f"{error.filename}: {error.strerror}; give folders of `eigenstate benchmark`")
    (DOCS / "results").mkdir(exist_ok=True)
    for folder, table in zip(folders, tables, strict=True):
        replace_text(DOCS / "results" / f"{folder.resolve().name}.json", table)
    replace_text(DOCS / "results.md", "\n".join([INTRODUCTION, *map(section, pages)]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
