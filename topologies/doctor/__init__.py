"""The doctor: examines which features and programs this machine has, and says how to get the missing ones.

`check` defines checks, and `checks/` has all of them. `examination` finds and runs them, `report` shows the results.
"""
