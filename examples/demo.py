"""Train S5 on recorded speech, then hear one utterance frame by frame.

The first half is what `eigenstate train japanese-vowels` does. The second half feeds the trained
model one frame at a time, as a microphone would, and compares its answers with those that it gives
when it sees the same frames at once.
"""

import argparse
import sys

import torch

from eigenstate.models import Classifier
from eigenstate.models.choice import LAYERS
from eigenstate.training.config import RunSettings, laid_over
from eigenstate.training.fit import Interrupted, train
from eigenstate.training.presets import read_preset
from eigenstate.training.runs import Run
from eigenstate.training.trained import Trained, load_trained

DESCRIPTION = "Train on recorded speech, then hear one utterance frame by frame."
PRESET = "s5-japanese-vowels"
UTTERANCE = 308  # it makes the model change its mind
WIDTH = 30


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=DESCRIPTION, allow_abbrev=False)
    parser.add_argument("--layer", choices=LAYERS, default="s5", help="sequence layer (s5)")
    layer = parser.parse_args(argv).layer
    settings = laid_over(read_preset(PRESET), {"model": {"layer": layer}})
    run = Run.create(RunSettings.from_dict(settings))
    try:
        summary = train(run)
    except Interrupted as interruption:
        print(f"\n{interruption}; to go on: eigenstate train --resume {run.folder}")
        return interruption.exit_code
    print(f"test accuracy {summary['test_accuracy']:.2%} at the last epoch\n")
    replay(load_trained(run))
    print(
        f"\nThe run is in {run.folder}: {', '.join(sorted(p.name for p in run.folder.iterdir()))}"
    )
    return 0


@torch.no_grad()
def replay(trained: Trained) -> None:
    """Stream one utterance of the test set and print what the model makes of it."""
    model, standardizer, task, _ = trained
    assert isinstance(model, Classifier) and standardizer is not None
    frames, label = task.load().test[UTTERANCE]
    frames = standardizer(frames)  # (length, channels)
    print(f"An utterance that it has never heard, of {task.class_names[label]}, frame by frame:")
    state = model.initial_state(1)
    difference = largest = 0.0
    for k, frame in enumerate(frames, start=1):
        streamed, state = model.step(frame[None], state)
        at_once, _ = model(frames[None, :k])
        difference = max(difference, float((streamed - at_once).abs().max()))
        largest = max(largest, float(at_once.abs().max()))
        print(f"  {k:2d}  {answer(streamed, task.class_names)}")
    print(
        f"Streamed and computed at once, the answers differ by {difference:.1e} at most "
        f"(logits up to {largest:.1f})."
    )


def answer(logits: torch.Tensor, names: tuple[str, ...]) -> str:
    """Write the likeliest class and how likely it is."""
    probability, guess = logits[0].softmax(-1).max(-1)
    filled = round(WIDTH * float(probability))
    bar = "█" * filled + "·" * (WIDTH - filled)
    return f"{names[int(guess)]}  {bar}  {float(probability):6.1%}"


if __name__ == "__main__":
    sys.exit(main())
