"""Rewrite JapaneseVowels from its two .ts text files as the package's npz, and prove it lossless.

    pip download --no-deps --dest . aeon
    python tools/japanese_vowels.py aeon-*.whl src/eigenstate/data/japanese_vowels.npz

Any archive holding JapaneseVowels_TRAIN.ts and JapaneseVowels_TEST.ts will do; the wheels of aeon
and sktime hold the same two files, whose checksums are below.
"""

import hashlib
import sys
import zipfile
from decimal import Decimal

import numpy as np

SHA256 = {
    "TRAIN": "68a430eabd919cc77f40b1f5f3bc0dcafacc1486bca9260785aeb7d262cc78cd",
    "TEST": "b3d41d6a0ca3bcad3afb9ca7d4365382aa51341e2e58bae2a574babdda5b9462",
}


def read(archive: zipfile.ZipFile, part: str) -> list[tuple[list[list[str]], int]]:
    """Return each utterance as its 12 channels of decimal text, and its speaker 1 .. 9."""
    (name,) = (n for n in archive.namelist() if n.endswith(f"JapaneseVowels_{part}.ts"))
    content = archive.read(name)
    found = hashlib.sha256(content).hexdigest()
    if found != SHA256[part]:
        raise ValueError(f"{name}: expected sha256 {SHA256[part]}, got {found}")
    utterances = []
    for line in content.decode().split("@data", 1)[1].split():
        *channels, speaker = line.split(":")
        utterances.append(([channel.split(",") for channel in channels], int(speaker)))
    return utterances


def main(archive_path: str, output_path: str) -> None:
    with zipfile.ZipFile(archive_path) as archive:
        parts = {part: read(archive, part) for part in SHA256}
    utterances = parts["TRAIN"] + parts["TEST"]
    text = [frame for channels, _ in utterances for frame in zip(*channels, strict=True)]
    exact = [[Decimal(value) * 10**6 for value in frame] for frame in text]
    millionths = np.array([[int(value) for value in frame] for frame in exact], dtype=np.int32)
    for frame, given, whole in zip(text, exact, millionths, strict=True):
        if any(value % 1 for value in given):
            raise ValueError(f"a value has more than six decimals: {frame}")
        if [repr(float(value)) for value in frame] != [repr(float(n / 1e6)) for n in whole]:
            raise ValueError(f"a value does not survive the round trip: {frame}")
    np.savez_compressed(
        output_path,
        millionths=millionths,
        lengths=np.array([len(channels[0]) for channels, _ in utterances]),
        labels=np.array([speaker - 1 for _, speaker in utterances]),
        is_train=np.arange(len(utterances)) < len(parts["TRAIN"]),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
