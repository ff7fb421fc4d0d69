#!/usr/bin/env bash
# Does the steps in the GitHub Action (action.yml), and works in any other CI:
#
#	scripts/action.sh install    a release into RUNNER_TEMP, verified by its checksum
#	scripts/action.sh compare    dbtester compare, with a report in OUTPUT and a summary
#	scripts/action.sh comment    on a pull request; the comment with the same NAME is updated
#	scripts/action.sh gate       fails if VERDICT is one of FAIL_ON
#
# Environment: install VERSION, RELEASES (where releases are), and FAIL_ON to check its words before
# anything runs; compare ARGS, OUTPUT, and GITHUB_STEP_SUMMARY and GITHUB_OUTPUT, the files for the
# job's summary and outputs; comment OUTPUT, TOKEN, PULL_REQUEST, GITHUB_REPOSITORY, GITHUB_API_URL,
# NAME (by default dbtester-compare); gate FAIL_ON, VERDICT. Needs curl and tar; comment needs jq.
# shellcheck source=help.sh
source "$(dirname "$0")/help.sh"
set -euo pipefail

fail() {
	echo "::error::$*" >&2
	exit 1
}

# read_fail_on reads the words in FAIL_ON. One that is no verdict would never fail a job.
read_fail_on() {
	local word
	read -r -d '' -a fail_on <<<"${FAIL_ON//,/ }" || true # read fails at the end of what it reads
	for word in "${fail_on[@]}"; do
		case $word in
		worse | invalid | inconclusive) ;;
		*) fail "fail-on must have the words worse, invalid and inconclusive, got ${word@Q}" ;;
		esac
	done
}

install_release() {
	local arch name folder=$RUNNER_TEMP/dbtester
	[ -z "${FAIL_ON-}" ] || read_fail_on
	case $(uname -m) in
	x86_64) arch=amd64 ;;
	aarch64 | arm64) arch=arm64 ;;
	*) fail "there is no release for $(uname -m)" ;;
	esac
	name=dbtester-$VERSION-linux-$arch
	mkdir -p "$folder"
	for file in "$name.tar.gz" SHA256SUMS; do
		curl --fail --silent --show-error --location --retry 3 --output "$folder/$file" "$RELEASES/$VERSION/$file" ||
			fail "cannot download $RELEASES/$VERSION/$file"
	done
	(cd "$folder" && grep " $name.tar.gz\$" SHA256SUMS | sha256sum --check --strict --quiet) ||
		fail "$name.tar.gz is not the file that SHA256SUMS names"
	tar --extract --gzip --directory "$folder" --file "$folder/$name.tar.gz" --no-same-owner
	echo "$folder/$name" >>"$GITHUB_PATH"
	"$folder/$name/dbtester" --version
}

# excluded prints what an undecided comparison excludes, for each metric that decides.
excluded() {
	awk -F, 'NR > 1 && $3 == "true" && $7 != "" && $8 != "" {
		printf "%s %s: changes below %+.1f %% and above %+.1f %% are excluded", (n++ ? ";" : ""), $1, $7, $8 }' "$1"
}

compare() {
	local code=0 verdict args
	mkdir -p "$OUTPUT"
	read -r -d '' -a args <<<"$ARGS" || true # of any number of lines; no pattern of a name is expanded
	dbtester compare "${args[@]}" --output "$OUTPUT" --format markdown >"$OUTPUT/comment.md" || code=$?
	case $code in
	0) verdict=$(sed -n '1s/^### Compare: //p' "$OUTPUT/comment.md") ;;
	3) verdict=invalid ;;
	4) verdict=worse ;;
	5) verdict=inconclusive ;;
	*) verdict=error ;;
	esac
	if [ "$verdict" = inconclusive ] && [ -s "$OUTPUT/compare.csv" ]; then
		printf '\n> Neutral: not decided.%s.\n' "$(excluded "$OUTPUT/compare.csv")" >>"$OUTPUT/comment.md"
	fi
	[ "$verdict" != error ] || echo "dbtester compare ended with exit code $code: see the log of the job." >>"$OUTPUT/comment.md"
	cat "$OUTPUT/comment.md" >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}"
	printf 'verdict=%s\ncode=%d\n' "$verdict" "$code" >>"${GITHUB_OUTPUT:-/dev/stdout}"
}

# api METHOD PATH [BODY] calls GitHub's API. The token is in no argument, which others see.
api() {
	curl --fail --silent --show-error --request "$1" --config - ${3+--data-binary "@$3"} \
		--header 'Accept: application/vnd.github+json' --header 'Content-Type: application/json' \
		"${GITHUB_API_URL:-https://api.github.com}/repos/$GITHUB_REPOSITORY/$2" <<<"header = \"Authorization: Bearer $TOKEN\""
}

comment() {
	local name=${NAME:-dbtester-compare} body list found page marker
	[[ $PULL_REQUEST =~ ^[0-9]+$ ]] || fail "PULL_REQUEST must be a number, got ${PULL_REQUEST@Q}"
	[[ $name =~ ^[A-Za-z0-9._-]+$ ]] || fail "the name of a comparison must have letters, digits, '.', '_' and '-' only, got ${name@Q}"
	marker="<!-- $name -->"
	# A fork's artifact has what its author wants, so it must not lead to a file on this machine.
	[ -f "$OUTPUT/comment.md" ] && [ ! -L "$OUTPUT" ] && [ ! -L "$OUTPUT/comment.md" ] || fail "$OUTPUT/comment.md must be a file, and no link"
	# A stranger may write a comment with our marker. GitHub's own word says who wrote one.
	for page in {1..30}; do
		list=$(api GET "issues/$PULL_REQUEST/comments?per_page=100&page=$page")
		found=$(jq --arg marker "$marker" 'map(select((.body // "" | startswith($marker)) and
			(.user.type == "Bot" or (.author_association | IN("OWNER", "MEMBER", "COLLABORATOR"))))) | first | .id // empty' <<<"$list")
		[ -z "$found" ] && [ "$(jq length <<<"$list")" = 100 ] || break
	done
	body=$(mktemp)
	# A GitHub comment holds 65,536 characters.
	{ echo "$marker"; head -c 60000 "$OUTPUT/comment.md"; } | jq --raw-input --slurp '{body: .}' >"$body"
	if [ -n "$found" ]; then
		api PATCH "issues/comments/$found" "$body" >/dev/null
	else
		api POST "issues/$PULL_REQUEST/comments" "$body" >/dev/null
	fi
	rm "$body"
}

gate() {
	local word
	read_fail_on
	for word in "${fail_on[@]}" error; do
		[ "$VERDICT" != "$word" ] || fail "dbtester compare: $VERDICT"
	done
	[ -n "$VERDICT" ] || fail "dbtester compare printed no verdict"
	[ "$VERDICT" != inconclusive ] || echo "::notice::dbtester compare: inconclusive"
}

case ${1-} in
install) install_release ;;
compare) compare ;;
comment) comment ;;
gate) gate ;;
*) fail "scripts/action.sh install, compare, comment or gate (--help explains them)" ;;
esac
