"""`python -m services.s3proxy`: fetches S3Proxy."""

import sys

from flightpath.command_line import exit_code_of
from services.s3proxy.files import fetch

if __name__ == "__main__":
    sys.exit(exit_code_of(fetch))
