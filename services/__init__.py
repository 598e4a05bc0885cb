"""Services that run as real daemons in a host: web, database, SSH, FTP, iperf3, a stream of bytes."""
