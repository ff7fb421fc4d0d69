package submission

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/files/pattern"
)

// Pseudonym is a recorded name and its replacement in the archive.
type Pseudonym struct{ Name, Alias string }

// removed replaces text that must not be published.
const removed = "[removed]"

// kind classifies names. Pseudonyms begin with it.
type kind string

const (
	kindHost    kind = "host"
	kindDomain  kind = "domain"
	kindAddress kind = "address"
	kindMachine kind = "machine" // boot id of a host
	kindNetwork kind = "netns"
	kindUser    kind = "user"
	kindPath    kind = "path"
	// kindInterface is a network interface that is named after its card's address.
	kindInterface kind = "interface"
	kindWord      kind = "word" // a word that the caller asked to hide
)

// named is a kind with its noun.
type named struct {
	kind kind
	noun string
}

// kinds lists the kinds that have pseudonyms, in display order.
func kinds() []named {
	return []named{
		{kindHost, "host name"}, {kindDomain, "domain"}, {kindAddress, "IP address"}, {kindMachine, "boot id"},
		{kindNetwork, "network namespace"}, {kindUser, "user name"}, {kindPath, "path"}, {kindInterface, "network interface"}, {kindWord, "hidden word"},
	}
}

// names maps private names to pseudonyms. Equal names get equal pseudonyms and different names
// different ones, in the order in which they are found. It is not safe for concurrent use.
type names struct {
	alias map[string]string // by lower-case name
	count map[kind]int
	// inText are the names to search for inside texts, longest first.
	inText []string
	// pairs are the original names with their pseudonyms.
	pairs []Pseudonym
	// secrets are the removed values that look like credentials.
	secrets map[string]bool
	// ordinary are words that are never replaced inside texts.
	ordinary map[string]bool
	// hidden are lower-case names that are replaced inside words, too.
	hidden map[string]bool
	// taken are words in the records that look like pseudonyms. They are kept, and no name gets
	// them as a pseudonym.
	taken map[string]bool
	// written are the pseudonyms used in the archive.
	written map[string]bool
}

func newNames() *names {
	n := &names{alias: map[string]string{}, count: map[kind]int{}, secrets: map[string]bool{}, ordinary: map[string]bool{},
		hidden: map[string]bool{}, taken: map[string]bool{}, written: map[string]bool{}}
	for _, w := range strings.Fields(ordinaryWords) {
		n.ordinary[w] = true
	}
	return n
}

// ordinaryWords are common machine and user names that do not identify their owner, and words that
// occur in many places in records.
const ordinaryWords = `localhost host server client member node test root admin user local default linux debian ubuntu
	leader follower agent control data read write step steps clients requests connections etcd zookeeper consul zetcd cetcd
	operation update delete range swap txn create lock acquire release watch put get phase measure warm-up cool-down warm cool up down
	class cancelled timeout time-out time out oneshot read-oneshot unavailable connection lost change throttled space exceeded conflict not found too large wrong value denied other unrecorded unknown
	state running complete interrupted failed pass fail stalled void store full search again hold last
	kind event start ready load end stop guard cleanup preloaded profiles cut died child reconnected stopped generator generators compact defragment contenders holder abandoned waiting refused released unclear
	take snapshot memory limit counts unsent keys counted shared durable saturated late rate sustained queueing outcomes without nothing measured expected
	clock secured servers uploaded profiled insecure left steady capacity drift upkeep gap damaged digests records changed self-check self check valid invalid
	intervals progress members latency latencies total errors events disk system metrics database logs log report manifest json jsonl csv hlog distribution
	size count limit revision term index lease java key_size value_size range_end range_response_count
	summary percentile all timeseries throughput by number key interpolated run
	domain address machine netns path interface word removed embedded inf nan infinity true false null`

// note collects words that look like pseudonyms from a recorded text.
func (n *names) note(s string) {
	for _, word := range pseudonymForm().FindAllString(s, -1) {
		n.taken[word] = true
	}
}

// pseudonymForm matches pseudonyms.
var pseudonymForm = pattern.New(`\b(?:host|domain|address|machine|netns|user|path|interface|word)-[0-9]+\b`)

// wrote collects the pseudonyms used in one text in the archive.
func (n *names) wrote(s string) {
	for _, p := range n.pairs {
		for from := 0; !n.written[p.Alias]; {
			at := strings.Index(s[from:], p.Alias)
			if at < 0 {
				break
			}
			from += at + len(p.Alias)
			n.written[p.Alias] = from == len(s) || s[from] < '0' || s[from] > '9'
		}
	}
}

// pseudonyms returns the pseudonyms used in the archive, in numerical order.
func (n *names) pseudonyms() (list []Pseudonym) {
	for _, p := range n.pairs {
		if n.written[p.Alias] {
			list = append(list, p)
		}
	}
	return list
}

// own is like of, for a name that forms a whole field.
func (n *names) own(k kind, name string) string {
	n.note(name)
	return n.of(k, name)
}

// of returns the pseudonym for a name; "" for "".
func (n *names) of(k kind, name string) string {
	name = strings.TrimSpace(name)
	if name == "" || name == removed || isPseudonym(name) {
		return name
	}
	if alias, known := n.alias[strings.ToLower(name)]; known {
		return alias
	}
	alias := ""
	for alias == "" || n.taken[alias] {
		n.count[k]++
		alias = fmt.Sprintf("%s-%d", k, n.count[k])
	}
	n.add(name, alias)
	n.pairs = append(n.pairs, Pseudonym{name, alias})
	return alias
}

// add adds a name with its alias, unless it already has one.
func (n *names) add(name, alias string) {
	key := strings.ToLower(name)
	if _, known := n.alias[key]; known || key == "" {
		return
	}
	n.alias[key] = alias
	if n.hidden[key] || n.findable(key) {
		n.inText = append(n.inText, key)
		slices.SortFunc(n.inText, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	}
}

// secret removes a value that looks like a credential. If it is not a plain word, it is removed
// everywhere else as well.
func (n *names) secret(s string) string {
	if s == "" || strings.HasPrefix(s, removed) {
		return s
	}
	if alias, known := n.alias[strings.ToLower(s)]; known {
		return alias // for example the boot id of a machine
	}
	n.secrets[s] = true
	if len(s) >= 8 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz-") != "" {
		n.add(s, removed)
	}
	return removed
}

// findable reports whether a name can be searched for inside texts. Short names, numbers and words
// used in records would match unrelated text.
func (n *names) findable(key string) bool {
	return len(key) > 2 && !n.ordinary[key] && (strings.Trim(key, "0123456789.") != "" || strings.Count(key, ".") == 3)
}

// isPseudonym reports whether a word looks like a pseudonym, as in records that were scrubbed
// before.
func isPseudonym(word string) bool {
	before, number, found := strings.Cut(word, "-")
	if !found || number == "" || strings.Trim(number, "0123456789") != "" {
		return false
	}
	return slices.ContainsFunc(kinds(), func(k named) bool { return string(k.kind) == before })
}

// replace replaces names in a text where they are whole words.
func (n *names) replace(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		name, start := "", i == 0 || !wordByte(s[i-1])
		if start || len(n.hidden) > 0 {
			name = n.at(s[i:], start)
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

// at returns the longest name with which a text begins, or "". start means that a word begins
// there.
func (n *names) at(s string, start bool) string {
	for _, name := range n.inText {
		if len(s) < len(name) || !strings.EqualFold(s[:len(name)], name) {
			continue
		}
		if n.hidden[name] || start && (len(s) == len(name) || !wordByte(s[len(name)])) {
			return name
		}
	}
	return ""
}

func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
