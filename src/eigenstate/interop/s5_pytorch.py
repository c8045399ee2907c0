"""`S5` and `S5Block` of s5-pytorch 0.2.1, by their own signatures, on the layers of this library.

Change `from s5 import S5Block` to `from eigenstate.interop.s5_pytorch import S5Block`. Given the
same weights the numbers are the same, and `load_state_dict` takes state dicts of that package. What
differs: parameters are real pairs; `initial_state` works; states are complex128 where the device
has it, so that a stream of steps stays as accurate as one pass.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from eigenstate import layers
from eigenstate.interop.links import convert
from eigenstate.interop.s5_pytorch_names import layer_links
from eigenstate.interop.trees import flatten, select
from eigenstate.layers.checks import check_flag
from eigenstate.ops.steps import Steps

StepScale = float | Tensor


class S5SSM(nn.Module):
    """The sequence layer inside `S5`, which is its `seq`: signals (L, H), or samples (H,)."""

    def __init__(self, layer: layers.S5) -> None:
        super().__init__()
        self.layer = layer
        nn.init.uniform_(layer.D)  # as that package starts it
        self.register_load_state_dict_pre_hook(_read_published)

    def initial_state(self, batch_size: int | None = None) -> Tensor:
        """Zeros (batch_size, P), complex, or (P,)."""
        planes = self.layer.initial_state(1 if batch_size is None else batch_size)
        state = _complex(planes)
        return state[0] if batch_size is None else state

    def forward(
        self,
        signal: Tensor,
        step_scale: StepScale = 1.0,
        state: Tensor | None = None,
        return_state: bool = False,
    ):
        """One sequence (L, H) -> y (L, H), or (y, state (P,)); step_scale () or (L,)."""
        if isinstance(step_scale, Tensor) and step_scale.dim():
            step_scale = step_scale.unsqueeze(0)
        state = None if state is None else state.unsqueeze(0)
        y, after = self._run(signal.unsqueeze(0), step_scale, state, return_state)
        return (y[0], after[0]) if after is not None else y[0]

    def forward_rnn(
        self, signal: Tensor, prev_state: Tensor, step_scale: StepScale = 1.0
    ) -> tuple[Tensor, Tensor]:
        """One sample (H,), or one of each row (B, H) -> y alike, and the state (P,) or (B, P)."""
        single = signal.dim() == 1
        if single:
            signal, prev_state = signal.unsqueeze(0), prev_state.unsqueeze(0)
        state = self._planes(prev_state, len(signal))
        y, state = self.layer.step(signal, state, dt=step_scale)
        return (y[0], _complex(state)[0]) if single else (y, _complex(state))

    def _run(
        self, signal: Tensor, step_scale: StepScale, state: Tensor | None, return_state: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Whole sequences (B, L, H); step_scale (), (B,) or (B, L)."""
        layer = self.layer
        if return_state and layer.bidirectional:
            raise ValueError(
                "return_state must be False for a bidirectional layer: its backward half starts in "
                "the future; use bidir=False"
            )
        planes = None if state is None else self._planes(state, len(signal))
        dt = _per_sample(step_scale, signal)
        if layer.bidirectional and isinstance(dt, Tensor) and dt.dim():
            work, planes, scale, steps = layer._check(signal, planes, dt, None, None)
            y, after = layer._forward(work, planes, scale, _SharedSteps(steps.dt))
            y = y.to(signal.dtype)
        else:
            y, after = layer(signal, planes, dt=dt)
        return y, _complex(after) if return_state and after is not None else None

    def _planes(self, state: Tensor, batch: int) -> Tensor:
        """(B, P), complex or real -> (B, 2, P)."""
        modes = self.layer.spectrum.modes.numel()
        if tuple(state.shape) != (batch, modes):
            raise ValueError(
                f"state must have shape ({batch}, {modes}) (batch, modes), got {tuple(state.shape)}"
            )
        imaginary = state.imag if state.is_complex() else torch.zeros_like(state)
        return torch.stack((state.real, imaginary), 1)


class S5(nn.Module):
    """Signals (B, L, width) -> (B, L, width).

    state_width: the modes that are stored, all of them free, read out as Re(C x); width by default.
    block_count: blocks the poles start in. bcInit: "dense" or "complex_normal".
    NotImplementedError, with the reason: liquid, degree other than 1, factor_rank, other bcInit.
    """

    def __init__(
        self,
        width: int,
        state_width: int | None = None,
        factor_rank: int | None = None,
        block_count: int = 1,
        dt_min: float = 0.001,
        dt_max: float = 0.1,
        liquid: bool = False,
        degree: int = 1,
        bidir: bool = False,
        bcInit: str | None = None,
    ) -> None:
        super().__init__()
        _refuse(liquid, degree, factor_rank, bcInit)
        self.width = width
        rule = "complex_normal" if bcInit == "complex_normal" else "lecun_normal"
        layer = layers.S5(
            width,
            state_width or width,
            blocks=block_count,
            bidirectional=bidir,
            dt_min=dt_min,
            dt_max=dt_max,
            options=layers.S5Options(conjugate=False, stability="free", c_init=rule),
        )
        self.seq = S5SSM(layer)

    def initial_state(self, batch_size: int | None = None) -> Tensor:
        """The state before any sample: zeros (batch_size, P), complex, or (P,)."""
        return self.seq.initial_state(batch_size)

    def forward(
        self,
        signal: Tensor,
        step_scale: StepScale = 1.0,
        state: Tensor | None = None,
        return_state: bool = False,
    ):
        """y (B, L, width), or (y, state (B, P)) on request.

        step_scale multiplies the timescales: a number, (B,), or (B, L), an interval before each
        sample, which a bidirectional layer uses as it is in both directions. state: what an earlier
        call returned. ValueError: a bidirectional layer takes and returns none.
        """
        y, after = self.seq._run(signal, step_scale, state, return_state)
        return (y, after) if return_state else y

    def forward_rnn(
        self, signal: Tensor, prev_state: Tensor, step_scale: StepScale = 1.0
    ) -> tuple[Tensor, Tensor]:
        """One more sample (B, width), or (width,), and the state -> y and the next state."""
        return self.seq.forward_rnn(signal, prev_state, step_scale)


class S5Block(nn.Module):
    """norm -> S5 -> GELU -> + norm's output; norm -> gated feed-forward -> + norm's output.

    x (B, L, dim) -> (B, L, dim). The skip connections begin after the norms, as in that package.
    """

    def __init__(
        self,
        dim: int,
        state_dim: int,
        bidir: bool,
        block_count: int = 1,
        liquid: bool = False,
        degree: int = 1,
        factor_rank: int | None = None,
        bcInit: str | None = None,
        ff_mult: float = 1.0,
        glu: bool = True,
        ff_dropout: float = 0.0,
        attn_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_flag("glu", glu)
        self.s5 = S5(
            dim,
            state_dim,
            factor_rank=factor_rank,
            block_count=block_count,
            liquid=liquid,
            degree=degree,
            bidir=bidir,
            bcInit=bcInit,
        )
        hidden = int(dim * ff_mult)
        self.glu = glu
        self.attn_norm = nn.LayerNorm(dim)
        self.attn_dropout = nn.Dropout(attn_dropout)
        self.ff_enc = nn.Linear(dim, hidden * (2 if glu else 1), bias=False)
        self.ff_dec = nn.Linear(hidden, dim, bias=False)
        self.ff_norm = nn.LayerNorm(dim)
        self.ff_dropout = nn.Dropout(ff_dropout)

    def forward(self, x: Tensor, state: Tensor | None = None, return_state: bool = False):
        """y (B, L, dim), or (y, state (B, P)) on request; state: what an earlier call returned."""
        normed = self.attn_norm(x)
        y, after = self.s5.seq._run(normed, 1.0, state, return_state)
        y = self.attn_dropout(F.gelu(y) + normed)
        normed = self.ff_norm(y)
        hidden = self.ff_enc(normed)  # (B, L, hidden), twice that with gates
        if self.glu:
            values, gates = hidden.chunk(2, -1)
            hidden = values * F.gelu(gates)
        y = self.ff_dropout(self.ff_dec(hidden) + normed)
        return (y, after) if return_state else y


class _SharedSteps(Steps):
    """Intervals that serve both directions as they are."""

    def backward(self) -> Steps:
        return self


def _refuse(liquid: bool, degree: int, factor_rank: int | None, bcInit: str | None) -> None:
    """Raise NotImplementedError for what has no counterpart here."""
    reason = ""
    if liquid:
        reason = "liquid=True: its multipliers depend on the input, so it is no linear layer"
    elif degree != 1:
        reason = f"degree={degree!r}: it takes powers of the discretised B, element by element"
    elif factor_rank is not None or bcInit == "factorized":
        reason = "factorized B and C: s5-pytorch itself cannot build them; leave factor_rank out"
    elif bcInit not in (None, "dense", "complex_normal"):
        reason = f"bcInit={bcInit!r}: choose 'dense' or 'complex_normal'"
    if reason:
        raise NotImplementedError(f"there is no {reason}")


def _per_sample(step_scale: StepScale, signal: Tensor) -> StepScale:
    """A number as it is; one for each row, (B,), as one for each sample, (B, L)."""
    if not isinstance(step_scale, Tensor) or step_scale.dim() == 0:
        return step_scale
    batch, length = signal.shape[:2]
    if tuple(step_scale.shape) not in ((batch,), (batch, length)):
        raise ValueError(
            f"step_scale must be a number or have shape ({batch},) or ({batch}, {length}), "
            f"got {tuple(step_scale.shape)}"
        )
    return step_scale.reshape(batch, -1).expand(batch, length)


def _complex(planes: Tensor) -> Tensor:
    """(B, 2, P) -> (B, P)."""
    return torch.complex(*planes.unbind(1))


def _read_published(module, state_dict, prefix, metadata, strict, missing, unexpected, errors):
    """Before loading: put arrays of that package, if it is they, into our names and shapes."""
    theirs = select(dict(state_dict), prefix)
    if "Lambda" not in theirs:
        return
    layer = module.layer
    names = {name: f"{prefix}layer.{name}" for name, _ in layer.named_parameters()}
    values, problems = convert(layer_links(layer), flatten(theirs, "."))
    errors.extend(f"{prefix}{problem}" for problem in problems)
    for name in theirs:
        del state_dict[f"{prefix}{name}"]
    new = {id(tensor): value for tensor, value in values}
    for name, tensor in layer.named_parameters():
        state_dict[names[name]] = new.get(id(tensor), tensor.detach())
