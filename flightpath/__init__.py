"""The ground floor: errors, units and commands that every other floor stands on."""
