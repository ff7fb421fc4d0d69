package ability

import (
	"cmp"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// Search is the way in which an ability sends a load: in windows at rates that it finds, instead of
// in the file's steps.
type Search struct {
	// Key is its key in a file, and Words name it in errors, such as "a search for a rate".
	Key, Words string
	// Load turns the load for a database into the one to search with, and reports keys that
	// contradict it.
	Load func(r *yamlfile.Reader, v Values, keys LoadKeys, l *workload.Load)
	// Lasts bounds the time in which it sends requests if its lowest rate, in requests per second,
	// is the given one, and returns the longest time between two steps.
	Lasts func(v Values, rate float64) (all, step time.Duration)
}

// Asked reports whether the values ask for it.
func (s *Search) Asked(v Values) bool { return v[s.Key] != nil }

// LoadKeys locates load keys in a file, for errors.
type LoadKeys interface {
	// Place returns where a key is. It is not set if the file does not give the key.
	Place(key string) yamlfile.Place
	// At returns the first of these keys that the file gives, else the database.
	At(keys ...string) *yamlfile.Node
}

// Flagged are keys whose values a command line may give too.
type Flagged interface {
	Keys
	// Over lays texts, by key, over the mapping in a file. read is what Read returned, nil if the
	// file has no mapping. Problems name the flags.
	Over(r *yamlfile.Reader, read any, texts map[string]string) any
}

// Flags describes the keys for a command line.
func (s Section[T]) Flags() (rows []yamlfile.Row) {
	for _, f := range s.Fields().Fields {
		r := f.Row
		r.Meaning = strings.ReplaceAll(r.Meaning, "`", "")
		rows = append(rows, r)
	}
	return rows
}

// Over implements [Flagged].
func (s Section[T]) Over(r *yamlfile.Reader, read any, texts map[string]string) any {
	var m yamlfile.Mapping
	section := s.Fields()
	for _, name := range section.Names() {
		if text, ok := texts[name]; ok {
			m.Add(name, plain(text))
		}
	}
	flags := m.Node()
	r.FromFlags(flags)
	own, base := section.Read(r, s.Key, s.Key, flags), s.written(read)
	w := section.Over(own, base)
	w.Node = cmp.Or(base.Node, own.Node)
	return w
}

// plain returns text from the command line as a value in a file, without a position.
func plain(text string) *yamlfile.Node {
	node := yamlfile.PlainNode(text)
	if node == nil || len(node.Content) > 0 {
		return yamlfile.TextNode(text)
	}
	node.Line, node.Column = 0, 0
	return node
}
