"""The one interface of every layer, and its checks."""

import torch
from torch import Tensor, nn

from eigenstate.layers.checks import (
    check_count,
    check_dt,
    check_input,
    check_intervals,
    check_lengths,
    check_resets,
    check_state,
)
from eigenstate.layers.spectrum import Spectrum
from eigenstate.ops.steps import Steps, mask
from eigenstate.systems.eager import readable
from eigenstate.systems.planes import wide


class SequenceLayer(nn.Module):
    """A linear layer over sequences, run whole in parallel or sample by sample.

    Subclasses implement `_forward`, `_states`, `_step` and `_impulse_response`, and may rely on
    checked arguments: u in the working precision, a wide state or None, and time as either one
    scale for all samples or `Steps`.
    """

    d_model: int
    bidirectional: bool
    spectrum: Spectrum
    D: nn.Parameter

    def forward(
        self,
        u: Tensor,
        state: Tensor | None = None,
        *,
        dt: Tensor | float | None = None,
        resets: Tensor | None = None,
        lengths: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Process whole sequences: u (B, L, H) -> y (B, L, H) and the state after the last sample.

        state: where an earlier call stopped; None starts from zero.
        dt: elapsed time before each sample in units of the training interval, of shape (), (L,)
        or (B, L); 0 is allowed, and then the sample reaches the output through D alone.
        resets (B, L), bool: the carried state is dropped before that sample is used.
        lengths (B,), from 1 to L: later samples are padding; they influence nothing, outputs there
        are 0, and the returned state is each row's own last.

        A bidirectional layer takes no state and returns None for it; against time it uses the gap
        after a sample, and 1 after a row's last (a scalar dt is a change of rate and holds there
        too). Raises ValueError or TypeError naming the argument.
        """
        work, state, scale, steps = self._check(u, state, dt, resets, lengths)
        y, state = self._forward(work, state, scale, steps)
        if steps.valid is not None:
            y = torch.where(steps.valid.unsqueeze(-1), y, 0.0)
        return y.to(u.dtype), state

    def states(
        self,
        u: Tensor,
        state: Tensor | None = None,
        *,
        dt: Tensor | float | None = None,
        resets: Tensor | None = None,
        lengths: Tensor | None = None,
    ) -> Tensor:
        """The trajectory (B, L, *state_shape); `states[:, k]` is a state `step` goes on from.

        Arguments as for `forward`. At pads the row's last state stands still.
        """
        if self.bidirectional:
            raise ValueError(
                "states needs a causal layer: two directions share no trajectory; "
                "build it with bidirectional=False"
            )
        return self._states(*self._check(u, state, dt, resets, lengths))

    def step(
        self, u_k: Tensor, state: Tensor | None, *, dt: Tensor | float | None = None
    ) -> tuple[Tensor, Tensor]:
        """Process one sample: u_k (B, H) and a state -> y_k (B, H) and the next state.

        dt: elapsed time since the last sample, of shape () or (B,). The memory does not grow.
        """
        if self.bidirectional:
            raise ValueError(
                "step needs a causal layer: a bidirectional layer reads the future; "
                "build it with bidirectional=False"
            )
        check_input(u_k, "batch", self.d_model, self.D)
        batch = u_k.shape[0]
        state = self._check_state(state, batch)
        if dt is not None:
            check_dt(dt, [(), (batch,)], u_k.device)
            if isinstance(dt, Tensor):
                check_intervals(dt, None)
        if state is None:
            state = self.initial_state(batch)
        y, state = self._step(u_k.to(self._precision()), state, dt)
        return y.to(u_k.dtype), state

    def initial_state(self, batch_size: int) -> Tensor:
        """The zero state of `batch_size` rows; always float64 where the device has it."""
        check_count("batch_size", batch_size, least=0)
        device = self.D.device
        return torch.zeros((batch_size, *self.state_shape), dtype=wide(device), device=device)

    def impulse_response(self, length: int) -> Tensor:
        """The first `length` outputs after a unit impulse at sample 0, D included."""
        check_count("length", length)
        return self._impulse_response(length)

    @property
    def state_shape(self) -> tuple[int, ...]:
        """The shape of one row's state: real and imaginary parts of the modes."""
        return (2, *self.spectrum.modes)

    def _forward(
        self, u: Tensor, state: Tensor | None, scale: Tensor | float | None, steps: Steps
    ) -> tuple[Tensor, Tensor | None]:
        raise NotImplementedError

    def _states(
        self, u: Tensor, state: Tensor | None, scale: Tensor | float | None, steps: Steps
    ) -> Tensor:
        raise NotImplementedError

    def _step(self, u: Tensor, state: Tensor, dt: Tensor | float | None) -> tuple[Tensor, Tensor]:
        raise NotImplementedError

    def _impulse_response(self, length: int) -> Tensor:
        raise NotImplementedError

    def _check(
        self,
        u: Tensor,
        state: Tensor | None,
        dt: Tensor | float | None,
        resets: Tensor | None,
        lengths: Tensor | None,
    ) -> tuple[Tensor, Tensor | None, Tensor | float | None, Steps]:
        """Check every argument, then split dt into one scale for all samples or one per sample."""
        check_input(u, "batch, length", self.d_model, self.D)
        batch, length, _ = u.shape
        state = self._check_state(state, batch)
        valid = None
        if lengths is not None:
            check_lengths(lengths, batch, length)
            valid = mask(lengths.to(u.device), length)
        if resets is not None:
            check_resets(resets, (batch, length), u.device)
        if dt is not None:
            check_dt(dt, [(), (length,), (batch, length)], u.device)
            if isinstance(dt, Tensor):
                check_intervals(dt, valid if dt.dim() else None)
        if readable(u):
            self.spectrum.check_finite()
        scale, intervals = dt, None
        if isinstance(dt, Tensor) and dt.dim():
            scale, intervals = None, torch.atleast_2d(dt.to(wide(u.device)))
        work = u.to(self._precision())
        if valid is not None:
            work = torch.where(valid.unsqueeze(-1), work, 0.0)
            intervals = None if intervals is None else torch.where(valid, intervals, 0.0)
        return work, state, scale, Steps(intervals, resets, valid)

    def _check_state(self, state: Tensor | None, batch: int) -> Tensor | None:
        if state is None:
            return None
        if self.bidirectional:
            raise ValueError(
                "state must be None for a bidirectional layer: its backward half starts in the "
                "future, so there is no state to continue from; use bidirectional=False"
            )
        check_state(state, (batch, *self.state_shape), self.D.device)
        return state.to(wide(state.device))

    def _precision(self) -> torch.dtype:
        """What the layer computes in: float32, or float64 when its parameters are."""
        return torch.promote_types(self.D.dtype, torch.float32)
