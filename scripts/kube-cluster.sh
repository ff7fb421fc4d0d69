#!/usr/bin/env bash
# Starts or ends a real Kubernetes with two nodes on this machine, as root:
#
#	scripts/kube-cluster.sh up FOLDER     FOLDER/kubectl is its kubectl
#	scripts/kube-cluster.sh down FOLDER   ends it, and fails if anything is left
#
# FOLDER has the executables parts, dns and dbtester, and images/*.tar. Each machine is a network
# namespace: kube-control has the control plane (10.77.0.1), kube-node1 and kube-node2 are nodes
# (10.77.0.11, 10.77.0.12; pods in 10.88.1.0/24 and 10.88.2.0/24), kube-switch joins them. No packet
# leaves them. Control groups are below dbtester-kube. Needs control groups version 1, and what
# scripts/check-tools.sh kube names.
# shellcheck source=help.sh
source "$(dirname "$0")/help.sh"
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
verb=${1:?up or down}
folder=$(cd "${2:?a folder}" && pwd)
spaces=(kube-switch kube-control kube-node1 kube-node2)

# hierarchies prints where the version 1 control groups are.
hierarchies() { awk '$3 == "cgroup" { print $2 }' /proc/mounts; }

# attach NAME ADDRESS makes a network namespace on the switch.
attach() {
	ip netns add "$1"
	ip -n "$1" link set lo up
	ip -n "$1" link add eth0 type veth peer name "to-$1" netns kube-switch
	ip -n kube-switch link set "to-$1" master switch up
	ip -n "$1" addr add "$2/24" dev eth0
	ip -n "$1" link set eth0 up
}

# network makes the namespaces and the routes between pods.
network() {
	ip netns add kube-switch
	ip -n kube-switch link add switch type bridge
	ip -n kube-switch link set switch up
	attach kube-control 10.77.0.1
	local n
	for n in 1 2; do
		attach "kube-node$n" "10.77.0.1$n"
		ip -n kube-control route add "10.88.$n.0/24" via "10.77.0.1$n"
	done
	ip -n kube-node1 route add 10.88.2.0/24 via 10.77.0.12
	ip -n kube-node2 route add 10.88.1.0/24 via 10.77.0.11
}

# settings writes the control plane's files. Whoever reads them is its administrator.
settings() {
	local token
	umask 077
	openssl genrsa -out "$folder/accounts.key" 2048 2>/dev/null
	openssl rsa -in "$folder/accounts.key" -pubout -out "$folder/accounts.pub" 2>/dev/null
	token=$(openssl rand -hex 16)
	echo "$token,admin,admin,system:masters" >"$folder/tokens.csv"
	cat >"$folder/kubeconfig" <<-END
		apiVersion: v1
		kind: Config
		clusters: [{name: cluster, cluster: {server: "https://10.77.0.1:6443", insecure-skip-tls-verify: true}}]
		users: [{name: admin, user: {token: $token}}]
		contexts: [{name: cluster, context: {cluster: cluster, user: admin}}]
		current-context: cluster
	END
	cat >"$folder/Corefile" <<-END
		cluster.local {
		    bind 10.77.0.1
		    errors
		    kubernetes {
		        kubeconfig $folder/kubeconfig cluster
		    }
		}
		. {
		    bind 10.77.0.1
		    template ANY ANY {
		        rcode NXDOMAIN
		    }
		}
	END
	printf '#!/bin/sh\nexec ip netns exec kube-control %q kubectl --kubeconfig=%q --cache-dir=%q "$@"\n' "$folder/parts" "$folder/kubeconfig" "$folder/discovery" >"$folder/kubectl"
	chmod +x "$folder/kubectl"
	umask 022
}

# start NAME COMMAND... starts a part of the control plane.
start() {
	local name=$1
	shift
	ip netns exec kube-control "$@" >"$folder/$name.log" 2>&1 </dev/null &
}

# await SECONDS WHAT COMMAND... waits until a command succeeds.
await() {
	local end=$((SECONDS + $1)) what=$2
	shift 2
	until "$@" >/dev/null 2>&1; do
		if test $SECONDS -ge $end; then
			tail -n 5 "$folder"/*.log "$folder"/kube-node*/log/* >&2 || true
			echo "kube-cluster: $what in time; above are the ends of the logs" >&2
			exit 1
		fi
		sleep .2
	done
}

# node N starts a node in its own control groups. Its first process is the first in its namespaces,
# so that all its processes end with it.
node() {
	(
		for hierarchy in $(hierarchies); do
			group=$hierarchy/dbtester-kube
			mkdir -p "$group/node$1"
			for set in cpus mems; do # a new group has none
				if test -e "$hierarchy/cpuset.$set"; then
					cat "$hierarchy/cpuset.$set" >"$group/cpuset.$set"
					cat "$hierarchy/cpuset.$set" >"$group/node$1/cpuset.$set"
				fi
			done
			echo "$BASHPID" >"$group/node$1/cgroup.procs"
		done
		exec ip netns exec "kube-node$1" unshare --mount --uts --ipc --pid --cgroup --fork --kill-child \
			"$here/kube-node.sh" "$folder" "kube-node$1" "10.77.0.1$1" "10.88.$1.0/24"
	) >"$folder/kube-node$1.log" 2>&1 </dev/null &
}

ready() { test "$("$folder/kubectl" get nodes --no-headers | grep -cw Ready)" = 2; }

up() {
	test "$(id -u)" = 0 || { echo "kube-cluster: needs root: it makes network namespaces and control groups" >&2; exit 2; }
	test -n "$(hierarchies)" || { echo "kube-cluster: this machine has no control groups of version 1" >&2; exit 2; }
	local space
	for space in "${spaces[@]}"; do
		test ! -e "/run/netns/$space" || { echo "kube-cluster: the network namespace $space exists: another cluster runs, or one was left by a killed make kube, which scripts/kube-cluster.sh down ${TMPDIR:-/tmp}/dbtester-kube.*/cluster ends" >&2; exit 2; }
	done
	touch "$folder/up"
	mountpoint -q /run/netns || touch "$folder/first-namespace"
	network
	settings
	start etcd "$folder/dbtester" serve etcd --name=default --data-dir="$folder/etcd" --listen-client-urls=http://10.77.0.1:2379 --advertise-client-urls=http://10.77.0.1:2379 \
		--listen-peer-urls=http://10.77.0.1:2380 --initial-advertise-peer-urls=http://10.77.0.1:2380 --initial-cluster=default=http://10.77.0.1:2380
	start kube-apiserver "$folder/parts" kube-apiserver --etcd-servers=http://10.77.0.1:2379 --bind-address=10.77.0.1 --advertise-address=10.77.0.1 --secure-port=6443 \
		--cert-dir="$folder/certs" --service-cluster-ip-range=10.96.0.0/16 --service-account-issuer=https://kubernetes --service-account-key-file="$folder/accounts.pub" \
		--service-account-signing-key-file="$folder/accounts.key" --authorization-mode=RBAC --token-auth-file="$folder/tokens.csv" \
		--kubelet-preferred-address-types=InternalIP --enable-priority-and-fairness=false
	await 180 "the API server was not ready" "$folder/kubectl" get --raw /readyz
	start kube-controller-manager "$folder/parts" kube-controller-manager --kubeconfig="$folder/kubeconfig" --leader-elect=false --service-account-private-key-file="$folder/accounts.key"
	start kube-scheduler "$folder/parts" kube-scheduler --kubeconfig="$folder/kubeconfig" --leader-elect=false
	start dns "$folder/dns" -conf "$folder/Corefile"
	node 1
	node 2
	await 240 "two nodes were not ready" ready
}

# processes prints the cluster's processes, by its network namespaces and control groups.
processes() {
	local space hierarchy
	for space in "${spaces[@]}"; do
		if test -e "/run/netns/$space"; then ip netns pids "$space" 2>/dev/null || true; fi
	done
	for hierarchy in $(hierarchies); do
		if test -d "$hierarchy/dbtester-kube"; then find "$hierarchy/dbtester-kube" -name cgroup.procs -exec cat {} + 2>/dev/null || true; fi
	done
}

# left prints what a cluster has left.
left() {
	local space hierarchy
	for space in "${spaces[@]}"; do
		if test -e "/run/netns/$space"; then echo "network namespace $space"; fi
	done
	for hierarchy in $(hierarchies); do
		if test -e "$hierarchy/dbtester-kube"; then echo "control group $hierarchy/dbtester-kube"; fi
	done
	grep -F " $folder" /proc/mounts | sed 's/^/mount /' || true
	pgrep -fa -- "$folder/" | sed 's/^/process /' || true
}

# down kills every process, then removes what is free only after the last one ended.
down() {
	test -e "$folder/up" || return 0 # what there is belongs to another cluster
	local pids space hierarchy
	for _ in $(seq 150); do
		pids=$(processes | sort -u)
		test -n "$pids" || break
		xargs kill -KILL <<<"$pids" 2>/dev/null || true
		sleep .2
	done
	for hierarchy in $(hierarchies); do
		for _ in $(seq 50); do
			test -d "$hierarchy/dbtester-kube" || break
			find "$hierarchy/dbtester-kube" -depth -type d -exec rmdir {} \; 2>/dev/null || true
			sleep .05
		done
	done
	for space in "${spaces[@]}"; do
		if test -e "/run/netns/$space"; then ip netns del "$space" || true; fi
	done
	if test -e "$folder/first-namespace" && test -z "$(ls -A /run/netns)"; then umount /run/netns 2>/dev/null || true; fi
	for _ in $(seq 50); do
		if test -z "$(left)"; then
			rm "$folder/up"
			return 0
		fi
		sleep .1
	done
	left >&2
	echo "kube-cluster: the above is left" >&2
	return 1
}

case $verb in
up) up ;;
down) down ;;
*) echo "kube-cluster: up or down, not $verb" >&2; exit 2 ;;
esac
