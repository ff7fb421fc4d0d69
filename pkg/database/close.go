package database

import (
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"
)

// closeAtOnce bounds the number of connections that close at a time: each close takes memory, and
// up to a second if the server does not answer.
const closeAtOnce = 250

// CloseAll closes connections, some of which may be nil. It returns the first error and the number
// of others: a thousand clients of a dead server return the same error a thousand times. A panic in
// a client counts as an error.
func CloseAll[C io.Closer](conns []C) error {
	errs := make([]error, len(conns))
	var group errgroup.Group
	group.SetLimit(closeAtOnce)
	for i, conn := range conns {
		if any(conn) == nil {
			continue
		}
		group.Go(func() error {
			defer func() {
				if p := recover(); p != nil {
					errs[i] = Panicked(p)
				}
			}()
			errs[i] = conn.Close()
			return nil
		})
	}
	_ = group.Wait() // the errors are in errs
	return firstOf(errs)
}

func firstOf(errs []error) error {
	var first error
	n := 0
	for _, err := range errs {
		if err != nil {
			if first == nil {
				first = err
			}
			n++
		}
	}
	switch n {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("close connections: %w", first)
	}
	return fmt.Errorf("close connections: %w (and %d more)", first, n-1)
}
