#!/usr/bin/env bash
# Kills, stops, fills, cuts off and deceives all that takes part in a run, and prints what came of
# it as a page. It fails if a test does, after the page. CALLS is how many calls are mutated.
#
#	scripts/matrix.sh >PAGE
#
# shellcheck source=help.sh
source "$(dirname "$0")/help.sh"
set -euo pipefail
cd "$(dirname "$0")/.."
tables=$(mktemp -d -t dbtester-matrix.XXXXXX)
trap 'rm -rf "$tables"' EXIT

status=0
DBTESTER_MATRIX=$tables DBTESTER_MUTATED_CALLS=${CALLS:-1000000} "${GO:-go}" test -count=1 -p 1 -timeout 120m \
	-run '^Test(Kill|FewFiles|Disks|ResultsReadOnly|CutOff|MutatedCalls)$' ./control ./cmd/dbtester ./agent >&2 || status=$?

cat <<END
# What is done to runs, and what comes of it

Made by \`make matrix\` with dbtester $(git describe --always --dirty --abbrev=12) on $(date -u +%F), Linux $(uname -r | cut -d- -f1), $(nproc) processors.

Each row is one run: where it was, what was done then, how it ended, what was left of it besides its
results, and how the run after it ended, on the same agents. Steps are those that a run reports; "loading"
is the first second of the load. Two members of the fake database and, for kills and stops, two generators
are processes of their own on loopback addresses; what is done to an agent, a member or a generator is
done to the second one. A kill is SIGKILL. A stop is SIGSTOP, and SIGCONT 20 s later or when the run ended
before; control is stopped until its agents have given it up. Agents have a lease of 5 s here. What is left
is looked for in processes, sessions, ports and folders: after the run for members, generators, disks and descriptors,
and after the next run for control and agents, whose sessions wait for a collection until then.
END
for table in kills files disks readonly partition mutated; do
	echo
	if [ -e "$tables/$table.md" ]; then cat "$tables/$table.md"; else echo "## $table: it did not run here"; fi
done
exit $status
