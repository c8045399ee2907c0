"""How arguments are read, and what is said when they are wrong. The door to the parser."""

import argparse
import difflib
import re
from collections.abc import Iterable
from typing import Any

WORDS = {"int": "a whole number", "float": "a number", "bool": "true or false"}


class UsageError(Exception):
    """Something that was typed is wrong; the message is one line for whoever typed it."""


def new_parser(command: str, usage: str, about: str, more: str | None = None) -> Any:
    """Return a parser for a command, without abbreviations of flags."""
    try:
        from jsonargparse import ArgumentParser
    except ImportError:
        raise UsageError("this needs an extra: pip install 'eigenstate[training]'") from None
    return ArgumentParser(
        prog=f"eigenstate {command}",
        usage=f"eigenstate {command} {usage}",
        description=about,
        epilog=more,
        formatter_class=_Help,
        allow_abbrev=False,
        exit_on_error=False,
        default_env=False,
    )


def parse(parser: Any, argv: list[str]) -> Any:
    """Parse, or return None if help was asked for and printed. UsageError: says what is wrong."""
    if "-h" in argv or "--help" in argv:
        parser.print_help()
        return None
    try:
        return parser.parse_args(argv)
    except argparse.ArgumentError as error:
        raise UsageError(_explained(parser, error)) from None


def check_types(parser: Any, settings: dict[str, Any]) -> None:
    """Raise UsageError for a setting whose value is of the wrong kind."""
    try:
        parser.parse_object(settings)
    except argparse.ArgumentError as error:
        raise UsageError(_explained(parser, error)) from None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ' Did you mean ...?' when a known name is near, else nothing."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


class _Help(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=96, max_help_position=35)


def _explained(parser: Any, error: argparse.ArgumentError) -> str:
    """Put what the parser says into one line and into words, with a hint for an unknown flag."""
    text = " ".join(str(error).split())
    unknown = re.match(r"unrecognized arguments: (.*)", text)
    if unknown:
        return _unknown(parser, unknown[1].split())
    value = re.search(r"(?:Got|Given) value: (.*)", text)
    key = re.search(r'Parser key "(.+?)"', text)
    if not (key and value):
        return text
    found = re.search(r"Expected a <class '(\w+)'>", text)
    expected = WORDS.get(found[1], f"a {found[1]}") if found else "another kind of value"
    return f"{key[1]} must be {expected}, got {value[1]!r}"


def _unknown(parser: Any, words: list[str]) -> str:
    """Explain the first word that the parser knows nothing of; `--lr` finds `--training.lr`."""
    from eigenstate.models.choice import LAYERS, option_names

    flags = [word.split("=")[0] for word in words if word.startswith("-")]
    if not flags:
        return f"unexpected argument {words[0]!r}"
    known = list(parser._option_string_actions)
    known += [f"--model.layer_options.{name}" for layer in LAYERS for name in option_names(layer)]
    last = flags[0].split(".")[-1].lstrip("-")
    same = [flag for flag in known if flag.split(".")[-1].lstrip("-") == last]
    hint = f" Did you mean {same[0]!r}?" if same else did_you_mean(flags[0], known)
    return f"there is no option {flags[0]!r}.{hint}"
