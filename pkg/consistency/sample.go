package consistency

// History is the recorded requests on one key.
type History struct {
	Key int64
	// Initial is the number of the value before the first request, or Absent.
	Initial int64
	// Until is the moment up to which every request on the key is recorded: those sent by then, and
	// nothing sent later. It is [Whole] if the key has no later requests.
	Until int64
	// Ops are the requests, by when they were sent.
	Ops []Op
	// Violations were found among the requests until all recorded ones were judged.
	Violations int64
	// Missing requests belong to the history and are not recorded.
	Missing int64
}

// Whole is the Until of a history that has all requests on its key.
const Whole = never

const (
	// sampledRequests is the number of requests to record on a key, without those that were running
	// meanwhile.
	sampledRequests = 10_000
	// mostSampled bounds the recorded requests on a key.
	mostSampled = 4 * sampledRequests
)

// sample records the requests on the first keys.
type sample struct {
	keys    int
	most    int // requests on a key
	initial func(key int64) int64
	all     map[int64]*sampled
}

// sampled is the history of a key while it is recorded.
type sampled struct {
	History
	latest int64 // when a request ended
	closed bool  // nothing more belongs to it
}

func newSample(keys int, initial func(int64) int64) *sample {
	if keys <= 0 {
		return nil
	}
	return &sample{keys: keys, most: sampledRequests, initial: initial, all: map[int64]*sampled{}}
}

// add records the requests in a batch.
func (s *sample) add(batch []Op) {
	if s == nil {
		return
	}
	for n := range batch {
		o := &batch[n]
		if o.Kind == Other {
			continue
		}
		h := s.all[o.Key]
		if h == nil {
			if len(s.all) >= s.keys {
				continue
			}
			h = &sampled{History: History{Key: o.Key, Initial: s.initial(o.Key), Until: Whole}, latest: earliest}
			s.all[o.Key] = h
		}
		h.add(o, s.most)
	}
}

// add records a request. A full history still gets requests sent before its last one ended, which
// may have changed the values that it has read.
func (h *sampled) add(o *Op, most int) {
	switch {
	case o.Sent > h.Until:
		return
	case h.closed, o.End < o.Sent, len(h.Ops) >= mostSampled:
		h.Missing++
		return
	}
	h.Ops = append(h.Ops, *o)
	h.latest = max(h.latest, o.End)
	if h.Until == Whole && len(h.Ops) >= most {
		h.Until = h.latest
	}
}

// close ends the histories whose requests have all been recorded and judged: every request that was
// sent before a moment.
func (s *sample) close(before int64) {
	if s == nil {
		return
	}
	for _, h := range s.all {
		h.closed = h.closed || before > h.Until
	}
}

// violated counts violations on a key.
func (s *sample) violated(key, violations int64) {
	if s == nil {
		return
	}
	if h := s.all[key]; h != nil && !h.closed {
		h.Violations += violations
	}
}
