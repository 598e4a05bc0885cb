"""A web server with one page: `python3 server.py KILOBYTES`."""

import http.server
import sys

PORT = 8000


class Page(http.server.BaseHTTPRequestHandler):
    """Answers each request with the page."""

    protocol_version = "HTTP/1.1"  # connections stay open
    content = b"x" * round(1000 * float(sys.argv[1]))

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.content)))
        self.end_headers()
        self.wfile.write(self.content)

    def log_message(self, *_args):
        pass


http.server.ThreadingHTTPServer(("", PORT), Page).serve_forever()
