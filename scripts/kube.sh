#!/usr/bin/env bash
# Runs rendered manifests in a real Kubernetes with two nodes that it starts on this machine, as
# root, and prints what was seen as a page: scripts/kube.sh. It fails at the first thing that is not
# as docs/kubernetes.md says. The Kubernetes and CoreDNS executables are built once from their Go
# modules.
#
#	CACHE     where executables are kept; by default dbtester's cache
#	STORIES   those to run; by default "etcd deleted zookeeper"
#	KEEP=1    leaves the scratch folder with all logs
# shellcheck source=help.sh
source "$(dirname "$0")/help.sh"
set -euo pipefail
cd "$(dirname "$0")/.."
version=v1.34.4 # of Kubernetes, as in tools/kube/parts/go.mod
cache=${CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/dbtester}/kube
folder=$(mktemp -d -t dbtester-kube.XXXXXX)
cluster=$folder/cluster
mkdir -p "$cluster/images"

finish() {
	local status=$?
	trap '' INT TERM # a cluster is ended to its end
	trap - EXIT
	scripts/kube-cluster.sh down "$cluster" >&2 || status=1
	if test -n "${KEEP:-}"; then echo "kube: logs are in $folder" >&2; else rm -rf "$folder"; fi
	exit "$status"
}
trap finish EXIT
trap 'exit 130' INT TERM

note() { echo "kube: $*" >&2; }
fail() {
	note "$*"
	exit 1
}

# row STEP SEEN adds what a story has seen since the last row, or since its start.
row() {
	note "$1: $2 ($((SECONDS - since)) s)"
	printf '| %s | %s | %d s |\n' "$1" "$2" $((SECONDS - since)) >>"$folder/rows"
	since=$SECONDS
}
since=0

# together STORY... runs stories at the same time, and ends with the first that fails.
together() {
	local story jobs=()
	for story; do
		(
			trap - EXIT INT TERM
			since=$SECONDS
			"$story"
		) &
		jobs+=($!)
	done
	for story; do
		wait -n "${jobs[@]}" || {
			kill "${jobs[@]}" 2>/dev/null || true
			wait
			exit 1
		}
	done
	since=$SECONDS
}

# built NAME TITLE FLAGS... builds tools/kube/NAME into the cache, unless it is there from the same sources.
built() {
	local name=$1 title=$2 sum from="from the cache"
	shift 2
	sum=$( (cat tools/kube/"$name"/{go.mod,go.sum,main.go} && echo "$@") | sha256sum | cut -c1-16)
	if ! test -e "$cache/$name-$sum"; then
		note "building $name: minutes"
		mkdir -p "$cache"
		(cd "tools/kube/$name" && CGO_ENABLED=0 go build -trimpath "$@" -o "$cache/$name-$sum.$$" .)
		mv "$cache/$name-$sum.$$" "$cache/$name-$sum"
		from="built"
	fi
	ln -s "$cache/$name-$sum" "$cluster/$name"
	row "$title" "$from, $(($(stat -c %s "$cache/$name-$sum") / 1000000)) MB"
}
variables=k8s.io/component-base/version
built parts "Kubernetes $version" -ldflags "-s -w -X $variables.gitVersion=$version -X $variables.gitMajor=1 -X $variables.gitMinor=34"
built dns CoreDNS -ldflags "-s -w"

# tag NAME prints the name and tag in an image archive.
tag() { tar -xOf "$cluster/images/$1.tar" manifest.json | grep -o "$1:[^\"]*"; }

# The images: for dbtester, for Java, for pods' namespaces, and the one from which results are
# fetched. Its commands are links to its executable.
ln -s "$PWD/bin/dbtester" "$cluster/dbtester"
cp bin/images/dbtester.tar bin/images/dbtester-java.tar "$cluster/images"
mkdir -p "$folder/root/usr/bin"
for command in sh sleep tar; do ln -s dbtester "$folder/root/usr/bin/$command"; done
(
	cd tools/kube
	CGO_ENABLED=0 go build -trimpath -o "$folder/pause" ./pause
	go run ./images -binary "$folder/pause" -tag pause:kube -out "$cluster/images/pause.tar"
	go run ./images -binary "$(command -v busybox)" -root "$folder/root" -tag busybox:1.37 -out "$cluster/images/busybox.tar"
) >&2
row "images" "pause, busybox, $(tag dbtester), $(tag dbtester-java)"

scripts/kube-cluster.sh up "$cluster" >&2
kubectl=$cluster/kubectl
row "cluster" "$("$kubectl" get nodes --no-headers | awk '{ print $1 " " $2 " " $5 }' | paste -sd, | sed 's/,/, /g')"

# page SECTION NAMESPACE prints the commands in a section of docs/kubernetes.md, with another
# namespace.
page() {
	awk -v section="## $1" '/^## / { on = index($0, section) == 1 } /^```/ { sh = on && $0 == "```sh"; next } sh' docs/kubernetes.md | sed "s/\bbench\b/$2/g"
}

# run FOLDER COMMANDS executes commands in a folder, with kubectl and dbtester.
run() { (cd "$1" && PATH=$cluster:$PATH exec bash -euo pipefail -c "$2"); }

# disks NAMESPACE SIZE... makes disks in a storage class with the namespace's name: folders that the
# pods' user may write to.
disks() {
	local namespace=$1 size n=0
	shift
	for size; do
		n=$((n + 1))
		install -d -o 65532 -g 65532 "$folder/$namespace/disk-$n"
		cat <<-END
			---
			apiVersion: v1
			kind: PersistentVolume
			metadata: {name: $namespace-$n}
			spec:
			  capacity: {storage: $size}
			  accessModes: [ReadWriteOnce]
			  persistentVolumeReclaimPolicy: Retain
			  storageClassName: $namespace
			  hostPath: {path: "$folder/$namespace/disk-$n", type: Directory}
		END
	done >"$folder/$namespace/disks.yaml"
	"$kubectl" apply -f "$folder/$namespace/disks.yaml" >&2
}

# Loads have no rate where a run must be valid: a busy machine does not miss it.

# begin NAMESPACE FLAGS... renders the experiment that it reads, executes the commands that the
# manifests begin with, and applies them. The namespace lets in no pod that has more rights than the
# Pod Security Standard "restricted" allows.
begin() {
	local namespace=$1
	shift
	mkdir "$folder/$namespace"
	cat >"$folder/$namespace/bench.yaml"
	"$kubectl" create namespace "$namespace" >&2
	"$kubectl" label namespace "$namespace" pod-security.kubernetes.io/enforce=restricted pod-security.kubernetes.io/warn=restricted >&2
	disks "$namespace" 20Gi 20Gi 20Gi 10Gi
	bin/dbtester kube render --config "$folder/$namespace/bench.yaml" --namespace "$namespace" --storage-class "$namespace" --share-nodes \
		--cpus 250m --memory 1Gi --control-cpus 500m --control-memory 512Mi "$@" >"$folder/$namespace/manifests.yaml"
	run "$folder/$namespace" "$(sed -n '/^apiVersion/q; s/^#   //p' "$folder/$namespace/manifests.yaml")" >&2
	run "$folder/$namespace" "kubectl apply -f manifests.yaml" >&2
}

# explain NAMESPACE prints why a Job did not end as it must.
explain() {
	"$kubectl" -n "$1" get pods -o wide >&2 || true
	"$kubectl" -n "$1" get events --sort-by=.lastTimestamp >&2 || true
	"$kubectl" -n "$1" logs job/control --tail=60 >&2 || true
}

# ended NAMESPACE REASON waits until control's Job has ended, asks for the reason as the page does,
# and fails unless it is the one.
ended() {
	local end=$((SECONDS + 300)) reason=
	until test -n "$reason"; do
		if test $SECONDS -ge $end; then
			explain "$1"
			fail "the Job of $1 has not ended"
		fi
		sleep 1
		reason=$(run "$folder/$1" "$(page 4 "$1" | grep jsonpath)")
	done
	"$kubectl" -n "$1" logs job/control >"$folder/$1/control.log"
	"$kubectl" -n "$1" get pods -o 'custom-columns=POD:.metadata.name,NODE:.spec.nodeName,ADDRESS:.status.podIP,PHASE:.status.phase' >"$folder/$1/pods"
	if test "${reason%% *}" != "$2"; then
		explain "$1"
		fail "the Job of $1 ended with $reason, want $2"
	fi
}

# fetched NAMESPACE fetches and analyzes the records as the page does.
fetched() {
	sed -n '/^apiVersion: v1$/,/^```$/p' docs/kubernetes.md | sed "\$d; s/namespace: bench/namespace: $1/" >"$folder/$1/fetch.yaml"
	run "$folder/$1" "$(page 5 "$1")" >"$folder/$1/report.txt"
}

# shown NAMESPACE TITLE adds a section with what was run and what is in the report. Each TEXT that
# follows must be in the report or in control's log.
shown() {
	local namespace=$1 title=$2 text
	shift 2
	for text; do
		grep -qE -- "$text" "$folder/$namespace/report.txt" "$folder/$namespace/control.log" || {
			cat "$folder/$namespace/control.log" "$folder/$namespace/report.txt" >&2
			fail "neither the report nor the log of $namespace has $text"
		}
	done
	{
		printf '\n## %s\n\n```yaml\n' "$title"
		cat "$folder/$namespace/bench.yaml"
		printf '```\n\n```\n'
		cat "$folder/$namespace/pods"
		printf '```\n\n```\n'
		grep -E 'is lost: ' "$folder/$namespace/control.log" || true
		sed '/^+--/,$d; /^tar: /d; /^[^ ]*\//d' "$folder/$namespace/report.txt"
		awk '/^[^ ]/ { on = /^[^ ]*: INVALID / } /^$/ { on = 0 } on' "$folder/$namespace/report.txt"
		grep -E ' (TOTAL-REQUEST-NUMBER|KEYS-FOUND|OFFERED|SENT|OK|FAILED|UNKNOWN|SHED|UNSENT|SERVER-AVG-SECTORS-WRITTEN-DELTA-SUM) \|' "$folder/$namespace/report.txt"
		grep -E '^\[[0-9]+\] shared by' "$folder/$namespace/report.txt" || true
		printf '```\n'
	} >"$folder/$namespace/section"
}

# gone NAMESPACE deletes what was made, as the page does, while the next story begins.
gone() {
	{
		run "$folder/$1" "$(page 6 "$1")" && "$kubectl" delete -f "$folder/$1/disks.yaml" && touch "$folder/$1/gone"
	} >"$folder/$1/gone.log" 2>&1 &
}

# allGone STORY... waits until what they made is deleted.
allGone() {
	local story end=$((SECONDS + 120))
	for story; do
		until test -e "$folder/$story/gone"; do
			if test $SECONDS -ge $end; then
				cat "$folder/$story/gone.log" >&2
				fail "what $story made is not deleted"
			fi
			sleep .2
		done
	done
}

etcd() {
	begin etcd --image "$(tag dbtester)" <<-END
		title: etcd, load from two generators
		hosts: [10.0.0.2, 10.0.0.3, 10.0.0.4]
		generators: [10.0.0.8, 10.0.0.9]
		load: {operation: write, requests: 3000, clients: 8, key_size: 16, value_size: 256}
		databases: {etcd: }
	END
	ended etcd CompletionsReached
	fetched etcd
	shown etcd "etcd with certificates, two generators" 'TOTAL-REQUEST-NUMBER \| +3,000 ' 'KEYS-FOUND \| +3,000 / 3,000 ok' \
		'SECTORS-WRITTEN-DELTA-SUM \| .* \[[0-9]+\]' 'shared by 3 members.*: counted once'
	gone etcd
	row "etcd, certificates, two generators" "CompletionsReached, 3,000 requests"
}

zookeeper() {
	begin zookeeper --image "$(tag dbtester-java)" --agent-flag=--zookeeper-exec=/opt/zookeeper --agent-flag=--java-exec=java --cpus 800m <<-END
		title: ZooKeeper from the image with Java
		hosts: [10.0.0.2, 10.0.0.3, 10.0.0.4]
		load: {operation: write, requests: 2000, clients: 8, key_size: 16, value_size: 256}
		databases: {zookeeper: {version: 3.9.5}}
	END
	ended zookeeper CompletionsReached
	fetched zookeeper
	shown zookeeper "ZooKeeper" 'TOTAL-REQUEST-NUMBER \| +2,000 ' 'KEYS-FOUND \| +2,000 / 2,000 ok'
	gone zookeeper
	row "ZooKeeper, certificates" "CompletionsReached, 2,000 requests"
}

# deleted is a pod that is deleted while the load runs.
deleted() {
	begin deleted --image "$(tag dbtester)" <<-END
		title: A pod is deleted during the load
		hosts: [10.0.0.2, 10.0.0.3, 10.0.0.4]
		load: {operation: write, duration: 9s, rate: 100, clients: 20, key_size: 16, value_size: 256}
		databases: {etcd: }
	END
	local end=$((SECONDS + 300))
	until "$kubectl" -n deleted logs job/control 2>/dev/null | grep 'requests, offered' >/dev/null; do
		if test $SECONDS -ge $end; then
			explain deleted
			fail "the load of deleted has not begun"
		fi
		sleep .5
	done
	run "$folder/deleted" "kubectl -n deleted delete pod agent-1" >&2
	ended deleted PodFailurePolicy
	fetched deleted
	grep -q '"state": "complete"' "$folder"/deleted/results/*/*/manifest.json || fail "the records of deleted are not complete"
	shown deleted "Pod agent-1 deleted during the load" 'TOTAL-REQUEST-NUMBER \| +900 ' 'member 2 .* is lost' 'server lost: member 2'
	gone deleted
	row "pod agent-1 deleted during the load" "PodFailurePolicy, member 2 named, 900 requests, all records"
}

# The nodes have room for two stories' pods, but not for ZooKeeper's beside another.
read -ra stories <<<"${STORIES:-etcd deleted zookeeper}"
small=()
for story in "${stories[@]}"; do
	case $story in
	etcd | deleted) small+=("$story") ;;
	zookeeper) ;;
	*) fail "a story must be etcd, zookeeper or deleted, got $story" ;;
	esac
done
test ${#small[@]} = 0 || together "${small[@]}"
case " ${stories[*]} " in *" zookeeper "*) together zookeeper ;; esac
allGone "${stories[@]}"
scripts/kube-cluster.sh down "$cluster" >&2
row "end" "no namespace, control group, mount or process is left"

cat <<-END
	# Runs in Kubernetes

	Made by \`make kube\` with dbtester $(bin/dbtester version | awk 'NR == 1 { print $2 }'): Kubernetes $version from its Go modules (API server, controllers, scheduler, two kubelets),
	the etcd that is built into dbtester, CoreDNS $(awk '$1 == "github.com/coredns/coredns" { print $2 } $2 == "github.com/coredns/coredns" { print $3 }' tools/kube/dns/go.mod) for names,
	$(containerd --version | awk '{ print $1 " " $3 }') and $(runc --version | awk 'NR == 1 { print $1 " " $3 }').
	Nodes are network namespaces of one machine and share its processors, its disk and its kernel: numbers say nothing about a
	database, reports take all pods for one machine (equal boot ids), and count its disk once. The commands in the head of each manifest were executed, and those of
	sections 4 to 6 of [docs/kubernetes.md](../docs/kubernetes.md).

	| step | seen | time |
	|---|---|---|
END
cat "$folder/rows"
for story in "${stories[@]}"; do cat "$folder/$story/section"; done
