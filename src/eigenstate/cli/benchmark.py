"""eigenstate benchmark SUITE"""

import shlex
import sys
from pathlib import Path
from typing import Any

from eigenstate.cli.arguments import UsageError, new_parser, parse

FAILURE, INTERRUPTED = 1, 130
ABOUT = """\
Train every row of a suite with every seed, judge the runs, and write DIR/results.md and
DIR/results.json: what was measured, and beside it what others published."""
MORE = """\
suites:
{suites}
  or a YAML file of your own: eigenstate benchmark mine.yaml

The runs are ordinary run folders, DIR/ROW/seed-K. What is finished is not trained again, and what
was stopped goes on where it was: give the same command again. The tables are written anew after
every run.

examples:
  eigenstate benchmark small --seeds 3
  eigenstate benchmark pendulum --only s5-pendulum-drop --out results/pendulum
  eigenstate benchmark smoke --data data --data.sfashion fashion-mnist
"""


def benchmark(argv: list[str]) -> int:
    """Train and judge a suite."""
    data, rest = _places_of_data(argv)
    given = parse(_parser(), rest)
    if given is None:
        return 0
    if given.suite is None:
        raise UsageError("which suite? eigenstate benchmark SUITE; --help lists them")
    if given.seeds is not None and given.seeds < 1:
        raise UsageError(f"--seeds must be at least 1, got {given.seeds}")
    from eigenstate.training.campaign import places, plan
    from eigenstate.training.runs import RunError
    from eigenstate.training.suites import read_suite

    only = [name for name in (given.only or "").split(",") if name]
    try:
        suite = read_suite(given.suite)
        out = given.out or Path("runs") / f"benchmark-{suite.name}"
        seeds = given.seeds or suite.seeds
        jobs = plan(suite, out, seeds=seeds, only=only, data=data)
    except (RunError, ValueError, TypeError) as error:
        raise UsageError(str(error)) from None
    words = ["eigenstate", "benchmark", given.suite, "--seeds", str(seeds), "--out", str(out)]
    for task, place in places(jobs).items():
        words += [f"--data.{task}", place]
    return _Campaign(suite, jobs, out=out, command=words, only=only).run()


class _Campaign:
    """The runs, one after another, and what is said meanwhile."""

    def __init__(
        self, suite: Any, jobs: list[Any], *, out: Path, command: list[str], only: list[str]
    ) -> None:
        self.suite = suite
        self.jobs = jobs
        self.out = out
        self.command = shlex.join(command)
        self.again = shlex.join([*command, "--only", ",".join(only)]) if only else self.command

    def run(self) -> int:
        from eigenstate.training.fit import Interrupted

        failed = 0
        waiting = [job for job in self.jobs if job.chosen and job.state != "finished"]
        for number, job in enumerate(waiting, 1):
            self._say(f"[{number} of {len(waiting)}] {job.name}{BEGINNING[job.state]}")
            try:
                failed += not self._carry_out(job)
            except (Interrupted, KeyboardInterrupt) as stop:
                self._say(f"\n{stop}" if isinstance(stop, Interrupted) else "\ninterrupted")
                self._say_what_is_kept(job)
                return getattr(stop, "exit_code", INTERRUPTED)
        self._print(self._write())
        if failed:
            self._say(f"{failed} of {len(waiting)} runs failed; try them again: {self.again}")
        return FAILURE if failed else 0

    def _carry_out(self, job: Any) -> bool:
        """Do one run and write the tables; say why and go on with the others if it fails."""
        from eigenstate.files import CheckpointError, WriteError
        from eigenstate.training.campaign import carry_out
        from eigenstate.training.finite import NonFiniteError
        from eigenstate.training.runs import RunError

        try:
            carry_out(job)
        except (NonFiniteError, RunError, CheckpointError, ImportError, WriteError) as error:
            self._say(f"eigenstate benchmark: {job.name}: failed: {error}")
            return False
        except OSError as error:
            place = error.filename or job.run.folder
            self._say(f"eigenstate benchmark: {job.name}: failed: {place}: {error.strerror}")
            return False
        self._write()
        return True

    def _write(self) -> Any:
        from eigenstate.training.results import write_results
        from eigenstate.training.runs import RunError

        try:
            return write_results(self.suite, self.jobs, self.out, command=self.command)
        except RunError as error:
            raise UsageError(str(error)) from None
        except OSError as error:
            raise UsageError(f"the results are not written: {error}") from None

    def _say_what_is_kept(self, job: Any) -> None:
        done = sum(job.state == "finished" for job in self.jobs)
        lines = []
        if job.run.checkpoint.exists():
            lines.append(f"What {job.name} has learnt is kept in {job.run.checkpoint}")
        if done:
            lines.append(f"{done} of {len(self.jobs)} runs are finished: {self.out}/results.md")
        self._say("\n".join([*lines, f"  go on  {self.again}"]))

    def _print(self, results: dict[str, Any]) -> None:
        """One line for each figure, and where the tables are."""
        from eigenstate.training.results_page import bar_text, measured_text

        lines = []
        for row in results["rows"]:
            for figure in row["figures"]:
                bar = "" if figure["bar"] is None else f"  {bar_text(row, figure)}"
                name = f"{row['row']}, {figure['judged_on']}"
                lines.append((name, measured_text(row, figure) + bar))
        lines.append(("results", f"{self.out}/results.md"))
        width = max(len(name) for name, _ in lines) + 2
        print("\n".join(f"{name:{width}}{text}" for name, text in lines))

    def _say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


BEGINNING = {"new": "", "stopped": ": goes on from its checkpoint", "trained": ": is judged"}


def _places_of_data(argv: list[str]) -> tuple[dict[str, str], list[str]]:
    """Take `--data PATH` and `--data.TASK PATH` out of the arguments; "" stands for every task."""
    data, rest, words = {}, [], iter(argv)
    for word in words:
        flag, equals, place = word.partition("=")
        if flag != "--data" and not flag.startswith("--data."):
            rest.append(word)
            continue
        place = place if equals else next(words, "")
        if not place or place.startswith("--"):
            raise UsageError(f"{flag}: expected a path")
        task = flag.removeprefix("--data").removeprefix(".")
        if task in data:
            raise UsageError(f"{flag} is given twice")
        data[task] = place
    return data, rest


def _parser() -> Any:
    from eigenstate.training.presets import about
    from eigenstate.training.suites import suites

    listed = "\n".join(f"  {name:<10}{about(file)}" for name, file in suites().items())
    parser = new_parser("benchmark", "SUITE [options]", ABOUT, MORE.format(suites=listed))
    parser.add_argument("suite", metavar="SUITE", nargs="?", help="a name, or a YAML file")
    parser.add_argument(
        "--seeds", metavar="N", type=int, help="seeds of a row (those of the suite)"
    )
    parser.add_argument("--out", metavar="DIR", type=Path, help="folder (runs/benchmark-SUITE)")
    parser.add_argument("--only", metavar="ROW", help="train this row; several: ROW,ROW")
    # Both kinds of --data are taken out before; this one is here to be explained.
    parser.add_argument(
        "--data", metavar="PATH", help="where tasks have their files; for one: --data.TASK PATH"
    )
    return parser
