"""Write small invented sets in the files of Text, Retrieval and Image, to try their presets on.

    python tools/sample_sets.py sets
    eigenstate train text --data sets

writes sets/aclImdb, sets/tsv_data and sets/cifar-10-batches-py. What is to be found in them can
be found, but means nothing: a review praises or damns, two papers are of one field or of two, and
the ten pictures are stripes of five widths, across or upright. The same seed gives the same files.
"""

import argparse
import pickle
import random
import sys
from pathlib import Path

import numpy as np

from eigenstate.data.finished import finished_folder

REVIEWS = {"train": 200, "test": 20}  # of each class
PAIRS = {"train": 240, "eval": 40, "test": 40}
PICTURES = 80  # in each of the six batches

PRAISE = (
    "wonderful", "superb", "moving", "witty", "warm", "lovely", "brilliant", "graceful", "joyful",
    "touching", "clever", "a delight from beginning to end", "the best of the year",
)  # fmt: skip
BLAME = (
    "dull", "awful", "clumsy", "boring", "tedious", "flat", "stupid", "a bad joke", "an insult",
    "badly acted", "stale", "a waste of two hours", "half asleep",
)  # fmt: skip
PARTS_OF_A_FILM = (
    "the plot", "the cast", "the music", "the première", "every scene", "the ending", "the heroine",
    "the dialogue", "her fiancé", "the camera", "that café scene", "the second act",
)  # fmt: skip
VERBS = ("is", "was", "seems", "remains", "felt")
STOPS = (". ", ". ", "! ", ", and ", ".<br /><br />")

# Two fields whose papers look unlike: one is all words, the other full of figures and symbols.
FIELDS = {
    "parsing": (
        "the", "grammar", "of", "a", "sentence", "tree", "phrase", "head", "dependency", "parser",
        "noun", "verb", "clause", "naïve", "is", "derived", "by", "rules", "lexicon", "treebank.\n",
    ),
    "speech": (
        "8 kHz", "16 kHz", "WER = 12.4 %", "HMM", "MFCC", "x[n]", "log P(w | x)", "Table 3:", "39",
        "0.25", "10 ms", "GMM-512", "SNR", "dB", "[17]", "(2)", "beam 1e-40", "\t", "N = 3", "±0.2\n",
    ),
}  # fmt: skip

WIDTHS = (2, 3, 5, 8, 16)  # of a light and a dark stripe together, in pixels
SIDE = 32
NAMES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


def write_reviews(folder: Path, rng: random.Random) -> None:
    """Write train and test, neg and pos: one file for each review, NUMBER_RATING.txt."""
    for part, count in REVIEWS.items():
        for name, words, ratings in (("neg", BLAME, (1, 4)), ("pos", PRAISE, (7, 10))):
            place = folder / part / name
            place.mkdir(parents=True)
            for number in range(count):
                path = place / f"{number}_{rng.randint(*ratings)}.txt"
                path.write_bytes(_review(words, rng).encode())


def _review(words: tuple[str, ...], rng: random.Random) -> str:
    """Return 200 to 2,200 characters."""
    length, text = rng.randint(200, 2100), ""
    while len(text) < length:
        part, verb = rng.choice(PARTS_OF_A_FILM), rng.choice(VERBS)
        text += f"{part} {verb} {rng.choice(words)}, {rng.choice(words)}{rng.choice(STOPS)}"
    return text


def write_pairs(folder: Path, rng: random.Random) -> None:
    """Write the three tables: a label such as 1.0, two names, two texts spelt as bytes literals."""
    folder.mkdir()
    for part, count in PAIRS.items():
        lines = []
        for number in range(count):
            fields = rng.choices(sorted(FIELDS), k=2)
            label = repr(float(fields[0] == fields[1]))
            names = (f"{side}{number // 100:02d}-{number % 100:04d}" for side in "PW")
            texts = (repr(_paper(FIELDS[field], rng).encode()) for field in fields)
            lines.append("\t".join((label, *names, *texts)) + "\n")
        (folder / f"new_aan_pairs.{part}.tsv").write_bytes("".join(lines).encode())


def _paper(words: tuple[str, ...], rng: random.Random) -> str:
    """Return 1,500 to 5,000 characters; a reader cuts after 3,999."""
    length, text = rng.randint(1500, 5000), ""
    while len(text) < length:
        text += rng.choice(words) + " "
    return text[:length]


def write_pictures(folder: Path, rng: np.random.Generator) -> None:
    """Write the six batches and batches.meta: pickles of protocol 2, as of Python 2, by Python 3.

    data uint8 (pictures, 3072): the red, the green and the blue plane, each row by row.
    """
    folder.mkdir()
    batches = [f"data_batch_{number}" for number in range(1, 6)]
    for name in (*batches, "test_batch"):
        labels = rng.permutation(np.arange(PICTURES) % 10)
        names = [f"{NAMES[label]}_s_{row:06d}.png" for row, label in enumerate(labels)]
        data = np.stack([_picture(label, rng) for label in labels])
        batch = {"batch_label": name, "labels": labels.tolist(), "data": data, "filenames": names}
        _pickle(folder / name, batch)
    meta = {"num_cases_per_batch": PICTURES, "label_names": list(NAMES), "num_vis": data.shape[1]}
    _pickle(folder / "batches.meta", meta)


def _picture(label: int, rng: np.random.Generator) -> np.ndarray:
    """Return stripes in two colours, with noise: uint8 (3072,). Labels from 5 up are upright."""
    width = WIDTHS[label % 5]
    place = (np.arange(SIDE) + rng.integers(width)) % width < width / 2  # (32,)
    stripes = np.broadcast_to(place if label >= 5 else place[:, None], (SIDE, SIDE))
    dark, light = rng.uniform(0, 80, (3, 1, 1)), rng.uniform(160, 255, (3, 1, 1))
    noisy = np.where(stripes, light, dark) + rng.normal(0, 10, (3, SIDE, SIDE))
    return noisy.clip(0, 255).astype(np.uint8).reshape(-1)


def _pickle(path: Path, content: dict[str, object]) -> None:
    path.write_bytes(pickle.dumps(content, protocol=2))


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="a folder that is new or empty")
    parser.add_argument("--seed", type=int, default=0, help="of all random numbers (0)")
    given = parser.parse_args(argv)
    if given.seed < 0:
        parser.error(f"--seed: expected a number from 0 up, got {given.seed}")
    try:
        with finished_folder(given.folder) as folder:
            write_reviews(folder / "aclImdb", random.Random(f"{given.seed} reviews"))
            write_pairs(folder / "tsv_data", random.Random(f"{given.seed} pairs"))
            write_pictures(folder / "cifar-10-batches-py", np.random.default_rng(given.seed))
    except OSError as error:
        parser.error(
            f"{error.filename or given.folder}: {error.strerror or error}. Nothing was kept"
        )
    print(f"aclImdb, tsv_data and cifar-10-batches-py in {given.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
