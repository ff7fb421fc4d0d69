#!/usr/bin/env bash
# Three database machines and a client on Google Compute Engine:
#
#	scripts/gcloud.sh create    make them, install dbtester, start the agents
#	scripts/gcloud.sh delete    remove them; until then they cost money
#
# It needs gcloud, logged in, and bin/dbtester for linux/amd64 (make build). create may run again:
# it makes what is missing. DRY_RUN=1 prints the commands and runs nothing.
#
# The machines have their own network. From outside only SSH passes, from SSH_FROM: by default
# Google's proxy for logged-in users (IAP). The databases' disks have the type DISK_TYPE and are
# mounted at /var/lib/dbtester.
#
# Environment, with the defaults:
#
#	PROJECT=            gcloud's own
#	ZONE=us-central1-a
#	CLUSTER=dbtester    the machines are CLUSTER-1, -2, -3 and CLUSTER-client
#	SERVER_TYPE=n2-standard-8 CLIENT_TYPE=n2-standard-16
#	DISK_TYPE=pd-ssd DISK_SIZE=200GB
#	IMAGE_FAMILY=debian-12 IMAGE_PROJECT=debian-cloud
#	SSH_FROM=35.235.240.0/20
#	BINARY=bin/dbtester for the machines, DBTESTER=$BINARY for this one
#	CERTS=certs         the CA; it is made if missing
# shellcheck source=help.sh
source "$(dirname "$0")/help.sh"
set -euo pipefail

zone=${ZONE:-us-central1-a}
name=${CLUSTER:-dbtester}
server_type=${SERVER_TYPE:-n2-standard-8}
client_type=${CLIENT_TYPE:-n2-standard-16}
disk_type=${DISK_TYPE:-pd-ssd}
disk_size=${DISK_SIZE:-200GB}
image_family=${IMAGE_FAMILY:-debian-12}
image_project=${IMAGE_PROJECT:-debian-cloud}
proxy=35.235.240.0/20
ssh_from=${SSH_FROM:-$proxy}
binary=${BINARY:-bin/dbtester}
dbtester=${DBTESTER:-$binary}
certs=${CERTS:-certs}
scripts=$(dirname "$0")
dry=${DRY_RUN:-0}

region=${zone%-*}
range=10.240.0.0/24
client=$name-client
servers=("$name-1" "$name-2" "$name-3")
addresses=(10.240.0.11 10.240.0.12 10.240.0.13)
client_address=10.240.0.10
project=()
test -z "${PROJECT:-}" || project=(--project "$PROJECT")
tunnel=()
test "$ssh_from" != "$proxy" || tunnel=(--tunnel-through-iap)

fail() {
	echo "gcloud.sh: $*" >&2
	exit 1
}

# run runs a command, or prints it as a shell reads it.
run() {
	if test "$dry" != 1; then
		"$@"
		return
	fi
	local word line=''
	for word; do
		[[ $word =~ ^[0-9A-Za-z_./:=,@%+-]+$ ]] || word=${word@Q}
		line+="${line:+ }$word"
	done
	echo "$line"
}

compute() { run gcloud compute "$@" "${project[@]}"; }

# there reports whether something exists; a dry run takes nothing to exist.
there() { test "$dry" != 1 && gcloud compute "$@" "${project[@]}" >/dev/null 2>&1; }

remote() { # remote MACHINE COMMAND
	compute ssh "$1" --zone "$zone" "${tunnel[@]}" --command "$2"
}

# reach waits until a new machine lets SSH in.
reach() {
	local try
	for try in $(seq 30); do
		if remote "$1" 'mkdir -p setup'; then return; fi
		echo "gcloud.sh: $1 is not reached yet (attempt $try of 30)" >&2
		sleep 5
	done
	fail "$1 is not reached by SSH"
}

network() {
	there networks describe "$name" || compute networks create "$name" --subnet-mode custom
	there networks subnets describe "$name" --region "$region" ||
		compute networks subnets create "$name" --network "$name" --region "$region" --range "$range"
	there firewall-rules describe "$name-members" ||
		compute firewall-rules create "$name-members" --network "$name" --allow tcp,udp,icmp --source-ranges "$range"
	there firewall-rules describe "$name-ssh" ||
		compute firewall-rules create "$name-ssh" --network "$name" --allow tcp:22 --source-ranges "$ssh_from"
}

# machine NAME ADDRESS TYPE FLAGS... makes a machine that may call no Google service.
machine() {
	local one=$1 address=$2 type=$3
	shift 3
	if there instances describe "$one" --zone "$zone"; then return; fi
	compute instances create "$one" --zone "$zone" --machine-type "$type" --subnet "$name" --private-network-ip "$address" \
		--image-family "$image_family" --image-project "$image_project" --no-service-account --no-scopes "$@"
}

# setup MACHINE CERTS COMMAND copies what the machine scripts need, runs one script and removes the
# copies, among them a key, also if something fails.
setup() {
	reach "$1"
	compute scp --recurse --zone "$zone" "${tunnel[@]}" "$binary" "$scripts/machine-common.sh" "$scripts/machine-server.sh" \
		"$scripts/machine-client.sh" "$2" "$1:setup/" || {
		remote "$1" 'rm -rf setup' || true
		fail "nothing was copied to $1"
	}
	remote "$1" "trap \"rm -rf setup\" EXIT; sudo setup/$3 --binary setup/$(basename "$binary") --sha256 $sum --certs setup/$(basename "$2")"
}

# certificates makes the CA, or ends the script if it has no certificate for a machine.
certificates() {
	local one
	if ! test -f "$certs/ca.pem"; then
		run "$dbtester" certs init --dir "$certs" --hosts "$(IFS=, && echo "${addresses[*]}")"
		return
	fi
	for one in "${addresses[@]/#/agent-}" control; do
		test -f "$certs/$one/key.pem" || fail "CERTS=$certs has a CA without $one, which must be made or another folder be named"
	done
}

create() {
	local i list
	test -f "$binary" || fail "BINARY must be dbtester for linux/amd64 (make build), and $binary is not there"
	sum=$(sha256sum "$binary" | cut -d ' ' -f 1)
	certificates
	network
	for i in "${!servers[@]}"; do
		machine "${servers[i]}" "${addresses[i]}" "$server_type" \
			--create-disk "name=${servers[i]}-data,device-name=data,type=$disk_type,size=$disk_size,auto-delete=yes"
	done
	machine "$client" "$client_address" "$client_type"
	list=$(IFS=, && echo "${addresses[*]}")
	for i in "${!servers[@]}"; do
		setup "${servers[i]}" "$certs/agent-${addresses[i]}" "machine-server.sh --listen ${addresses[i]}:3500 --disk /dev/disk/by-id/google-data"
	done
	# shellcheck disable=SC2016 # it is the user of the other machine
	setup "$client" "$certs/control" 'machine-client.sh --user "$USER"'
	cat <<-END

		# The agents are ${addresses[*]/%/:3500}
		# In the experiment file: hosts: [${list//,/, }] and agent_certs: /etc/dbtester/control
		# Log in to the client with:
	END
	dry=1 compute ssh "$client" --zone "$zone" "${tunnel[@]}"
}

# remove KIND NAME... deletes those that exist, in $where. It ends the script if that cannot
# be known; a dry run takes everything to exist.
remove() {
	local kind one said found=()
	read -ra kind <<<"$1"
	shift
	for one; do
		if test "$dry" = 1 || said=$(gcloud compute "${kind[@]}" describe "$one" "${where[@]}" "${project[@]}" 2>&1 >/dev/null); then
			found+=("$one")
		elif [[ $said != *"/$one' was not found"* ]]; then
			fail "${kind[*]} $one: $said"
		fi
	done
	test ${#found[@]} = 0 || compute "${kind[@]}" delete "${found[@]}" "${where[@]}" --quiet
}

delete() {
	local where=(--zone "$zone")
	remove instances "${servers[@]}" "$client"
	where=()
	remove firewall-rules "$name-members" "$name-ssh"
	where=(--region "$region")
	remove "networks subnets" "$name"
	where=()
	remove networks "$name"
}

case ${1:-} in
create | delete) "$1" ;;
*)
	sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
	exit 2
	;;
esac
