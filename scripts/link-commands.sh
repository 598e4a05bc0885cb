#!/bin/sh
# Puts the commands of this checkout on PATH: for all users in /usr/local/bin if this user may write there, or else in
# ~/.local/bin. A link to another checkout is replaced; any other file of that name is left alone.
set -eu
cd "$(dirname "$0")/.."

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
