#!/usr/bin/env bash
# Builds a release's files twice and compares them: from two copies of HEAD at paths that differ in
# length, the second with an empty build cache, another time zone and another umask. TARGETS are as
# in release.sh; linux/amd64 by default.
# shellcheck source=help.sh
source "$(dirname "$0")/help.sh"
set -euo pipefail
cd "$(dirname "$0")/.."

export TARGETS=${TARGETS:-linux/amd64}
export VERSION=${VERSION:-$(git describe --tags --always --abbrev=12)}
COMMIT=$(git rev-parse HEAD)
EPOCH=$(git show -s --format=%ct HEAD)
export COMMIT EPOCH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
one=$work/one two=$work/a/longer/path/of/the/other/copy
for tree in "$one" "$two"; do
	mkdir -p "$tree"
	git archive "$COMMIT" | tar --extract --directory="$tree"
done

"$one/scripts/release.sh" "$one/out"
(
	umask 077
	TZ=Asia/Tokyo GOCACHE="$work/cache" "$two/scripts/release.sh" "$two/out"
)
cmp "$one/out/SHA256SUMS" "$two/out/SHA256SUMS"
(cd "$two/out" && sha256sum --check --quiet SHA256SUMS)
echo "release-check: both builds of $VERSION for $TARGETS have the same bytes"
