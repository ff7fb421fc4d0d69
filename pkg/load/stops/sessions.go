package stops

// List holds the stops of this process, in order. Sessions renewed by this process may end during a
// stop, and their holders find out later.
type List []Stop

// Stop is a stretch in which this process did not run. Its times are moments on the load clock.
type Stop struct{ From, To int64 }

// Long returns the stops that [Stops.All] lists one by one.
func (s *Stops) Long() (long List) {
	for _, one := range s.All().Stretches {
		from := s.clock.Moment(one.From)
		long = append(long, Stop{from, from + int64(one.Length)})
	}
	return long
}

// MayEnd reports whether a stop at least so long may have ended sessions whose holders seem to
// overlap between two moments: answers that arrived during a stop were read after it.
func (l List) MayEnd(from, to, least int64) bool {
	for _, stop := range l {
		if length := stop.To - stop.From; length >= least && stop.From <= to && stop.To+length >= from {
			return true
		}
	}
	return false
}

// Within returns how much of the time from one moment to another the process was stopped.
func (l List) Within(from, to int64) (sum int64) {
	for _, stop := range l {
		sum += max(0, min(stop.To, to)-max(stop.From, from))
	}
	return sum
}

// Believed returns the time for which a holder from one moment to another believed that it held
// something although its session had ended: a stop was longer than a session lasts.
func (l List) Believed(from, to, expires int64) int64 {
	for _, stop := range l {
		if stop.From >= from && stop.From < to && stop.To-stop.From > expires {
			return to - (stop.From + expires)
		}
	}
	return 0
}
