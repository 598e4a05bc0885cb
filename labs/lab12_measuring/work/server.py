"""A server that answers at once, but pauses regularly: `python3 server.py PERIOD_S PAUSE_S [FILE]`.

The file gets a line for each request: when it came, in seconds.
"""

import pathlib
import socketserver
import sys
import threading
import time

PORT = 5400


class Answer(socketserver.StreamRequestHandler):
    """Sends each line back, unless the server pauses."""

    works = threading.Lock()

    def handle(self):
        for line in self.rfile:
            if len(sys.argv) > 3:
                with pathlib.Path(sys.argv[3]).open("a") as file:
                    file.write(f"{time.monotonic():.3f}\n")
            with self.works:
                self.wfile.write(line)


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True


def main():
    period_s, pause_s = map(float, sys.argv[1:3])
    with Server(("", PORT), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        while True:
            time.sleep(period_s - pause_s)
            with Answer.works:  # tidies up, writes to a slow disk, waits for somebody else ...
                time.sleep(pause_s)


main()
