//go:build !linux

package poller

import (
	"time"

	"github.com/coreos/dbtester/pkg/wire/fiber"
)

// Alarms are waits for times on Linux only.
type Alarms struct{}

// NewAlarms returns nil.
func NewAlarms(time.Time, bool) (*Alarms, error) { return nil, nil }

// Wait is never called.
func (*Alarms) Wait(*fiber.Fiber, int64) {}

// Call is never called.
func (*Alarms) Call(int64, func() int64) {}

// EndWaits is never called.
func (*Alarms) EndWaits() {}

// Close is never called.
func (*Alarms) Close() {}
