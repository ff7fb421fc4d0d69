#!/usr/bin/env bash
# Takes pictures of published reports, and of how the quickstart ends in a terminal:
# test-results/screens. Needs bin/dbtester and Chromium.
# shellcheck source=help.sh
source "$(dirname "$0")/help.sh"
set -euo pipefail
cd "$(dirname "$0")/.."
out=test-results/screens
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The quickstart ends with its report's first screen, which analyze prints too.
mkdir -p "$out" "$scratch/1"
cp test-results/quickstart/records/1/manifest.json "$scratch/1"
for packed in test-results/quickstart/records/1/*.tar.gz; do tar -C "$scratch/1" -xzf "$packed"; done
bin/dbtester analyze --out "$scratch/report" "$scratch/1" >"$scratch/shown" || test $? = 3
sed "s|$scratch/report|report|g; s|$scratch/1|results/quickstart|g" "$scratch/shown" | tail -30 >"$out/quickstart.txt"

${GO:-go} run ./tools/screens -reports test-results -out "$out"
size=$(du -sk "$out" | cut -f 1)
echo "screens: $out has $size kB"
test "$size" -lt 3072 || { echo "screens: the pictures are larger than 3 MB" >&2; exit 1; }
