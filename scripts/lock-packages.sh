#!/bin/sh
# Locks the Python packages of `make setup`, `make vm-setup`, `make browser-setup` and `make docs`, with what they need
# themselves: requirements/*.txt (and that of `make quic`), with the SHA-256 of every file that the index has of them. Run it after a change of
# setup.py or constraints.txt. It needs uv (`pip install uv`).
set -eu
cd "$(dirname "$0")/.."

lock() { # NAME, and what to lock
    name=$1
    shift
    uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --constraint constraints.txt \
        --no-annotate --custom-compile-command "sh scripts/lock-packages.sh" --output-file "requirements/$name.txt" "$@" > /dev/null
}

lock test setup.py --extra test
# What the first one has already is not repeated.
locked=$(sed -n 's/^\([a-z0-9-]*\)==.*/--no-emit-package \1/p' requirements/test.txt)
lock ../services/quic/aioquic setup.py --extra quic $locked
lock vm setup.py --extra vm $locked
lock browser setup.py --extra browser --extra parquet $locked
lock docs setup.py --extra docs $locked
