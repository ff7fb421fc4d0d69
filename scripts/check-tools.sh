#!/usr/bin/env bash
# Names every tool that building (build), testing (test) or make kube (kube) needs and this
# machine lacks, each with a line that installs it, and fails if there is one.
# shellcheck source=help.sh
source "$(dirname "$0")/help.sh"
set -u
missing=0
need() { # need TOOL WHAT-FOR INSTALL-LINE
	command -v "$1" >/dev/null 2>&1 && return
	[ $missing -eq 0 ] && echo "These tools are missing:"
	printf '  %-8s %s\n           %s\n' "$1" "$2" "$3"
	missing=1
}
need go "builds dbtester (1.26 or newer)" "curl -L https://go.dev/dl/go1.26.8.linux-amd64.tar.gz | tar -C /usr/local -xz && PATH=\$PATH:/usr/local/go/bin"
if [ "${1:-build}" = test ]; then
	need gcc "the race detector" "apt-get install -y gcc"
	need git "tests of the tree" "apt-get install -y git"
	need java "ZooKeeper, a database under test" "apt-get install -y default-jre-headless"
	need mvn "obtains ZooKeeper" "apt-get install -y maven"
	need ip "joins the network namespaces of tests" "apt-get install -y iproute2"
	need nsenter "enters the network namespaces of tests" "apt-get install -y util-linux"
	need flock "keeps two scripts from publishing at a time" "apt-get install -y util-linux"
	need curl "downloads the release in the test of the GitHub Action" "apt-get install -y curl"
	need jq "reads JSON in the test of the GitHub Action" "apt-get install -y jq"
	if ! command -v chromium-browser >/dev/null && ! command -v google-chrome >/dev/null; then
		need chromium "shows the report's page" "apt-get install -y chromium"
	fi
fi
if [ "${1:-build}" = kube ]; then
	need containerd "runs the containers of nodes" "apt-get install -y --no-install-recommends containerd"
	need runc "starts containers" "apt-get install -y --no-install-recommends runc"
	for plugin in bridge host-local loopback; do
		need /usr/lib/cni/$plugin "gives pods their networks" "apt-get install -y --no-install-recommends containernetworking-plugins"
	done
	need iptables "the kubelet asks for it" "apt-get install -y --no-install-recommends iptables"
	need ip "makes network namespaces" "apt-get install -y iproute2"
	need unshare "makes the other namespaces of nodes" "apt-get install -y util-linux"
	need hostname "names nodes" "apt-get install -y hostname"
	need pgrep "finds what is left" "apt-get install -y procps"
	need openssl "makes the keys of the control plane" "apt-get install -y openssl"
	need busybox "the pod from which results are fetched, static" "apt-get install -y busybox-static"
fi
if command -v go >/dev/null 2>&1; then
	v=$(go env GOVERSION); v=${v#go}
	if [ "$(printf '%s\n1.26\n' "${v%%[a-z]*}" | sort -V | head -1)" != 1.26 ]; then
		echo "go $v is older than 1.26: curl -L https://go.dev/dl/go1.26.8.linux-amd64.tar.gz | tar -C /usr/local -xz"
		missing=1
	fi
fi
exit $missing
