//go:build !linux

package queue

import "errors"

var errLinux = errors.New("queues of packets need Linux")

// Queue cannot be made.
type Queue struct{}

// Open returns an error: only Linux has queues.
func Open(Line) (*Queue, error) { return nil, errLinux }

// Number returns 0.
func (q *Queue) Number() uint16 { return 0 }

// Counted counts nothing.
func (q *Queue) Counted() (Counted, error) { return Counted{}, errLinux }

// Close has nothing to do.
func (q *Queue) Close() error { return nil }
