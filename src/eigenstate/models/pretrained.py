"""A model in a folder: weights, how to build it again, and a checksum over both."""

import hashlib
import json
from collections.abc import Collection, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn

from eigenstate.files import CheckpointError, replace_file, replace_json

FORMAT_VERSION = 1
# Settings that came after the first files of this format were written, as they were before.
LATER = {"skip": True}
WEIGHTS, CONFIG = "model.safetensors", "config.json"
REAL = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


class Pretrained(nn.Module):
    """save_pretrained and from_pretrained, for a module that knows its `config`.

    `config` is flat and JSON-able, and `from_config(config)` builds the same model with new
    weights. The folder holds model.safetensors, which carries the config and a checksum, and
    config.json, the same config for people and other programs to read.
    """

    @property
    def config(self) -> dict[str, Any]:
        """What `from_config` needs to build this model again."""
        raise NotImplementedError

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """Build a model from a `config`. ValueError: an unknown, missing or impossible setting."""
        raise NotImplementedError

    def save_pretrained(self, folder: str | PathLike[str]) -> None:
        """Write the model into `folder`, in place of one that is there.

        Killed at any moment, the folder holds the old weights or the new ones, whole; if the two
        differ in their config, config.json may still be the old one, which loading then says.
        CheckpointError: a weight is NaN or infinite, or the files cannot be written; nothing is.
        """
        folder = Path(folder)
        tensors = {name: value.detach().cpu() for name, value in self.state_dict().items()}
        _check_finite(tensors, folder / WEIGHTS)
        config = {"format_version": FORMAT_VERSION, **self.config}
        text = json.dumps(config, sort_keys=True)
        metadata = {"config": text, "sha256": _digest(text, tensors)}
        # Clones: a parameter that is used twice is two entries of the file.
        whole = {name: value.contiguous().clone() for name, value in tensors.items()}
        data = _safetensors().torch.save(whole, metadata)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            replace_file(folder / WEIGHTS, lambda file: file.write(data))
            replace_json(folder / CONFIG, config)
        except OSError as error:
            raise CheckpointError(f"{folder}: could not be written: {error.strerror}") from None

    @classmethod
    def from_pretrained(cls, folder: str | PathLike[str]) -> Self:
        """Rebuild the model that `save_pretrained` left in `folder`, in evaluation mode.

        Its parameters keep the types they were saved in. No code in the files is executed.
        CheckpointError: a file is missing, damaged, of another format version, of another class or
        of other shapes than its config says; names the file and the reason.
        """
        folder = Path(folder)
        text, tensors = _read(folder / WEIGHTS)
        config = _read_config(folder, text)
        found = config.pop("format_version", None)
        if found != FORMAT_VERSION:
            raise CheckpointError(
                f"{folder / CONFIG}: format version {FORMAT_VERSION} expected, got {found}; it "
                "needs another version of eigenstate"
            )
        name = cls.__name__.lower()
        if config.get("model") != name:
            raise CheckpointError(
                f"{folder}: holds a model of class {config.get('model')!r}, not {name!r}; load it "
                "with the class that saved it"
            )
        try:
            model = cls.from_config(LATER | config)
        except (ValueError, TypeError) as error:
            raise CheckpointError(f"{folder / CONFIG}: {error}") from None
        _check_fit(model, tensors, folder / WEIGHTS)
        _check_finite(tensors, folder / WEIGHTS)
        model.load_state_dict(tensors, assign=True)
        return model.eval()


def check_model(cls: type, config: Mapping[str, Any]) -> None:
    """Raise ValueError if `config` says that it is of a model of another class than `cls`."""
    name = cls.__name__.lower()
    if config.get("model", name) != name:
        raise ValueError(f"config is of model {config['model']!r}, and this class is {name!r}")


def check_names(config: Mapping[str, Any], known: Collection[str]) -> None:
    """Raise ValueError unless `config` has exactly the `known` names; lists all that are wrong."""
    unknown = [repr(name) for name in config if name not in known]
    missing = [repr(name) for name in known if name not in config]
    wrong = [f"unknown {', '.join(unknown)}"] if unknown else []
    wrong += [f"missing {', '.join(missing)}"] if missing else []
    if wrong:
        raise ValueError(f"config must hold {', '.join(known)}; {'; '.join(wrong)}")


def _read(path: Path) -> tuple[str, dict[str, Tensor]]:
    """The config in the file, as text, and its tensors; whole, or CheckpointError."""
    safetensors = _safetensors()
    if not path.parent.is_dir():
        raise CheckpointError(f"{path.parent}: no such folder")
    try:
        with safetensors.safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise CheckpointError(f"{path}: no such file") from None
    except (safetensors.SafetensorError, OSError, ValueError, RuntimeError) as error:
        raise CheckpointError(f"{path}: damaged or not a safetensors file: {error}") from None
    missing = {"config", "sha256"} - metadata.keys()
    if missing:
        raise CheckpointError(
            f"{path}: lacks {' and '.join(sorted(missing))} in its metadata: it was not written by "
            "save_pretrained, or its head is damaged"
        )
    if _digest(metadata["config"], tensors) != metadata["sha256"]:
        raise CheckpointError(f"{path}: damaged: its content does not match its checksum")
    return metadata["config"], tensors


def _read_config(folder: Path, text: str) -> dict[str, Any]:
    """The config of the weights; config.json must say the same."""
    config = _parsed(text, folder / WEIGHTS)
    path = folder / CONFIG
    try:
        said = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise CheckpointError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path}: damaged or not text: {error}") from None
    if _parsed(said, path) != config:
        raise CheckpointError(
            f"{path}: differs from the config inside {folder / WEIGHTS}: one of them was changed, "
            "or saving stopped between the two; save the model again"
        )
    return config


def _parsed(text: str, path: Path) -> dict[str, Any]:
    """The settings in a JSON text that was found at `path`."""
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: damaged or not JSON: {error}") from None
    if not isinstance(config, dict):
        raise CheckpointError(f"{path}: must hold settings by name, got {type(config).__name__}")
    return config


def _check_fit(model: nn.Module, tensors: Mapping[str, Tensor], path: Path) -> None:
    """Every tensor has its place, shape and kind; all that do not are named."""
    expected = model.state_dict()
    wrong = [
        f"{name}: expected {_shape(expected.get(name))}, got {_shape(tensors.get(name))}"
        for name in expected.keys() | tensors.keys()
        if _shape(expected.get(name)) != _shape(tensors.get(name))
    ]
    if wrong:
        raise CheckpointError(f"{path}: does not fit its config: {'; '.join(sorted(wrong))}")


def _shape(tensor: Tensor | None) -> str:
    if tensor is None:
        return "nothing"
    kind = "real" if tensor.dtype in REAL else str(tensor.dtype)
    return f"{kind} {tuple(tensor.shape)}"


def _check_finite(tensors: Mapping[str, Tensor], path: Path) -> None:
    bad = [name for name, value in tensors.items() if not torch.isfinite(value).all()]
    if bad:
        raise CheckpointError(f"{path}: not finite: {', '.join(bad)}")


def _digest(config: str, tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 over the config and every tensor's name, type, shape and bytes."""
    digest = hashlib.sha256(config.encode())
    for name in sorted(tensors):
        value = tensors[name]
        digest.update(f"|{name}|{value.dtype}|{tuple(value.shape)}|".encode())
        digest.update(value.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _safetensors() -> Any:
    try:
        import safetensors.torch
    except ImportError:
        raise ImportError("this needs an extra: pip install 'eigenstate[weights]'") from None
    return safetensors
