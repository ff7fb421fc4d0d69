//go:build !linux

package selfcheck

import "time"

// timer sleeps as Go does, where there is no timerfd.
type timer struct{}

func newTimer() (*timer, error) { return &timer{}, nil }

func (*timer) sleep(d time.Duration) error {
	time.Sleep(d)
	return nil
}

func (*timer) close() {}
