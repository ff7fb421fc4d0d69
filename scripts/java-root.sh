#!/usr/bin/env bash
# Makes the root file system of the image with Java and ZooKeeper from Debian packages and
# jars, in a folder: scripts/java-root.sh FOLDER. The packages are those that
# scripts/java-packages.txt pins by version and checksum; ZooKeeper is the release that
# dbtester install has in its cache.
#
#	--resolve   instead: print java-packages.txt for what Debian has today
#	DBTESTER    the executable of dbtester; by default bin/dbtester
#	ZOOKEEPER   the release of ZooKeeper; by default 3.9.5
#
# Needs a Debian machine of the packages' release and processor, with apt-get, dpkg-deb and
# what dbtester install needs. The scripts of packages do not run: Java needs none of them.
# A package that Debian has replaced since is not found: then --resolve, and look at the
# difference.
# shellcheck source=help.sh
source "$(dirname "$0")/help.sh"
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022
java=openjdk-17-jre-headless
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ "${1:-}" = --resolve ]; then
	: >"$work/status"
	cd "$work"
	apt-get -qq -y --print-uris -o "Dir::State::status=$work/status" -o APT::Install-Recommends=false install "$java" |
		awk '{ print $2 }' | sed -E 's/^([^_]+)_([^_]+)_[^_]+\.deb$/\1=\2/; s/%3a/:/' >wanted
	xargs apt-get -qq -o APT::Sandbox::User=root download <wanted
	LC_ALL=C sha256sum -- *.deb | LC_ALL=C sort -k2
	exit
fi

out=${1:?a folder for the root file system}
# All that decides what is in it: a folder that was made from the same is kept, and one that this
# script made from something else is replaced.
made=$(cat "$PWD/scripts/java-root.sh" "$PWD/scripts/java-packages.txt" <(echo "${ZOOKEEPER:-3.9.5}") | sha256sum | cut -c1-64)
if test -e "$out" && test "$(cat "$out.made" 2>/dev/null)" = "$made"; then exit; fi
if test -e "$out.made"; then rm -rf "$out" "$out.made"; fi
mkdir -p "$out" "$work/packages"
test -z "$(ls -A "$out")" || { echo "java-root: $out is not empty" >&2; exit 1; }
list=$PWD/scripts/java-packages.txt
(
	cd "$work/packages"
	awk '{ print $2 }' "$list" | sed -E 's/^([^_]+)_([^_]+)_[^_]+\.deb$/\1=\2/; s/%3a/:/' | xargs apt-get -qq -o APT::Sandbox::User=root download
	sha256sum --quiet --check "$list"
)
mkdir -p "$out"/usr/{bin,sbin,lib,lib64}
for dir in bin sbin lib lib64; do ln -s "usr/$dir" "$out/$dir"; done
while read -r _ package; do
	dpkg-deb --fsys-tarfile "$work/packages/$package" | tar -C "$out" --keep-directory-symlink -x
done <"$list"
rm -rf "$out"/usr/share/{doc,man,locale,info,lintian} "$out"/var/cache/* "$out"/var/log/*

dbtester=${DBTESTER:-bin/dbtester}
zookeeper=${ZOOKEEPER:-3.9.5}
"$dbtester" install --cache "$work/cache" "zookeeper@$zookeeper" >&2
mkdir -p "$out/opt"
cp -r "$work/cache/zookeeper/$zookeeper/lib" "$out/opt/zookeeper"
echo "$made" >"$out.made"
