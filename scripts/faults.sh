#!/usr/bin/env bash
# Kills control, agents and members during every kind of fault, plays random fault schedules, and
# prints the outcome as a page. It fails if a test does, after the page. SCHEDULES is the number of
# random schedules, POINTS the number of moments in a fault at which something is killed, and CASES
# a pattern for the fault kinds.
#
#	scripts/faults.sh >PAGE
#
# shellcheck source=help.sh
source "$(dirname "$0")/help.sh"
set -euo pipefail
cd "$(dirname "$0")/.."
tables=$(mktemp -d -t dbtester-faults.XXXXXX)
trap 'rm -rf "$tables"' EXIT

status=0
# All kinds at once: their runs mostly wait.
DBTESTER_MATRIX=$tables DBTESTER_SCHEDULES=${SCHEDULES:-200} DBTESTER_FAULT_POINTS=${POINTS:-20} "${GO:-go}" test -count=1 -p 1 -parallel 9 -timeout 240m \
	-run "^Test(FaultKill|Schedules)\$/${CASES:-}" ./agent ./control >&2 || status=$?

cat <<END
# What is left of faults

Made by \`make faults\` with dbtester $(git describe --always --dirty --abbrev=12) on $(date -u +%F), Linux $(uname -r | cut -d- -f1), $(nproc) processors, as $(id -u | sed 's/^0$/root/; s/^[1-9].*/an ordinary user/').

What is looked for: processes of members, running or stopped, tables of nftables, queues of packets, mounts
and loop devices of members' own disks, and control groups.

**Kills.** Each row has ${POINTS:-20} runs with one fault of a second, of the second of two members of the fake database.
In each run somebody is killed by SIGKILL at another moment: from when the fault is asked for until a second
after it, in equal steps. Control's sessions end by their lease of 5 s, and what is undone later than 5 s
after that is said. An agent that was killed is started again at once, and undoes what it finds. A run whose
control was killed stays recorded as running; the fake makes no fsync, so that a fault of its disk always
fails. A command of the user's makes a file, and its undo removes it: after a control that was killed, what
is recorded to undo is run as \`dbtester heal\` runs it, and after an agent or a member control undoes it.

**Schedules.** Each is a session of one member with 3 to 8 random deeds: faults of a random kind and length, which
may overlap, are asked for or undone in any order, and the member may be killed behind the agent's back.
END
for table in faults schedules; do
	echo
	if [ -e "$tables/$table.md" ]; then cat "$tables/$table.md"; else echo "## $table: it did not run here"; fi
done
exit $status
