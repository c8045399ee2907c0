"""Numba kernels for the CPU: one pass over time at the speed of a memory copy.

The state is carried in float64 whatever the data, so rounding does not grow with the length: an
undamped mode keeps float32's own precision over a million samples. The kernels are serial and
release the interpreter lock; rows are shared out over threads of our own, and since no number
depends on another row, results are the same bits for any number of threads and rows. Nothing is
cached on disk: compiling takes half a second per kernel.

How the loops are written decides whether they become vector instructions: the carried numbers lie
in one scratch array, arrays are indexed whole (a slice hides that its last axis is dense), modes
are counted from 0 (numba otherwise guards against negative indices), and copies are loops (a copy
from slice to slice takes seconds to compile).
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


def forward(
    a: Tensor, b: Tensor, state: Tensor, reverse: bool, overwrite: bool = False
) -> tuple[Tensor, Tensor]:
    """x_k = a_k x_(k-1) + b_k on (B, L, C, P); C is 1 (real) or 2 (complex planes).

    With `overwrite`, x takes the place of b, which saves touching as much new memory.
    """
    b = b.contiguous()
    x = b if overwrite else torch.empty_like(b)
    final = state.clone(memory_format=torch.contiguous_format)
    kernel = _complex_scan if b.shape[2] == 2 else _real_scan
    _share_out(kernel, b.shape, a, b, final, x, reverse)
    return x, final


def adjoint(
    a: Tensor,
    x: Tensor,
    state: Tensor,
    grad_x: Tensor,
    grad_final: Tensor,
    reverse: bool,
    overwrite: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients with respect to a, b and state, given x and the gradients of x and final.

    λ_k = g_k + conj(a_(k+1)) λ_(k+1) runs against time; grad b = λ, grad a = conj(x_(k-1)) λ_k.
    With `overwrite`, grad b takes the place of grad_x.
    """
    grad_x = grad_x.contiguous()
    grad_b = grad_x if overwrite else torch.empty_like(grad_x)
    grad_state = grad_final.clone(memory_format=torch.contiguous_format)
    grad_a = a.new_zeros((x.shape[0], *a.shape[1:]), dtype=grad_state.dtype)
    kernel = _complex_adjoint if x.shape[2] == 2 else _real_adjoint
    _share_out(kernel, x.shape, a, x, state, grad_x, grad_state, grad_b, grad_a, reverse)
    if a.shape[0] == 1:
        grad_a = grad_a.sum(0, keepdim=True)
    return grad_a.to(a.dtype), grad_b, grad_state


def _share_out(kernel, shape: torch.Size, *arguments) -> None:
    """Call the kernel on ranges of rows, one per thread."""
    arrays = [x.detach().contiguous().numpy() if isinstance(x, Tensor) else x for x in arguments]
    rows, length, _, modes = shape
    busy = rows * length * modes >= _WORTH_A_THREAD
    threads = torch.get_num_threads() if busy else 1
    run([partial(kernel, *arrays, *share) for share in shares(rows, threads)])


@_kernel
def _complex_scan(a, b, state, x, reverse, row, row_end):
    length, modes = b.shape[1], b.shape[3]
    w = np.empty((4, modes))  # state, multiplier
    for r in range(row, row_end):
        ra = r if a.shape[0] > 1 else 0
        for p in range(modes):
            w[0, p], w[1, p] = state[r, 0, p], state[r, 1, p]
        for k in range(length):
            t = length - 1 - k if reverse else k
            if k == 0 or a.shape[1] > 1:
                ta = t if a.shape[1] > 1 else 0
                for p in range(modes):
                    w[2, p], w[3, p] = a[ra, ta, 0, p], a[ra, ta, 1, p]
            for p in range(modes):
                re = w[2, p] * w[0, p] - w[3, p] * w[1, p]
                im = w[2, p] * w[1, p] + w[3, p] * w[0, p]
                keep = (w[2, p] != 0.0) | (w[3, p] != 0.0)
                w[0, p] = (re if keep else 0.0) + b[r, t, 0, p]
                w[1, p] = (im if keep else 0.0) + b[r, t, 1, p]
            for p in range(modes):  # a loop of its own, as x may be b
                x[r, t, 0, p], x[r, t, 1, p] = w[0, p], w[1, p]
        for p in range(modes):
            state[r, 0, p], state[r, 1, p] = w[0, p], w[1, p]


@_kernel
def _real_scan(a, b, state, x, reverse, row, row_end):
    length, modes = b.shape[1], b.shape[3]
    w = np.empty((2, modes))  # state, multiplier
    for r in range(row, row_end):
        ra = r if a.shape[0] > 1 else 0
        for p in range(modes):
            w[0, p] = state[r, 0, p]
        for k in range(length):
            t = length - 1 - k if reverse else k
            if k == 0 or a.shape[1] > 1:
                ta = t if a.shape[1] > 1 else 0
                for p in range(modes):
                    w[1, p] = a[ra, ta, 0, p]
            for p in range(modes):
                value = w[1, p] * w[0, p]
                w[0, p] = (value if w[1, p] != 0.0 else 0.0) + b[r, t, 0, p]
            for p in range(modes):
                x[r, t, 0, p] = w[0, p]
        for p in range(modes):
            state[r, 0, p] = w[0, p]


@_kernel
def _complex_adjoint(a, x, state, grad_x, grad_state, grad_b, grad_a, reverse, row, row_end):
    length, modes = x.shape[1], x.shape[3]
    w = np.empty((10, modes))  # carried gradient, multiplier, its gradient, earlier state, λ
    for r in range(row, row_end):
        ra = r if a.shape[0] > 1 else 0
        for p in range(modes):
            w[0, p], w[1, p] = grad_state[r, 0, p], grad_state[r, 1, p]
            w[4, p], w[5, p] = 0.0, 0.0
        for k in range(length):
            t = k if reverse else length - 1 - k
            ta = t if a.shape[1] > 1 else 0
            if k == 0 or a.shape[1] > 1:
                for p in range(modes):
                    w[2, p], w[3, p] = a[ra, ta, 0, p], a[ra, ta, 1, p]
            if k == length - 1:
                for p in range(modes):
                    w[6, p], w[7, p] = state[r, 0, p], state[r, 1, p]
            else:
                before = t + 1 if reverse else t - 1
                for p in range(modes):
                    w[6, p], w[7, p] = x[r, before, 0, p], x[r, before, 1, p]
            for p in range(modes):
                w[8, p] = re = w[0, p] + grad_x[r, t, 0, p]
                w[9, p] = im = w[1, p] + grad_x[r, t, 1, p]
                keep = (w[2, p] != 0.0) | (w[3, p] != 0.0)
                w[0, p] = w[2, p] * re + w[3, p] * im if keep else 0.0
                w[1, p] = w[2, p] * im - w[3, p] * re if keep else 0.0
                x_re = w[6, p] if keep | (abs(w[6, p]) < np.inf) else 0.0
                x_im = w[7, p] if keep | (abs(w[7, p]) < np.inf) else 0.0
                w[4, p] += x_re * re + x_im * im
                w[5, p] += x_re * im - x_im * re
            for p in range(modes):  # a loop of its own, as grad_b may be grad_x
                grad_b[r, t, 0, p], grad_b[r, t, 1, p] = w[8, p], w[9, p]
            if k == length - 1 or a.shape[1] > 1:
                for p in range(modes):
                    grad_a[r, ta, 0, p], grad_a[r, ta, 1, p] = w[4, p], w[5, p]
                    w[4, p], w[5, p] = 0.0, 0.0
        for p in range(modes):
            grad_state[r, 0, p], grad_state[r, 1, p] = w[0, p], w[1, p]


@_kernel
def _real_adjoint(a, x, state, grad_x, grad_state, grad_b, grad_a, reverse, row, row_end):
    length, modes = x.shape[1], x.shape[3]
    w = np.empty((5, modes))  # carried gradient, multiplier, its gradient, earlier state, λ
    for r in range(row, row_end):
        ra = r if a.shape[0] > 1 else 0
        for p in range(modes):
            w[0, p], w[2, p] = grad_state[r, 0, p], 0.0
        for k in range(length):
            t = k if reverse else length - 1 - k
            ta = t if a.shape[1] > 1 else 0
            if k == 0 or a.shape[1] > 1:
                for p in range(modes):
                    w[1, p] = a[ra, ta, 0, p]
            if k == length - 1:
                for p in range(modes):
                    w[3, p] = state[r, 0, p]
            else:
                before = t + 1 if reverse else t - 1
                for p in range(modes):
                    w[3, p] = x[r, before, 0, p]
            for p in range(modes):
                w[4, p] = value = w[0, p] + grad_x[r, t, 0, p]
                keep = w[1, p] != 0.0
                w[0, p] = w[1, p] * value if keep else 0.0
                w[2, p] += (w[3, p] if keep | (abs(w[3, p]) < np.inf) else 0.0) * value
            for p in range(modes):
                grad_b[r, t, 0, p] = w[4, p]
            if k == length - 1 or a.shape[1] > 1:
                for p in range(modes):
                    grad_a[r, ta, 0, p] = w[2, p]
                    w[2, p] = 0.0
        for p in range(modes):
            grad_state[r, 0, p] = w[0, p]
