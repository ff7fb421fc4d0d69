#!/usr/bin/env bash
# Builds a release's files into a folder: scripts/release.sh [FOLDER]. For each target it makes an
# archive with a binary, static on Linux, the scripts that set up Linux machines, the README, the
# licence and its modules' licences, and a bill of materials; then SHA256SUMS over all. The same
# commit, Go release and target give the same bytes, wherever the tree lies.
#
#	TARGETS        systems and processors, such as "linux/amd64 linux/arm64"
#	VERSION        the release; by default what git describe reports
#	COMMIT, EPOCH  the commit, and its time in seconds since 1970, for a tree without
#	               git; by default HEAD's, in a tree without changes
#	BINARY         an executable that is packed for the only target instead of a build,
#	               and compressed less: for tests
#	GO             the go command
#
# Needs GNU tar, gzip and sha256sum.
# shellcheck source=help.sh
source "$(dirname "$0")/help.sh"
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022

GO=${GO:-go}
TARGETS=${TARGETS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64}
if [ -z "${COMMIT:-}" ] || [ -z "${EPOCH:-}" ]; then
	if [ -n "$(git status --porcelain)" ]; then
		echo "release: the tree differs from its commit; commit or stash the changes" >&2
		exit 1
	fi
	COMMIT=$(git rev-parse HEAD)
	EPOCH=$(git show -s --format=%ct HEAD)
fi
VERSION=${VERSION:-$(git describe --tags --always --abbrev=12)}
date=$(date -u -d "@$EPOCH" +%Y-%m-%dT%H:%M:%SZ)
out=${1:-bin/release/$VERSION}
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Nothing in the user's environment decides the bytes.
unset GOOS GOARCH GOEXPERIMENT
export LC_ALL=C TZ=UTC CGO_ENABLED=0 GOWORK=off GOFLAGS=-mod=readonly GOAMD64=v1 GOARM64=v8.0 GOFIPS140=off

"$GO" build -trimpath -buildvcs=false -o "$work/sbom" ./tools/sbom
files=() level=9
for target in $TARGETS; do
	name=dbtester-$VERSION-${target%/*}-${target#*/}
	mkdir "$work/$name"
	if [ -n "${BINARY:-}" ]; then
		cp "$BINARY" "$work/$name/dbtester"
		level=1
	else
		echo "build $name with $("$GO" env GOVERSION)"
		GOOS=${target%/*} GOARCH=${target#*/} "$GO" build -trimpath -buildvcs=false \
			-ldflags "-s -w -X main.version=$VERSION -X main.commit=$COMMIT -X main.date=$date" \
			-o "$work/$name/dbtester" ./cmd/dbtester
	fi
	"$work/sbom" -version "$VERSION" -created "$date" "$work/$name/dbtester" >"$out/$name.cdx.json"
	"$work/sbom" -notices -modules "$("$GO" env GOMODCACHE)" -goroot "$("$GO" env GOROOT)" "$work/$name/dbtester" >"$work/$name/NOTICES"
	cp LICENSE README.md "$work/$name/"
	if [[ $target == linux/* ]]; then
		mkdir "$work/$name/scripts"
		cp scripts/machine-{common,server,client}.sh "$work/$name/scripts/"
	fi
	tar --create --format=ustar --sort=name --mtime="@$EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
		--directory="$work" "$name" | gzip -n "-$level" >"$out/$name.tar.gz"
	files+=("$name.cdx.json" "$name.tar.gz")
done
cd "$out"
sha256sum "${files[@]}" | sort -k 2 >SHA256SUMS
cat SHA256SUMS
