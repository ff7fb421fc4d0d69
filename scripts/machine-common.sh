# shellcheck shell=bash disable=SC2034
# What machine-server.sh and machine-client.sh have in common: they read this file. A
# function here looks first and changes only what is not yet as it should be, so that a
# script may run any number of times.

dry=0         # 1: print what would change, and change nothing
root=''       # the folder of another root, without a slash at the end; empty: this machine
changes=0     # so many things were not as they should be
binary=''     # the executable, as a file or an address
sha256=''     # its checksum
packages=1    # 0: install none
certs=''      # folder of certificates
nofile=262144 # open files of the agent and its members, and of the client
umask 022
PATH=$PATH:/usr/sbin:/sbin
program=$(basename "$0")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

note() { echo "$program: $*"; }

fail() {
	note "$*" >&2
	exit 1
}

# misuse is for mistakes in the command line.
misuse() {
	note "$* (--help lists the flags)" >&2
	exit 2
}

# usage prints the comment at the script's top.
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }

# change TEXT COMMAND... prints what changes, and runs the command unless this is a dry run.
change() {
	note "$1"
	changes=$((changes + 1))
	shift
	test "$dry" = 1 || "$@"
}

# flag FLAG [VALUE] reads a flag that both scripts have, and sets $taken to how many words
# it took; 0 is a flag that it does not know.
flag() {
	taken=2
	case $1 in
	--binary) binary=${2-} ;;
	--sha256) sha256=${2-} ;;
	--certs) certs=${2-} ;;
	--root) root=${2-} ;;
	--no-packages) packages=0 taken=1 ;;
	--dry-run) dry=1 taken=1 ;;
	-h | --help)
		usage
		exit 0
		;;
	*) taken=0 ;;
	esac
	test "$taken" != 2 || test -n "${2-}" || misuse "$1 needs a value"
}

# check_common ends the script if it cannot use a value given for these flags.
check_common() {
	if test -n "$binary"; then
		[[ $sha256 =~ ^[0-9a-f]{64}$ ]] || misuse "--binary needs --sha256 with 64 hexadecimal digits, got '$sha256'"
	elif test -n "$sha256"; then
		misuse "--sha256 needs --binary"
	fi
	if test -n "$root"; then
		test -f "$root/etc/passwd" || fail "$root must be the root of a Debian or Ubuntu system: it has no etc/passwd"
		root=$(cd "$root" && pwd)
		test "$root" != / || root=''
	fi
	check_certs
	check_binary
	test "$dry" = 1 || test "$(id -u)" = 0 || fail "it must run as root; --dry-run prints what it would change"
}

# check_binary ends the script if there is no executable to install, or a wrong one.
check_binary() {
	if test -z "$binary"; then
		test -x "$root/usr/local/bin/dbtester" || misuse "--binary is required: $root/usr/local/bin/dbtester is not there"
	elif ! [[ $binary =~ ^https?:// ]]; then
		check_sum "$binary"
	fi
}

# check_sum FILE ends the script if the file is not the executable that was asked for.
check_sum() {
	test "$(sum_of "$1")" = "$sha256" || fail "$binary must have the checksum $sha256, got '$(sum_of "$1")'"
}

# check_certs ends the script if --certs names no folder that dbtester certs made.
check_certs() {
	local name
	if test -z "$certs"; then return; fi
	for name in ca.pem cert.pem key.pem; do
		test -f "$certs/$name" || fail "$certs must be a folder that dbtester certs made: it has no $name"
	done
}

# ids USER prints the user's and its group's numbers, or nothing without such a user.
ids() {
	if test "$1" = root; then
		echo 0:0
	elif test -n "$root"; then
		awk -F: -v name="$1" '$1 == name { print $3 ":" $4 }' "$root/etc/passwd"
	else
		{ getent passwd "$1" || true; } | awk -F: '{ print $3 ":" $4 }'
	fi
}

# folder PATH MODE USER makes a folder, or gives it this mode and user. A link is refused:
# it could have root give away any folder. Only root may write above the folder, or a link
# could take its place after that.
folder() {
	local path=$root$1 owner
	test ! -L "$path" || fail "$path must be a folder and no link; it leads to $(readlink "$path")"
	owner=$(ids "$3")
	if test -d "$path" && test "$(stat -c '%a %u:%g' "$path")" = "$2 $owner"; then return; fi
	change "make the folder $path, mode $2, of $3" install -d -m "$2" -o "${owner%:*}" -g "${owner#*:}" "$path"
}

# place SOURCE PATH MODE USER copies a file there, unless it is there.
place() {
	local path=$root$2 owner
	owner=$(ids "$4")
	if cmp -s "$1" "$path" && test "$(stat -c '%a %u:%g' "$path")" = "$3 $owner"; then return; fi
	change "write $path, mode $3, of $4" copy "$1" "$path" "$3" "$owner"
}

# copy SOURCE PATH MODE OWNER replaces a file in one step: it may be a running program.
copy() {
	install -D -m "$3" -o "${4%:*}" -g "${4#*:}" "$1" "$2.new"
	mv -f "$2.new" "$2"
}

# put PATH MODE USER is place for standard input.
put() {
	cat >"$scratch/text"
	place "$scratch/text" "$@"
}

# sum_of FILE prints its checksum, or nothing if there is no such file.
sum_of() { test ! -f "$1" || sha256sum "$1" | cut -d ' ' -f 1; }

# install_binary installs dbtester. What has another checksum is never installed.
install_binary() {
	local path=/usr/local/bin/dbtester file=$binary
	if test -z "$binary"; then return; fi
	if test "$(sum_of "$root$path")" = "$sha256"; then
		file=$root$path
	elif [[ $binary =~ ^https?:// ]]; then
		if test "$dry" = 1; then
			change "download $binary to $root$path"
			return
		fi
		file=$scratch/dbtester
		curl --fail --silent --show-error --location --output "$file" "$binary"
	fi
	check_sum "$file"
	place "$file" "$path" 755 root
}

# install_packages NAME... installs those that are missing.
install_packages() {
	local name missing=()
	if test "$packages" = 0; then return; fi
	for name; do
		test "$(dpkg-query --admindir "$root/var/lib/dpkg" -W -f '${db:Status-Status}' "$name" 2>/dev/null)" = installed || missing+=("$name")
	done
	if test ${#missing[@]} = 0; then return; fi
	change "install packages: ${missing[*]}" apt_install "${missing[@]}"
}

# apt_install installs packages. In another root it mounts /proc meanwhile, which Java asks
# for, where no other process sees it.
apt_install() {
	local inside=()
	# shellcheck disable=SC2016
	test -z "$root" || inside=(unshare --mount bash -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$root")
	"${inside[@]}" apt-get update -qq
	"${inside[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# install_certs FOLDER USER copies a folder that dbtester certs made. The user gets the
# files and may not change what the folder lists, as root writes there.
install_certs() {
	folder "$1" 755 root
	place "$certs/ca.pem" "$1/ca.pem" 644 "$2"
	place "$certs/cert.pem" "$1/cert.pem" 644 "$2"
	place "$certs/key.pem" "$1/key.pem" 600 "$2"
}

# running reports whether this machine runs systemd and is the one to be changed.
running() { test -z "$root" && test -d /run/systemd/system; }

# clock prints whether a time service keeps the clock: chrony needs a minute at first.
clock() {
	if ! running; then return; fi
	note "clock synchronized: $(timedatectl show -p NTPSynchronized --value 2>/dev/null || echo unknown)"
}

# summary prints how much changed.
summary() {
	if test "$changes" = 0; then
		note "nothing to change"
	elif test "$dry" = 1; then
		note "changes that would be made: $changes"
	else
		note "changes made: $changes"
	fi
}
