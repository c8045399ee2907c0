"""Independent answers for the layers with one system per feature; nothing from the package.

States come as complex (…, H, P), as the layers keep them in planes (…, 2, H, P).
"""

import numpy as np
import truths


def s4d(parameters, settings, u, **arguments):
    """S4D as one large S5 layer whose B and C connect each feature to its own modes alone."""
    values = {name: truths.array(value) for name, value in parameters.items()}
    features, modes = values["B"].shape[1:]
    own = np.repeat(np.eye(features), modes, axis=0)  # (H P, H)
    wide = {
        "spectrum.poles": values["spectrum.poles"].reshape(2, -1),
        "spectrum.log_timescale": np.repeat(values["spectrum.log_timescale"], modes),
        "B": values["B"].reshape(2, -1, 1) * own,
        "D": values["D"],
    }
    for name in ("C", "C_reverse"):
        if name in values:
            wide[name] = own.T[:, None] * values[name].reshape(2, -1)
    state = arguments.pop("state", None)
    if state is not None:
        arguments["state"] = truths.array(state).reshape(*state.shape[:2], -1)
    y, final, states = truths.s5(wide, settings, u, **arguments)
    shape = (features, modes)
    return y, final.reshape(*final.shape[:-1], *shape), states.reshape(*states.shape[:-1], *shape)


def s4(parameters, settings, u, **arguments):
    """S4 by dense matrices, one feature after the other, on modes and conjugates together."""
    values = {name: truths.array(value) for name, value in parameters.items()}
    features = [_Dense(values, settings, h) for h in range(values["D"].shape[0])]
    u = truths.array(u)
    state = arguments.pop("state", None)
    answers = [
        truths.in_runs(
            system,
            u[:, :, h : h + 1],
            None if state is None else truths.merge(state[:, :, h]),
            **arguments,
        )
        for h, system in enumerate(features)
    ]
    y, final, states = zip(*answers, strict=True)
    return np.concatenate(y, -1), np.stack(final, -2), np.stack(states, -2)


class _Dense:
    """A = diag(λ, λ̄) - Σ p p*, discretised by solving; what `truths.in_runs` runs."""

    def __init__(self, values, settings, h):
        real, imaginary = values["spectrum.poles"][:, h]
        real = {
            "exp": lambda x: -np.exp(x),
            "clip": lambda x: np.minimum(x, -1e-4),
            "free": lambda x: x,
        }[settings["stability"]](real)
        poles = real + 1j * imaginary
        p = values["P"][0, :, h] + 1j * values["P"][1, :, h]  # (R, P)
        p = np.concatenate([p, p.conj()], -1)
        self.A = np.diag(np.concatenate([poles, poles.conj()])) - p.T @ p.conj()
        self.B = self._both(values["B"][:, h])[:, None]
        self.C = self._both(values["C"][:, h])
        reverse = values.get("C_reverse")
        self.C_reverse = None if reverse is None else self._both(reverse[:, h])
        self.D = values["D"][h]
        self.step = np.exp(values["spectrum.log_timescale"][h, 0])
        self.modes = len(poles)

    @staticmethod
    def _both(planes):
        half = planes[0] + 1j * planes[1]
        return np.concatenate([half, half.conj()])

    def run(self, u, dt, rate, state):
        """One uninterrupted piece: u (L, 1), dt (L,), state (P,)."""
        full = np.concatenate([state, state.conj()])
        states = self._recurrence(u, dt, full)
        y = (states @ self.C).real[:, None] + u * self.D
        if self.C_reverse is not None:
            after = np.append(dt[1:], rate)[: len(dt)]
            back = self._recurrence(u[::-1], after[::-1], np.zeros_like(full))[::-1]
            y = y + (back @ self.C_reverse).real[:, None]
        final = states[-1, : self.modes] if len(u) else state
        return y, states[:, : self.modes], final

    def _recurrence(self, u, dt, x):
        states = np.zeros((len(u), len(x)), complex)
        for k, (value, gap) in enumerate(zip(u[:, 0], dt, strict=True)):
            a, b = truths.dense_bilinear(self.A, self.B, self.step * gap)
            x = a @ x + b[:, 0] * value
            states[k] = x
        return states
