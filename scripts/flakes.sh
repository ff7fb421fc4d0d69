#!/usr/bin/env bash
# Runs tests many times beside busy processors, and prints a table of their failures:
#
#	scripts/flakes.sh WHOLE RUNS PACKAGE...
#
# make test runs WHOLE times with all packages, and then with PACKAGE... until these have RUNS runs.
# A loop for each processor keeps the machine busy meanwhile. Outputs are in results/flakes until
# the table is printed, and then in results/flakes-last. A run whose output is there is not repeated,
# so that the script resumes where it was interrupted. The exit code is 1 if any run failed.
# shellcheck source=help.sh
source "$(dirname "$0")/help.sh"
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
whole=$1 runs=$2
shift 2
[[ $whole =~ ^[0-9]+$ && $runs =~ ^[1-9][0-9]*$ ]] || { echo "flakes: WHOLE and RUNS must be numbers, got $whole and $runs" >&2; exit 2; }
module=$($go list -m)
mapfile -t packages < <($go list "$@")
kept=$PWD/results/flakes
mkdir -p "$kept"
asked="${packages[*]} ${TESTFLAGS-}"
test ! -e "$kept/asked" || test "$asked" = "$(<"$kept/asked")" || { echo "flakes: $kept has runs with other packages or flags: remove it to begin anew" >&2; exit 2; }
echo "$asked" >"$kept/asked"

loops=()
stop_loops() {
	test ${#loops[@]} = 0 || { kill "${loops[@]}" && wait "${loops[@]}" || true; } 2>/dev/null
}
trap stop_loops EXIT
trap 'exit 130' INT TERM
for _ in $(seq "$(nproc)"); do
	(while :; do :; done) &
	loops+=($!)
done

for run in $(seq "$((whole > runs ? whole : runs))"); do
	log=$kept/$run.log
	test ! -e "$log" || continue
	of=${packages[*]}
	((run > whole)) || of=./...
	began=$SECONDS
	echo "flakes run $(git describe --always --dirty --abbrev=12 --exclude '*')" >"$log.part"
	make test GO="$go" PACKAGES="$of" TESTFLAGS="-count=1 ${TESTFLAGS-}" >>"$log.part" 2>&1 || echo "flakes: run $run failed: $log" >&2
	echo "flakes took $((SECONDS - began)) s" >>"$log.part"
	mv "$log.part" "$log"
done

echo "# Tests beside busy processors"
echo
if ((whole == 0)); then
	what="$runs times with the packages below"
else
	what="$whole times with all packages"
	((runs <= whole)) || what+=", and with packages that have clocks or processes up to $runs times"
fi
echo "\`make flakes\` ran \`make test\` beside $(nproc) busy loops on $(nproc) processors ($($go version | cut -d ' ' -f 3-)${TESTFLAGS:+, $TESTFLAGS}) until $(date -u +%F): $what. Packages are tested several at once."
echo
# Lines of go test are "ok  	PACKAGE	1.2s" and "FAIL	PACKAGE	1.2s".
awk -F '\t' -v module="$module/" '
	FNR == 1 { logs++; failures[logs] = 0 }
	/^(ok  |FAIL)\t/ {
		sub(module, "", $2)
		runs[$2]++
		if ($1 == "FAIL") { failed[$2]++; failures[logs]++ }
		took[$2, runs[$2]] = $3 + 0
	}
	/^flakes (run|took) / { split($0, words, " "); is[logs, words[2]] = words[3] }
	END {
		print "| run | commit | packages that failed | minutes |\n|---|---|---|---|"
		for (i = 1; i <= logs; i++) printf "| %d | %s | %d | %.0f |\n", i, is[i, "run"], failures[i], is[i, "took"] / 60
		print "\n| package | runs | failed | seconds, median | longest |\n|---|---|---|---|---|"
		fflush()
		for (name in runs) {
			n = runs[name]
			for (i = 2; i <= n; i++) for (j = i; j > 1 && took[name, j] < took[name, j - 1]; j--) {
				swap = took[name, j]; took[name, j] = took[name, j - 1]; took[name, j - 1] = swap
			}
			median = (took[name, int((n + 1) / 2)] + took[name, int(n / 2) + 1]) / 2
			printf "| `%s` | %d | %d | %.1f | %.1f |\n", name, n, failed[name], median, took[name, n] | "sort"
		}
	}' $(ls "$kept"/*.log | sort -V)
rm -rf "$kept-last"
mv "$kept" "$kept-last"
! grep -qE '^FAIL|^make(\[[0-9]+\])?: \*\*\*' "$kept-last"/*.log
