"""A function over many items in several processes, its results in the order of the items."""

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

AHEAD = 2  # items handed out for each worker: one at work, one waiting


def in_order(
    function: Callable[[Item], Result], items: Iterable[Item], *, workers: int = 1
) -> Generator[Result, None, None]:
    """Yield function(item) for each item; with one worker, in this process.

    `items` may be endless: few are taken ahead of what is yielded. Close the iterator, or let
    go of it, and the workers end. concurrent.futures.BrokenExecutor: one was killed.
    """
    if workers == 1:
        yield from map(function, items)
        return
    # Not a fork: the threads of torch and NumPy do not survive one.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_leave_ctrl_c) as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                with _ctrl_c_later():  # a worker may be started here, and inherits that
                    waiting.append(pool.submit(function, item))
                if len(waiting) >= AHEAD * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _leave_ctrl_c() -> None:
    """Ctrl-C reaches every process of a terminal; the parent alone answers it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _ctrl_c_later() -> Iterator[None]:
    """Hold Ctrl-C back, here and in what is started here: one still importing would die loudly."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
