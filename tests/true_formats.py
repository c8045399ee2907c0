"""Small files in the formats that users download, written by hand: nothing here reads them back
with the package, or writes them with it."""

import gzip
import struct
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

WORDS = [
    "backward", "bed", "bird", "cat", "dog", "down", "eight", "five", "follow", "forward", "four",
    "go", "happy", "house", "learn", "left", "marvin", "nine", "no", "off", "on", "one", "right",
    "seven", "sheila", "six", "stop", "three", "tree", "two", "up", "visual", "wow", "yes", "zero",
]  # fmt: skip


def write(path, data):
    """Write bytes or text, making the folders on the way."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


# --- texts ----------------------------------------------------------------------------------------

LISTOPS = (
    ("( ( ( [MAX 2 ) 9 ) ] )", 9),
    ("( ( ( ( [SM 7 ) ( ( ( [MIN 4 ) 1 ) ] ) ) 8 ) ] )", 6),
    ("( ( [MED 3 ) ] )", 3),
)


def write_listops(folder, rows=LISTOPS):
    for part in ("train", "val", "test"):
        lines = ["Source\tTarget", *(f"{source}\t{target}" for source, target in rows)]
        write(folder / f"basic_{part}.tsv", "".join(f"{line}\n" for line in lines))
    return folder


REVIEWS = {
    ("train", "neg"): ["a" * 14 + "b" * 20, "<br />é" + "c" * 15],
    ("train", "pos"): ["caB", "b" * 5000],
    ("test", "neg"): ["ab\nc"],
    ("test", "pos"): ["日本 b"],
}


def write_reviews(folder, reviews=REVIEWS):
    for (part, name), texts in reviews.items():
        for number, text in enumerate(texts):
            write(
                folder / "aclImdb" / part / name / f"{number}_{7 - 4 * (name == 'neg')}.txt", text
            )
    write(folder / "aclImdb" / "train" / "pos" / "._0_7.txt", "what some archivers add")
    write(folder / "aclImdb" / "train" / "unsup" / "0_0.txt", "never read")
    return folder / "aclImdb"


PAIRS = (
    ("0.0", "A00-1", "B00-1", 'it\'s "quoted"\ttab\n', "é and plain"),
    ("1.0", "A00-2", "B00-2", "x" * 5000, ""),
)


def write_pairs(folder, pairs=PAIRS):
    for part in ("train", "eval", "test"):
        rows = [(*row[:3], *(repr(text.encode()) for text in row[3:])) for row in pairs]
        write(folder / f"new_aan_pairs.{part}.tsv", "".join("\t".join(r) + "\n" for r in rows))
    return folder


# --- pictures -------------------------------------------------------------------------------------


def python2_pickle(batch):
    """The bytes that cPickle of Python 2 writes, protocol 2, for str keys, ints and uint8 arrays."""
    body = b"".join(_string(key.encode()) + _value(value) for key, value in batch.items())
    return b"\x80\x02}(" + body + b"u."


def _string(data):
    return b"T" + struct.pack("<I", len(data)) + data


def _value(value):
    if isinstance(value, str):
        return _string(value.encode())
    if isinstance(value, list):
        return b"](" + b"".join(_value(entry) for entry in value) + b"e"
    if isinstance(value, int):
        return b"J" + struct.pack("<i", value)
    shape = b"(" + b"".join(_value(size) for size in value.shape) + b"t"
    empty = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85" + _string(b"b")
    dtype = b"cnumpy\ndtype\n(" + _string(b"u1") + b"K\x00K\x01tR"
    dtype += b"(K\x03" + _string(b"|") + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    return empty + b"tR(K\x01" + shape + dtype + b"\x89" + _string(value.tobytes()) + b"tb"


def write_cifar(folder, count=4):
    """Write all six batches of `count` pictures; return their pixels (6 count, 3072) and labels."""
    rng = np.random.default_rng(0)
    data = rng.integers(0, 256, (6 * count, 3072), dtype=np.uint8)
    labels = rng.integers(0, 10, 6 * count).tolist()
    for number, name in enumerate([*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]):
        rows = slice(number * count, (number + 1) * count)
        batch = {"batch_label": name, "labels": labels[rows], "data": data[rows]}
        write(folder / "cifar-10-batches-py" / name, python2_pickle(batch))
    return data, labels


def idx(array):
    sizes = struct.pack(f">{array.ndim}I", *array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.astype(np.uint8).tobytes()


def write_mnist(folder, *, compressed=False, sep="-"):
    """Write 20 + 5 digits; return pixels (25, 28, 28) and labels."""
    rng = np.random.default_rng(1)
    images = rng.integers(0, 256, (25, 28, 28), dtype=np.uint8)
    labels = rng.integers(0, 10, 25)
    for name, rows in (("train", slice(20)), ("t10k", slice(20, None))):
        for kind, array in ((f"images{sep}idx3", images), (f"labels{sep}idx1", labels)):
            data = idx(array[rows])
            path = folder / (f"{name}-{kind}-ubyte" + ".gz" * compressed)
            write(path, gzip.compress(data) if compressed else data)
    return images, labels


def png(array):
    """A gray PNG, by Pillow: the format's own reference here."""
    file = BytesIO()
    Image.fromarray(array).save(file, "PNG")
    return file.getvalue()


def write_pathfinder(folder, side=32, *, per_file=10, metadata="text"):
    """Write 20 pictures under two metadata files, the numbers 2 and 10; return pixels, labels."""
    level = folder / f"pathfinder{side}" / "curv_contour_length_14"
    rng = np.random.default_rng(2)
    images = rng.integers(0, 256, (2 * per_file, side, side), dtype=np.uint8)
    labels = rng.integers(0, 2, 2 * per_file)
    for group, number in enumerate((2, 10)):
        rows = []
        for i in range(per_file):
            row = group * per_file + i
            write(level / f"imgs/{number}/sample_{i}.png", png(images[row]))
            rows.append([f"imgs/{number}", f"sample_{i}.png", i, int(labels[row]),
                         "1.8", 6, "2.0", 5, "1.5", 2, 1])  # fmt: skip
        path = level / "metadata" / f"{number}.npy"
        text = "".join(" ".join(map(str, row)) + "\n" for row in rows)
        write(path, text)
        if metadata == "text array":
            np.save(path, np.array(rows))
        elif metadata == "pickled":
            np.save(path, np.array(rows, dtype=object), allow_pickle=True)
        elif metadata == "one text":
            np.save(path, np.array(text))
    return images.reshape(len(images), -1), labels


# --- sound ----------------------------------------------------------------------------------------


def wav(samples, *, rate=16_000, channels=1):
    """16-bit PCM, as the recordings are stored."""
    data = np.asarray(samples, dtype="<i2").tobytes()
    form = struct.pack("<HHIIHH", 1, channels, rate, rate * 2 * channels, 2 * channels, 16)
    chunks = b"fmt " + struct.pack("<I", 16) + form + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


def write_speech(folder, words=WORDS):
    """Write four recordings a word, up to 100 samples: two to learn from, one for each list.

    Returns {"word/file": samples}.
    """
    rng = np.random.default_rng(3)
    sounds = {}
    for word in words:
        for number in range(4):
            name = f"{word}/{number:08x}_nohash_0.wav"
            sounds[name] = rng.integers(-(2**15), 2**15, int(rng.integers(1, 100)))
            write(folder / name, wav(sounds[name]))
    write(folder / "_background_noise_" / "pink_noise.wav", wav(np.ones(20_000)))
    write(folder / "bed" / "._00000000_nohash_0.wav", "what some archivers add")
    for number, name in ((2, "validation_list.txt"), (3, "testing_list.txt")):
        lines = "".join(f"{word}/{number:08x}_nohash_0.wav\n" for word in words)
        write(Path(folder) / name, lines)
    return sounds
