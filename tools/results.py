"""Put what `eigenstate benchmark` wrote into the documents: docs/results.md and docs/results/.

    python tools/results.py results/pendulum results/rates ...

Each folder holds the results.json of one suite. The section of a suite is the page that the runner
makes of it, its headings one level deeper, so that every figure is one that the runner wrote.
"""

import argparse
import json
import re
import sys
from pathlib import Path

from eigenstate.files import replace_text
from eigenstate.training.results_page import page

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
    names = [folder.resolve().name for folder in folders]
    if len(set(names)) < len(names):
        parser.error(f"expected folders of different names, got {', '.join(names)}")
    tables = {}
    for name, folder in zip(names, folders, strict=True):
        place = folder / "results.json"
        try:
            text = place.read_text(encoding="utf-8")
            tables[name] = (text, section(page(json.loads(text))))
        except OSError as error:
            parser.error(f"{place}: {error.strerror}; give folders of `eigenstate benchmark`")
        except (ValueError, KeyError, TypeError) as error:
            parser.error(f"{place}: not what `eigenstate benchmark` writes ({error!r})")
    (DOCS / "results").mkdir(exist_ok=True)
    for name, (text, _) in tables.items():
        replace_text(DOCS / "results" / f"{name}.json", text)
    pages = [text for _, text in tables.values()]
    replace_text(DOCS / "results.md", "\n".join([INTRODUCTION, *pages]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
