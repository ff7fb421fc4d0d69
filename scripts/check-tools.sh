#!/usr/bin/env bash
# Names every tool that building (build) or testing (test) needs and this machine
# lacks, each with a line that installs it, and fails if there is one.
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
	if ! command -v chromium-browser >/dev/null && ! command -v google-chrome >/dev/null; then
		need chromium "shows the report's page" "apt-get install -y chromium"
	fi
fi
if command -v go >/dev/null 2>&1; then
	v=$(go env GOVERSION); v=${v#go}
	if [ "$(printf '%s\n1.26\n' "${v%%[a-z]*}" | sort -V | head -1)" != 1.26 ]; then
		echo "go $v is older than 1.26: curl -L https://go.dev/dl/go1.26.8.linux-amd64.tar.gz | tar -C /usr/local -xz"
		missing=1
	fi
fi
exit $missing
