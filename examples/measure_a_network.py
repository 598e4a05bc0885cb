"""Measures a path of 50 Mbit/s and 10 ms in three ways, and says whether this machine kept up."""

import flightpath

with flightpath.Network("dtn_pair", link="bw=50 delay=5ms queue=1bdp") as net:
    ping = net.ping("dtn1", "dtn2")
    iperf = net.iperf("dtn1", "dtn2", seconds=3)
    file = net.transfer("dtn1", "dtn2", size="10MB")
    certificate = net.certificate()

print(f"round trip    {ping.metrics['rtt'].value:5.1f} ms")
print(f"iperf3        {iperf.metrics['goodput'].value / 1e6:5.1f} Mbit/s")
print(f"file by SFTP  {file.metrics['goodput'].value / 1e6:5.1f} Mbit/s")
print(f"the testbed   {certificate.verdict}", *certificate.reasons, sep="\n  ")
