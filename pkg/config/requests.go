package config

import (
	"fmt"
	"strconv"

	"github.com/coreos/dbtester/pkg/workload"
)

// SetRequests sets the number of requests for every load, split over its steps like the number in
// the file. A duration remains as a second bound. SetRequests returns an error and changes nothing
// if n is too small for the clients or too large for the keys.
func (e *Experiment) SetRequests(n int64) error {
	if s := e.Search(); s != nil {
		return fmt.Errorf("%s has windows, and no number of requests", s.Words)
	}
	for _, d := range e.Databases {
		if err := fits(d.Load, n); err != nil {
			return fmt.Errorf("%s: %w", d.ID, err)
		}
	}
	for i := range e.Databases {
		l := &e.Databases[i].Load
		l.Requests = n
		if e.places != nil {
			e.places["databases."+e.Databases[i].ID+".load.requests"] = "--requests"
		}
		for s, part := range split(n, len(l.Steps)) {
			l.Steps[s].Requests = part
		}
	}
	return nil
}

// fits returns why a load cannot have n requests.
func fits(l workload.Load, n int64) error {
	if n < 1 {
		return fmt.Errorf("requests must be positive, got %d", n)
	}
	if numbers := l.KeyNumbers(n); digits(numbers) > l.KeySize {
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

// digits returns the number of digits in the largest of that many numbers from 0 on.
func digits(numbers int64) int { return len(strconv.FormatInt(max(numbers-1, 0), 10)) }

// split divides requests among n steps by the classic rule: equal parts, rounded down to a multiple
// of ten thousand or a thousand if they are larger. The last step gets the rest: a million over
// eight is seven times 120,000 and once 160,000.
func split(requests int64, n int) []int64 {
	if n == 0 {
		return nil
	}
	part := requests / int64(n)
	switch {
	case part > 10_000:
		part -= part % 10_000
	case part > 1_000:
		part -= part % 1_000
	}
	parts := make([]int64, n)
	for i := range parts {
		parts[i] = part
	}
	parts[n-1] = requests - part*int64(n-1)
	return parts
}
