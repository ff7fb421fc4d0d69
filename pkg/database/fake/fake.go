// Package fake is a small key-value database built into the binary: for tests of
// everything that drives a database, and the shortest complete example of how
// one is added. The tests can make it slow, refuse writes and lose answers.
//
// Member 0 leads: it holds every key in memory and appends every write to a
// file. The other members forward requests to it. A connection carries one
// request at a time, so every client has its own.
package fake

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"github.com/coreos/dbtester/pkg/database"
)

// Name is the database's name.
const Name = "fake"

// Version is what its members answer when they are asked.
const Version = "1.0.0"

// maxValue is the largest value in bytes that a server takes.
const maxValue = 1 << 20

// Database returns the fake as a registry lists it.
func Database() database.Database {
	return database.Database{
		Name: Name,
		Info: database.Info{
			Reads: []database.ReadMode{database.ReadLinearizable},
			Operations: []database.Op{
				database.OpWrite, database.OpUpdate, database.OpRead, database.OpReadOneshot, database.OpDelete,
			},
			Ports:    map[string]int{"client": 7379},
			Embedded: Version,
			MaxValue: maxValue,
			Fsync:    "none: the leader appends to a file and never syncs it",
		},
		New: func() database.Driver { return New() },
	}
}

// Options are the fake's settings: how slow it is and how often it fails. The
// counts are of the writes that reach the leader.
type Options struct {
	Delay      time.Duration `yaml:"delay" doc:"time the leader takes for every request"`
	FailEvery  int           `yaml:"fail_every" doc:"refuse every n-th write without applying it; 0 is never"`
	LoseEvery  int           `yaml:"lose_every" doc:"apply every n-th write and cut the connection instead of answering; 0 is never"`
	ReadyAfter time.Duration `yaml:"ready_after" doc:"time from start until a member says that it is ready"`
}

// New returns options that hold every default: fast and faultless.
func New() *Options { return &Options{} }

var (
	_ database.Driver    = (*Options)(nil)
	_ database.Validator = (*Options)(nil)
	_ database.Embedded  = (*Options)(nil)
	_ database.Leader    = (*Options)(nil)
	_ database.Versioner = (*Options)(nil)
	_ database.Counter   = (*Options)(nil)
)

// Validate refuses negative settings.
func (o *Options) Validate(database.HostFacts) error {
	if o.Delay < 0 || o.ReadyAfter < 0 || o.FailEvery < 0 || o.LoseEvery < 0 {
		return errors.New("delay, ready_after, fail_every and lose_every can't be negative")
	}
	return nil
}

// Plan returns one command that runs this binary again.
func (o *Options) Plan(m database.Member) (database.Plan, error) {
	if m.Index < 0 || m.Index >= len(m.Hosts) {
		return database.Plan{}, fmt.Errorf("plan fake: member %d of %d", m.Index, len(m.Hosts))
	}
	if m.TLS != nil {
		return database.Plan{}, errors.New("plan fake: it speaks no TLS")
	}
	args := []string{
		Name,
		"--listen=" + address(m.Self()),
		"--data=" + filepath.Join(m.Dir, "data", "writes"),
	}
	if m.Index > 0 {
		args = append(args, "--leader="+address(m.Hosts[0]))
	}
	return database.Plan{
		Commands: []database.Command{{
			Name: Name, Self: true,
			Args: append(args,
				"--delay="+o.Delay.String(),
				"--fail-every="+strconv.Itoa(o.FailEvery),
				"--lose-every="+strconv.Itoa(o.LoseEvery),
				"--ready-after="+o.ReadyAfter.String(),
			),
		}},
		DataDirs: []string{"data"},
		Listen:   []string{address(m.Self())},
		LogRules: []database.LogRule{{Event: "write refused", Pattern: `^refused write `}},
	}, nil
}

func address(h database.Host) string {
	return net.JoinHostPort(h.Addr, strconv.Itoa(h.Ports["client"]))
}

// Ready asks the member whether it is up and reaches the leader.
func (o *Options) Ready(ctx context.Context, t database.Target, member int) error {
	_, err := ask(ctx, t, member, opReady)
	return err
}

// Version asks the member for its version.
func (o *Options) Version(ctx context.Context, t database.Target, member int) (string, error) {
	version, err := ask(ctx, t, member, opVersion)
	return string(version), err
}

// Leader asks the members in turn which of them leads.
func (o *Options) Leader(ctx context.Context, t database.Target) (int, error) {
	var errs []error
	for member := range t.Endpoints {
		_, err := ask(ctx, t, member, opLead)
		if err == nil {
			return member, nil
		}
		errs = append(errs, err)
	}
	return 0, fmt.Errorf("find the leader of fake: %w", errors.Join(errs...))
}

// CountKeys asks the leader, through the first member that answers.
func (o *Options) CountKeys(ctx context.Context, t database.Target) (int64, error) {
	var errs []error
	for member := range t.Endpoints {
		count, err := ask(ctx, t, member, opCount)
		if err == nil {
			return strconv.ParseInt(string(count), 10, 64)
		}
		errs = append(errs, err)
	}
	return 0, fmt.Errorf("count fake keys: %w", errors.Join(errs...))
}

// ask sends one request without key or value to one member.
func ask(ctx context.Context, t database.Target, member int, op opcode) ([]byte, error) {
	if member < 0 || member >= len(t.Endpoints) {
		return nil, fmt.Errorf("ask fake member %d of %d", member, len(t.Endpoints))
	}
	c := &client{endpoint: t.Endpoints[member]}
	answer, err := c.do(ctx, op, nil, nil)
	if err = errors.Join(err, c.Close()); err != nil {
		return nil, fmt.Errorf("ask fake member %d: %w", member, err)
	}
	return answer, nil
}
