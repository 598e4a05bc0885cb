"""How daemons are started in a host, watched and stopped."""
