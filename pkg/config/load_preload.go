package config

import (
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// preloadField declares the data in a store when a load begins.
func preloadField() field[loadSpec] {
	return part[loadSpec, preloadSpec]{
		Row: row{Name: "preload", Usually: "the `keys`",
			Meaning: "[data before the load](#data-before-the-load), for any load: `{keys: 10000000}` or `{bytes: 4GiB}`"},
		Section: preloadSection(), At: func(l *loadSpec) *written[preloadSpec] { return &l.preload },
		Node: func(l *loadSpec) *yamlfile.Node {
			if l.Preload == 0 {
				return nil
			}
			return preloadSection().Show(&preloadSpec{keys: l.Preload}).Flow()
		},
	}.Field()
}

// preloadSection declares the two ways to give the data.
func preloadSection() section[preloadSpec] {
	return section[preloadSpec]{
		Fields: []field[preloadSpec]{
			key[preloadSpec, int64]{
				Row:  row{Name: "keys", Unit: "keys", Meaning: "number of keys"},
				Kind: yamlfile.WholeKind(), At: func(p *preloadSpec) *int64 { return &p.keys },
				Shown: func(p *preloadSpec) bool { return p.keys > 0 },
			}.Field(),
			key[preloadSpec, int64]{
				Row:  row{Name: "bytes", Meaning: "as many keys as reach this size with their values, computed from `key_size` and the mean of `value_size`"},
				Kind: yamlfile.LargeSizeKind(), At: func(p *preloadSpec) *int64 { return &p.bytes },
				Shown: func(p *preloadSpec) bool { return p.bytes > 0 },
			}.Field(),
		},
		Check: func(r *yamlfile.Reader, w *written[preloadSpec]) {
			keys, bytes := w.NodeOf("keys"), w.NodeOf("bytes")
			switch {
			case keys != nil && bytes != nil:
				r.Errorf(bytes, "preload: keys (line %d) already gives its size; give one of keys and bytes", keys.Line)
			case keys == nil && bytes == nil && len(w.Node.Content) == 0:
				r.Errorf(w.Node, "preload: give keys or bytes, such as {keys: 10000000} or {bytes: 4GiB}")
			case keys != nil && w.Is.keys < 1, bytes != nil && w.Is.bytes < 1:
				r.Errorf(w.Node, "preload must be positive, got 0")
			}
		},
	}
}

// preload resolves the data before the load.
func (r *loadResolver) preload(l *workload.Load) {
	p := r.spec.Is.preload
	if !p.Given() {
		return
	}
	if l.SameKey {
		r.Errorf(p.Node, "preload: same_key (line %d) sends every request to one key; give one of the two", r.spec.NodeOf("same_key").Line)
		return
	}
	l.Preload = p.Is.keys
	if p.Is.bytes > 0 {
		each := int64(l.KeySize) + int64(l.MeanValueSize())
		l.Preload = max(p.Is.bytes/max(each, 1), 1)
	}
}
