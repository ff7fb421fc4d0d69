# shellcheck shell=bash
# The scripts read this file first: with --help it prints the comment at the script's top, and ends
# the script.
usage() { sed -n '2,/^[^#]/{/^# shellcheck/d;s/^# \{0,1\}//p}' "$0"; }
case ${1-} in
-h | --help)
	usage
	exit 0
	;;
esac
