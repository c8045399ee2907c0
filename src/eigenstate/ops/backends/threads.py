"""A pool of plain threads that follows `torch.set_num_threads` and survives a fork."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Lock

import torch

_pools: dict[int, ThreadPoolExecutor] = {}
_lock = Lock()


def run(tasks: list[Callable[[], None]]) -> None:
    """Run every task, the last one on the calling thread, and return when all are done."""
    if len(tasks) == 1:
        tasks[0]()
        return
    waiting = [_pool().submit(task) for task in tasks[:-1]]
    tasks[-1]()
    for future in waiting:
        future.result()


def shares(count: int, parts: int) -> list[tuple[int, int]]:
    """Cut range(count) into at most `parts` contiguous, nearly equal ranges."""
    parts = max(1, min(parts, count))
    edges = [count * i // parts for i in range(parts + 1)]
    return list(pairwise(edges))


def _pool() -> ThreadPoolExecutor:
    workers = max(1, torch.get_num_threads() - 1)
    with _lock:
        if workers not in _pools:
            _pools[workers] = ThreadPoolExecutor(workers, thread_name_prefix="eigenstate")
        return _pools[workers]


def _after_fork() -> None:
    # A child inherits the pools but none of their threads, and perhaps a held lock.
    global _lock
    _lock = Lock()
    _pools.clear()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_after_fork)
