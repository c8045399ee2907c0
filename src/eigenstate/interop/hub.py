"""Models on the Hugging Face Hub. The door to huggingface_hub."""

import tempfile
from types import ModuleType
from typing import TypeVar

from eigenstate.models.pretrained import Pretrained

Model = TypeVar("Model", bound=Pretrained)


def push_to_hub(
    model: Pretrained, repository: str, *, private: bool = False, token: str | None = None
) -> str:
    """Upload what `save_pretrained` writes to "owner/name" and return the address of the commit.

    The repository is made if there is none. Without a token the one that the machine is logged in
    with is used. CheckpointError: a weight is not finite; what the hub refuses it says itself.
    """
    hub = _hub()
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        api = hub.HfApi(token=token)
        api.create_repo(repository, private=private, exist_ok=True)
        return str(api.upload_folder(repo_id=repository, folder_path=folder))


def from_hub(
    kind: type[Model], repository: str, *, revision: str | None = None, token: str | None = None
) -> Model:
    """Download "owner/name" and rebuild the model: `from_pretrained` on the folder that arrived.

    >>> model = from_hub(es.Classifier, "owner/name")

    CheckpointError: the files are of another class, version or shape, or damaged.
    """
    files = ["config.json", "model.safetensors"]
    folder = _hub().snapshot_download(
        repository, revision=revision, token=token, allow_patterns=files
    )
    return kind.from_pretrained(folder)


def _hub() -> ModuleType:
    try:
        import huggingface_hub
    except ImportError:
        raise ImportError("the hub needs an extra: pip install 'eigenstate[hub]'") from None
    return huggingface_hub
