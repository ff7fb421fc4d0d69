package schedule

import "sync"

// Dealer deals the requests in a schedule with due times to hands in turn: with n hands, request
// i goes to hand i modulo n. A request not yet taken by its hand waits in memory, 16 bytes each.
type Dealer struct {
	from  Schedule
	mu    sync.Mutex // guards requests in all hands
	hands []Hand
}

// Hand takes its own requests. Requests not taken by others do not hold it up.
type Hand struct {
	dealer *Dealer
	dealt  []dealt
	taken  int // from dealt
}

// dealt is a request in a hand.
type dealt struct{ number, due int64 }

// NewDealer returns a dealer with that many hands. Only hands may call Next of the schedule from
// now on. Requests that [Leaver.Leave] has handed out are not dealt.
func NewDealer(from Schedule, hands int) *Dealer {
	d := &Dealer{from: from, hands: make([]Hand, hands)}
	for n := range d.hands {
		d.hands[n].dealer = d
	}
	return d
}

// Hand returns hand n.
func (d *Dealer) Hand(n int) *Hand { return &d.hands[n] }

// Next takes the hand's next request, like [Schedule.Next]. It also takes requests for other hands
// that come before it, and keeps them for those hands.
func (h *Hand) Next() (number, due int64, ok bool) {
	d := h.dealer
	d.mu.Lock()
	defer d.mu.Unlock()
	for h.taken == len(h.dealt) {
		number, due, ok := d.from.Next()
		if !ok {
			return number, due, false
		}
		d.hands[number%int64(len(d.hands))].keep(dealt{number, due})
	}
	r := h.dealt[h.taken]
	h.taken++
	return r.number, r.due, true
}

// keep adds a request. It reuses memory from taken requests before it allocates more.
func (h *Hand) keep(r dealt) {
	if len(h.dealt) == cap(h.dealt) && 2*h.taken >= len(h.dealt) {
		h.dealt, h.taken = h.dealt[:copy(h.dealt, h.dealt[h.taken:])], 0
	}
	h.dealt = append(h.dealt, r)
}
