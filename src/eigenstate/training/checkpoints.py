"""Checkpoints of a run: written whole, read with every checksum compared, no code executed."""

import io
import pickle
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from eigenstate.files import CheckpointError, replace_file


def write_checkpoint(path: Path, checkpoint: Mapping[str, Any]) -> None:
    """Save tensors and plain values to `path`. WriteError: it could not be; the old one stays."""
    # By way of memory: in a file of its own torch would hide why it cannot write.
    whole = io.BytesIO()
    torch.save(dict(checkpoint), whole)
    replace_file(path, lambda file: file.write(whole.getbuffer()))


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Load what `write_checkpoint` saved, executing no code.

    CheckpointError: the file is missing, cut short, altered (every part is compared with its
    checksum) or holds more than tensors and plain values.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
        if damaged is not None:
            raise CheckpointError(f"{path}: damaged: the checksum of {damaged} is wrong")
        return torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise CheckpointError(f"{path}: no such file") from None
    except pickle.UnpicklingError:
        raise CheckpointError(
            f"{path}: refused: it holds something else than tensors and plain values"
        ) from None
    except (OSError, RuntimeError, EOFError, ValueError, zipfile.BadZipFile) as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError(f"{path}: damaged or not a checkpoint: {error}") from None
