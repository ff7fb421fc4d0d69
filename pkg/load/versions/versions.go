// Package versions holds versions for keys in a load, as far as the load knows them.
//
// All clients in a load share one table, as the clients of a Kubernetes API server share its cache:
// every client expects the version shown by the latest answer to any client.
package versions

import "sync/atomic"

// Unknown is the version of a key that must be read before a transaction can name it.
const Unknown = -1

// Table has the version of each key existing before a load, in 8 bytes per key. It is safe for
// concurrent use.
type Table struct{ known []atomic.Int64 }

// New returns a table without known versions for the keys in the half-open range [0, keys).
func New(keys int64) *Table {
	t := &Table{known: make([]atomic.Int64, keys)}
	for i := range t.known {
		t.known[i].Store(Unknown)
	}
	return t
}

// Keys returns the number of keys in the table.
func (t *Table) Keys() int64 { return int64(len(t.known)) }

// Of returns a key's version, Unknown for a key not in the table.
func (t *Table) Of(key int64) int64 {
	if key < 0 || key >= t.Keys() {
		return Unknown
	}
	return t.known[key].Load()
}

// Wrote notes the version made by a write to a key. A greater version is newer, so answers may
// arrive in any order.
func (t *Table) Wrote(key, version int64) {
	if key < 0 || key >= t.Keys() {
		return
	}
	at := &t.known[key]
	for old := at.Load(); old < version; old = at.Load() {
		if at.CompareAndSwap(old, version) {
			return
		}
	}
}

// Lost notes that a key did not have the expected version but found, which may be Unknown. It
// reports whether the version must be read now, which is not needed if another client has learnt or
// doubted it meanwhile.
func (t *Table) Lost(key, expected, found int64) bool {
	return key >= 0 && key < t.Keys() && t.known[key].CompareAndSwap(expected, found) && found == Unknown
}

// Doubt notes that a key may have another version, because a write to it has no answer.
func (t *Table) Doubt(key int64) {
	if key >= 0 && key < t.Keys() {
		t.known[key].Store(Unknown)
	}
}

// Read notes the version read for a key, unless a write has made one meanwhile.
func (t *Table) Read(key, version int64) {
	if key >= 0 && key < t.Keys() {
		t.known[key].CompareAndSwap(Unknown, version)
	}
}
