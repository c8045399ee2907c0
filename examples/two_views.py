"""One diagonal state-space model, computed in three ways that agree.

As a recurrence, one sample after another; as a convolution with its impulse response; and by the
library's layer, which scans or convolves as it sees fit. The first two are written out here in a
few lines each, so that there is nothing to believe.

    python examples/two_views.py
"""

import argparse

import torch

import eigenstate as es

DESCRIPTION = "A diagonal state-space model as a recurrence, a convolution and a layer."


def recurrence(a, b, c, d, u):
    """x_k = a x_(k-1) + b u_k and y_k = 2 Re(c x_k) + d u_k, for modes a, b, c (P,) and u (L,)."""
    x = torch.zeros_like(a)
    y = []
    for u_k in u:
        x = a * x + b * u_k
        y.append(2 * (c * x).sum().real + d * u_k)
    return torch.stack(y)


def convolution(a, b, c, d, u):
    """y_k = sum_i K_i u_(k-i) with K_i = 2 Re sum_p c_p a_p^i b_p, and d more at i = 0."""
    steps = torch.arange(len(u))
    response = 2 * (c * b * a ** steps[:, None]).sum(1).real  # (L,)
    response[0] += d
    lags = steps[:, None] - steps  # (L, L): k - j
    return torch.where(lags >= 0, response[lags], 0.0) @ u


def main() -> None:
    parser = argparse.ArgumentParser(description=DESCRIPTION, allow_abbrev=False)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--state", type=int, default=8, help="real size of the state")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)

    layer = es.S4D(1, arguments.state)  # one feature: one input, one output
    u = torch.randn(arguments.length)
    with torch.no_grad():
        # Zero-order hold: a = e^(λΔ), b = (a - 1) B / λ. Complex numbers are stored as real pairs.
        poles = torch.complex(*layer.spectrum.rates())
        a = torch.exp(poles * layer.spectrum.timescale())
        b = (a - 1) / poles * torch.complex(*layer.B[:, 0])
        c = torch.complex(*layer.C[:, 0])
        d = layer.D[0]
        views = {
            "recurrence": recurrence(a, b, c, d, u),
            "convolution": convolution(a, b, c, d, u),
            "layer, whole": layer(u[None, :, None])[0][0, :, 0],
            "layer, stepped": stepped(layer, u),
        }
    print(f"{'':15} {'y_1':>9} {'y_2':>9} {'y_3':>9}   largest difference to the first")
    for name, y in views.items():
        difference = (y - views["recurrence"]).abs().max().item()
        print(f"{name:15} " + " ".join(f"{value:9.6f}" for value in y[:3]) + f"   {difference:.0e}")


def stepped(layer: es.S4D, u: torch.Tensor) -> torch.Tensor:
    """The layer as a stream: it keeps a state of constant size and forgets the samples."""
    state, y = layer.initial_state(1), []
    for u_k in u:
        y_k, state = layer.step(u_k.view(1, 1), state)
        y.append(y_k[0, 0])
    return torch.stack(y)


if __name__ == "__main__":
    main()
