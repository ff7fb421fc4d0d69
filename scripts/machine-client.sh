#!/usr/bin/env bash
# Makes a Debian or Ubuntu machine the client in experiments: control runs there.
#
#	machine-client.sh --binary FILE|URL --sha256 SUM --certs certs/control --user NAME
#
# Run it again at any time: it changes what is not yet as it should be, and prints that.
#
#	--binary FILE|URL   dbtester for this machine; may be left out once it is installed
#	--sha256 SUM        its checksum, which must match
#	--certs FOLDER      control's folder from dbtester certs; it is copied to /etc/dbtester/control
#	--user NAME         who runs control, reads its key and may open many files (root)
#	--no-packages       install no packages: chrony, curl
#	--root FOLDER       change the system in this folder, an image or a chroot
#	--dry-run           print what would change, and change nothing
set -euo pipefail
# shellcheck source=machine-common.sh
source "$(dirname "$0")/machine-common.sh"

user=root

while test $# -gt 0; do
	case $1 in
	--user)
		test -n "${2-}" || misuse "$1 needs a value"
		user=$2
		taken=2
		;;
	*) flag "$@" ;;
	esac
	test "$taken" -gt 0 || misuse "unknown flag $1"
	shift "$taken"
done
check_common
[[ $user =~ ^[A-Za-z_][0-9A-Za-z._-]*$ ]] || misuse "--user must be the name of a user, got '$user'"
test -n "$(ids "$user")" || fail "there is no user $user"

install_packages chrony curl ca-certificates
install_binary
put /etc/security/limits.d/dbtester.conf 644 root <<-END
	# Written by machine-client.sh. Every connection of a load is an open file.
	$user soft nofile $nofile
	$user hard nofile $nofile
END
if test -n "$certs"; then
	folder /etc/dbtester 755 root
	install_certs /etc/dbtester/control "$user"
fi
clock
summary
