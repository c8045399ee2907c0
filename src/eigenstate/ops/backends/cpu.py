"""Numba kernels for the CPU: one pass over time at the speed of a memory copy.

The state is carried in float64 whatever the data, so rounding does not grow with the length: an
undamped mode keeps float32's own precision over a million samples. The kernels are serial and
release the interpreter lock; rows and modes are shared out over threads of our own, and since no
number depends on another row or mode, results are the same bits for any number of threads.
Nothing is cached on disk: compiling takes under half a second per kernel.
"""

from functools import partial

import numba
import numpy as np
import torch
from torch import Tensor

from eigenstate.ops.backends.threads import run, shares

# Fewer multiply-adds than this are done before another thread has woken up.
_WORTH_A_THREAD = 1 << 17

_kernel = numba.njit(nogil=True, error_model="numpy", fastmath={"contract"})


def forward(a: Tensor, b: Tensor, state: Tensor, reverse: bool) -> tuple[Tensor, Tensor]:
    """x_k = a_k x_(k-1) + b_k on (B, L, C, P); C is 1 (real) or 2 (complex planes)."""
    x = torch.empty_like(b, memory_format=torch.contiguous_format)
    final = state.clone(memory_format=torch.contiguous_format)
    kernel = _complex_scan if b.shape[2] == 2 else _real_scan
    _share_out(kernel, b.shape, a, b, final, x, reverse)
    return x, final


def adjoint(
    a: Tensor, x: Tensor, state: Tensor, grad_x: Tensor, grad_final: Tensor, reverse: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients with respect to a, b and state, given x and the gradients of x and final.

    λ_k = g_k + conj(a_(k+1)) λ_(k+1) runs against time; grad b = λ, grad a = conj(x_(k-1)) λ_k.
    """
    grad_b = torch.empty_like(grad_x, memory_format=torch.contiguous_format)
    grad_state = grad_final.clone(memory_format=torch.contiguous_format)
    rows = (x.shape[0], *a.shape[1:])
    grad_a = torch.zeros(rows, dtype=grad_state.dtype, device=a.device)
    kernel = _complex_adjoint if x.shape[2] == 2 else _real_adjoint
    _share_out(kernel, x.shape, a, x, state, grad_x, grad_state, grad_b, grad_a, reverse)
    if a.shape[0] == 1:
        grad_a = grad_a.sum(0, keepdim=True)
    return grad_a.to(a.dtype), grad_b, grad_state


def _share_out(kernel, shape: torch.Size, *arguments) -> None:
    """Call the kernel on rectangles of (rows, modes), one per thread."""
    arrays = [x.detach().contiguous().numpy() if isinstance(x, Tensor) else x for x in arguments]
    rows, length, _, modes = shape
    busy = rows * length * modes >= _WORTH_A_THREAD
    threads = torch.get_num_threads() if busy else 1
    row_shares = shares(rows, threads)
    mode_shares = shares(modes, threads // max(1, len(row_shares)))
    run([partial(kernel, *arrays, *r, *m) for r in row_shares for m in mode_shares])


@_kernel
def _complex_scan(a, b, state, x, reverse, row, row_end, mode, mode_end):
    length = b.shape[1]
    for r in range(row, row_end):
        ra = r if a.shape[0] > 1 else 0
        state_re, state_im = state[r, 0, mode:mode_end], state[r, 1, mode:mode_end]
        for k in range(length):
            t = length - 1 - k if reverse else k
            ta = t if a.shape[1] > 1 else 0
            a_re, a_im = a[ra, ta, 0, mode:mode_end], a[ra, ta, 1, mode:mode_end]
            b_re, b_im = b[r, t, 0, mode:mode_end], b[r, t, 1, mode:mode_end]
            x_re, x_im = x[r, t, 0, mode:mode_end], x[r, t, 1, mode:mode_end]
            for p in range(mode_end - mode):
                old_re, old_im = state_re[p], state_im[p]
                re = a_re[p] * old_re - a_im[p] * old_im
                im = a_re[p] * old_im + a_im[p] * old_re
                keep = (a_re[p] != 0.0) | (a_im[p] != 0.0)
                re = (re if keep else 0.0) + b_re[p]
                im = (im if keep else 0.0) + b_im[p]
                state_re[p], state_im[p] = re, im
                x_re[p], x_im[p] = re, im


@_kernel
def _real_scan(a, b, state, x, reverse, row, row_end, mode, mode_end):
    length = b.shape[1]
    for r in range(row, row_end):
        ra = r if a.shape[0] > 1 else 0
        carried = state[r, 0, mode:mode_end]
        for k in range(length):
            t = length - 1 - k if reverse else k
            ta = t if a.shape[1] > 1 else 0
            multiplier = a[ra, ta, 0, mode:mode_end]
            added = b[r, t, 0, mode:mode_end]
            out = x[r, t, 0, mode:mode_end]
            for p in range(mode_end - mode):
                value = multiplier[p] * carried[p]
                value = (value if multiplier[p] != 0.0 else 0.0) + added[p]
                carried[p] = value
                out[p] = value


@_kernel
def _complex_adjoint(
    a, x, state, grad_x, grad_state, grad_b, grad_a, reverse, row, row_end, mode, mode_end
):
    length = x.shape[1]
    earlier = 1 if reverse else -1
    old = np.empty((2, mode_end - mode))
    for r in range(row, row_end):
        ra = r if a.shape[0] > 1 else 0
        carried_re = grad_state[r, 0, mode:mode_end]
        carried_im = grad_state[r, 1, mode:mode_end]
        for k in range(length):
            t = k if reverse else length - 1 - k
            ta = t if a.shape[1] > 1 else 0
            a_re, a_im = a[ra, ta, 0, mode:mode_end], a[ra, ta, 1, mode:mode_end]
            g_re, g_im = grad_x[r, t, 0, mode:mode_end], grad_x[r, t, 1, mode:mode_end]
            b_re, b_im = grad_b[r, t, 0, mode:mode_end], grad_b[r, t, 1, mode:mode_end]
            ga_re, ga_im = grad_a[r, ta, 0, mode:mode_end], grad_a[r, ta, 1, mode:mode_end]
            if k < length - 1:
                old[:] = x[r, t + earlier, :, mode:mode_end]
            else:
                old[:] = state[r, :, mode:mode_end]
            old_re, old_im = old[0], old[1]
            for p in range(mode_end - mode):
                re, im = carried_re[p] + g_re[p], carried_im[p] + g_im[p]
                b_re[p], b_im[p] = re, im
                keep = (a_re[p] != 0.0) | (a_im[p] != 0.0)
                x_re = old_re[p] if keep | np.isfinite(old_re[p]) else 0.0
                x_im = old_im[p] if keep | np.isfinite(old_im[p]) else 0.0
                ga_re[p] += x_re * re + x_im * im
                ga_im[p] += x_re * im - x_im * re
                carried_re[p] = a_re[p] * re + a_im[p] * im if keep else 0.0
                carried_im[p] = a_re[p] * im - a_im[p] * re if keep else 0.0


@_kernel
def _real_adjoint(
    a, x, state, grad_x, grad_state, grad_b, grad_a, reverse, row, row_end, mode, mode_end
):
    length = x.shape[1]
    earlier = 1 if reverse else -1
    old = np.empty(mode_end - mode)
    for r in range(row, row_end):
        ra = r if a.shape[0] > 1 else 0
        carried = grad_state[r, 0, mode:mode_end]
        for k in range(length):
            t = k if reverse else length - 1 - k
            ta = t if a.shape[1] > 1 else 0
            multiplier = a[ra, ta, 0, mode:mode_end]
            given = grad_x[r, t, 0, mode:mode_end]
            out = grad_b[r, t, 0, mode:mode_end]
            summed = grad_a[r, ta, 0, mode:mode_end]
            if k < length - 1:
                old[:] = x[r, t + earlier, 0, mode:mode_end]
            else:
                old[:] = state[r, 0, mode:mode_end]
            for p in range(mode_end - mode):
                value = carried[p] + given[p]
                out[p] = value
                keep = (multiplier[p] != 0.0) | np.isfinite(old[p])
                summed[p] += (old[p] if keep else 0.0) * value
                carried[p] = multiplier[p] * value if multiplier[p] != 0.0 else 0.0
