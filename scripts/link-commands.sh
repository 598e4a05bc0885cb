#!/bin/sh
# Puts the commands of this checkout on PATH: for all users in /usr/local/bin if this user may write there, or else in
# ~/.local/bin. A link to another checkout is replaced; any other file of that name is left alone. Only root, and whoever
# calls this, may own the checkout: its owner decides what the commands do, for all users and as root.
set -eu
cd "$(dirname "$0")/.."

check_owners() { # of this folder and those above it
    [ "$1" = / ] || check_owners "$(dirname "$1")"
    case $(stat -c %u "$1") in
        0 | "${SUDO_UID:-$(id -u)}") return ;;
    esac
    echo "warning: $(stat -c %U "$1") owns $1, and could change what commands do for others: none is put on PATH" >&2
    echo "  give the checkout to root (chown -R root: $1), or let its owner run \`make setup\`" >&2
    exit
}

check_owners "$PWD"
folder=/usr/local/bin
[ -w "$folder" ] || folder=$HOME/.local/bin
mkdir -p "$folder"
for name in flightpath preflight; do
    program=$PWD/.venv/bin/$name
    link=$folder/$name
    old=$(readlink "$link" || true)
    if [ "$old" = "$program" ]; then
        continue
    fi
    case $old in
        */.venv/bin/"$name") ;;
        *) if [ -e "$link" ]; then
            echo "warning: $link is not ours and stays; the command is $program" >&2
            continue
        fi ;;
    esac
    ln -sfn "$program" "$link"
    echo "$name is now a command: $link"
done
case :$PATH: in
    *:"$folder":*) ;;
    *) echo "warning: $folder is not on PATH; add it in ~/.profile" >&2 ;;
esac
