"""Files with any bytes changed, lost or added: read, or refused by a ValueError that names them."""

import gzip
import pickle
import random
from io import BytesIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from true_formats import idx, png, python2_pickle, wav

from eigenstate.data.idx import read_idx
from eigenstate.data.own_data import read_own
from eigenstate.data.pathfinder import _lines
from eigenstate.data.pickles import load_plain
from eigenstate.data.png import read_gray
from eigenstate.data.wav import read as read_wav

TRIES = 200


def classes(path):
    read_own(path, kind="classification")


def unpickle(path):
    with path.open("rb") as file:
        load_plain(file, path)


def saved(save, *arrays, **named):
    file = BytesIO()
    save(file, *arrays, **named)
    return file.getvalue()


def parquet():
    table = {"id": ["a", "b"], "time": [0.0, 1.0], "x": [1, 2], "label": ["up", "down"]}
    file = BytesIO()
    pyarrow.parquet.write_table(pa.table(table), file)
    return file.getvalue()


ARRAYS = {"X": np.arange(24.0).reshape(2, 4, 3), "times": [[0, 1, 2, 3]] * 2, "y": ["b", "a"]}
ROWS = np.array([[f"imgs/{i}", "a.png", "1", "1.8"] for i in range(3)])
OBJECTS = ROWS.astype(object)
NOISE = np.random.default_rng(0).integers(0, 256, (8, 8), dtype=np.uint8)
BATCH = {"labels": [1, 2], "data": NOISE}
TS = b"@timeStamps false\n@classLabel true up down\n@data\n1,2,3:4,?,6:up\n-1,1e2:NaN,-.5:down\n"
CSV = b"id,time,x,label\na,2024-02-29,1.5,up\na,2024-03-01,,up\nb,2024-03-01,?,down\n"
FILES = {
    "a.wav": (read_wav, wav(np.arange(4))),
    "a.png": (read_gray, png(NOISE)),
    "a.idx": (lambda path: read_idx(path, 3), idx(np.zeros((2, 3, 3)))),
    "a.idx.gz": (lambda path: read_idx(path, 3), gzip.compress(idx(np.zeros((2, 3, 3))), mtime=0)),
    "plain.npz": (classes, saved(np.savez, **ARRAYS)),
    "a.npz": (classes, saved(np.savez_compressed, **ARRAYS)),
    "a.parquet": (classes, parquet()),
    "a.csv": (classes, CSV),
    "a.ts": (classes, TS),
    "texts.npy": (lambda path: list(_lines(path)), saved(np.save, ROWS)),
    "objects.npy": (lambda path: list(_lines(path)), saved(np.save, OBJECTS)),
    "lines.npy": (lambda path: list(_lines(path)), b"imgs/2 a.png 1 1.8\nimgs/2 b.png 2 1.8\n"),
    "data_batch": (unpickle, python2_pickle(BATCH)),
    "protocol_0": (unpickle, pickle.dumps(OBJECTS, 0)),
    "protocol_2": (unpickle, pickle.dumps(OBJECTS, 2)),
}


def damaged(rng, data):
    if rng.random() < 0.15:
        return data[: rng.randrange(len(data))]
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 6])):
        at = rng.randrange(len(data))
        any_bytes = bytes(rng.choices(range(256), k=rng.choice([1, 2, 4])))
        kind = rng.randrange(4)
        if kind == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[at : at + len(any_bytes)] = any_bytes
        elif kind == 2:
            data[at:at] = any_bytes
        elif len(data) > 4:
            del data[at : at + len(any_bytes)]
    return bytes(data)


# Python warns of the backslashes in a header that NumPy has it parse.
@pytest.mark.filterwarnings("ignore:invalid escape sequence:DeprecationWarning")
@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_read_or_named(tmp_path, name):
    read, whole = FILES[name]
    path = tmp_path / name
    path.write_bytes(whole)
    read(path)
    rng = random.Random(name)
    refused = 0
    for _ in range(TRIES):
        path.write_bytes(damaged(rng, whole))
        try:
            read(path)
        except ValueError as error:
            assert str(path) in str(error) and "\n" not in str(error)
            refused += 1
    assert refused > TRIES / 10
