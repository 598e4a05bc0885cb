#!/bin/sh
# Runs a scenario in virtual time with this checkout and with another commit, and compares both, as Markdown:
#
#   sh scripts/compare-with-base.sh BASE OUTPUT [--fail-if-worse] SCENARIO [OPTION ...]
#
# BASE is a commit or a branch. OUTPUT is a file. The other commit is checked out beside this one, uses its environment
# and programs, and is removed. The virtual-time kernel must be there (`make uml-kernel`).
set -eu
cd "$(dirname "$0")/.."

[ $# -ge 3 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
base=$1 output=$2
shift 2
worse=
if [ "$1" = --fail-if-worse ]; then
    worse=$1
    shift
fi
scenario=$1
shift

folder=$(mktemp -d)
trap 'git worktree remove --force "$folder/base" 2> /dev/null || true; rm -rf "$folder"' EXIT
git worktree add --quiet --detach "$folder/base" "$base"
ln -s "$PWD/.venv" "$folder/base/.venv"
[ ! -d build ] || ln -s "$PWD/build" "$folder/base/build"

python=$PWD/.venv/bin/python
measure() { # in this folder
    "$python" -m "scenarios.$scenario" --clock virtual --results "$folder/runs" "$@"
}
( cd "$folder/base" && make --silent -C native && measure "$@" ) >&2
before=$(ls "$folder/runs" | grep "$scenario")
measure "$@" >&2
after=$(ls "$folder/runs" | grep "$scenario" | grep -v "$before")
{
    echo "### Flightpath: \`$scenario\` against \`$(git rev-parse --short "$base")\`"
    echo
    "$python" -m results compare "$before" "$after" --results "$folder/runs" --markdown $worse || echo 1 > "$folder/worse"
} > "$output"
cat "$output"
[ ! -e "$folder/worse" ]
