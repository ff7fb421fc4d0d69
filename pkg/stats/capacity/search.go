package capacity

import (
	"fmt"
	"math"
)

// Reason explains a search result.
type Reason string

const (
	// Found: the interval is as narrow as the tolerance.
	Found Reason = "found"
	// Searching: the search has not ended.
	Searching Reason = "searching"
	// Wide: all windows were used, but the interval is wider than the tolerance.
	Wide Reason = "out of windows"
	// Stalls: too many windows fail from pauses that occur at any rate.
	Stalls Reason = "stalls"
	// ClientLimited: the client was late three times in a row.
	ClientLimited Reason = "client-limited"
	// StoreFull: the database has no space left.
	StoreFull Reason = "store full"
	// TooLow: not even the lowest rate passes. TooHigh: the highest rate passes.
	TooLow  Reason = "below the least rate"
	TooHigh Reason = "above the highest rate"
)

// voids consecutive void windows end a search.
const voids = 3

// holds bounds the rates to try for the hold.
const holds = 6

// Probe is the next window to measure.
type Probe struct {
	Rate float64 // requests per second
	// Hold requests the longer window in which a rate must be held.
	Hold bool
}

// Verdict is the search result so far. Rates are in requests per second.
type Verdict struct {
	Reason Reason
	// Rate is the posterior median, and Low to High its 95 % interval. They are 0 before the first
	// window that counts. With [Stalls] they describe the windows without a stall.
	Rate, Low, High float64
	// At is the rate at which the client or the store ended the search or its hold, or the bound
	// that was reached.
	At float64
	// Windows is the number that counted. Stalled among these stalled; Voided windows did not
	// count. No number includes hold windows.
	Windows, Stalled, Voided int
	// Held is the highest rate that passed the hold; 0 if no rate passed or no hold was requested.
	// Holds counts the hold windows.
	Held  float64
	Holds int
	// Unheld is ClientLimited or StoreFull if that ended the hold, otherwise "".
	Unheld Reason
}

// counted is a window that counts.
type counted struct {
	rate          float64
	pass, stalled bool
}

// Search finds a capacity. It is not safe for concurrent use.
type Search struct {
	o       Options
	p       *posterior // nil until a window fails
	history []counted
	passed  float64 // highest rate that passed before the first failure
	next    Probe
	inRow   int // consecutive void windows
	stuck   int // consecutive stalled windows
	// avoidable means that stalled windows failed because of their rate. factor is the evidence.
	avoidable bool
	factor    float64
	state     Verdict
	ended     bool
}

// New returns a search. The error lists every option out of bounds.
func New(o Options) (*Search, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("capacity: %w", err)
	}
	return &Search{o: o, next: Probe{Rate: o.Start}, state: Verdict{Reason: Searching}}, nil
}

// Next returns the next window to measure. It returns the same one until that is observed. more is
// false once the search has ended.
func (s *Search) Next() (probe Probe, more bool) { return s.next, !s.ended }

// Observe records the window measured for the last [Search.Next].
func (s *Search) Observe(w Window) Outcome {
	outcome := s.o.Judge(w)
	switch {
	case s.ended:
	case outcome == Full:
		s.stop(StoreFull, w.Rate)
	case outcome == Void:
		if !s.next.Hold {
			s.state.Voided++
		}
		if s.inRow++; s.inRow == voids {
			s.stop(ClientLimited, w.Rate)
		}
	case s.next.Hold:
		s.inRow = 0
		s.held(w.Rate, outcome == Pass)
	default:
		s.inRow = 0
		s.count(w.Rate, outcome)
	}
	return outcome
}

// Verdict returns the result so far.
func (s *Search) Verdict() Verdict { return s.state }

// Fit returns posterior means. At the threshold, in requests per second, half the windows without a
// lapse pass. The spread is the standard deviation of ln threshold, and the lapse is the share of
// windows that fail at any rate. ok is false before the first informative window.
func (s *Search) Fit() (threshold, spread, lapse float64, ok bool) {
	if s.p == nil {
		return 0, 0, 0, false
	}
	mu := 0.0
	n := s.p.from * len(s.p.spreads) * len(s.p.lapses)
	for cell := s.p.from; cell < s.p.to; cell++ {
		for _, sigma := range s.p.spreads {
			for _, l := range s.p.lapses {
				w := s.p.weights[n]
				mu, spread, lapse = mu+w*float64(cell), spread+w*sigma, lapse+w*l
				n++
			}
		}
	}
	return s.p.rate(mu), spread, lapse, true
}

// stop ends a search at a rate at which the client or the store was the limit. If a rate was found
// before its hold, it is kept.
func (s *Search) stop(r Reason, rate float64) {
	s.state.At, s.ended = rate, true
	if s.next.Hold {
		s.state.Unheld = r
		return
	}
	s.state.Reason = r
}

// count records a window that counts, and plans the next one.
func (s *Search) count(rate float64, outcome Outcome) {
	s.state.Windows++
	s.history = append(s.history, counted{rate, outcome == Pass, outcome == Stalled})
	if s.stuck++; outcome == Stalled {
		s.state.Stalled++
	} else {
		s.stuck = 0
	}
	changed := s.weighStalls()
	switch {
	case s.p == nil && s.state.Windows >= MinWindows && s.stallChance() > certain:
		s.conclude(Stalls)
		return
	case s.p == nil && !s.bracket(rate, outcome):
		if rate := s.controls(); rate > 0 && outcome == Stalled {
			s.next.Rate = rate
		}
		return
	case s.p == nil, changed:
		s.begin(s.middle(rate))
	case outcome != Stalled || s.avoidable:
		s.update()
	}
	m := s.estimate(s.share())
	if reason := s.done(m); reason != Searching {
		if reason == Stalls {
			s.estimate(s.o.Share)
		}
		s.conclude(reason)
		return
	}
	s.next.Rate = s.place(m)
	if rate := s.controls(); rate > 0 {
		s.next.Rate = rate
	}
}

// bracket doubles the rate until a window fails, or divides it until one passes. It reports whether
// the posterior may begin.
func (s *Search) bracket(rate float64, outcome Outcome) bool {
	highest := s.o.Highest
	if outcome == Stalled && (s.avoidable || s.passed == 0 && s.stuck == voids) {
		s.stuck, outcome = 0, Fail
	}
	switch {
	case s.state.Windows >= s.o.Windows:
		return true
	case outcome == Stalled: // try again, because the rate may not have caused the stall
		return false
	case outcome == Pass && (highest == 0 || rate < highest):
		s.passed = rate
		if s.next.Rate = 2 * rate; highest > 0 {
			s.next.Rate = min(s.next.Rate, highest)
		}
		return false
	case outcome == Fail && s.passed == 0 && rate > s.o.Least:
		s.next.Rate = max(rate/4, s.o.Least)
		return false
	}
	return outcome == Pass || s.passed > 0 || s.atLeast() >= voids
}

// atLeast counts the windows at the lowest rate.
func (s *Search) atLeast() (n int) {
	for _, w := range s.history {
		if w.rate <= s.o.Least {
			n++
		}
	}
	return n
}

// begin computes the posterior from all windows so far, on a grid around a rate.
func (s *Search) begin(around float64) {
	s.p = newPosterior(around)
	for _, w := range s.history {
		if !w.stalled || s.avoidable {
			s.p.observe(w.rate, w.pass)
		}
	}
}

// middle returns the rate in the middle of a new grid: the previous posterior's median, if there is
// one.
func (s *Search) middle(rate float64) float64 {
	if s.p == nil {
		return rate
	}
	return s.p.at(.5).quantile(.5)
}

// update adds the last window to the posterior, and moves the grid if the posterior leaves it.
func (s *Search) update() {
	last := s.history[len(s.history)-1]
	s.p.observe(last.rate, last.pass)
	if s.p.cramped() {
		s.begin(s.p.at(.5).quantile(.5) * math.Sqrt2)
	}
}

// share returns what fraction of windows without a stall must pass so that the wanted share of all
// windows passes.
func (s *Search) share() float64 {
	clear := 1 - float64(s.unavoidable())/float64(s.state.Windows)
	return min(s.o.Share/max(clear, s.o.Share), .98)
}

// certain is the probability from which stalls end a search, or can no longer prevent its end. It
// is higher than other thresholds, because it is checked after every window.
const certain = .99

// tail is the posterior probability beyond each end of the interval. It is 1.5 % instead of 2.5 %,
// because real servers drift a little during a search, which the model ignores.
const tail = .015

// estimate stores the rate at which a share of windows without a stall passes, and its interval, in
// the state.
func (s *Search) estimate(share float64) *marginal {
	m := s.p.at(share)
	s.state.Low, s.state.Rate, s.state.High = m.quantile(tail), m.quantile(.5), m.quantile(1-tail)
	return m
}

// stallChance returns the probability that more windows stall than the share allows.
func (s *Search) stallChance() float64 {
	n := s.unavoidable()
	return betaAbove(n+1, s.state.Windows-n+1, 1-s.o.Share)
}

// done returns the reason to end, or Searching.
func (s *Search) done(m *marginal) Reason {
	const sure = .95
	likely := .5
	if s.state.Stalled > 0 {
		likely = .8 // stalls that may depend on the rate also count as failures at low rates
	}
	last := s.state.Windows >= s.o.Windows
	stalls, never := s.stallChance(), m.never
	if s.unavoidable() > 0 && !last {
		// Stalls that may depend on the rate raise the share required from the others. If that
		// share is never reached, it proves nothing yet.
		never = s.p.at(s.o.Share).never
	}
	switch {
	case s.state.Windows < MinWindows:
		return Searching
	case stalls > certain, last && stalls > .5, never > sure, last && never > likely:
		return Stalls
	case stalls > 1-certain && s.unavoidable() > 0 && !last:
		return Searching
	case s.o.Highest > 0 && m.above(s.o.Highest) > sure:
		s.state.At = s.o.Highest
		return TooHigh
	case m.above(s.o.Least) < 1-sure:
		s.state.At = s.o.Least
		return TooLow
	case m.never <= .5 && s.state.High <= s.state.Low*(1+s.o.Tolerance):
		return Found
	case last:
		return Wide
	}
	return Searching
}

// place chooses the next rate: near the rate in question, spread over the middle of its posterior,
// and every third time where half the windows pass, which says most about the spread.
func (s *Search) place(m *marginal) float64 {
	n := s.state.Windows
	if n%3 == 0 {
		m = s.p.at(.5)
	}
	_, spread := math.Modf(float64(n) * math.Phi)
	rate := max(m.quantile(.3+.4*spread), s.o.Least)
	if s.o.Highest > 0 {
		rate = min(rate, s.o.Highest)
	}
	return rate
}

// conclude ends the search or starts the hold.
func (s *Search) conclude(r Reason) {
	s.state.Reason = r
	if s.ended = !s.o.Hold || r == Stalls || r == TooLow; s.ended {
		return
	}
	s.next = Probe{Rate: s.state.Rate, Hold: true}
	if r == TooHigh {
		s.next.Rate = s.o.Highest
	}
}

// held records a hold. If it failed, the next one is at the low end of the interval, and each
// further one is lower by half the tolerance.
func (s *Search) held(rate float64, passed bool) {
	s.state.Holds++
	if passed {
		s.state.Held = rate
	}
	if s.ended = passed || s.state.Holds == holds; s.ended {
		return
	}
	s.next.Rate = max(min(s.state.Low, rate*(1-s.o.Tolerance/2)), s.o.Least)
	if s.state.Holds > 1 {
		s.next.Rate = max(rate*(1-s.o.Tolerance/2), s.o.Least)
	}
}

// betaAbove returns the probability that a Beta(a, b) variable with whole parameters exceeds x,
// which equals that of at most a-1 successes in a+b-1 trials with success probability x.
func betaAbove(a, b int, x float64) float64 {
	n := a + b - 1
	term := math.Pow(1-x, float64(n))
	sum := 0.0
	for k := range a {
		sum += term
		term *= float64(n-k) / float64(k+1) * x / (1 - x)
	}
	return min(sum, 1)
}
