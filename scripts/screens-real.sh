#!/usr/bin/env bash
# First screens on real databases that are equal: scripts/screens-real.sh [FOLDER].
#
# Runs twenty sets with one etcd release under two tags, in control's turns: 8 trials with 3,000
# writes each, three members, 20 minutes on an idle machine. A first screen that names a winner is
# wrong; by chance fewer than one in 20 do, and more than a tenth fail the script. FOLDER
# (results/screens-real) has a folder for each set. Sets that are done are skipped, so that the
# script may be interrupted and started again. Sets with a run that was not valid are made again
# then. Environment: SETS=20 TRIALS=8 REQUESTS=3000 CLIENTS=4 VERSION=3.6.16, and WORKERS=1: how
# many sets are made at once, each with members on its own addresses.
#
# Both tags run one executable. A screen notes that, and decides as for any other databases.
# shellcheck source=help.sh
source "$(dirname "$0")/help.sh"
set -euo pipefail
cd "$(dirname "$0")/.."
sets=${SETS:-20} trials=${TRIALS:-8} requests=${REQUESTS:-3000} clients=${CLIENTS:-4} version=${VERSION:-3.6.16}
# Members in set N are at 127.0.N.
test "$sets" -le 250 || { echo "screens-real: SETS must be at most 250, got $sets" >&2; exit 2; }
folder=$(mkdir -p "${1:-results/screens-real}" && cd "${1:-results/screens-real}" && pwd)

# experiment NUMBER prints a set's file. Every second one has the tags in the other order.
experiment() {
	local order=(one two)
	test $(($1 % 2)) = 1 || order=(two one)
	printf 'title: equal databases\nseed: %d\ntrials: %d\nsettle: 0s\nhosts: [127.0.%d.1, 127.0.%d.2, 127.0.%d.3]\n' "$1" "$trials" "$1" "$1" "$1"
	printf 'load: {operation: write, requests: %d, clients: %d, key_size: 8, value_size: 256}\n' "$requests" "$clients"
	printf 'consistency: false\ndatabases:\n'
	printf '  etcd__%s: {tag: %s, version: %s, install: true}\n' "${order[0]}" "${order[0]}" "$version" "${order[1]}" "${order[1]}" "$version"
}

# screen NUMBER makes a set, unless it was made. Its folder appears when it is whole; its runs'
# records are removed, and the report on all remains.
screen() {
	local out=$folder/set-$(printf '%02d' "$1") status=0
	if test -e "$out/exit-code" && test "$(cat "$out/exit-code")" = 0; then return; fi
	rm -rf "$out" "$out.part"
	mkdir -p "$out.part"
	experiment "$1" >"$out.part/experiment.yaml"
	echo "screens-real: $(basename "$out")" >&2
	bin/dbtester control --local --config "$out.part/experiment.yaml" --results "$out.part/runs" >"$out.part/log" 2>&1 || status=$?
	case $status in
	0 | 3) ;;
	*)
		tail -20 "$out.part/log" >&2
		exit 255 # ends xargs
		;;
	esac
	bin/dbtester analyze --out "$out.part/report" "$out.part/runs" >/dev/null
	cp "$out.part/report/all-aggregated.json" "$out.part/report.json"
	rm -rf "$out.part/runs" "$out.part/report"
	echo "$status" >"$out.part/exit-code"
	mv "$out.part" "$out"
}
export -f experiment screen
export folder trials requests clients version

seq "$sets" | xargs -n 1 -P "${WORKERS:-1}" bash -euc 'screen "$1"' _
invalid=$(grep -Lx 0 "$folder"/set-*/exit-code || true)
test -z "$invalid" || { echo "screens-real: sets with runs that were not valid: start again to repeat them: $invalid" >&2; exit 1; }
go run ./tools/verdicts -reports "$folder" | tee "$folder/summary.md"
