#!/usr/bin/env bash
# Is one node in the cluster that scripts/kube-cluster.sh starts: kube-node.sh FOLDER NAME ADDRESS
# PODS. It is the first process of its own namespaces (network, mounts, host name, processes,
# control groups), so that containerd, the kubelet and all containers end with it, and so do its
# mounts. The machine is not changed: what a kubelet would set is put aside below.
# shellcheck source=help.sh
source "$(dirname "$0")/help.sh"
set -euo pipefail
folder=$1 name=$2 address=$3 pods=$4
own=$folder/$name
mkdir -p "$own"/{kubelet,containerd,cni,log,lib}

hostname "$name"
mount --make-rprivate /
mount -t proc proc /proc

# The machine's control groups, seen from the node's own group.
mount -t tmpfs groups /sys/fs/cgroup
while IFS=: read -r id controllers _; do
	test "$id" != 0 || continue # version 2
	case $controllers in name=*) options=none,$controllers ;; *) options=$controllers ;; esac
	group=/sys/fs/cgroup/${controllers#name=}
	mkdir "$group"
	mount -t cgroup -o "$options" cgroup "$group"
done </proc/self/cgroup

# The node's own folders for what programs keep at fixed places.
mount -t tmpfs run /run
mount -t tmpfs log /var/log
mkdir /run/containerd /run/netns /var/log/pods /var/log/containers
mount --bind "$own/lib" /var/lib
mkdir -p /var/lib/cni /var/lib/kubelet
mount --bind "$own/kubelet" /var/lib/kubelet

# The kernel's settings are the machine's: the kubelet reads what it would set, and can set only
# those for the node's network.
mkdir /run/net /run/settings
mount --bind /proc/sys/net /run/net
mount --bind /proc/sys /proc/sys
mount -o remount,bind,ro /proc/sys
mount --bind /run/net /proc/sys/net
for setting in kernel/panic=10 kernel/panic_on_oops=1 vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
	file=/run/settings/$(basename "${setting%=*}")
	echo "${setting#*=}" >"$file"
	mount --bind "$file" "/proc/sys/${setting%=*}"
done
echo 1 >/proc/sys/net/ipv4/ip_forward

cat >"$own/cni/10-bridge.conflist" <<END
{"cniVersion": "0.4.0", "name": "pods", "plugins": [{"type": "bridge", "bridge": "pods", "isGateway": true, "ipMasq": false,
 "ipam": {"type": "host-local", "ranges": [[{"subnet": "$pods"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
END
cat >"$own/containerd.toml" <<END
version = 2
root = "$own/containerd"
state = "/run/containerd"
oom_score = 0
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.internal.v1.opt", "io.containerd.tracing.processor.v1.otlp"]
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "docker.io/library/pause:kube"
  restrict_oom_score_adj = true
  disable_apparmor = true
  disable_hugetlb_controller = true
  tolerate_missing_hugetlb_controller = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$own/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
END
cat >"$own/kubelet.yaml" <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
cgroupDriver: cgroupfs
failSwapOn: false
failCgroupV1: false
oomScoreAdj: 0
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
address: $address
clusterDNS: [10.77.0.1]
clusterDomain: cluster.local
resolvConf: ""
localStorageCapacityIsolation: false
evictionHard: {memory.available: 100Mi}
enforceNodeAllocatable: []
imageGCHighThresholdPercent: 100
nodeStatusUpdateFrequency: 2s
syncFrequency: 5s
END

containerd -c "$own/containerd.toml" >"$own/log/containerd" 2>&1 &
for _ in $(seq 300); do
	ctr -a /run/containerd/containerd.sock version >/dev/null 2>&1 && break
	sleep .1
done
for image in "$folder"/images/*.tar; do
	ctr -a /run/containerd/containerd.sock -n k8s.io images import "$image" >>"$own/log/images" 2>&1
done
"$folder/parts" kubelet --config="$own/kubelet.yaml" --kubeconfig="$folder/kubeconfig" --node-ip="$address" \
	--hostname-override="$name" --root-dir=/var/lib/kubelet >"$own/log/kubelet" 2>&1 &

# The first process collects what others leave behind, until it is killed.
while true; do wait -n 2>/dev/null || sleep 1; done
