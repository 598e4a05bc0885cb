"""What every scenario stands on: its contract, plan, runner, progress, and the rule for claims."""
