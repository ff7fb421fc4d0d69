# shellcheck shell=bash
# The scripts read this file first: with --help it prints the comment at the top of the
# script, and ends it.
usage() { sed -n '2,/^[^#]/{/^# shellcheck/d;s/^# \{0,1\}//p}' "$0"; }
case ${1-} in
-h | --help)
	usage
	exit 0
	;;
esac
