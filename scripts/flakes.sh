#!/usr/bin/env bash
# Runs packages' tests many times beside busy processors, and prints a table of failures:
#
#	scripts/flakes.sh RUNS PACKAGE...
#
# Each package is compiled once, with the race detector. A loop for each processor keeps the machine
# busy meanwhile. Each failed run's output stays in results/flakes. The exit code is 1 if any run
# failed.
# shellcheck source=help.sh
source "$(dirname "$0")/help.sh"
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
runs=$1
shift
[[ $runs =~ ^[1-9][0-9]*$ ]] || { echo "flakes: RUNS must be a positive number, got $runs" >&2; exit 2; }
export GORACE=${GORACE:-atexit_sleep_ms=50}
kept=$PWD/results/flakes
binaries=$(mktemp -d)
loops=()
stop_loops() {
	test ${#loops[@]} = 0 || { kill "${loops[@]}" && wait "${loops[@]}" || true; } 2>/dev/null
	rm -rf "$binaries"
}
trap stop_loops EXIT
mkdir -p "$kept"

module=$($go list -m)
all=0
echo "# Tests beside busy processors"
echo
echo "\`make flakes\` ran each package below beside $(nproc) busy loops on $(nproc) processors ($($go version | cut -d ' ' -f 3-), race detector), on $(date -u +%F)."
echo
echo "| package | runs | failed | seconds, median | longest |"
echo "|---|---|---|---|---|"
mapfile -t packages < <($go list "$@")
for package in "${packages[@]}"; do
	binary=$binaries/$(echo "$package" | tr / -).test
	$go test -c -race -o "$binary" "$package" >&2
	test -e "$binary" || continue # it has no tests
	if test ${#loops[@]} = 0; then
		for _ in $(seq "$(nproc)"); do
			(while :; do :; done) &
			loops+=($!)
		done
	fi
	failed=0
	times=()
	for run in $(seq "$runs"); do
		log=$kept/$(basename "$binary" .test)-$run.log
		began=$(date +%s.%N)
		if (cd "$($go list -f '{{.Dir}}' "$package")" && "$binary" -test.timeout 60m) >"$log" 2>&1; then
			rm "$log"
		else
			failed=$((failed + 1)) all=1
			echo "flakes: $package failed in run $run: $log" >&2
		fi
		times+=("$(awk -v a="$began" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }')")
	done
	mapfile -t times < <(printf '%s\n' "${times[@]}" | sort -n)
	echo "| \`${package#"$module"/}\` | $runs | $failed | ${times[$((runs / 2))]} | ${times[-1]} |"
done
exit $all
