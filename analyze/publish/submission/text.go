package submission

import (
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/coreos/dbtester/pkg/files/pattern"
)

// credentialWords occur in the names of settings and flags whose values are credentials.
const credentialWords = `passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential`

// secretForms match values that look like credentials. The last group of each form is removed;
// without a group, the whole match is.
var secretForms = []func() *regexp.Regexp{
	pattern.New(`(?s)-----BEGIN [A-Z0-9 ]+-----.*?(?:-----END [A-Z0-9 ]+-----|$)`),
	pattern.New(`://([^/\s:@]*:[^@\s/]+)@`),
	pattern.New(`(?i)\b(?:bearer|basic)\s+([A-Za-z0-9._~+/=-]{8,})`),
	pattern.New(`(?i)[\w.-]*(?:` + credentialWords + `)[\w.-]*["']?\s*[=:]\s*["']?([^\s"',;&}\]]+)`),
	// A flag followed by its value after a space, or as the next text in a list.
	pattern.New(`(?i)(?:^|[\s"'=(,;\[])--?[\w.-]*(?:` + credentialWords + `)[\w.-]*(?:["']?\s+["']?|["']\s*,\s*["'])([^\s"',;&}\]-][^\s"',;&}\]]*)`),
	pattern.New(`(?:^|[\s"'(\[])-p(?:\s+["']?|["']\s*,\s*["'])(\d*[^\s"',;/:.\d-][^\s"',;]*)`), // a number is a port
	pattern.New(`(?:^|[\s"'(\[])-u\s*["']?([^\s"',;:]+:[^\s"',;]+)`),
	pattern.New(`\beyJ[\w-]{5,}\.[\w-]+(?:\.[\w-]*)?`),
	pattern.New(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[opsur]_\w{20,}|\bxox[a-z]-[\w-]{10,}|\bAIza[\w-]{35}|\bhv[sb]\.[\w.-]{20,}|\bsk-[\w-]{20,}`),
	pattern.New(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`),
	pattern.New(`(?i)\b[0-9a-f]{2}(?:(?::[0-9a-f]{2}){5}|(?:-[0-9a-f]{2}){5})\b`), // address of a network card
	pattern.New(`[\w.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b`),
}

// long matches consecutive characters that may be random.
var long = pattern.New(`[A-Za-z0-9+_=-]{32,}`)

// random reports whether consecutive characters look random: they are hexadecimal, or have digits
// and letters in both cases.
func random(s string) bool {
	if strings.Trim(s, "0123456789abcdefABCDEF") == "" {
		return true
	}
	return strings.ContainsAny(s, "0123456789") && s != strings.ToLower(s) && s != strings.ToUpper(s)
}

// credentialName matches setting names whose values are credentials.
var credentialName = pattern.New(`(?i)` + credentialWords + `|encrypt`)

// credentialFlag matches flags whose values are credentials, without the value.
var credentialFlag = pattern.New(`(?i)^--?[\w.-]*(?:` + credentialWords + `)[\w.-]*$`)

// text removes secrets from an arbitrary text and replaces names, addresses and paths.
func (n *names) text(s string) string {
	if plain(s) {
		return s
	}
	n.note(s)
	for _, form := range secretForms {
		s = n.cut(form(), s)
	}
	s = long().ReplaceAllStringFunc(s, func(match string) string {
		if random(match) {
			return n.secret(match)
		}
		return match
	})
	s = n.usersIn(n.interfacesIn(s))
	s = n.replace(s)
	s = n.addressesIn(s)
	s = n.hostsIn(s)
	return n.pathsIn(s)
}

// plain reports whether a text is a number or a histogram (NUMBER=NUMBER...), as most table cells
// are.
func plain(s string) bool {
	number := func(s string) bool {
		_, err := strconv.ParseFloat(s, 64)
		return err == nil && len(s) < 32
	}
	for word := range strings.FieldsSeq(s) {
		bound, count, both := strings.Cut(word, "=")
		if !number(bound) || both && !number(count) {
			return false
		}
	}
	return true
}

// cut removes the matches of a secret form.
func (n *names) cut(form *regexp.Regexp, s string) string {
	var b strings.Builder
	done := 0
	for _, at := range form.FindAllStringSubmatchIndex(s, -1) {
		from, to := at[len(at)-2], at[len(at)-1]
		if from < done || from == to || strings.HasPrefix(s[from:to], removed) {
			continue
		}
		b.WriteString(s[done:from])
		b.WriteString(n.secret(s[from:to]))
		done = to
	}
	return b.String() + s[done:]
}

// address returns HOST, HOST:PORT or HOST:PORT/PROTOCOL with the host replaced by its pseudonym.
func (n *names) address(s string) string {
	if slices.Contains([]string{"", "all", "leader", "follower", "followers"}, s) {
		return s
	}
	if _, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil {
		return n.host(s)
	}
	at := strings.LastIndexByte(s, ':')
	if at < 0 {
		return n.host(s)
	}
	port, protocol, slash := strings.Cut(s[at+1:], "/")
	if port == "" || strings.Trim(port, "0123456789") != "" || strings.ContainsAny(s[:at], "/ ") {
		return n.text(s)
	}
	host := n.host(s[:at]) + ":" + port
	if slash {
		host += "/" + n.word(protocol)
	}
	return host
}

// word replaces names in a word from the records.
func (n *names) word(s string) string {
	n.note(s)
	return n.replace(n.interfacesIn(s))
}
