package config

import (
	"fmt"
	"strconv"
)

// SetRequests makes every database's load so many requests, split over its steps
// as the file's own number would be; a duration stays a second bound. It is an
// error, and changes nothing, if n is too small for the clients or too large for
// the keys.
func (e *Experiment) SetRequests(n int64) error {
	for _, d := range e.Databases {
		if err := d.Load.fits(n); err != nil {
			return fmt.Errorf("%s: %w", d.ID, err)
		}
	}
	for i := range e.Databases {
		l := &e.Databases[i].Load
		l.Requests = n
		for s, part := range split(n, len(l.Steps)) {
			l.Steps[s].Requests = part
		}
	}
	return nil
}

// fits reports why a load cannot have n requests.
func (l Load) fits(n int64) error {
	if n < 1 {
		return fmt.Errorf("a load has at least one request, not %d", n)
	}
	if numbers := l.keyNumbers(n); digits(numbers) > l.KeySize {
		return fmt.Errorf("keys of %d bytes cannot be %d different ones", l.KeySize, numbers)
	}
	if len(l.Steps) == 0 && int64(l.Clients) > n {
		return fmt.Errorf("%d clients are more than the %d requests they share", l.Clients, n)
	}
	for i, part := range split(n, len(l.Steps)) {
		if s := l.Steps[i]; int64(s.Clients) > part {
			return fmt.Errorf("step %d: %d clients are more than the %d requests they share", i+1, s.Clients, part)
		}
	}
	return nil
}

// digits is how long the largest of so many numbers from 0 on is.
func digits(numbers int64) int { return len(strconv.FormatInt(max(numbers-1, 0), 10)) }
