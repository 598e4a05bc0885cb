"""The doctor: without it what a machine lacks would be found out one failed run at a time.

`check` says what a check is, the areas' modules hold the checks, `examination` carries them out, `report` tells.
"""
