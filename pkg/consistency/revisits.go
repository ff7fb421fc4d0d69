package consistency

// revisits are keys that must be looked at again even without new requests, once every request
// that was sent before their last request ended has ended. So each key is looked at once more
// after a batch that touched it, however long one request runs.
type revisits struct {
	always bool // look at all keys with every batch: the meaning of absent keys depends on when
	open   []int32
	queue  []revisit
	spare  [][]int32
}

type revisit struct {
	after int64 // the moment that must have passed
	keys  []int32
}

func (r *revisits) add(key int32) { r.open = append(r.open, key) }

// close ends a batch. Its last request ended at latest.
func (r *revisits) close(latest int64) {
	if len(r.open) == 0 {
		return
	}
	r.queue = append(r.queue, revisit{after: latest, keys: r.open})
	r.open = nil
	if n := len(r.spare); n > 0 {
		r.open, r.spare = r.spare[n-1], r.spare[:n-1]
	}
}

// take appends the keys that are due to a list.
func (r *revisits) take(to []int32, before int64) []int32 {
	due := 0
	for due < len(r.queue) && (r.always || r.queue[due].after < before) {
		to = append(to, r.queue[due].keys...)
		r.spare = append(r.spare, r.queue[due].keys[:0])
		due++
	}
	r.queue = append(r.queue[:0], r.queue[due:]...)
	return to
}
