package watch

// replaced finds out when all watchers in a sequence had received a newer write to a key than one
// that no watcher received. Only watches that coalesce need it.
type replaced struct {
	unsure int64 // as in the judge
	// recent are versions that may matter to writes that were not passed yet, by key and in their order.
	recent map[int64][]settled
	kept   int   // in recent
	lost   int64 // versions up to it, and until then, were dropped because there were too many
	until  int64
	// waiting are writes whose versions are not known, by key, until a version is settled that is
	// surely newer.
	waiting map[int64][]*write
}

// settled is a version that is no longer judged, or for which every watcher received it or a newer
// one.
type settled struct {
	version int64
	all     int64 // as in its entry
	sent    int64 // when its write was sent, if that is known; it was made after that
	made    int64 // when it had surely been made
	until   int64 // when its write had ended, and the last watcher had received it
}

// bounds limit the time until all watchers had received a newer write than one whose version is not
// known: the first settled version that may be newer, and the first that surely is.
type bounds struct {
	maybe, surely settled
	vague         bool // a version before them was dropped
}

// sequence holds the versions in a range in order, as far as its watchers have received their
// events or writers know them. All its watchers must receive the same.
type sequence struct {
	watchers []*watcher // by place
	active   int        // that are established and not broken
	greatest int64      // version after which a watcher was established
	plain    bool       // all watchers are active
	slow     int        // watchers that were slow in the last pause

	spare      [][]int64 // closed entries' lists
	head, tail *entry
	by         map[int64]*entry // that are in the list
	done       int64            // all versions up to it are judged
	closed     int64            // the newest that is judged; older ones may be open
	dropped    int64            // up to which some were not judged
	last       map[int64]*entry // by key, the newest, if watches coalesce
	replaced   *replaced        // nil for others
}

// watcher tracks one watcher's events. It is as large as a processor's cache line, because an event
// usually finds the cache filled with other watchers.
type watcher struct {
	id      int32
	place   int32 // in seq
	seq     *sequence
	since   int64  // when it was established, 0 before
	after   int64  // version: it must receive all newer ones
	version int64  // the newest it has received
	told    int64  // the same, counting writes by others and gaps too
	cursor  *entry // the entry for that, or nil
	broken  bool
	slow    bool // its deliveries are counted apart
}

// entry is one version.
type entry struct {
	version, key, number int64 // number is noNumber if it is not known
	write                *write
	first                int64   // when a watcher first received it, 0 before
	heard                []int64 // by place: when; negative if a newer version of the key came instead
	n                    int     // that are not 0
	done                 bool
	last                 int64 // if done: when the last watcher received it
	all                  int64 // the same without slow watchers, 0 if unknown
	next, prev           *entry
	newer, older         *entry // for the same key, if watches coalesce
}

// write is a request that wrote a key.
type write struct {
	number, key, sent, due, end int64
	acked                       bool    // else the outcome is unknown
	bounds                      *bounds // nil if they are not needed
}

const noNumber = -1 << 63

// heardBy returns when a watcher received an entry, 0 for not yet.
func (e *entry) heardBy(w *watcher) int64 {
	if int(w.place) < len(e.heard) {
		return e.heard[w.place]
	}
	return 0
}
