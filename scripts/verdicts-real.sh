#!/usr/bin/env bash
# Real comparisons whose truth is known: scripts/verdicts-real.sh [FOLDER].
#
# Makes twenty comparisons between etcd and itself (at most one may find B worse), and five in which
# B's clients are held back by 1 ms (each must find B worse): 8 pairs, 5 s of load a side, members
# with half a processor, about an hour and a quarter. FOLDER (results/verdicts-real) has a folder
# for each comparison. Comparisons that are done are skipped, so that the script may be interrupted
# and started again. Those that were not valid fail it, and are made again then. Environment:
# NULLS=20 PLANTED=5 PAIRS=8 LOAD=5s DELAY=1ms VERSION=3.6.16 RESOURCES='{cpus: 0.5}' (empty: no
# limits), and WORKERS=1: how many comparisons run at once, each with members on its own addresses.
# More than one saves time, and they disturb each other.
#
# Two clients do not use up what members have, so that requests feel a delay.
# shellcheck source=help.sh
source "$(dirname "$0")/help.sh"
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mkdir -p "${1:-results/verdicts-real}" && cd "${1:-results/verdicts-real}" && pwd)
nulls=${NULLS:-20} planted=${PLANTED:-5} pairs=${PAIRS:-8} load=${LOAD:-5s} delay=${DELAY:-1ms} version=${VERSION:-3.6.16}
resources=${RESOURCES-{cpus: 0.5\}}
# The nulls' members are at 127.0.N, the planted ones' at 127.0.(100 + N).
test "$nulls" -le 100 && test "$planted" -le 155 || { echo "verdicts-real: NULLS must be at most 100 and PLANTED 155, got $nulls and $planted" >&2; exit 2; }
dbtester=$PWD/bin/dbtester
cache=${CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/dbtester}

"$dbtester" install --cache "$cache" "etcd@$version"
go build -trimpath -o bin/delayed ./tools/delayed
# wrapper DELAY writes a side's executable: the release behind the proxy.
wrapper() {
	printf '#!/bin/sh\nexec %q -delay %s %q "$@"\n' "$PWD/bin/delayed" "$1" "$cache/etcd/$version/etcd" >"$folder/etcd-delayed-$1"
	chmod +x "$folder/etcd-delayed-$1"
}
wrapper 0s
wrapper "$delay"

# experiment NUMBER prints a comparison's file.
experiment() {
	printf 'title: comparisons whose truth is known\nhosts: [127.0.%d.1, 127.0.%d.2, 127.0.%d.3]\n' "$1" "$1" "$1"
	test -z "$resources" || printf 'resources: %s\n' "$resources"
	printf 'load: {operation: write, duration: %s, clients: 2, key_size: 8, value_size: 256}\nconsistency: false\ndatabases: {etcd: }\n' "$load"
}

# compare NUMBER NAME FLAGS... makes one comparison, unless it was made. Its folder appears when it
# is whole; its runs' records are removed, and the report on all remains.
compare() {
	local number=$1 out=$folder/$2 status=0
	shift 2
	if test -e "$out/exit-code" && test "$(cat "$out/exit-code")" != 3; then return; fi
	rm -rf "$out" "$out.part"
	mkdir -p "$out.part"
	experiment "$number" >"$out.part/experiment.yaml"
	echo "verdicts-real: $(basename "$out")" >&2
	"$dbtester" compare --local --cache "$cache" --config "$out.part/experiment.yaml" --pairs "$pairs" --results "$out.part" \
		--a-version "$version" --b-version "$version" "$@" >/dev/null 2>"$out.part/log" || status=$?
	case $status in
	0 | 3 | 4 | 5) ;;
	*)
		tail -20 "$out.part/log" >&2
		exit 255 # ends xargs
		;;
	esac
	rm -rf "$out.part/a" "$out.part/b"
	echo "$status" >"$out.part/exit-code"
	mv "$out.part" "$out"
}
export -f experiment compare
export folder cache dbtester pairs load version resources

{
	for ((i = 1; i <= planted; i++)); do
		printf 'compare %d planted-%02d --a-exec %q --b-exec %q\n' $((100 + i)) "$i" "$folder/etcd-delayed-0s" "$folder/etcd-delayed-$delay"
	done
	for ((i = 1; i <= nulls; i++)); do
		printf 'compare %d null-%02d\n' "$i" "$i"
	done
} | xargs -d '\n' -n 1 -P "${WORKERS:-1}" bash -euc 'eval "$1"' _

# count PATTERN CODE prints how many comparisons ended so.
count() { cat "$folder"/$1-*/exit-code | grep -cx "$2" || true; }
printf '| comparison | n | same or better (0) | not valid (3) | worse (4) | inconclusive (5) |\n|---|---|---|---|---|---|\n' >"$folder/summary.md"
for kind in null planted; do
	all=$(ls -d "$folder/$kind"-*/ 2>/dev/null | wc -l)
	test "$all" = 0 || printf '| %s | %s | %s | %s | %s | %s |\n' "$kind" "$all" "$(count $kind 0)" "$(count $kind 3)" "$(count $kind 4)" "$(count $kind 5)" >>"$folder/summary.md"
done
# change METRIC FILE prints how a metric changes according to compare.csv, with its interval.
change() { awk -F, -v metric="$1" '$1 == metric { printf "%+.1f %% [%+.1f .. %+.1f]", $6, $7, $8 }' "$2"; }
{
	printf '\n| comparison | runs | throughput, B/A - 1 | p99, B/A - 1 | exit |\n|---|---|---|---|---|\n'
	for out in "$folder"/null-* "$folder"/planted-*; do
		if ! test -e "$out/compare.csv"; then continue; fi
		runs=$(awk '/^- [AB]: / { n += NF - 5 } END { print n }' "$out/compare.md")
		printf '| %s | %s | %s | %s | %s |\n' "$(basename "$out")" "$runs" "$(change throughput "$out/compare.csv")" "$(change p99 "$out/compare.csv")" "$(cat "$out/exit-code")"
	done
} >>"$folder/summary.md"
cat "$folder/summary.md"
failed=0
test "$(count null 4)" -le $((nulls / 20)) || { echo "verdicts-real: $(count null 4) of $nulls comparisons of equal sides found B worse" >&2; failed=1; }
test "$planted" = 0 || test "$(count planted 4)" = "$planted" || { echo "verdicts-real: $(count planted 4) of $planted planted delays were found" >&2; failed=1; }
for kind in null planted; do
	test "$(count $kind 3)" = 0 || { echo "verdicts-real: $(count $kind 3) comparisons ($kind) were not valid: start again to repeat them" >&2; failed=1; }
done
exit $failed
