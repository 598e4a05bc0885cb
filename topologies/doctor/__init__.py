"""The doctor: examines which features and programs this machine has, and says how to get the missing ones.

`check` defines what a check is, `checks/` holds them, and `trial` tries commands for them. `examination` finds and runs
the checks, `report` shows the results.
"""
