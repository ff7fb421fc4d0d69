package yamlfile

// Written is a mapping as given in a file: the values of its keys and their places. Values of
// absent keys are zero.
type Written[S any] struct {
	Is S
	// Node is the mapping; nil if the file does not have it.
	Node *Node
	at   map[string]Place
	// declared holds the allowed keys.
	declared map[string]bool
}

// Given reports whether the file has the mapping.
func (w Written[S]) Given() bool { return w.Node != nil }

// Has reports whether the mapping gives a key.
func (w Written[S]) Has(key string) bool { return w.Place(key).Set() }

// NodeOf returns the node with the value of key, or nil if the mapping does not give it.
func (w Written[S]) NodeOf(key string) *Node { return w.Place(key).At }

// Place returns the place where key has its value, with the key used in the file. It panics if the
// key is not declared.
func (w Written[S]) Place(key string) Place {
	if w.declared != nil && !w.declared[key] {
		panic("yamlfile: the key " + key + " is not declared")
	}
	return w.at[key]
}

// Called returns the key the file uses for a value, or key itself.
func (w Written[S]) Called(key string) string {
	if p := w.Place(key); p.Key != "" {
		return p.Key
	}
	return key
}

// Give records that the key is given at p.
func (w *Written[S]) Give(key string, p Place) {
	if w.at == nil {
		w.at = map[string]Place{}
	}
	w.at[key] = p
}

// Take stores the value g, read elsewhere, under key, if it is given. path is that of the mapping.
func Take[S, T any](r *Reader, path string, w *Written[S], key string, to *T, g Given[T]) {
	if !g.Set() {
		return
	}
	*to = g.Is
	w.Give(key, g.Place())
	r.Record(JoinPath(path, key), g.At)
}
