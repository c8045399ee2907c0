"""Where memory comes from: the same layer started as HiPPO and started at random.

The task is a delay line: give back white noise `lag` samples later. It needs a state that keeps a
stretch of the past apart, sample from sample. Each layer stands alone between two linear maps and
learns all its parameters, poles included; only where the poles start differs.

    python examples/initialization.py
"""

import argparse

import torch
from torch import nn

import eigenstate as es

DESCRIPTION = "Delay noise with layers started as HiPPO and at random."
WIDTH, STATE = 16, 64


def s5_random() -> es.S5:
    """S5 with the poles of a random real matrix, moved left until they are stable."""
    layer = es.S5(WIDTH, STATE)
    values = torch.linalg.eigvals(torch.randn(STATE, STATE, dtype=torch.float64) / STATE**0.5)
    upper = values[values.imag > 0][: layer.spectrum.poles.shape[1]]
    count = len(upper)
    with torch.no_grad():
        decay = 0.5 + values.real.max() - upper.real  # the slowest decays like HiPPO's
        layer.spectrum.poles[0, :count] = decay.log()
        layer.spectrum.poles[1, :count] = upper.imag
    return layer


LAYERS = {
    "S5, HiPPO-N": lambda: es.S5(WIDTH, STATE),
    "S5, random matrix": s5_random,
    "S4D, HiPPO-LegS poles": lambda: es.S4D(WIDTH, STATE),
    "S4D, random poles": lambda: es.S4D(WIDTH, STATE, options=es.S4DOptions(init="random")),
    "S4, HiPPO-LegS": lambda: es.S4(WIDTH, STATE),
}


def error(name: str, seed: int, lag: int, steps: int) -> float:
    """Root mean square error over the signal's own, on fresh noise after training."""
    torch.manual_seed(seed)
    layer = LAYERS[name]()
    before, after = nn.Linear(1, WIDTH), nn.Linear(WIDTH, 1)
    model = nn.ModuleList((before, layer, after))
    optimizer = torch.optim.Adam(es.parameter_groups(model, lr=4e-3))
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)

    def loss() -> torch.Tensor:
        u = torch.randn(16, 4 * lag, 1)
        y = after(layer(before(u))[0])
        return (y[:, lag:] - u[:, :-lag]).square().mean()

    for step in range(steps):
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        schedule.step()
        if step % 25 == 0:
            print(f"\r{name}, seed {seed}: step {step}, {value.item() ** 0.5:.3f}   ", end="")
    print("\r" + " " * 60 + "\r", end="")
    with torch.no_grad():
        return torch.stack([loss() for _ in range(8)]).mean().sqrt().item()


def main() -> None:
    parser = argparse.ArgumentParser(description=DESCRIPTION, allow_abbrev=False)
    parser.add_argument("--lag", type=int, default=100)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    print(f"delay of {arguments.lag} samples, {arguments.steps} steps; error 1 is no memory at all")
    print(f"{'':24} {'mean':>6}   each of {arguments.seeds} seeds")
    for name in LAYERS:
        errors = [
            error(name, seed, arguments.lag, arguments.steps) for seed in range(arguments.seeds)
        ]
        each = "  ".join(f"{value:.3f}" for value in errors)
        print(f"{name:24} {sum(errors) / len(errors):6.3f}   {each}")


if __name__ == "__main__":
    main()
