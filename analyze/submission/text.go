package submission

import (
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// secretForms are the forms of values that look like credentials. The last group of each is
// what is removed; without a group it is the whole match.
var secretForms = []*regexp.Regexp{
	regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]+-----.*?(?:-----END [A-Z0-9 ]+-----|$)`),
	regexp.MustCompile(`://([^/\s:@]*:[^@\s/]+)@`),
	regexp.MustCompile(`(?i)\b(?:bearer|basic)\s+([A-Za-z0-9._~+/=-]{8,})`),
	regexp.MustCompile(`(?i)[\w.-]*(?:passw(?:or)?d|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential)[\w.-]*["']?\s*[=:]\s*["']?([^\s"',;&}\]]+)`),
	regexp.MustCompile(`\beyJ[\w-]{5,}\.[\w-]+(?:\.[\w-]*)?`),
	regexp.MustCompile(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[opsur]_\w{20,}|\bxox[a-z]-[\w-]{10,}|\bAIza[\w-]{35}|\bhv[sb]\.[\w.-]{20,}|\bsk-[\w-]{20,}`),
	regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`),
	regexp.MustCompile(`(?i)\b[0-9a-f]{2}(?::[0-9a-f]{2}){5}\b`), // the address of a network card
	regexp.MustCompile(`[\w.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b`),
}

// long is a run of characters that may be a random one.
var long = regexp.MustCompile(`[A-Za-z0-9+_=-]{32,}`)

// random reports whether a run of characters looks drawn: hexadecimal, or of digits and
// letters of both cases.
func random(s string) bool {
	if strings.Trim(s, "0123456789abcdefABCDEF") == "" {
		return true
	}
	return strings.ContainsAny(s, "0123456789") && s != strings.ToLower(s) && s != strings.ToUpper(s)
}

// credentialName matches the names of settings whose values are credentials.
var credentialName = regexp.MustCompile(`(?i)passw(?:or)?d|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential|encrypt`)

// text returns a text of anybody's without secrets, names, addresses and paths.
func (n *names) text(s string) string {
	if plain(s) {
		return s
	}
	n.note(s)
	for _, form := range secretForms {
		s = n.cut(form, s)
	}
	s = long.ReplaceAllStringFunc(s, func(match string) string {
		if random(match) {
			return n.secret(match)
		}
		return match
	})
	for _, match := range userAt.FindAllStringSubmatch(s, -1) {
		if !notHost.MatchString(match[2]) && !n.ordinary[strings.ToLower(match[1])] {
			n.of(kindUser, match[1])
		}
	}
	s = n.replace(s)
	s = n.hostsIn(s)
	s = n.addressesIn(s)
	return n.pathsIn(s)
}

// plain reports whether a text is a number or a histogram (NUMBER=NUMBER...), as most cells
// of tables are.
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

// cut removes what a form of secrets matches.
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

// The forms of host names that no record names otherwise. The second group is the host.
var hostForms = []*regexp.Regexp{
	regexp.MustCompile(`(://(?:[^/\s@]*@)?)([A-Za-z0-9][A-Za-z0-9.-]*)`),
	regexp.MustCompile(`(\b(?:dns|passthrough|xds|etcd-endpoints)://[^/\s]*/)([A-Za-z0-9][A-Za-z0-9.-]*)`), // targets of gRPC
	regexp.MustCompile(`((?:^|[^\w.:@/-])[\w.+-]+@)([A-Za-z][\w-]*(?:\.[\w-]+)*)`),
	regexp.MustCompile(`(\blookup )([A-Za-z0-9][\w.-]*\w)`),
	regexp.MustCompile(`(^|[^\w.:@/-])([A-Za-z][\w-]*(?:\.[\w-]+)*):\d{2,5}\b`),
	regexp.MustCompile(`(^|[^\w.@/-])((?:[A-Za-z0-9][A-Za-z0-9-]*\.)+(?:com|net|org|io|dev|cloud|internal|intern|local|localdomain|lan|corp|home|intra|private|example|test|de|uk|eu|us|fr|nl|jp|cn|ru|in|br|au|ch))\b`),
}

// publicHosts are where releases come from: they are nobody's machines.
var publicHosts = []string{"github.com", "etcd.io", "golang.org", "go.dev", "apache.org", "hashicorp.com", "maven.org", "storage.googleapis.com", "gcr.io"}

func public(host string) bool {
	host = strings.ToLower(host)
	return slices.ContainsFunc(publicHosts, func(p string) bool { return host == p || strings.HasSuffix(host, "."+p) })
}

// fileName matches names with a place behind them, such as config.go:956.
var fileName = regexp.MustCompile(`\.(?:go|java|csv|log|json|jsonl|yaml|yml|sh|hlog|md|c|s)$`)

// userAt matches a user at a host.
var userAt = regexp.MustCompile(`(?:^|://|[^\w.:@/-])([A-Za-z_][\w.+-]*)@([A-Za-z0-9][\w.-]*)`)

// notHost matches versions, such as behind NAME@, and addresses of memory.
var notHost = regexp.MustCompile(`^(?:v?[0-9]+(?:\.[0-9].*)?|0x[0-9a-f]+|latest)$`)

// hostsIn replaces hosts by their place in a text.
func (n *names) hostsIn(s string) string {
	for _, form := range hostForms {
		var b strings.Builder
		done := 0
		for _, at := range form.FindAllStringSubmatchIndex(s, -1) {
			host := s[at[4]:at[5]]
			if n.ordinary[strings.ToLower(host)] || isPseudonym(host) || public(host) || notHost.MatchString(host) || fileName.MatchString(host) || strings.Trim(host, "0123456789.") == "" {
				continue
			}
			b.WriteString(s[done:at[4]])
			b.WriteString(n.host(host))
			done = at[5]
		}
		s = b.String() + s[done:]
	}
	return s
}

var (
	ipv4 = regexp.MustCompile(`\b\d{1,3}(?:\.\d{1,3}){3}\b`)
	ipv6 = regexp.MustCompile(`[0-9A-Fa-f]*:[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*(?:%[\w-]+)?`)
)

// addressesIn replaces IP addresses.
func (n *names) addressesIn(s string) string {
	one := func(match string) string {
		for end := len(match); end > 2; end-- { // a dot or a colon may end the sentence
			if addr, err := netip.ParseAddr(match[:end]); err == nil {
				return n.ip(match[:end], addr) + match[end:]
			}
			if c := match[end-1]; c != '.' && c != ':' {
				break
			}
		}
		return match
	}
	return ipv4.ReplaceAllStringFunc(ipv6.ReplaceAllStringFunc(s, one), one)
}

var (
	// absolutePath matches absolute paths of two elements or more.
	absolutePath = regexp.MustCompile(`(^|[\s"'=(,:;\[<])(/[^/\s"',;:()\[\]<>]+/[^\s"',;:()\[\]<>]*)`)
	// userDir matches the directory of a user.
	userDir = regexp.MustCompile(`/(?:home|Users)/([^/\s"',;:()\[\]<>]+)`)
	// systemDirs are the same on every machine.
	systemDirs = regexp.MustCompile(`^/(?:proc|sys|dev|usr)/`)
)

// pathsIn replaces absolute paths, except those of the system.
func (n *names) pathsIn(s string) string {
	for _, match := range userDir.FindAllStringSubmatch(s, -1) {
		n.of(kindUser, match[1])
	}
	var b strings.Builder
	done := 0
	for _, at := range absolutePath.FindAllStringSubmatchIndex(s, -1) {
		whole := s[at[4]:at[5]]
		if systemDirs.MatchString(whole) {
			continue
		}
		b.WriteString(s[done:at[4]])
		b.WriteString(n.of(kindPath, whole))
		done = at[5]
	}
	return b.String() + s[done:]
}
