package consistency

// Held says what value a key has after the load.
type Held uint8

// The kinds of value after the load.
const (
	// NotJudged keys were not seen, or cannot be judged.
	NotJudged Held = iota
	// Kept is a value that may be the last one.
	Kept
	// Older is a value that had surely been replaced: the last write is lost.
	Older
	// Gone keys are not found although a value was surely written last.
	Gone
	// Foreign is a value that no request in the load wrote to the key.
	Foreign
)

// HeldKeys counts the keys that a load wrote by their values after the load.
type HeldKeys struct {
	// Keys were written. Read counts those that were read back; for the others time was too short,
	// or the read failed.
	Keys int64 `json:"keys"`
	Read int64 `json:"read"`
	// Older keys have a value that had been replaced, and Gone keys do not exist: their last
	// writes are lost. Foreign keys have a value that no request wrote to them.
	Older     int64 `json:"older"`
	Gone      int64 `json:"gone"`
	Foreign   int64 `json:"foreign"`
	NotJudged int64 `json:"not_judged,omitempty"`
}

// Add adds the keys in another part of a load.
func (h *HeldKeys) Add(o *HeldKeys) {
	h.Keys += o.Keys
	h.Read += o.Read
	h.Older += o.Older
	h.Gone += o.Gone
	h.Foreign += o.Foreign
	h.NotJudged += o.NotJudged
}

// AppliedTwice returns the keys if a client may have applied any write twice, the second time at any
// later moment: older values are then not judged.
func (h HeldKeys) AppliedTwice() HeldKeys {
	h.NotJudged += h.Older
	h.Older = 0
	return h
}

// Lost returns the number of keys that lost their last write.
func (h HeldKeys) Lost() int64 { return h.Older + h.Gone }

// ReadBack judges a value after Finish, read from key number in the store's strongest mode. value
// is its number, or Absent.
func (j *Judge) ReadBack(number, value int64) Held {
	at := j.keys.place(number)
	if at == none {
		return NotJudged
	}
	k := j.keys.at(at)
	if k.tainted {
		return NotJudged
	}
	if value == Absent && j.opts.Deletes {
		if j.survivor(k, never) != nil {
			return Gone
		}
		return Kept
	}
	if z := k.openValue(value); z != nil && !z.is(deletes) {
		return Kept
	}
	if _, unread := j.unknown[valueOf{number, value}]; unread {
		return Kept
	}
	return j.replacedOr(k, value)
}

// replacedOr returns the kind for a value that is not open.
func (j *Judge) replacedOr(k *key, value int64) Held {
	switch {
	case value == Absent:
		return Gone
	case k.odd().forgot, k.odd().unstated:
		return NotJudged
	case j.memory.find(k, value) != nil, value == j.opts.Initial(k.number):
		return Older
	case value > NoRequest && j.opts.Wrote != nil && j.opts.Wrote(k.number, value) && j.failed.find(k.number, value) == nil:
		return Older
	}
	return Foreign
}
