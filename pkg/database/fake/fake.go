// Package fake is a small key-value database built into the binary: for tests
// of everything that drives a database, and the shortest complete example of
// how one is added.
package fake

import (
	"context"
	"errors"
	"time"

	"github.com/coreos/dbtester/pkg/database"
)

// Name is the database's name.
const Name = "fake"

// Database returns the fake as a registry lists it.
func Database() database.Database {
	return database.Database{
		Name: Name,
		Info: database.Info{
			Reads:      []database.ReadMode{database.ReadLinearizable, database.ReadStale},
			Operations: []database.Op{database.OpWrite, database.OpUpdate, database.OpRead, database.OpReadOneshot, database.OpDelete},
			Ports:      map[string]int{"client": 7379},
			MaxValue:   1 << 20,
			Fsync:      "none: everything lives in memory until a clean stop",
			Built:      "built-in",
		},
		New: func() database.Driver { return New() },
	}
}

// Options are the fake's settings: how slow it is and how often it fails.
type Options struct {
	Delay      time.Duration `yaml:"delay" doc:"time the server waits before it answers a request"`
	FailEvery  int           `yaml:"fail_every" doc:"refuse every n-th write without applying it; 0 is never"`
	LoseEvery  int           `yaml:"lose_every" doc:"apply every n-th write and close the connection instead of answering; 0 is never"`
	ReadyAfter time.Duration `yaml:"ready_after" doc:"time after start before a member serves"`
}

// New returns options that hold every default.
func New() *Options { return &Options{} }

// Plan returns one command that runs this binary.
func (o *Options) Plan(m database.Member) (database.Plan, error) {
	return database.Plan{}, errors.New("not yet")
}

// Ready asks the member whether it serves.
func (o *Options) Ready(ctx context.Context, t database.Target, member int) error {
	return errors.New("not yet")
}

// Dial opens one connection.
func (o *Options) Dial(ctx context.Context, t database.Target) (database.Client, error) {
	return nil, errors.New("not yet")
}

// Serve runs one member until ctx ends.
func (o *Options) Serve(ctx context.Context, args []string) error { return errors.New("not yet") }
