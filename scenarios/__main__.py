"""`python -m scenarios`: the list of experiments, so that nobody need read the folder."""

import importlib
import inspect
import pkgutil
import sys

import scenarios
from scenarios.framework.scenario import Scenario


def found() -> list[type[Scenario]]:
    """Every scenario of this folder."""
    names = (module.name for module in pkgutil.iter_modules(scenarios.__path__) if not module.name.startswith("_"))
    modules = (importlib.import_module(f"scenarios.{name}") for name in names)
    classes = {
        member
        for module in modules
        for _, member in inspect.getmembers(module, inspect.isclass)
        if issubclass(member, Scenario) and not inspect.isabstract(member)
    }
    return sorted(classes, key=lambda scenario: scenario.name)


def main() -> int:
    """Prints the list."""
    for scenario in found():
        print(f"{scenario.name:20} {scenario.summary}")
    print("\npython3 -m scenarios.NAME --help tells more; --dry-run prints what would be measured.", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
