"""Mono wav recordings. The one door to SciPy, opened only when sound is read, resampled or
written."""

import warnings
from os import PathLike
from pathlib import Path
from types import ModuleType

import numpy as np

from eigenstate.data.damage import damaged


def read(path: str | PathLike[str]) -> tuple[int, np.ndarray]:
    """Return (rate in Hz, samples float32 (length,)), 16-bit samples divided by 2^15: -1 to 1.

    FileNotFoundError: no such file. ValueError: a file of 0 bytes, cut short or not a wav, more
    than one channel, no samples, or samples that are not 16-bit whole numbers.
    ImportError: SciPy is missing; says how to install it.
    """
    wavfile = _scipy()
    path = Path(path)
    if path.stat().st_size == 0:
        raise ValueError(f"{path}: the file has 0 bytes; unpack the archive again")
    with path.open("rb") as file, warnings.catch_warnings():
        # SciPy only warns of a file that ends early; chunks it does not know do no harm.
        warnings.simplefilter("error", wavfile.WavFileWarning)
        warnings.filterwarnings("ignore", "Chunk", wavfile.WavFileWarning)
        try:
            rate, samples = wavfile.read(file)
        except Exception as error:
            raise damaged(path, "wav file", error) from error
    if samples.ndim != 1:
        raise ValueError(
            f"{path}: expected one channel, got {samples.shape[1]}; mix it down to mono"
        )
    if samples.dtype != np.int16:
        raise ValueError(f"{path}: expected 16-bit samples, got {samples.dtype}; convert the file")
    if len(samples) == 0:
        raise ValueError(f"{path}: the recording holds no samples; unpack the archive again")
    return int(rate), samples.astype(np.float32) / np.float32(2**15)


def write(path: str | PathLike[str], rate: int, samples: np.ndarray) -> None:
    """Write int16 (length,) to `path` as a mono wav of `rate` Hz. ValueError: anything else."""
    if samples.dtype != np.int16 or samples.ndim != 1 or len(samples) == 0:
        raise ValueError(
            "samples: expected int16 of shape (length,), at least 1, "
            f"got {samples.dtype} of shape {samples.shape}"
        )
    _scipy().write(path, rate, samples)


def resample(samples: np.ndarray, *, up: int, down: int) -> np.ndarray:
    """Return samples (length, ...) at up / down times their rate, low-pass filtered: no aliases.

    Beyond its ends a signal goes on along the line through its first and its last sample.
    """
    _scipy()
    from scipy.signal import resample_poly

    return resample_poly(samples, up, down, padtype="line")


def _scipy() -> ModuleType:
    try:
        from scipy.io import wavfile
    except ImportError:
        raise ImportError("recordings need SciPy: pip install 'eigenstate[data]'") from None
    return wavfile
