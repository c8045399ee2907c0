"""eigenstate presets"""

from eigenstate.cli.arguments import UsageError, new_parser, parse

ABOUT = "List the recipes that travel with the package, or show all settings of one."


def presets(argv: list[str]) -> int:
    """List what there is to train by name."""
    parser = new_parser("presets", "[NAME]", ABOUT)
    parser.add_argument("name", metavar="NAME", nargs="?", help="show the settings of this one")
    given = parse(parser, argv)
    if given is None:
        return 0
    from eigenstate.training import presets as recipes

    if given.name is not None:
        try:
            recipes.read_preset(given.name)
        except ValueError as error:
            raise UsageError(str(error)) from None
        print(recipes.presets()[given.name].read_text(encoding="utf-8"), end="")
        return 0
    names = recipes.presets()
    width = max(map(len, names))
    print(f"{'preset':{width}}  parameters  what it is")
    for name, file in names.items():
        size = _parameters(name)
        print(f"{name:{width}}  {size:>10,}  {recipes.about(file)}")
    print("\neigenstate presets NAME         shows its settings")
    print("eigenstate train --preset NAME  trains it")
    return 0


def _parameters(name: str) -> int:
    """The size of the model: it is built for its task, which needs no data."""
    from eigenstate.training.build import build_model
    from eigenstate.training.config import RunSettings
    from eigenstate.training.own_facts import any_task
    from eigenstate.training.presets import read_preset

    settings = RunSettings.from_dict(read_preset(name))
    model = build_model(settings.model, any_task(settings.task))
    return sum(parameter.numel() for parameter in model.parameters())
