package submission

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/files/pattern"
)

// hostForms match host names that no record lists. The second group is the host.
var hostForms = []func() *regexp.Regexp{
	pattern.New(`(://(?:[^/\s@]*@)?)([A-Za-z0-9][A-Za-z0-9.-]*)`),
	pattern.New(`(\b(?:dns|passthrough|xds|etcd-endpoints)://[^/\s]*/)([A-Za-z0-9][A-Za-z0-9.-]*)`), // gRPC targets
	pattern.New(`((?:^|[^\w.:@/-])[\w.+-]+@)([A-Za-z][\w-]*(?:\.[\w-]+)*)`),
	pattern.New(`(\blookup )([A-Za-z0-9][\w.-]*\w)`),
	pattern.New(`((?:^|[\s"',;(?&\[{]|--)(?:(?:client|mount)?addr|host(?:name)?|server|peer)["']?=["']?)([A-Za-z][\w.-]*\w)`),
	pattern.New(`(^|[^\w.:@/-])([A-Za-z][\w-]*(?:\.[\w-]+)*):\d{2,5}\b`),
	pattern.New(`(^|[\s"'=(,;\[])([A-Za-z0-9][\w-]*(?:\.[\w-]+)*):/[^/\s]`), // SERVER:/EXPORT
	dottedHost,
}

// dottedHost matches dotted names whose last part has only letters, in one case. A list of
// top-level domains would soon be outdated; [names.noHost] excludes names that are not hosts.
var dottedHost = pattern.New(`(^|[^\w.@/-])((?:[A-Za-z0-9_](?:[\w-]*\w)?\.)+(?:[a-z]{2,24}|[A-Z]{2,24}|xn--[a-z0-9-]+))\b`)

var (
	// fileName matches file names. fileOrDomain lists endings that are domains as well; file names
	// with these endings are one word and the ending.
	fileName = pattern.New(`(?i)\.(?:go|java|class|jar|csv|tsv|log|jsonl?|ya?ml|toml|hlog|pprof|c|h|s|so|js|css|html?|xml|svg|png|pdf|txt|tmpl|proto|sql|` +
		`conf|cfg|ini|properties|env|service|socket|slice|scope|mount|timer|target|sock|pid|lock|tmp|bak|old|orig|out|err|pem|crt|cer|csr|key|p12|jks|` +
		`gz|tgz|tar|bz2|xz|zst|wal|snap|db|bin|exe|dll|img|iso|deb|rpm|mod|sum|part)$`)
	fileOrDomain = pattern.New(`(?i)^[\w-]+\.(?:sh|md|py|rs|zip|data|test)$`)
	// javaName matches Java packages found in every Java server.
	javaName = pattern.New(`^(?:java|javax|jdk|sun|org\.apache|org\.slf4j|io\.netty|com\.sun)\.`)
	// notHost matches versions, such as those after NAME@, and memory addresses.
	notHost = pattern.New(`^(?:v?[0-9]+(?:\.[0-9].*|\.[a-z]+)?|0x[0-9a-f]+|latest)$`)
	// schemes are words before :/ that are not servers.
	schemes = pattern.New(`^(?i:file|jar|unix|path|dir|https?|dns|[a-z])$`)
)

// noHost reports whether a name in a host's position is not a host, or not a private one.
func (n *names) noHost(host string) bool {
	return n.ordinary[strings.ToLower(host)] || isPseudonym(host) || public(host) || notHost().MatchString(host) || fileName().MatchString(host) ||
		fileOrDomain().MatchString(host) || javaName().MatchString(host) || strings.Trim(host, "0123456789.") == "" || n.ordinaryLabels(host)
}

// ordinaryLabels reports whether a dotted name has only words used in records.
func (n *names) ordinaryLabels(host string) bool {
	labels := strings.Split(strings.ToLower(host), ".")
	return len(labels) > 1 && !slices.ContainsFunc(labels, func(label string) bool { return !n.ordinary[label] })
}

// hostsIn replaces the hosts in a text.
func (n *names) hostsIn(s string) string {
	for _, get := range hostForms {
		form := get()
		var b strings.Builder
		done := 0
		for _, at := range form.FindAllStringSubmatchIndex(s, -1) {
			before, host, rest := s[:at[4]], s[at[4]:at[5]], s[at[5]:]
			if n.noHost(host) || form == dottedHost() && (!ends(rest) || logger(before, rest)) {
				continue
			}
			if path, found := strings.CutPrefix(rest, ":/"); found && (schemes().MatchString(host) || systemDirs().MatchString("/"+path)) {
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

// ends reports whether a dotted name ends where rest begins. Functions, settings and classes in a
// package continue.
func ends(rest string) bool {
	return rest == "" || rest[0] != '(' && rest[0] != '=' && rest[0] != '$' && (rest[0] != '.' || len(rest) == 1 || !wordByte(rest[1]))
}

// logger reports whether a dotted name names a logger in a log line, such as "[INFO] connect.ca:
// text".
func logger(before, rest string) bool {
	return strings.HasPrefix(rest, ":") && strings.HasSuffix(strings.TrimRight(before, " "), "]")
}

var (
	// userAt matches USER@HOST.
	userAt = pattern.New(`(?:^|://|[^\w.:@/-])([A-Za-z_][\w.+-]*)@([A-Za-z0-9][\w.-]*)`)
	// userOption matches a user in an option, such as a mount option or a flag.
	userOption = pattern.New(`(?i)((?:^|[\s"',;(?&\[{]|--)user(?:name)?(?:["']?=["']?|["']\s*:\s*["']))([A-Za-z_][\w.+-]*)`)
	userFlag   = pattern.New(`((?:^|[\s"'(\[])--user(?:name)?(?:\s+["']?|["']\s*,\s*["']))([A-Za-z_][\w.+-]*)`)
	// domainOption matches such a user's domain.
	domainOption = pattern.New(`(?i)((?:^|[\s"',;(?&\[{])(?:domain|workgroup)=["']?)([A-Za-z_][\w.+-]*)`)
)

// usersIn replaces users in options, and finds other users.
func (n *names) usersIn(s string) string {
	for _, match := range userAt().FindAllStringSubmatch(s, -1) {
		if !notHost().MatchString(match[2]) && !n.ordinary[strings.ToLower(match[1])] {
			n.of(kindUser, match[1])
		}
	}
	s = n.optionsIn(userOption(), kindUser, s)
	s = n.optionsIn(userFlag(), kindUser, s)
	return n.optionsIn(domainOption(), kindDomain, s)
}

// optionsIn replaces the second group of a form.
func (n *names) optionsIn(form *regexp.Regexp, k kind, s string) string {
	var b strings.Builder
	done := 0
	for _, at := range form.FindAllStringSubmatchIndex(s, -1) {
		name := s[at[4]:at[5]]
		if n.ordinary[strings.ToLower(name)] {
			continue
		}
		b.WriteString(s[done:at[4]])
		b.WriteString(n.of(k, name))
		done = at[5]
	}
	return b.String() + s[done:]
}

// cardName matches network interfaces that are named after their card's address.
var cardName = pattern.New(`(?i)\b(?:en|wl|ww|ib|sl)x[0-9a-f]{12}\b`)

// interfacesIn replaces such interface names.
func (n *names) interfacesIn(s string) string {
	return cardName().ReplaceAllStringFunc(s, func(name string) string { return n.of(kindInterface, name) })
}

var (
	ipv4 = pattern.New(`\d{1,3}(?:\.\d{1,3}){3}`)
	ipv6 = pattern.New(`[0-9A-Fa-f]*:[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*(?:%[\w-]+)?`)
)

// addressesIn replaces IP addresses.
func (n *names) addressesIn(s string) string {
	for _, one := range []struct {
		form *regexp.Regexp
		find func(s string, from, to int) (first, end int)
	}{{ipv6(), ipv6At}, {ipv4(), ipv4At}} {
		var b strings.Builder
		done := 0
		for _, at := range one.form.FindAllStringIndex(s, -1) {
			from, to := one.find(s, at[0], at[1])
			addr, err := netip.ParseAddr(s[from:to])
			if err != nil {
				continue
			}
			b.WriteString(s[done:from])
			b.WriteString(n.ip(s[from:to], addr))
			done = to
		}
		s = b.String() + s[done:]
	}
	return s
}

// ipv4At returns the bounds of the IPv4 address in a match. The bounds are equal if the match
// belongs to a longer number or a version.
func ipv4At(s string, from, to int) (first, end int) {
	digit := func(i int) bool { return i >= 0 && i < len(s) && s[i] >= '0' && s[i] <= '9' }
	if digit(from-1) || digit(to) || to < len(s) && s[to] == '.' && digit(to+1) || from > 0 && strings.IndexByte(".vV", s[from-1]) >= 0 {
		return from, from
	}
	return from, to
}

// ipv6At returns the bounds of the IPv6 address in a match, which may include a preceding word with
// a colon, and a dot or colon that ends a sentence. The bounds are equal if there is no address.
func ipv6At(s string, from, to int) (first, end int) {
	if from > 0 && (wordByte(s[from-1]) || s[from-1] == '_') { // end of a word
		from += strings.IndexByte(s[from:to], ':') + 1
	}
	for strings.Count(s[from:to], ":") > 1 {
		for end := to; end > from+2; end-- {
			if _, err := netip.ParseAddr(s[from:end]); err == nil {
				return from, end
			}
			if c := s[end-1]; c != '.' && c != ':' {
				break
			}
		}
		from += strings.IndexByte(s[from:to], ':') + 1
	}
	return from, from
}

// pathForms match absolute paths. The second group is the path.
var pathForms = []func() *regexp.Regexp{
	pattern.New(`(^|[\s"'=(,;\[<{])(//[^/\s"',;:()\[\]<>{}|]+/[^\s"',;:()\[\]<>{}|]*)`), // on a server
	pattern.New(`(^|://|[\s"'=(,:;\[<{])(/[^/\s"',;:()\[\]<>{}|]+(?:/[^\s"',;:()\[\]<>{}|]*)?)`),
	pattern.New(`(^|[\s"'=(,:;\[<{])(~[\w.-]*/[^\s"',;:()\[\]<>{}|]+)`),
	pattern.New(`(^|[\s"'=(,;\[<{])([A-Za-z]:\\[^\s"',;:()\[\]<>{}|]+)`),
}

var (
	// userDir matches the directory of a user.
	userDir = pattern.New(`[/\\](?:home|Users)[/\\]([^/\\\s"',;:()\[\]<>{}|]+)`)
	// systemDirs are equal on every machine.
	systemDirs = pattern.New(`^/(?:proc|sys|dev|usr)(?:/|$)`)
	// perUnit matches slashes that do not begin a path, as in "/second", and slashes without
	// letters.
	perUnit = pattern.New(`^/(?:[^A-Za-z]*|[a-z]|ms|us|ns|min|sec|second|minute|hour|op|request)$`)
)

// pathsIn replaces absolute paths, except system paths.
func (n *names) pathsIn(s string) string {
	for _, match := range userDir().FindAllStringSubmatch(s, -1) {
		n.of(kindUser, match[1])
	}
	for _, get := range pathForms {
		form := get()
		var b strings.Builder
		done := 0
		for _, at := range form.FindAllStringSubmatchIndex(s, -1) {
			whole := strings.TrimRight(s[at[4]:at[5]], ".!?") // end of a sentence
			if systemDirs().MatchString(whole) || perUnit().MatchString(whole) || isPseudonym(strings.TrimPrefix(whole, "/")) {
				continue
			}
			b.WriteString(s[done:at[4]])
			b.WriteString(n.of(kindPath, whole))
			done = at[4] + len(whole)
		}
		s = b.String() + s[done:]
	}
	return s
}
