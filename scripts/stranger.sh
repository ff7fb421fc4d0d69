#!/usr/bin/env bash
# Goes the way of somebody who has never seen dbtester: from a fresh clone to a published run, by
# the documents' commands. It prints a page with each command, its output in short and its time, and
# ends with the output from the first command that is no longer in its document, fails, or prints
# something else than the document promises.
#
#	scripts/stranger.sh >PAGE
#
# The machines are network namespaces on a bridge: 10.0.0.1, the client, and 10.0.0.2 to 10.0.0.4,
# the database machines. Each has its own root, with /usr and /etc from this machine and everything
# else empty. They end with the script, and leave nothing.
#
# Needs root, overlayfs, ip, nsenter, setpriv, git and Go. Minutes.
# shellcheck source=help.sh
source "$(dirname "$0")/help.sh"
set -euo pipefail
export LC_ALL=C
release=v0.3.0 # what the README downloads
client=10.0.0.1
servers=(10.0.0.2 10.0.0.3 10.0.0.4)
from=${XDG_CACHE_HOME:-$HOME/.cache}/dbtester # releases of databases, copied by install --from

fail() {
	echo "stranger: $*" >&2
	exit 1
}

note() { printf '\n%s\n' "$*"; }

# shown DOCUMENT BEGINNING prints the lines in the document's shell blocks that begin so.
shown() {
	local file=$tree/docs/$1
	test -f "$file" || file=$tree/$1
	awk -v begins="$2" '/^```/ { sh = $0 == "```sh" && !sh; next }
		sh && index($0, begins) == 1 && !seen[$0]++ { sub(/ +# .*/, ""); print; found = 1 }
		END { exit !found }' "$file" || fail "$1 has no command that begins with: $2"
}

# follow HOST DOCUMENT BEGINNING [OLD NEW]... runs these lines on a machine, with NEW in place of
# OLD.
follow() {
	local host=$1 lines line old
	lines=$(shown "$2" "$3")
	shift 3
	while test $# -gt 0; do
		old=$1
		[[ $lines == *"$old"* ]] || fail "the document's command has no $old: $lines"
		lines=${lines//"$old"/$2}
		shift 2
	done
	while read -r line <&3; do
		run "$host" "$line"
	done 3<<<"$lines"
}

# run HOST COMMAND runs a line on a machine, in the user's folder, and prints it as a block on the
# page. The output is in the file $output, the line in $ran; the exit codes in $accepted are good.
# With brief=1 the page lacks the output.
accepted=0 ran='' brief=0
run() {
	local host=$1 line=$2 status=0 begin=$EPOCHREALTIME end
	echo "stranger: $host: $line" >&2
	ran=$line
	on "$host" "$line" >"$output" 2>&1 </dev/null || status=$?
	end=$EPOCHREALTIME
	[[ " $accepted " == *" $status "* ]] || {
		cat "$output" >&2
		fail "exit code $status of: $line"
	}
	printf '\n```console\n%s$ %s\n' "$host" "$line"
	test "$brief" = 1 || public | cut -c1-160 |
		awk '{ line[NR] = $0 } END { for (i = 1; i <= NR; i++) if (NR <= 26 || i <= 12 || i > NR - 12) print line[i]; else if (i == 13) print "... " NR - 24 " lines more" }'
	printf '```\n\n'
	awk -v code="$status" -v a="$begin" -v b="$end" 'BEGIN { printf "%s%.1f s\n", code == 0 ? "" : "exit code " code ", ", b - a }'
}

# public prints the output without colours, overwritten progress and this machine's names.
public() {
	sed -e "s|$work|/tmp/stranger|g; s|$group||g; s|$(</proc/sys/kernel/random/boot_id)|BOOT-ID|g" -e 's/\x1b\[[0-9;]*[A-Za-z]//g; s/.*\r//' "$output"
}
group=$(awk -F: '$2 == "memory" && length($3) > 1 { print $3; found = 1 } END { if (!found) print "/no-group" }' /proc/self/cgroup)

# prints PATTERN ends the script unless the last command printed it.
prints() {
	grep -Eq -- "$1" "$output" || {
		cat "$output" >&2
		fail "the last command must print: $1"
	}
}

# on HOST COMMAND runs a line: on this machine in the clone, or on one of the four machines.
on() {
	case $1 in
	here) (cd "$tree" && bash -c "$2") ;;
	"$client") inside "$1" env -i HOME=/root USER=root PATH="$path" bash -c "cd /root/dbtester && $2" ;;
	*) inside "$1" env -i HOME=/root USER=root PATH="$path" bash -c "cd && $2" ;;
	esac
}
path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# inside HOST COMMAND... runs a command with a machine's network and root.
inside() {
	local host=$1
	shift
	nsenter --net="/run/netns/$host" chroot "$work/$host" "$@"
}

# machine HOST makes a machine.
machine() {
	local root=$work/$1 dir
	mkdir -p "$root"/{usr,etc,proc,sys,dev,run/machines,tmp,root,home,mnt,var/{lib,log,tmp,cache}} "$work/layers/$1"/{usr,usr-work,etc,etc-work}
	for dir in bin sbin lib lib64; do
		test ! -L "/$dir" || cp -P "/$dir" "$root/"
	done
	chmod 1777 "$root/tmp" "$root/var/tmp"
	for dir in usr etc; do
		mount -t overlay overlay -o "lowerdir=/$dir,upperdir=$work/layers/$1/$dir,workdir=$work/layers/$1/$dir-work" "$root/$dir"
	done
	mount -t tmpfs tmpfs "$root/usr/local"
	mkdir -p "$root/usr/local"/{bin,share/man}
	rm -rf "$root/etc/dbtester" "$root/etc/systemd/system"/dbtester* "$root/etc/systemd/system/multi-user.target.wants"/dbtester*
	mount -t proc proc "$root/proc"
	mount --rbind /dev "$root/dev"
	mkdir -p "$root/var/lib/dpkg" && mount --bind /var/lib/dpkg "$root/var/lib/dpkg"
	ip netns add "$1"
	nsenter --net="/run/netns/$1" mount -t sysfs sysfs "$root/sys"
	mount --rbind /sys/fs/cgroup "$root/sys/fs/cgroup"
	ip link add "near${1##*.}" type veth peer name eth0 netns "$1"
	ip link set "near${1##*.}" master bridge0 up
	ip -n "$1" link set lo up
	ip -n "$1" link set eth0 up
	ip -n "$1" addr add "$1/24" dev eth0
	printf '#!/bin/sh\nexec "$@"\n' >"$root/usr/local/bin/sudo"
	chmod +x "$root/usr/local/bin/sudo"
	nsenter --net="/run/netns/$1" chroot "$root" sleep infinity &
	pids[$1]=$!
}

# tools gives the client an ssh and a scp that enter the other machines.
tools() {
	local host bin=$work/$client/usr/local/bin
	for host in "${servers[@]}"; do
		echo "${pids[$host]}" >"$work/$client/run/machines/$host"
	done
	cat >"$bin/ssh" <<-'END'
		#!/bin/sh
		pid=$(cat "/run/machines/$1") && shift && exec nsenter --target "$pid" --net --root --wd="/proc/$pid/root/root" -- sh -c "$*"
	END
	cat >"$bin/scp" <<-'END'
		#!/bin/sh
		test "$1" != -r || shift
		for last; do :; done
		while test $# -gt 1; do cp -r "$1" "/proc/$(cat "/run/machines/${last%%:*}")/root/root/${last#*:}" && shift || exit; done
	END
	chmod +x "$bin/ssh" "$bin/scp"
}

# unit HOST KEY prints what the agent's unit sets.
unit() { sed -n "s/^$2=//p" "$work/$1/etc/systemd/system/dbtester-agent.service"; }

# agent HOST ARGS... runs the unit's command line, as systemd would: as its user, with its folder,
# environment and open-file limit, or the largest that may be set here. ARGS come after the unit's
# arguments. The agent replaces this process.
agent() {
	local host=$1 nofile
	shift
	nofile=$(unit "$host" LimitNOFILE)
	prlimit --nofile="$nofile" true 2>/dev/null || nofile=$(ulimit -Hn)
	exec prlimit --nofile="$nofile" nsenter --net="/run/netns/$host" chroot "$work/$host" \
		setpriv --reuid="$(unit "$host" User)" --regid="$(unit "$host" Group)" --init-groups --no-new-privs \
		env -i PATH="$path" "$(unit "$host" Environment)" \
		bash -c "umask $(unit "$host" UMask) && cd $(unit "$host" WorkingDirectory) && exec $(unit "$host" ExecStart) $*"
}

# await FILE PATTERN waits until the file has the pattern.
await() {
	for _ in $(seq 300); do
		if grep -q "$2" "$1"; then return; fi
		sleep 0.1
	done
	cat "$1" >&2
	fail "nothing prints: $2"
}

build() {
	git clone -q --no-checkout . "$tree"
	git -C "$tree" checkout -q --detach "$(git rev-parse HEAD)"
	git -C "$tree" -c user.name=stranger -c user.email=stranger@example.com tag -f -a "$release" -m "$release" >/dev/null
	cat <<-END
		# The way of a stranger

		From a fresh clone to a packed run by the commands of the documents, by \`make stranger\`: the client is 10.0.0.1, the database machines are 10.0.0.2 to 10.0.0.4. They are network namespaces of one machine, each with a root of its own. systemd does not run in them: the agents are started with the command line, user, folder and limit of open files of their unit. They reach no other network: \`--no-packages\` is added, releases of databases are copied by \`install --from\`, and the archive is read from a folder in place of GitHub. \`ssh\` and \`scp\` enter the namespaces. The load is small; its numbers mean nothing.

		Sources of $(git -C "$tree" show -s --format=%cs HEAD), Linux $(uname -r | cut -d - -f 1), $(nproc) processors, run on $(date -u +%F).

		## A release
	END
	note "\`make release\` in a fresh clone (CONTRIBUTING.md), with the tag $release for this page:"
	run here "make release TARGETS=linux/amd64"
	prints "dbtester-$release-linux-amd64.tar.gz"
	run here "tar -tzf bin/release/$release/dbtester-$release-linux-amd64.tar.gz"
	prints 'scripts/machine-server.sh'
	note "The program of [three machines](../docs/three-machines.md#1-the-program):"
	follow here three-machines.md 'make build'
	follow here three-machines.md 'sha256sum bin/dbtester'
	cut -d ' ' -f 1 "$output" >"$work/sum"
	run here 'bin/dbtester version'
	prints "$release"
	(cd "$tree" && "${GO:-go}" build -o "$work/store" ./tools/store)
}

# network makes the four machines, and puts the clone on the client.
network() {
	local host
	mount -t tmpfs tmpfs /run
	ip link set lo up
	ip link add bridge0 type bridge
	ip link set bridge0 up
	for host in "$client" "${servers[@]}"; do machine "$host"; done
	tools
	mkdir "$work/$client/root/dbtester"
	mount --bind "$tree" "$work/$client/root/dbtester"
	for host in "${servers[@]}"; do
		mkdir "$work/$host/mnt/releases"
		mount --bind -o ro "$from" "$work/$host/mnt/releases"
	done
}

download() {
	note '## A report in a minute'
	note 'The README, on the client:'
	follow "$client" README.md 'curl -fsSL https://' "https://github.com/coreos/dbtester/releases/download/$release" "file:///root/dbtester/bin/release/$release"
	follow "$client" README.md 'dbtester-v'
	prints 'report in '
}

database_machines() {
	local host sum
	sum=$(<"$work/sum")
	note '## Three database machines'
	note '[Certificates](../docs/three-machines.md#2-certificates) and [the machines](../docs/three-machines.md#3-the-database-machines):'
	follow "$client" three-machines.md 'bin/dbtester certs init'
	for host in "${servers[@]}"; do
		follow "$client" three-machines.md 'ssh 10.0.0.2 mkdir' 10.0.0.2 "$host"
		follow "$client" three-machines.md 'scp -r bin/dbtester' 10.0.0.2 "$host"
		follow "$host" three-machines.md 'sudo setup/machine-server.sh' SUM "$sum" 10.0.0.2 "$host" --listen '--no-packages --listen'
		prints 'changes made: '
		run "$host" "$ran" # again
		prints 'nothing to change'
		follow "$host" three-machines.md 'rm -r setup'
		test "$brief" = 1 || note 'The others, without the output:'
		brief=1
	done
	brief=0
}

agents() {
	local host
	note 'What the scripts make systemd run: the unit, and its check by `systemd-analyze verify` with a root that has it.'
	run "${servers[0]}" 'cat /etc/systemd/system/dbtester-agent.service'
	if command -v systemd-analyze >/dev/null; then
		run "${servers[0]}" 'systemd-analyze verify --man=no /etc/systemd/system/dbtester-agent.service 2>&1 | grep dbtester-agent || echo nothing to complain about'
		prints 'nothing to complain about'
	fi
	note 'The releases of [the experiment](../docs/three-machines.md#5-the-experiment), copied on each machine, as the user of the agents:'
	for host in "${servers[@]}"; do
		for name in etcd@v3.6.16 zookeeper@3.9.5 consul@1.16.0; do
			run "$host" "runuser -u dbtester -- dbtester install $name --from /mnt/releases/$(sed 's/@v\?/\//' <<<"$name") --cache /var/lib/dbtester/cache"
			brief=1
		done
		(agent "$host" --check) >"$output" 2>&1 || fail "agent --check on $host: $(<"$output")"
		prints 'usable +yes'
	done
	brief=0
	note "What \`dbtester agent --check\` finds on $host, as machine-server.sh prints it where systemd runs:"
	printf '\n```\n%s\n```\n' "$(public)"
	for host in "${servers[@]}"; do
		agent "$host" >"$work/agent-$host.log" 2>&1 &
		pids[agent-$host]=$!
		await "$work/agent-$host.log" 'agent listens'
	done
}

# experiment writes the document's experiment, with fewer requests.
experiment() {
	awk '/^```/ { yaml = $0 == "```yaml" && !yaml; next } yaml' "$tree/docs/three-machines.md" >"$tree/three.yaml"
	grep -q 'requests: 1000000' "$tree/three.yaml" || fail 'the experiment of three-machines.md has no requests: 1000000'
	sed -i 's/requests: 1000000/requests: 3000/' "$tree/three.yaml"
	note '## An experiment'
	follow "$client" three-machines.md 'sudo scripts/machine-client.sh' SUM "$(<"$work/sum")" --certs '--no-packages --certs'
	note 'The experiment of the document with 3,000 requests in place of a million:'
	printf '\n```yaml\n%s\n```\n' "$(<"$tree/three.yaml")"
	follow "$client" three-machines.md 'dbtester config check three.yaml'
	accepted='0 3' # a shared machine may leave a run not valid: the page has its marks
	follow "$client" three-machines.md 'dbtester control --config three.yaml'
	accepted=0
	mapfile -t runs < <(cd "$tree" && find results -name manifest.json -newer three.yaml -exec dirname {} \; | sort)
	test ${#runs[@]} = 3 || fail "control must leave three runs, got ${runs[*]}"
	note '## The report'
	follow "$client" three-machines.md 'dbtester analyze RUN1 RUN2 RUN3' RUN1 "${runs[0]}" RUN2 "${runs[1]}" RUN3 "${runs[2]}"
	prints 'report in '
}

publish() {
	local gs=STORAGE_EMULATOR_HOST=$client:4443 s3="AWS_ENDPOINT_URL=http://$client:4444 AWS_REGION=us-east-1 AWS_ACCESS_KEY_ID=id AWS_SECRET_ACCESS_KEY=secret AWS_EC2_METADATA_DISABLED=true"
	note '## Uploads'
	note 'To a folder, and to servers of the protocols of Google Cloud Storage and S3 on the client (`tools/store`); then a report from there:'
	cp "$work/store" "$work/$client/usr/local/bin/store"
	nsenter --net="/run/netns/$client" chroot "$work/$client" /usr/local/bin/store -gs "$client:4443" -s3 "$client:4444" >"$work/store.log" 2>&1 &
	pids[store]=$!
	await "$work/store.log" 'the bucket bucket is at'
	mkdir "$work/$client/root/published"
	follow "$client" commands.md 'dbtester upload RUN gs://bucket/folder' RUN "${runs[0]}" gs://bucket/folder file:///root/published
	follow "$client" commands.md 'dbtester upload RUN gs://bucket/folder' RUN "${runs[0]}" 'dbtester upload' "$gs dbtester upload"
	follow "$client" commands.md 'dbtester upload RUN gs://bucket/folder' RUN "${runs[0]}" 'dbtester upload' "$s3 dbtester upload" gs:// s3://
	follow "$client" commands.md 'dbtester analyze gs://bucket/folder/TITLE/TIME' 'dbtester analyze' "$gs dbtester analyze" TITLE/TIME "${runs[0]#results/}"
	prints 'report in '
	note '## A run to be published'
	accepted='0 3'
	follow "$client" submit.md 'dbtester submit' results/my-first-experiment/20260102T150405Z "${runs[0]}"
	accepted=0
	prints 'packed .* into my-machines.tar.gz'
	run "$client" 'tar -tzf my-machines.tar.gz'
}

leave() {
	local host code
	note '## The end'
	for host in "${servers[@]}"; do
		kill -TERM "${pids[agent-$host]}"
		code=0
		wait "${pids[agent-$host]}" || code=$?
		test "$code" = 0 || fail "the agent of $host ended with $code: $(<"$work/agent-$host.log")"
	done
	note 'After SIGTERM, which systemd sends, each agent ends with exit code 0:'
	run "${servers[0]}" 'pgrep -u dbtester -a || echo no process of an agent is left'
	prints 'no process of an agent is left'
}

if test "${1-}" = --machines; then
	work=$2 tree=$2/dbtester output=$2/output
	declare -A pids
	network
	download
	database_machines
	agents
	experiment
	publish
	leave
	exit
fi
test "$(id -u)" = 0 || fail 'it must run as root: it makes namespaces and mounts'
cd "$(dirname "$0")/.."
work=$(mktemp -d)
tree=$work/dbtester output=$work/output
trap 'rm -rf --one-file-system "$work"' EXIT
build
unshare --mount --net --pid --fork --kill-child --mount-proc bash scripts/stranger.sh --machines "$work"
