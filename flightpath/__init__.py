"""The ground floor, which every other floor imports: errors, units, processes, hosts, command lines."""
