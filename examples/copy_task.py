"""The copy task: a token is shown once and asked for `gap` samples later.

Three state-space layers and three recurrent cells of the same width learn it in the same loop. A
second table and the picture show why some can and some cannot: the gradient of the last output
with respect to the first input, before any training.

    python examples/copy_task.py --gap 200 1000
"""

import argparse
import time

import torch
from torch import nn

import eigenstate as es

DESCRIPTION = "Recall a token after a gap, by state-space layers and recurrent cells."
WIDTH, TOKENS = 64, 8


class Recall(nn.Module):
    """embedding -> two sequence layers -> the last sample -> one logit for each token."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.embedding = nn.Embedding(TOKENS, WIDTH)
        if name in CELLS:
            self.body = CELLS[name](WIDTH, WIDTH, num_layers=2, batch_first=True)
        else:
            self.body = es.Backbone(WIDTH, 2, layer=name, activation="gelu")
        self.head = nn.Linear(WIDTH, TOKENS)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.last(self.embedding(tokens)))

    def last(self, u: torch.Tensor) -> torch.Tensor:
        """The body's last output (B, WIDTH) for inputs (B, L, WIDTH)."""
        return self.body(u)[0][:, -1]


CELLS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
NAMES = ("s5", "s4d", "s4", *CELLS)


def batch(size: int, gap: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A token from 1 to 7, then `gap` zeros: tokens (size, gap + 1) and what was first (size,)."""
    first = torch.randint(1, TOKENS, (size, 1))
    return torch.cat((first, torch.zeros(size, gap, dtype=torch.long)), 1), first[:, 0]


def train(name: str, gap: int, steps: int) -> tuple[float, int, float]:
    """Recall in percent on fresh tokens, the steps it took and the seconds."""
    torch.manual_seed(0)
    model = Recall(name)
    optimizer = torch.optim.Adam(es.parameter_groups(model, lr=3e-3))
    start = time.perf_counter()
    for step in range(1, steps + 1):
        tokens, answer = batch(32, gap)
        loss = nn.functional.cross_entropy(model(tokens), answer)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 0:
            print(f"\r{name:>5}  gap {gap}  step {step:4}  loss {loss.item():.3f} ", end="")
            if loss.item() < 0.01:
                break
    with torch.no_grad():
        tokens, answer = batch(512, gap)
        recall = (model(tokens).argmax(-1) == answer).double().mean().item()
    print("\r" + " " * 60 + "\r", end="")
    return 100 * recall, step, time.perf_counter() - start


def gradient(name: str, gap: int) -> float:
    """|∂y_L/∂u_0| over |∂y_L/∂u_L| of the untrained body, a mean over eight inputs."""
    torch.manual_seed(0)
    model = Recall(name)
    u = torch.randn(8, gap + 1, WIDTH, requires_grad=True)
    weight = torch.randn(8, WIDTH)
    (slope,) = torch.autograd.grad((model.last(u) * weight).sum(), u)
    sizes = slope.norm(dim=-1).mean(0)
    return (sizes[0] / sizes[-1]).item()


def draw(gaps: list[int], sizes: dict[str, list[float]], path: str) -> None:
    """One line for each body, both axes logarithmic."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4), constrained_layout=True)
    for name, values in sizes.items():
        style = "--" if name in CELLS else "-"
        axes.loglog(gaps, [max(value, 1e-30) for value in values], style, label=name)
    axes.set(
        xlabel="gap (samples)",
        ylabel="|∂y_L/∂u_0| / |∂y_L/∂u_L|",
        title="How much of the first input still reaches the last output",
        ylim=(1e-20, 10),
    )
    axes.grid(alpha=0.3)
    axes.legend(ncols=2)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=DESCRIPTION, allow_abbrev=False)
    parser.add_argument("--gap", type=int, nargs="+", default=[200, 1000])
    parser.add_argument("--steps", type=int, default=400, help="training steps at most")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, metavar="NAME")
    parser.add_argument("--picture", default="copy_task.png", help="where to draw the gradients")
    arguments = parser.parse_args()
    print(f"{'':>5} {'gap':>5} {'recall':>8} {'steps':>6} {'seconds':>8}")
    for gap in arguments.gap:
        for name in arguments.only:
            recall, steps, seconds = train(name, gap, arguments.steps)
            print(f"{name:>5} {gap:5} {recall:7.1f}% {steps:6} {seconds:8.1f}")
    gaps = [1, 3, 10, 30, 100, 300, 1000]
    print("\ngradient across a gap, untrained\n" + " " * 5 + "".join(f"{gap:>10}" for gap in gaps))
    sizes = {name: [gradient(name, gap) for gap in gaps] for name in arguments.only}
    for name, values in sizes.items():
        print(f"{name:>5}" + "".join(f"{value:10.1e}" for value in values))
    try:
        draw(gaps, sizes, arguments.picture)
        print(f"\ndrawn in {arguments.picture}")
    except ImportError:
        print("\nno picture: pip install 'eigenstate[plots]'")


if __name__ == "__main__":
    main()
