package submission

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// removed stands in place of what must not be published.
const removed = "[removed]"

// kind is what a name names; pseudonyms are made of it.
type kind string

const (
	kindHost    kind = "host"
	kindDomain  kind = "domain"
	kindAddress kind = "address"
	kindMachine kind = "machine" // the boot id of a host
	kindNetwork kind = "netns"
	kindUser    kind = "user"
	kindPath    kind = "path"
	kindWord    kind = "word" // what the caller asked to hide
)

// named is a kind with its noun.
type named struct {
	kind kind
	noun string
}

// kinds are all kinds that have pseudonyms, in the order in which they are listed.
func kinds() []named {
	return []named{
		{kindHost, "host name"}, {kindDomain, "domain"}, {kindAddress, "IP address"}, {kindMachine, "boot id"},
		{kindNetwork, "network namespace"}, {kindUser, "user name"}, {kindPath, "path"}, {kindWord, "hidden word"},
	}
}

// names maps what must not be published to pseudonyms: equal names to equal ones,
// different names to different ones, in the order in which they are met. It is not safe
// for concurrent use.
type names struct {
	alias map[string]string // by the name in lower case
	count map[kind]int
	// inText are the names that are looked for inside texts, the longest first.
	inText []string
	// pairs are the names as they were given, with their pseudonyms.
	pairs []Pseudonym
	// secrets are the values that were removed because they look like credentials.
	secrets map[string]bool
	// ordinary are words that no name may replace inside texts.
	ordinary map[string]bool
}

func newNames() *names {
	n := &names{alias: map[string]string{}, count: map[kind]int{}, secrets: map[string]bool{}, ordinary: map[string]bool{}}
	for _, w := range strings.Fields(ordinaryWords) {
		n.ordinary[w] = true
	}
	return n
}

// ordinaryWords are names of machines and users that say nothing of whose they are, and
// words that records have in many places.
const ordinaryWords = `localhost host server client member node test root admin user local default linux debian ubuntu
	leader follower agent control data read write step steps clients requests connections etcd zookeeper consul zetcd cetcd`

// of returns the pseudonym of a name. An empty name has none.
func (n *names) of(k kind, name string) string {
	name = strings.TrimSpace(name)
	if name == "" || name == removed || isPseudonym(name) {
		return name
	}
	if alias, known := n.alias[strings.ToLower(name)]; known {
		return alias
	}
	n.count[k]++
	alias := fmt.Sprintf("%s-%d", k, n.count[k])
	n.add(name, alias)
	n.pairs = append(n.pairs, Pseudonym{name, alias})
	return alias
}

// add makes a name one that has an alias, unless it has one already.
func (n *names) add(name, alias string) {
	key := strings.ToLower(name)
	if _, known := n.alias[key]; known || key == "" {
		return
	}
	n.alias[key] = alias
	if n.findable(key) {
		n.inText = append(n.inText, key)
		slices.SortFunc(n.inText, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	}
}

// secret removes a value that looks like a credential. One that is no plain word is
// removed wherever else it is found.
func (n *names) secret(s string) string {
	if s == "" || strings.HasPrefix(s, removed) {
		return s
	}
	if alias, known := n.alias[strings.ToLower(s)]; known {
		return alias // such as the boot id of a machine
	}
	n.secrets[s] = true
	if len(s) >= 8 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz-") != "" {
		n.add(s, removed)
	}
	return removed
}

// findable reports whether a name can be looked for inside texts: a short one, a number or
// a word of the records would be found where it names nothing.
func (n *names) findable(key string) bool {
	return len(key) > 2 && !n.ordinary[key] && (strings.Trim(key, "0123456789.") != "" || strings.Count(key, ".") == 3)
}

// isPseudonym reports whether a word has the form of a pseudonym, as in records that were
// scrubbed before.
func isPseudonym(word string) bool {
	before, number, found := strings.Cut(word, "-")
	if !found || number == "" || strings.Trim(number, "0123456789") != "" {
		return false
	}
	return slices.ContainsFunc(kinds(), func(k named) bool { return string(k.kind) == before })
}

// replace replaces the names inside a text, where they are whole words.
func (n *names) replace(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		name := ""
		if i == 0 || !wordByte(s[i-1]) {
			name = n.at(s[i:])
		}
		if name == "" {
			b.WriteByte(s[i])
			i++
			continue
		}
		b.WriteString(n.alias[name])
		i += len(name)
	}
	return b.String()
}

// at returns the longest name that a text begins with, "" if it begins with none.
func (n *names) at(s string) string {
	for _, name := range n.inText {
		if len(s) >= len(name) && strings.EqualFold(s[:len(name)], name) && (len(s) == len(name) || !wordByte(s[len(name)])) {
			return name
		}
	}
	return ""
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// host returns the pseudonym of a host name. The name without its domain, and its domains,
// are names too: texts have them alone.
func (n *names) host(name string) string {
	if addr, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return n.ip(name, addr)
	}
	if strings.EqualFold(name, "localhost") {
		return name
	}
	alias := n.of(kindHost, name)
	short, domain, dotted := strings.Cut(name, ".")
	if dotted {
		n.add(short, alias)
	}
	for strings.Contains(domain, ".") && !public(domain) {
		n.of(kindDomain, domain)
		_, domain, _ = strings.Cut(domain, ".")
	}
	return alias
}

// ip returns the pseudonym of an address. Those of loopback, and those that mean any,
// stay: all machines have them.
func (n *names) ip(text string, addr netip.Addr) string {
	if addr = addr.Unmap(); addr.IsLoopback() || addr.IsUnspecified() {
		return text
	}
	return n.of(kindAddress, strings.Trim(text, "[]"))
}

// address returns HOST, HOST:PORT or HOST:PORT/PROTOCOL with the pseudonym of its host.
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

// word returns a word of the records, in which names are replaced.
func (n *names) word(s string) string { return n.replace(s) }
