#!/usr/bin/env bash
# Goes a newcomer's way through docs/getting-started.md: saves its experiment file, and runs each
# command as it is written there, in an empty folder. It prints a page with each command, how its
# output begins and its time. It fails if a command does, if there is no finding at the end, or if
# the way takes longer than the ten minutes that the document promises.
#
#	scripts/newcomer.sh >PAGE
#
# Needs bin/dbtester. Minutes.
# shellcheck source=help.sh
source "$(dirname "$0")/help.sh"
set -euo pipefail
export LC_ALL=C NO_COLOR=1
root=$(cd "$(dirname "$0")/.." && pwd)
page=$root/docs/getting-started.md
promised=600 # seconds

fail() {
	echo "newcomer: $*" >&2
	exit 1
}

# blocks KIND prints the document's blocks with that kind.
blocks() { awk -v kind="\`\`\`$1" '/^```/ { on = !on && $0 == kind; next } on' "$page"; }

since() { awk -v a="$1" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }'; }

grep -q '](getting-started.md)' "$root/docs/README.md" || fail "docs/README.md does not lead to the document"
grep -qi 'ten minutes' "$page" || fail "the document does not promise ten minutes"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
PATH=$root/bin:$PATH
blocks yaml >members.yaml

cat <<PAGE
# The way of a newcomer

The commands of [getting-started.md](../docs/getting-started.md) as they are written there, in an empty folder, by \`make newcomer\`. The document promises a finding within ten minutes. The machine had other work meanwhile, so the numbers of the runs mean nothing. Of each output the first six lines are shown.

Linux $(uname -r), $(nproc) processors, run on $(date -u +%F).
PAGE
began=$(date +%s.%N)
while IFS= read -r line <&3; do
	from=$(date +%s.%N) code=0
	bash -c "$line" >out 2>err || code=$?
	took=$(since "$from")
	case $code in
	0 | 3) ;; # a busy machine may make a run invalid
	*) cat out err >&2 && fail "$line: exit code $code" ;;
	esac
	printf '\n```console\nhere$ %s\n' "$line"
	head -n 6 out
	printf '```\n\n%s s, exit code %s\n' "$took" "$code"
done 3< <(blocks sh)
all=$(since "$began")
finding=$(grep -m 1 'With .* member' out) || fail "the last command has no finding about members: $(cat out)"
printf '\nThe finding, in the last output: %s\n\nAll of it took %s s of the %s that are promised.\n' "$finding" "$all" "$promised"
awk -v all="$all" -v promised="$promised" 'BEGIN { exit all > promised }' || fail "the way took $all s"
