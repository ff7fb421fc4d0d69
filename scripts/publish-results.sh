#!/usr/bin/env bash
# Runs the experiments in test-results again and replaces their reports and records:
#
#	scripts/publish-results.sh [--dirty] [NAME...]   # all by default, ten hours or so
#	scripts/publish-results.sh --publish [NAME...]   # only what has been run
#	scripts/publish-results.sh --reports [NAME...]   # the published records' reports again
#
# Every set is run with as many trials as its experiment.yaml says. Trials that are complete are
# kept below results/published/NAME, so that the script may be interrupted and started again: it
# goes on with those that are missing. What another commit ran, or another experiment file, is run
# again. Nothing in test-results changes before all sets have run: then all that are complete are
# published. A set that takes longer than its budget (below) is stopped, and is not published. Runs
# come from one commit: a tree with changes is refused, unless --dirty is given.
#
# A folder with the file kill-leader loses its leader ten seconds into each load; one with the file
# members-on-one-processor has its members on the first processor and its clients on the second;
# with members-in-memory besides, their data is on a disk in memory (/dev/shm). One with own-disk
# has members with their own disks, which needs root. One with generators has agents for the members
# and two generators, each a process: what needs more open files than one may have. One with a.yaml
# and b.yaml in place of experiment.yaml is a comparison, which keeps only its report. --reports
# runs nothing. Its names may be records that were submitted without an experiment; comparisons have
# no records, and stay as they are.
# shellcheck source=help.sh
source "$(dirname "$0")/help.sh"
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
dbtester=$PWD/bin/dbtester
kept=results/published
scratch=$(mktemp -d) agents=() memory='' killer=''
trap 'test -z "$killer" || kill "$killer" || true; test ${#agents[@]} = 0 || kill "${agents[@]}" 2>/dev/null || true; rm -rf "$scratch" ${memory:+"$memory"}' EXIT

# budgets prints how many minutes each set may take, starts and stops included.
budgets() {
	cat <<-'END'
		stepped 40
		all-five 35
		write-1000qps 30
		ycsb-a 25
		leader-killed 25
		by-key 10
		reads 8
		consul-bench 8
		capacity 45
		filled 30
		kubernetes 5
		quickstart 3
		quota 3
		upkeep 15
		etcd-versions 15
		faults 80
		faults-equal 45
		faults-clients 25
		consistency 25
		sessions-200 7
		sessions-2000 7
		sessions-20000 10
		locks-by-hold-etcd 10
		locks-by-hold-zookeeper 4
		locks-by-hold-consul 4
		locks-fairness 30
		watches-stores 11
		watches-proxies 10
		watches-catch-up 9
		service-discovery 10
		leader 16
	END
}
most=605   # minutes of all budgets
around=10  # seconds that starting and stopping the members of one database take
settle=5   # seconds between two trials
pairs=8    # of a comparison

fail() {
	echo "publish-results: $*" >&2
	exit 1
}

# budget NAME prints the seconds that a set may take.
budget() {
	local minutes
	minutes=$(budgets | awk -v name="$1" '$1 == name { print $2 }')
	test -n "$minutes" || fail "$1 has no budget: add it to the table in scripts/publish-results.sh"
	echo $((60 * minutes))
}

# planned FILE prints an experiment file's trials and how many seconds they should take, from what a
# dry run says.
planned() {
	local own=()
	test ! -e "$(dirname "$1")/own-disk" || own=(--disk loop:2GiB)
	sed '/^generators:/d' "$1" >"$scratch/planned.yaml" # --local has none
	"$dbtester" control --local --dry-run "${own[@]}" --config "$scratch/planned.yaml" >"$scratch/plan" || fail "the dry run of $1 fails"
	awk -v around=$around -v settle=$settle '
		function seconds(text, n) {
			n = 0
			while (match(text, /^[0-9.]+(ms|h|m|s)/)) {
				part = substr(text, 1, RLENGTH)
				text = substr(text, RLENGTH + 1)
				n += part ~ /ms$/ ? part / 1000 : part ~ /h$/ ? part * 3600 : part ~ /m$/ ? part * 60 : part + 0
			}
			return n
		}
		match($0, /, [0-9]+ trials?, seed /) { trials = substr($0, RSTART + 2) + 0 }
		/^  expected duration: / { databases++; sub(/^.*: (about )?/, ""); load += seconds($0) }
		END { print trials + 0, int(trials * (load + databases * around + settle)) }' "$scratch/plan"
}

# identity NAME prints what a set's runs are made from: a run that has another one does not count.
identity() {
	"$dbtester" version | head -1
	cat "test-results/$1"/*.yaml | sha256sum | cut -d ' ' -f 1
}

# is_done NAME PART tells whether a trial, or a comparison, is complete. Its note has the identity,
# the seconds that it took and its records' folder.
is_done() { test -e "$kept/$1/$2" && test "$(head -2 "$kept/$1/$2")" = "$(identity "$1")"; }

# note NAME PART BEGAN FOLDER notes that a trial is complete.
note() {
	{ identity "$1" && echo $((SECONDS - $3)) && echo "$4"; } >"$kept/$1/$2.part"
	mv "$kept/$1/$2.part" "$kept/$1/$2"
}

# parts NAME TRIALS prints the names of a set's notes.
parts() {
	if test -e "test-results/$1/a.yaml"; then echo comparison; else seq -f 'trial-%.0f' 1 "$2"; fi
}

# used NAME TRIALS prints how many seconds a set's complete parts took.
used() {
	local part sum=0
	for part in $(parts "$1" "$2"); do
		if is_done "$1" "$part"; then sum=$((sum + $(sed -n 3p "$kept/$1/$part"))); fi
	done
	echo $sum
}

# plan NAME prints a set's trials, and the seconds that all are expected to take. A comparison's
# trials are its pairs.
plan() {
	local a b
	if test -e "test-results/$1/a.yaml"; then
		a=$(planned "test-results/$1/a.yaml") b=$(planned "test-results/$1/b.yaml")
		echo "$pairs $((pairs * (${a#* } + ${b#* })))"
	else
		planned "test-results/$1/experiment.yaml"
	fi
}

# check_budgets NAME... ends the script before anything runs if a set would not end in time.
check_budgets() {
	local name all expected may
	all=$(budgets | awk '{ n += $2 } END { print n }')
	test "$all" -le $most || fail "the budgets are $all minutes, and must be at most $most"
	for name; do
		expected=$(plan "$name")
		expected=${expected#* }
		may=$(budget "$name")
		test "$expected" -le "$may" || fail "$name would take about $((expected / 60 + 1)) minutes, and its budget is $((may / 60)): raise it, or ask for fewer trials"
	done
}

# check_tree ends the script if the tree, or the executable, does not match a commit.
check_tree() {
	local commit version
	commit=$(git describe --tags --always --dirty --abbrev=12 2>/dev/null) || fail "this is no git checkout: pass --dirty to run all the same"
	test "$commit" = "${commit%-dirty}" || fail "the tree has changes that are not committed: commit them, or pass --dirty"
	version=$("$dbtester" version | sed -n '1s/^dbtester //p')
	test "$version" = "$commit" || fail "bin/dbtester is $version and the tree is $commit: run make build"
}

# address MANIFEST TAG NUMBER prints a member's address in a database, from its record. Trials take
# the hosts in turn, so a member's number is not its host's.
address() {
	awk -v tag="\"$2\"," -v wanted="$3" '
		/^      "tag":/ { here = $2 == tag; n = 0 }
		here && /^          "addr":/ && ++n == wanted { gsub(/[",]/, "", $2); print $2; exit }' "$1"
}

# kill_leaders FOLDER SUFFIX kills each database's leader in a trial, ten seconds into its load. The
# members' folders lie below the results'.
kill_leaders() {
	local killed=" " events tag began leader at
	while sleep 1; do
		for events in "$1"/*/*"$2"/*/events.jsonl; do
			tag=$(basename "$(dirname "$events")")
			case $killed in *" $tag "*) continue ;; esac
			began=$(sed -nE '/"kind":"client step"/{s/^\{"time":"([^"]*)".*/\1/p;q}' "$events" 2>/dev/null || true)
			test -n "$began" || continue
			killed+="$tag "
			sleep "$(awk -v began="$(date -d "$began" +%s.%N)" -v now="$(date +%s.%N)" 'BEGIN { left = began + 10 - now; print (left > 0) ? left : 0 }')"
			leader=$(sed -nE 's/.*member ([0-9]+) leads.*/\1/p' "$(dirname "$events")/client-control.log" | tail -1)
			at=$(address "$(dirname "$events")/../manifest.json" "$tag" "$leader")
			pkill -9 -f -- "$1/.*agent-$at:3500/$tag-" || echo "publish-results: $tag had no leader to kill" >&2
		done
	done
}

# cut_log leaves a long log's beginning and end.
cut_log() {
	local size
	size=$(stat -c %s "$1")
	{ head -c 256K "$1" && printf '\n... %s bytes in all, the rest was left out here ...\n' "$size" && tail -c 256K "$1"; } >"$1.cut"
	mv "$1.cut" "$1"
}
export -f cut_log

# start_agents FOLDER COMMAND... starts members' agents by a command, such as taskset -c 0 or env.
start_agents() {
	local folder=$1 host
	shift
	for host in 127.0.0.1 127.0.0.2 127.0.0.3; do start_agent "$folder" "$host" "$@"; done
}

# start_agent FOLDER HOST COMMAND... starts an agent by a command. With GENERATOR it issues loads.
start_agent() {
	local folder=$1 host=$2
	shift 2
	"$@" "$dbtester" agent --agent-port "$host:3500" --work-dir "$folder/agent-$host:3500" ${GENERATOR:+--allow-load} >"$scratch/agent-$host.log" 2>&1 &
	agents+=($!)
	await_agent $! "$scratch/agent-$host.log"
}

# stop_agents stops them and removes what they left in memory.
stop_agents() {
	test ${#agents[@]} = 0 || { kill "${agents[@]}" && wait "${agents[@]}"; } || true
	agents=()
	rm -rf ${memory:+"$memory"}
	memory=
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
	fail "the agent does not listen"
}

# run_trial NAME NUMBER SECONDS makes one trial in a set. A run that lost its leader may be invalid,
# which exit code 3 says: it is a trial as it is.
run_trial() {
	local name=$1 number=$2 source=test-results/$1 results=$kept/$1/runs status=0 began=$SECONDS suffix=-trial-$2 run
	local command=(timeout --foreground --signal INT --kill-after 60 "$3" "$dbtester" control --config "$source/experiment.yaml" --results "$results" --trial "$number")
	test "$trials" -gt 1 || suffix=
	for run in "$results"/*/2*"$suffix"; do rm -rf "$run"; done # what was interrupted
	test ! -e "$source/own-disk" || command+=(--disk loop:2GiB)
	if test -e "$source/kill-leader"; then
		kill_leaders "$results" "$suffix" &
		killer=$!
	fi
	if test -e "$source/members-on-one-processor"; then
		if test -e "$source/members-in-memory"; then memory=$(mktemp -d -p /dev/shm); fi
		start_agents "${memory:-$scratch}" taskset -c 0
		taskset -c 1 "${command[@]}" || status=$?
		stop_agents
	elif test -e "$source/generators"; then
		start_agents "$scratch" env
		GENERATOR=1 start_agent "$scratch" 127.0.0.8 env
		GENERATOR=1 start_agent "$scratch" 127.0.0.9 env
		"${command[@]}" || status=$?
		stop_agents
	else
		"${command[@]}" --local || status=$?
	fi
	test -z "$killer" || kill "$killer" || true
	killer=
	case $status in
	0 | 3) note "$name" "trial-$number" "$began" "$(echo "$results"/*/2*"$suffix")" ;;
	124 | 137) return 124 ;;
	*) fail "trial $number of $name ends with exit code $status" ;;
	esac
}

# run_comparison NAME SECONDS compares a set's a.yaml with its b.yaml.
run_comparison() {
	local name=$1 source=test-results/$1 results=$kept/$1 status=0 began=$SECONDS
	rm -rf "$results/a" "$results/b" "$results/report"
	timeout --foreground --signal INT --kill-after 60 "$2" "$dbtester" compare --local --a "$source/a.yaml" --b "$source/b.yaml" --pairs $pairs --results "$results" --output "$results/report" || status=$?
	case $status in
	0 | 3 | 4 | 5) note "$name" comparison "$began" report ;;
	124 | 137) return 124 ;;
	*) fail "the comparison $name ends with exit code $status" ;;
	esac
}

# run NAME makes what a set lacks, until its budget is used up.
run() {
	local name=$1 trials part left began=$SECONDS before status=0
	trials=$(plan "$name")
	trials=${trials% *}
	before=$(used "$name" "$trials")
	mkdir -p "$kept/$name"
	for part in $(parts "$name" "$trials"); do
		if is_done "$name" "$part"; then continue; fi
		left=$(($(budget "$name") - before - (SECONDS - began)))
		echo "publish-results: $name, $part: $((left / 60)) minutes are left" >&2
		test "$left" -gt 0 || status=124
		test "$status" = 124 || case $part in
		comparison) run_comparison "$name" $left || status=$? ;;
		*) run_trial "$name" "${part#trial-}" $left || status=$? ;;
		esac
		if test $status = 124; then
			echo "publish-results: $name is stopped at its budget of $(($(budget "$name") / 60)) minutes" >&2
			return
		fi
		sleep $settle
	done
}

# complete NAME tells whether a set has all its parts.
complete() {
	local trials part
	trials=$(plan "$1")
	for part in $(parts "$1" "${trials% *}"); do
		is_done "$1" "$part" || return 1
	done
}

# publish NAME copies a set's records, or a comparison's report, to test-results.
publish() {
	local name=$1 out=test-results/$1 trials number run packed=$scratch/packed database
	if test -e "$out/a.yaml"; then
		find "$out" -mindepth 1 -maxdepth 1 ! -name a.yaml ! -name b.yaml -exec rm -r {} +
		find "$kept/$name/report" -maxdepth 1 -type f ! -name '*.png' ! -name '*.txt' -exec cp {} "$out" \;
		sed -i "s|$kept/$name/||g" "$out"/compare.* # folders of runs, which are not kept
		return
	fi
	trials=$(plan "$name")
	rm -rf "$out/records"
	for number in $(seq "${trials% *}"); do
		run=$(sed -n 4p "$kept/$name/trial-$number")
		"$dbtester" digests "$run" >/dev/null || fail "records of trial $number of $name are not as they were recorded: $dbtester digests $run"
		mkdir -p "$out/records/$number"
		rm -rf "$packed"
		cp -r "$run" "$packed"
		sed -i "s|$PWD/|/dbtester/|g" "$packed/manifest.json" # where this checkout lies is nobody's concern
		for database in "$packed"/*/; do
			if test -e "$database/intervals.csv"; then cut_records "${database%/}"; else rm -rf "$database"; fi
		done
		"$dbtester" digests --renew publish-results.sh "$packed" >/dev/null
		cp "$packed/manifest.json" "$out/records/$number"
		for database in "$packed"/*/; do
			test ! -d "$database" || pack "${database%/}" "$out/records/$number" # a pattern without a match
		done
	done
	report "$name"
}

# cut_records removes and cuts what need not be published from a database's records.
cut_records() {
	local records=$1
	rm -f "$records"/client-latency-* "$records"/*-interpolated.csv # analyze and control export them again
	rm -f "$records"/capacity/{,hold-*/}latency{,-total}.hlog # capacity.csv has what the search saw of its windows
	grep -rlIF "$PWD/" "$records" | xargs -r sed -i "s|$PWD/|/dbtester/|g" || true
	find "$records" -name '*.log' -size +1M -exec bash -c 'cut_log "$1"' _ {} \;
}

# pack FOLDER TO packs a database's records into an archive in another folder.
pack() {
	local database
	database=$(basename "$1")
	tar -C "$(dirname "$1")" --sort=name --mtime=@0 --owner=0 --group=0 -cf - "$database" | gzip -9n >"$2/$database.tar.gz"
}

# report analyzes the records in test-results/NAME. It leaves out PNG files and, in the classic
# layout, tables of seconds: analyze writes them again.
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
	find "$out" -mindepth 1 -maxdepth 1 ! -name experiment.yaml ! -name kill-leader ! -name own-disk ! -name generators ! -name 'members-*' ! -name records -exec rm -r {} +
	mkdir "$out/figures" "$out/data"
	find "$copy/report" -maxdepth 1 -type f -exec cp {} "$out" \;
	cp "$copy/report/figures"/*.svg "$out/figures"
	find "$copy/report/data" -type f ! -name '?*-all-aggregated.csv' ! -name '*-by-key-number.csv' ! -name '*-BY-CLIENT-NUM*.csv' -exec cp {} "$out/data" \;
	rm -rf "$copy"
	echo "publish-results: $name: $(du -sh "$out" | cut -f1)"
}

make=run clean=true
while test $# -gt 0; do
	case $1 in
	--reports) make=report ;;
	--publish) make=publish ;;
	--dirty) clean=false ;;
	-*) fail "unknown flag $1" ;;
	*) break ;;
	esac
	shift
done
if test $# = 0; then
	sources=(test-results/*/experiment.yaml test-results/*/a.yaml)
	test $make != report || sources=(test-results/*/records)
	for source in "${sources[@]}"; do
		test -e "$source" || continue # a pattern without a match
		set -- "$@" "$(basename "$(dirname "$source")")"
	done
fi

if test $make = run; then
	if $clean; then check_tree; fi
	check_budgets "$@"
	# A trial that goes on looks like one that was interrupted, whose records are removed.
	mkdir -p $kept
	exec 9>$kept/.lock
	flock -n 9 || fail "another publish-results.sh runs trials here"
	for name; do run "$name"; done
fi
missing=()
for name; do
	if test $make != report; then
		if complete "$name"; then publish "$name"; else missing+=("$name"); fi
	elif test -e "test-results/$name/a.yaml"; then
		echo "publish-results: $name is a comparison, of which no records are kept: it is made again without --reports" >&2
	else
		report "$name"
	fi
done
"$dbtester" index --title "Published results" test-results
test ${#missing[@]} = 0 || fail "not complete, and not published: ${missing[*]}"
