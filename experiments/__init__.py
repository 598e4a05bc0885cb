"""The framework of all scenarios: contract, plan, runner, progress, and the rules for claims."""
