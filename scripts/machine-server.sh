#!/usr/bin/env bash
# Makes a Debian or Ubuntu machine a database machine: a dbtester agent as a service.
#
#	machine-server.sh --binary FILE|URL --sha256 SUM --listen ADDRESS:PORT --certs FOLDER
#
# Run it again at any time, for a new executable or new certificates too: it changes what
# is not yet as it should be, and prints that. It restarts the agent only for another
# executable or unit, or for a disk that it mounts, which ends a run that the agent takes
# part in.
#
#	--binary FILE|URL   dbtester for this machine; may be left out once it is installed
#	--sha256 SUM        its checksum, which must match
#	--listen HOST:PORT  where the agent listens: an address on this machine, usually port 3500
#	--certs FOLDER      this machine's folder from dbtester certs, such as certs/agent-10.0.0.2;
#	                    may be left out once they are installed
#	--dir FOLDER        members' data and the release cache (/var/lib/dbtester)
#	--disk DEVICE       mount this disk at --dir; it is formatted (ext4) only if it is empty
#	--no-java           install no Java, which ZooKeeper needs
#	--no-packages       install no packages: chrony, curl, Java
#	--root FOLDER       change the system in this folder, an image or a chroot, and start nothing
#	--dry-run           print what would change, and change nothing
#
# It makes the user dbtester, the folders, and the unit dbtester-agent.service.
set -euo pipefail
# shellcheck source=machine-common.sh
source "$(dirname "$0")/machine-common.sh"

user=dbtester
unit=dbtester-agent.service
etc=/etc/dbtester/certs
dir=/var/lib/dbtester
listen='' disk='' java=1
# The default ports for the agent (3500) and all databases. Consul's 8301 is UDP too.
ports=2181,2379,2380,2888,3500,3888,8300,8301,8500

while test $# -gt 0; do
	case $1 in
	--no-java) java=0 taken=1 ;;
	--listen | --dir | --disk)
		test -n "${2-}" || misuse "$1 needs a value"
		printf -v "${1#--}" %s "$2"
		taken=2
		;;
	*) flag "$@" ;;
	esac
	test "$taken" -gt 0 || misuse "unknown flag $1"
	shift "$taken"
done
[[ $listen =~ ^[][0-9A-Za-z.:-]+:[0-9]+$ ]] || misuse "--listen must be ADDRESS:PORT, such as 10.0.0.2:3500, got '$listen'"
[[ $dir =~ ^(/[0-9A-Za-z._-]+)+$ ]] || misuse "--dir must be an absolute path of letters, digits, dots and dashes, got '$dir'"
test -z "$disk" || test -z "$root" || misuse "--disk is a disk of this machine and goes without --root"
check_common
test -n "$certs" || test -f "$root$etc/key.pem" || misuse "--certs is required: $root$etc has no certificates"

make_user() {
	local prefix=()
	test -z "$root" || prefix=(--prefix "$root")
	useradd "${prefix[@]}" --system --user-group --home-dir "$dir" --no-create-home --shell /usr/sbin/nologin "$user"
}

# check_disk ends the script if --disk names no disk that it may format and mount at --dir. It sets
# $empty to 1 if the disk holds no file system yet.
check_disk() {
	local status=0 found other
	if test -z "$disk"; then return; fi
	test -b "$disk" || fail "--disk must be a block device, got $disk"
	test -r "$disk" || fail "only root can look at $disk"
	if mountpoint -q "$dir" && test "$(mountpoint -d "$dir")" != "$(mountpoint -x "$disk")"; then
		fail "$dir has another disk than $disk mounted, and both are left as they are"
	fi
	other=$(awk -v dir="$dir" -v line="$fstab" '$1 !~ /^#/ && $2 == dir && $0 != line' /etc/fstab 2>/dev/null) || true
	test -z "$other" || fail "/etc/fstab mounts something else at $dir: $other"
	other=$(blkid -c /dev/null -t LABEL=dbtester -o device | grep -vxF "$(readlink -f "$disk")" | paste -sd ' ') || true
	test -z "$other" || fail "$disk and $other would both have the label dbtester, by which /etc/fstab mounts"
	found=$(blkid -p -o export "$disk") || status=$?
	if test "$status" = 2; then
		cmp -s -n 1048576 "$disk" /dev/zero || fail "the beginning of $disk is not empty, and it is left as it is"
		empty=1
	elif ! grep -qx LABEL=dbtester <<<"$found"; then
		fail "$disk holds something that this script did not make, and is left as it is: $(tr '\n' ' ' <<<"$found")"
	fi
}

# format makes a file system on an empty disk, and mounts it, now and whenever the machine starts.
# The first mount is by the device: udev may not know the label yet. It sets $moved to 1 if it
# mounts the disk, which a running agent does not see.
format() {
	if test -z "$disk"; then return; fi
	test "$empty" = 0 || change "make an ext4 file system on $disk" mkfs.ext4 -q -L dbtester "$disk"
	grep -qxF "$fstab" /etc/fstab || change "add to /etc/fstab: $fstab" add_line /etc/fstab "$fstab"
	test -d "$dir" || change "make the folder $dir to mount $disk at" mkdir -p "$dir"
	if mountpoint -q "$dir"; then return; fi
	change "mount $disk at $dir" mount -t ext4 -o noatime "$disk" "$dir"
	moved=1
}

add_line() { echo "$2" >>"$1"; }

# agent_flags prints the agent's flags, one to a line.
agent_flags() { printf '%s\n' --agent-port "$listen" --certs "$etc" --work-dir "$dir/work" --cache "$dir/cache"; }

# write_unit prints the unit.
write_unit() {
	cat <<-END
		# Written by machine-server.sh. Additions belong in a drop-in (systemctl edit $unit).
		[Unit]
		Description=dbtester agent: starts, measures and stops databases under test
		Documentation=https://github.com/coreos/dbtester
		Wants=network-online.target
		After=network-online.target time-sync.target
		RequiresMountsFor=$dir
		StartLimitIntervalSec=0

		[Service]
		User=$user
		Group=$user
		ExecStart=/usr/local/bin/dbtester agent $(agent_flags | paste -sd ' ')
		WorkingDirectory=$dir
		# Where builds of releases keep their caches: the user may not write above it.
		Environment=HOME=$dir/cache

		# Only the agent gets SIGTERM. It stops its databases one after the other, for 30 s at
		# most; what is left then is killed with all control groups below this one.
		KillMode=mixed
		TimeoutStopSec=60
		SuccessExitStatus=130
		# A wrong flag or certificate is exit code 2, and stays wrong.
		Restart=on-failure
		RestartSec=5
		RestartPreventExitStatus=2

		# The agent makes control groups for members with limits (resources: in the experiment).
		Delegate=yes
		# A member that its memory limit kills is a result of the run: the agent records it and
		# stays. Members inherit OOMScoreAdjust, so it is that of any other process.
		OOMPolicy=continue
		OOMScoreAdjust=0
		LimitNOFILE=$nofile
		LimitNPROC=infinity
		TasksMax=infinity

		# No filter of system calls and no mounts of its own: databases would inherit both, and
		# would be measured with them.
		NoNewPrivileges=yes
		UMask=0077

		[Install]
		WantedBy=multi-user.target
	END
}

# at_boot starts the agent with the machine.
at_boot() {
	local link=$root/etc/systemd/system/multi-user.target.wants/$unit
	if test "$(readlink "$link")" = "/etc/systemd/system/$unit"; then return; fi
	change "start $unit with the machine" link_unit "$link"
}

link_unit() {
	mkdir -p "$(dirname "$1")"
	ln -sfn "/etc/systemd/system/$unit" "$1"
}

# check_agent prints what the agent will use, and ends the script if it could not start.
check_agent() {
	local flags
	mapfile -t flags < <(agent_flags)
	runuser -u "$user" -- /usr/local/bin/dbtester agent --check "${flags[@]}"
}

# listens reports whether the unit's process has a socket that listens at the port: another process
# may have one too.
listens() {
	local pid inode
	pid=$(systemctl show -p MainPID --value "$unit")
	for inode in $(awk -v port="$(printf ':%04X' "${listen##*:}")" '$2 ~ port "$" && $4 == "0A" { print $10 }' /proc/net/tcp /proc/net/tcp6 2>/dev/null); do
		if test -n "$(find "/proc/$pid/fd" -lname "socket:\[$inode\]" 2>/dev/null)"; then return; fi
	done
	return 1
}

# await_agent waits until the agent listens, and ends the script with its log if it does not.
await_agent() {
	for _ in $(seq 100); do
		if listens; then return; fi
		sleep 0.2
	done
	journalctl --no-pager -n 20 -u "$unit" >&2
	fail "the agent does not listen"
}

start_agent() {
	systemctl daemon-reload
	check_agent
	systemctl start "$unit"
	await_agent
}

restart_agent() {
	systemctl daemon-reload
	systemctl restart "$unit"
	await_agent
}

# start starts the agent, or restarts it if more changed than its certificates, which it
# reads again by itself.
start() {
	if ! running; then
		note "not started: systemd does not run here (${root:-this machine})"
	elif ! systemctl is-active --quiet "$unit"; then
		change "start $unit" start_agent
	elif test "$1" -gt 0; then
		change "restart $unit" restart_agent
	fi
}

fstab="LABEL=dbtester $dir ext4 noatime,nofail 0 2" empty=0 moved=0
check_disk
wanted=(chrony curl ca-certificates)
if test "$java" = 1 && ! test -x "$root/usr/bin/java"; then wanted+=(default-jre-headless); fi
install_packages "${wanted[@]}"
test -n "$(ids "$user")" || change "make the user $user" make_user
format
# Root owns what is above the user's folders: the user can put no link in their place while
# they are looked at and given to it.
folder "$dir" 755 root
folder "$dir/work" 700 "$user"
folder "$dir/cache" 755 "$user"
test -z "$certs" || install_certs "$etc" "$user"
before=$changes
install_binary
put "/etc/systemd/system/$unit" 644 root < <(write_unit)
changed=$((changes - before))
at_boot
start $((changed + moved))
clock
if test -z "$root" && [[ $(ufw status 2>/dev/null) == "Status: active"* ]]; then
	note "a firewall runs here; members and client must pass: ufw allow proto tcp from NETWORK to any port ${ports/,3500,/,${listen##*:},}"
	note "and for Consul: ufw allow proto udp from NETWORK to any port 8301"
fi
summary
