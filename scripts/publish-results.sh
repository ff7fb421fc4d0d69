#!/usr/bin/env bash
# Runs the experiments of test-results again and replaces their reports and records:
# scripts/publish-results.sh [--reports] [NAME...]. All by default, about an hour. A folder
# with the file kill-leader loses its leader ten seconds into each load; one with the file
# members-on-one-processor has its members on the first processor and its clients on the second;
# with members-in-memory besides, their data is on a disk in memory (/dev/shm).
# One with a.yaml and b.yaml in place of experiment.yaml is a comparison, of which the report
# alone is kept.
# --reports runs nothing, and makes the reports of the published records again, those that
# were submitted without an experiment included; comparisons have none, and stay as they are.
set -euo pipefail
cd "$(dirname "$0")/.."
dbtester=$PWD/bin/dbtester
scratch=$(mktemp -d) agents=() memory=
trap 'kill "${agents[@]}" 2>/dev/null || true; rm -rf "$scratch" ${memory:+"$memory"}' EXIT

# kill_leaders kills the leader of each database of a run, ten seconds into its load.
kill_leaders() {
	local killed=" " log tag leader
	while sleep 1; do
		for log in "$1"/*/*/*/client-control.log; do
			tag=$(basename "$(dirname "$log")")
			case $killed in *" $tag "*) continue ;; esac
			grep -q ' load$' "$log" 2>/dev/null || continue
			killed+="$tag "
			sleep 10
			leader=$(sed -nE 's/.*member ([0-9]+) leads.*/\1/p' "$log" | tail -1)
			pkill -9 -f -- "agent-127.0.0.$leader:3500/$tag" || echo "publish-results: $tag had no leader to kill" >&2
		done
	done
}

# cut_log leaves the ends of a long log.
cut_log() {
	local size
	size=$(stat -c %s "$1")
	{ head -c 256K "$1" && printf '\n... %s bytes in all, the rest was left out here ...\n' "$size" && tail -c 256K "$1"; } >"$1.cut"
	mv "$1.cut" "$1"
}
export -f cut_log

# start_agents FOLDER starts agents whose members run on the first processor. Their folders have
# the names that kill_leaders looks for.
start_agents() {
	local host
	for host in 127.0.0.1 127.0.0.2 127.0.0.3; do
		taskset -c 0 "$dbtester" agent --agent-port "$host:3500" --work-dir "$1/agent-$host:3500" >"$scratch/agent-$host.log" 2>&1 &
		agents+=($!)
		await_agent $! "$scratch/agent-$host.log"
	done
}

# await_agent PID LOG waits until an agent listens, and ends the script with its log if it
# does not within a minute.
await_agent() {
	for _ in $(seq 600); do
		if grep -qs '^agent listens on ' "$2"; then return; fi
		kill -0 "$1" 2>/dev/null || break
		sleep .1
	done
	cat "$2" >&2
	echo "publish-results: the agent does not listen" >&2
	exit 1
}

# publish runs test-results/NAME/experiment.yaml. A run that lost its leader may be
# invalid, which exit code 3 says: it is published as it is.
publish() {
	local name=$1 out=test-results/$1 results=$scratch/$1 status=0 killer= run database n=0
	mkdir -p "$results"
	if test -e "$out/kill-leader"; then
		kill_leaders "$results" &
		killer=$!
	fi
	if test -e "$out/members-on-one-processor"; then
		if test -e "$out/members-in-memory"; then memory=$(mktemp -d -p /dev/shm); fi
		start_agents "${memory:-$scratch}"
		taskset -c 1 "$dbtester" control --config "$out/experiment.yaml" --results "$results" || status=$?
		kill "${agents[@]}" && wait "${agents[@]}" || true
		agents=()
		rm -rf ${memory:+"$memory"}
		memory=
	else
		"$dbtester" control --local --config "$out/experiment.yaml" --results "$results" || status=$?
	fi
	test -z "$killer" || kill "$killer"
	test $status = 0 -o $status = 3 || return $status
	rm -rf "$out/records"
	for run in "$results"/*/2*/; do
		n=$((n + 1))
		mkdir -p "$out/records/$n"
		cp "$run/manifest.json" "$out/records/$n"
		for database in "$run"*/; do
			test -e "$database/intervals.csv" || continue
			rm -f "$database"/client-latency-* "$database"/*-interpolated.csv # analyze and control export them again
			rm -f "$database"/capacity/{,hold-*/}latency{,-total}.hlog # capacity.csv has what the search saw of its windows
			find "$database" -name '*.log' -size +1M -exec bash -c 'cut_log "$1"' _ {} \;
			tar -C "$run" --sort=name --mtime=@0 --owner=0 --group=0 -cf - "$(basename "$database")" |
				gzip -9n >"$out/records/$n/$(basename "$database").tar.gz"
		done
	done
	report "$name"
}

# compare compares test-results/NAME/a.yaml with b.yaml.
compare() {
	local name=$1 out=test-results/$1 status=0
	"$dbtester" compare --local --a "$out/a.yaml" --b "$out/b.yaml" --pairs 8 --results "$scratch/$name" --output "$scratch/$name/report" || status=$?
	case $status in 0 | 3 | 4 | 5) ;; *) return "$status" ;; esac
	find "$out" -mindepth 1 -maxdepth 1 ! -name a.yaml ! -name b.yaml -exec rm -r {} +
	find "$scratch/$name/report" -maxdepth 1 -type f ! -name '*.png' ! -name '*.txt' -exec cp {} "$out" \;
	sed -i "s|$scratch/$name/||g" "$out"/compare.* # folders of runs, which are not kept
}

# report analyzes the records of test-results/NAME. Tables of seconds in the classic layout
# and PNG files are left out: analyze writes them again.
report() {
	local name=$1 out=test-results/$1 copy=$scratch/copy/$1 packed
	mkdir -p "$copy"
	cp -r "$out/records" "$copy/records"
	for packed in "$copy"/records/*/*.tar.gz; do
		test -e "$packed" || continue # a record that was submitted
		tar -C "$(dirname "$packed")" -xzf "$packed"
		rm "$packed"
	done
	"$dbtester" analyze --out "$copy/report" "$copy"/records/*/ >/dev/null || test $? = 3
	find "$out" -mindepth 1 -maxdepth 1 ! -name experiment.yaml ! -name kill-leader ! -name 'members-*' ! -name records -exec rm -r {} +
	mkdir "$out/figures" "$out/data"
	find "$copy/report" -maxdepth 1 -type f -exec cp {} "$out" \;
	cp "$copy/report/figures"/*.svg "$out/figures"
	find "$copy/report/data" -type f ! -name '?*-all-aggregated.csv' ! -name '*-by-key-number.csv' ! -name '*-BY-CLIENT-NUM*.csv' -exec cp {} "$out/data" \;
	echo "publish-results: $name: $(du -sh "$out" | cut -f1)"
}

make=publish
if test "${1-}" = --reports; then
	make=report
	shift
fi
if test $# = 0; then
	sources=(test-results/*/experiment.yaml test-results/*/a.yaml)
	test $make = publish || sources=(test-results/*/records)
	for source in "${sources[@]}"; do
		set -- "$@" "$(basename "$(dirname "$source")")"
	done
fi
for name; do
	if test ! -e "test-results/$name/a.yaml"; then
		$make "$name"
	elif test "$make" = publish; then
		compare "$name"
	else
		echo "publish-results: $name is a comparison, of which no records are kept: it is made again without --reports" >&2
	fi
done
"$dbtester" index --title "Published results" test-results
