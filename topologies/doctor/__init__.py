"""The doctor: examines which features and programs this machine has, and says how to get the missing ones.

`check` defines checks, `checks/` has all of them, and `trial` tries commands for them. `examination` finds and runs
them, `report` shows the results.
"""
