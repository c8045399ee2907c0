"""The page of results for people, in Markdown."""

from collections.abc import Iterable, Sequence
from math import floor, log10
from statistics import fmean
from typing import Any

NONE = "–"
MEASURED = """\
Measured: the mean over seeds ± the standard deviation between them (n - 1). Cited: what others
published, from the numbered sources; nothing of it was measured here."""
MEANING = """\
The training loss is that of the first and of the last epoch. Minutes are those of training and of
the validation between epochs; data are loaded, and the test set of the epoch chosen is judged,
outside of them. Tokens are samples that are no pads, learnt from in a second of training; memory is
the most that the whole process held. What a run did not measure is left out."""


def page(results: dict[str, Any]) -> str:
    """Write what `collect` returned as a page."""
    rows = results["rows"]
    sources: list[str] = []
    lines = [_figure_line(row, figure, sources) for row in rows for figure in row["figures"]]
    parts = [
        f"# Results: {results['suite']}",
        results["about"],
        f"```console\n$ {results['command']}\n```",
        MEASURED,
        _table(("row", "judged on", "figure", "measured", "of each seed", "bar", "cited"), lines),
        "\n".join(f"{number}. {source}" for number, source in enumerate(sources, 1)),
        "## Runs",
        _runs(rows),
        MEANING,
        "## Machines",
        _machines(rows),
        f"The last run was finished on {results['date']}." if results["date"] else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def figure_text(name: str, figure: float, spread: float | None = None) -> str:
    """Write a measured figure, and its spread, as people read it: 98.65 ± 0.27 %."""
    return _text(name, figure, spread, digits=".2f")


def bar_text(row: dict[str, Any], figure: dict[str, Any]) -> str:
    """Write a bar, and whether it is met."""
    bar, met = figure["bar"], figure["met"]
    if bar is None:
        return NONE
    words = {None: "runs missing", True: "met", False: "missed"}[met]
    sign = "≥" if bar["at"] == "least" else "≤"
    limit = _published(row["figure"], bar["limit"])
    if bar["of"] == "drop":
        return f"drop {sign} {limit.replace(' %', ' points')}: {words}"
    return f"{sign} {limit}: {words}"


def measured_text(row: dict[str, Any], figure: dict[str, Any]) -> str:
    """Write the mean, its spread, and how many seeds are behind them where some are missing."""
    measured = figure["measured"]
    values = list(measured["seeds"].values())
    there = sum(value is not None for value in values)
    if not there:
        return "missing"
    text = figure_text(row["figure"], measured["mean"], measured["spread"])
    if there < len(values):
        return f"{text} ({there} of {len(values)} seeds)"
    return f"{text} (one seed)" if there == 1 else text


def _figure_line(
    row: dict[str, Any], figure: dict[str, Any], sources: list[str]
) -> tuple[str, ...]:
    name = row["figure"]
    seeds = [
        "missing" if value is None else figure_text(name, value)
        for value in figure["measured"]["seeds"].values()
    ]
    cited = [_cited_text(name, each, sources) for each in figure["cited"]]
    return (
        row["row"],
        figure["judged_on"],
        row["figure_words"],
        measured_text(row, figure),
        ", ".join(seeds),
        bar_text(row, figure),
        "; ".join(cited) or NONE,
    )


def _cited_text(name: str, cited: dict[str, Any], sources: list[str]) -> str:
    if cited["source"] not in sources:
        sources.append(cited["source"])
    text = f"{cited['system']} {_published(name, cited['figure'], cited['spread'])}"
    seeds = f", {cited['seeds']} seeds" if cited["seeds"] else ""
    return f"{text}{seeds} [{sources.index(cited['source']) + 1}]"


def _published(name: str, figure: float, spread: float | None = None) -> str:
    """Write a figure with the digits it was given with, and no others."""
    return _text(name, figure, spread, digits=".4g")


def _text(name: str, figure: float, spread: float | None, *, digits: str) -> str:
    """An accuracy in percent; anything else with the figure's power of ten: 2.99e-3 ± 0.12e-3."""
    if name == "accuracy":
        deviation = "" if spread is None else f" ± {100 * spread:{digits}}"
        return f"{100 * figure:{digits}}{deviation} %"
    power = floor(log10(abs(figure))) if figure else 0
    values = [figure] if spread is None else [figure, spread]
    return " ± ".join(f"{value / 10.0**power:{digits}}e{power}" for value in values)


def _runs(rows: Sequence[dict[str, Any]]) -> str:
    """The facts of the runs of each row; columns of which nothing was measured are left out."""
    header = ("row", "preset", "parameters", "epochs", "epoch judged", "training loss",
              "minutes a run", "threads", "tokens a second", "peak memory")  # fmt: skip
    lines = []
    for row in rows:
        there = [run for run in row["runs"] if run["state"] == "finished"]
        first = _mean(run["first_train_loss"] for run in there)
        last = _mean(run["last_train_loss"] for run in there)
        lines.append(
            (
                row["row"],
                row["preset"],
                NONE if row["parameters"] is None else f"{row['parameters']:,}",
                str(row["epochs"]),
                _each(run["epoch_judged"] for run in there),
                NONE if first == NONE else f"{first} to {last}",
                _mean(run["seconds"] / 60 for run in there),
                _each(run["threads"] for run in there),
                _mean(run["tokens_per_second"] for run in there),
                _mean((_mebibytes(run["peak_memory"]) for run in there), " MiB"),
            )
        )
    shown = [n for n in range(len(header)) if n < 5 or any(line[n] != NONE for line in lines)]
    return _table([header[n] for n in shown], [[line[n] for n in shown] for line in lines])


def _mebibytes(size: float | None) -> float | None:
    return None if size is None else size / 2**20


def _each(values: Iterable[Any]) -> str:
    """The value of every run, or the one that all share."""
    values = [NONE if value is None else f"{value:g}" for value in values]
    return ", ".join(values if len(set(values)) > 1 else values[:1]) or NONE


def _mean(values: Iterable[float | None], unit: str = "") -> str:
    there = [value for value in values if value is not None]
    if not there:
        return NONE
    mean = fmean(there)
    return f"{mean:,.0f}{unit}" if abs(mean) >= 100 else f"{mean:.3g}{unit}"


def _machines(rows: Sequence[dict[str, Any]]) -> str:
    """One line for each machine with its versions, and the runs it made."""
    made: dict[str, list[str]] = {}
    for row in rows:
        by_machine: dict[str, list[str]] = {}
        for run in row["runs"]:
            if run["state"] == "finished":
                by_machine.setdefault(_machine(run), []).append(str(run["seed"]))
        for machine, seeds in by_machine.items():
            made.setdefault(machine, []).append(f"{row['row']} (seed {', '.join(seeds)})")
    lines = [f"- {machine}: {'; '.join(runs)}" for machine, runs in made.items()]
    return "\n".join(lines) or "No run is finished."


def _machine(run: dict[str, Any]) -> str:
    machine, versions = run["machine"], run["versions"]
    cpu = "machine unknown"
    if machine:
        cpu = f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}"
    known = ", ".join(f"{name} {number}" for name, number in (versions or {}).items())
    return f"{cpu}; {known or 'versions unknown'}"


def _table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table whose columns stand under each other in the text as well."""
    cells = [[cell.replace("|", "\\|") for cell in line] for line in (header, *lines)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(header))]
    text = [
        "| "
        + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        + " |"
        for line in cells
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([text[0], rule, *text[1:]])
