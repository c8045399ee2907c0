"""CIFAR-10 and MNIST files as sequences of pixels: values, orders, splits, and bad files named."""

import gzip
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from true_formats import idx, python2_pickle, write, write_cifar, write_mnist

from eigenstate.data.cifar import read_cifar, read_image
from eigenstate.data.decimation import Decimated
from eigenstate.data.images import luminance, random_parts
from eigenstate.data.mnist import pixel_order, read_psmnist, read_sfashion, read_smnist
from eigenstate.data.quantized import QuantizedSequences, Scaling

# --- CIFAR-10 -------------------------------------------------------------------------------------


def everything(part, pad_to=None):
    return part.collate([part[i] for i in range(len(part))], pad_to)


def published_rows(count):
    """The rows to learn from and to validate on, by the library the published code used."""
    generator = torch.Generator().manual_seed(42)
    sizes = [int(count * 0.9), count - int(count * 0.9)]
    parts = torch.utils.data.random_split(range(count), sizes, generator=generator)
    return [list(part.indices) for part in parts]


def test_colour_pixels_are_scaled_channel_by_channel(tmp_path):
    data, labels = write_cifar(tmp_path)
    splits = read_cifar(tmp_path)
    rows = [*published_rows(20), range(20, 24)]
    mean, std = np.array([0.4914, 0.4822, 0.4465]), np.array([0.247, 0.243, 0.261])
    for part, chosen in zip((splits.train, splits.validation, splits.test), rows, strict=True):
        u, lengths, y, dt = everything(part)
        truth = data[chosen].reshape(-1, 3, 1024).transpose(0, 2, 1) / 255
        np.testing.assert_allclose(u, (truth - mean) / std, atol=2e-6)
        assert u.dtype == torch.float32 and lengths.tolist() == [1024] * len(chosen) and dt is None
        assert y.tolist() == [labels[row] for row in chosen]


def test_gray_is_the_luminance_of_pillow(tmp_path):
    data, _ = write_cifar(tmp_path)
    gray = [
        np.array(Image.fromarray(row.reshape(3, 32, 32).transpose(1, 2, 0)).convert("L")).ravel()
        for row in data
    ]
    u = everything(read_image(tmp_path / "cifar-10-batches-py").test).u
    truth = (np.array(gray[20:])[..., None] / 255 - 122.6 / 255) / (61 / 255)
    np.testing.assert_allclose(u, truth, atol=2e-6)
    colours = np.random.default_rng(0).integers(0, 256, (3, 512, 512), dtype=np.uint8)
    pillow = Image.fromarray(np.ascontiguousarray(colours.transpose(1, 2, 0))).convert("L")
    assert np.array_equal(luminance(colours), np.array(pillow))


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_batches_written_by_python_3_are_read_too(tmp_path, protocol):
    data, labels = write_cifar(tmp_path)
    batch = {b"data": data[20:], b"labels": labels[20:]}
    write(tmp_path / "cifar-10-batches-py" / "test_batch", pickle.dumps(batch, protocol))
    assert everything(read_image(tmp_path).test).labels.tolist() == labels[20:]


class Boom:
    def __reduce__(self):
        return print, ("executed",)


def batch(**changes):
    return python2_pickle({"data": np.zeros((2, 3072), np.uint8), "labels": [0, 1], **changes})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"data_batch_3: the file is empty"),
        (batch()[:-100], r"data_batch_3: not a whole pickle of plain values"),
        (batch()[:50], r"data_batch_3: not a whole pickle of plain values"),
        (b"not a pickle", r"data_batch_3: not a whole pickle of plain values"),
        (pickle.dumps(Boom()), r"data_batch_3: refused: it asks for builtins\.print"),
        (pickle.dumps({"data": Boom()}, 0), "refused: it asks for __builtin__.print"),
        (pickle.dumps([1, 2]), r"expected 'data', uint8 of shape \(pictures, 3072\), got NoneType"),
        (
            batch(data=np.zeros((2, 3072), np.uint8)[:, :-1]),
            r"expected 'data'.*got uint8 \(2, 3071\)",
        ),
        (batch(labels=[0]), "expected 'labels', a list of 2 whole numbers"),
        (batch(labels=[0, 10]), r"data_batch_3, labels\[1\]: expected 0 to 9, got 10"),
    ],
)
def test_a_bad_batch_is_named(tmp_path, data, message, capsys):
    write_cifar(tmp_path)
    write(tmp_path / "cifar-10-batches-py" / "data_batch_3", data)
    with pytest.raises(ValueError, match=message):
        read_cifar(tmp_path)
    assert not capsys.readouterr().out


def test_a_missing_batch_is_named(tmp_path):
    write_cifar(tmp_path)
    (tmp_path / "cifar-10-batches-py" / "data_batch_3").unlink()
    with pytest.raises(FileNotFoundError, match="cifar-10-batches-py, which lacks data_batch_3"):
        read_image(tmp_path)


# --- MNIST ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("compressed", "sep"), [(False, "-"), (True, "-"), (False, ".")])
def test_digits_are_pixels_from_0_to_1(tmp_path, compressed, sep):
    images, labels = write_mnist(tmp_path / "MNIST" / "raw", compressed=compressed, sep=sep)
    splits = read_smnist(tmp_path)
    rows = [*published_rows(20), range(20, 25)]
    for part, chosen in zip((splits.train, splits.validation, splits.test), rows, strict=True):
        u, _, y, _ = everything(part)
        np.testing.assert_allclose(u, images[chosen].reshape(-1, 784, 1) / 255, atol=1e-7)
        assert y.tolist() == labels[chosen].tolist()


def test_the_two_mnists_are_told_apart_by_their_folders(tmp_path):
    write_mnist(tmp_path / "MNIST" / "raw")
    write_mnist(tmp_path / "FashionMNIST" / "raw")
    write(tmp_path / "FashionMNIST" / "raw" / "t10k-labels-idx1-ubyte", idx(np.full(5, 7)))
    assert read_sfashion(tmp_path).test.labels.tolist() == [7] * 5
    assert read_smnist(tmp_path).test.labels.tolist() != [7] * 5
    (tmp_path / "FashionMNIST").rename(tmp_path / "b")
    (tmp_path / "MNIST").rename(tmp_path / "a")
    with pytest.raises(ValueError, match=r"2 folders below .* hold MNIST idx files; give the one"):
        read_smnist(tmp_path)


def test_permuted_digits_are_the_same_pixels_elsewhere(tmp_path):
    write_mnist(tmp_path)
    plain = everything(read_smnist(tmp_path).test).u
    bits = [int(format(i, "010b")[::-1], 2) for i in range(1024)]
    bits = [i for i in bits if i < 784]
    assert torch.equal(everything(read_psmnist(tmp_path).test).u, plain[:, bits])
    random = np.random.RandomState(92916).permutation(784)
    permuted = everything(read_psmnist(tmp_path, order="random").test).u
    assert torch.equal(permuted, plain[:, random])
    assert pixel_order("bit-reversal")[:5].tolist() == [0, 512, 256, 768, 128]
    with pytest.raises(ValueError, match="order: expected 'reading', 'bit-reversal' or 'random'"):
        read_smnist(tmp_path, order="shuffled")


GOOD = idx(np.zeros((20, 28, 28)))


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("train-images-idx3-ubyte", b"", "the file is empty"),
        ("train-images-idx3-ubyte", GOOD[:7], "expected an idx file .* starts with 00 00 08 03"),
        (
            "train-images-idx3-ubyte",
            GOOD[:-1],
            r"expected 15,680 values .*\(20, 28, 28\), got 15,679",
        ),
        ("train-images-idx3-ubyte", GOOD + b"x", "expected 15,680 values .* got 15,681"),
        ("train-images-idx3-ubyte", gzip.compress(GOOD)[:-30], "a damaged gzip file"),
        ("train-images-idx3-ubyte", gzip.compress(GOOD)[:5], "a damaged gzip file"),
        ("train-images-idx3-ubyte", b"\x00\x00\x0d\x03" + GOOD[4:], "unsigned bytes with 3 axes"),
        ("train-images-idx3-ubyte", idx(np.zeros((20, 28, 27))), r"28 x 28 pixels, got .*28, 27\)"),
        ("train-images-idx3-ubyte", idx(np.zeros(20)), "with 3 axes, got one that starts"),
        ("train-labels-idx1-ubyte", idx(np.zeros(19)), "expected 20 labels, .*got 19"),
        ("train-labels-idx1-ubyte", idx(np.full(20, 10)), "label 0: expected 0 to 9, got 10"),
    ],
)
def test_a_bad_idx_file_is_named(tmp_path, name, data, message):
    write_mnist(tmp_path)
    write(tmp_path / name, data)
    with pytest.raises(ValueError, match=f"{name}.*{message}"):
        read_smnist(tmp_path)


def test_a_missing_idx_file_is_named(tmp_path):
    write_mnist(tmp_path, compressed=True)
    (tmp_path / "t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(FileNotFoundError, match=r"lacks t10k-labels-idx1-ubyte or t10k-labels\."):
        read_sfashion(tmp_path)


# --- the set --------------------------------------------------------------------------------------

SCALING = Scaling(10.0, np.array([[1.0], [2.0], [3.0]]), np.array([[1.0], [2.0], [4.0]]))


def tiny():
    values = np.arange(12, dtype=np.int16).reshape(4, 3, 1)
    return QuantizedSequences(values, [0, 1, 1, 0], class_names=("a", "b"), scaling=SCALING)


def test_statistics_of_each_step_follow_their_steps():
    whole = everything(tiny()).u
    truth = (np.arange(12).reshape(4, 3, 1) / 10 - SCALING.mean) / SCALING.deviation
    np.testing.assert_allclose(whole, truth, rtol=1e-6)
    assert torch.equal(everything(tiny().at([2, 0])).u, whole[:, [2, 0]])
    assert torch.equal(everything(Decimated(tiny(), 2)).u, whole[:, ::2])
    view = tiny().subset([3, 1]).at([1, 2]).subset([1])
    assert torch.equal(everything(view).u, whole[[1], 1:]) and view.labels.tolist() == [1]


def test_pads_follow_the_scaled_values():
    u, lengths, _, _ = everything(tiny(), pad_to=5)
    assert torch.equal(u[:, :3], everything(tiny()).u) and not u[:, 3:].any()
    assert lengths.tolist() == [3] * 4
    with pytest.raises(ValueError, match="pad_to: expected at least 3, got 2"):
        everything(tiny(), pad_to=2)
    with pytest.raises(ValueError, match="samples: expected at least one"):
        tiny().collate([])


def test_what_does_not_fit_is_refused():
    make = {"class_names": ("a",), "scaling": SCALING}
    with pytest.raises(ValueError, match=r"values: expected whole numbers .*got float64"):
        QuantizedSequences(np.ones((1, 1, 1)), [0], **make)
    with pytest.raises(ValueError, match=r"values: .*shape \(0, 1, 1\)"):
        QuantizedSequences(np.ones((0, 1, 1), int), [], **make)
    with pytest.raises(ValueError, match=r"labels\[0\]: expected 0 to 0"):
        QuantizedSequences(np.ones((1, 1, 1), int), [1], **make)


def test_random_parts_are_those_of_torch():
    generator = torch.Generator().manual_seed(42)
    parts = torch.utils.data.random_split(range(17), [11, 5, 1], generator=generator)
    ours = random_parts([11, 5, 1])
    assert [list(part.indices) for part in parts] == [part.tolist() for part in ours]


# --- the published files themselves ---------------------------------------------------------------

FASHION = "/usr/share/datasets/fashion-mnist"


@pytest.mark.needs(FASHION, get="apt-get install dataset-fashion-mnist")
def test_fashion_mnist_as_published():
    splits = read_sfashion(Path(FASHION))
    assert [len(part) for part in (splits.train, splits.validation, splits.test)] == [
        54_000, 6_000, 10_000,
    ]  # fmt: skip
    batch = splits.test.collate([splits.test[i] for i in range(1000)])
    assert batch.u.shape == (1000, 784, 1)
    # The first test picture is an ankle boot; the training pictures' mean is 0.2860, as is known.
    assert splits.test.class_names[int(batch.labels[0])].lower().startswith("ankle")
    assert batch.u.mean() == pytest.approx(0.286, abs=0.01)
