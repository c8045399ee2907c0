"""What goes to the hub and what comes back, with the network taken away."""

from pathlib import Path

import huggingface_hub
import pytest
import torch

import eigenstate as es
from eigenstate.interop.hub import from_hub, push_to_hub


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A hub that is a folder."""
    calls = []

    def create(self, repository, *, private, exist_ok):
        calls.append(("create", repository, private, exist_ok))

    def upload(self, *, repo_id, folder_path):
        place = tmp_path / repo_id
        place.mkdir(parents=True)
        for file in Path(folder_path).iterdir():
            (place / file.name).write_bytes(file.read_bytes())
        return f"https://hub/{repo_id}/commit/1"

    def download(repository, *, revision, token, allow_patterns):
        calls.append(("download", repository, revision, sorted(allow_patterns)))
        return str(tmp_path / repository)

    monkeypatch.setattr(huggingface_hub.HfApi, "create_repo", create)
    monkeypatch.setattr(huggingface_hub.HfApi, "upload_folder", upload)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    return calls


def test_a_model_goes_to_the_hub_and_comes_back(hub):
    model = es.Classifier(3, 4, backbone=es.Backbone(6, 1, layer_options={"d_state": 4}))
    assert push_to_hub(model, "me/mine", private=True) == "https://hub/me/mine/commit/1"
    loaded = from_hub(es.Classifier, "me/mine", revision="v1")
    for name, value in model.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], value)
    assert hub == [
        ("create", "me/mine", True, True),
        ("download", "me/mine", "v1", ["config.json", "model.safetensors"]),
    ]
    with pytest.raises(es.CheckpointError, match="holds a model of class 'classifier'"):
        from_hub(es.Labeller, "me/mine")


def test_nothing_is_made_for_a_model_that_cannot_be_saved(hub):
    model = es.Classifier(3, 4, backbone=es.Backbone(6, 1, layer_options={"d_state": 4}))
    model.decoder.bias.data[0] = torch.nan
    with pytest.raises(es.CheckpointError, match="not finite"):
        push_to_hub(model, "me/mine")
    assert hub == []
