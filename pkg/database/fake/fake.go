// Package fake is a small key-value database built into the binary. Tests of everything
// that drives a database use it, and it is the shortest complete example of a driver.
// Tests can make it slow, refuse writes and lose answers.
//
// Member 0 leads: it keeps all keys in memory and appends every write to a file. The
// other members forward requests to it. A connection carries one request at a time, so
// every client needs its own.
package fake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/fake/deliver"
	"github.com/coreos/dbtester/pkg/database/fake/expiry"
	"github.com/coreos/dbtester/pkg/database/fake/turns"
	"github.com/coreos/dbtester/pkg/results/declared"
)

// Name is used in experiment files and in the registry.
const Name = "fake"

// Version is reported by every member.
const Version = "1.0.0"

// maxValue is the largest value in bytes that a server accepts.
const maxValue = 1 << 20

// Options set how slow the fake is and how often it fails. Counts are of writes that
// reach the leader.
type Options struct {
	Delay      time.Duration `yaml:"delay" doc:"time that the leader needs for a request"`
	OneByOne   bool          `yaml:"one_by_one" doc:"have one request after the other take that time, as behind a lock"`
	FailEvery  int           `yaml:"fail_every" doc:"refuse every n-th write without applying it; 0 means never"`
	LoseEvery  int           `yaml:"lose_every" doc:"apply every n-th write and close the connection instead of answering; 0 means never"`
	Lie        Lie           `yaml:"lie" doc:"what the leader does wrong: drop, older, stale, other, phantom, undelete, double or late; empty means nothing"`
	LieEvery   int           `yaml:"lie_every" doc:"do it at every n-th request that it concerns; 0 means at each"`
	ReadyAfter time.Duration `yaml:"ready_after" doc:"time from start until a member reports that it is ready"`

	Expiry           expiry.Law `yaml:"expiry" doc:"when the leader ends a session that is not renewed: exact, ticked, limited or doubled"`
	ExpireEarlyEvery int        `yaml:"expire_early_every" doc:"end every n-th session at half of its TTL; 0 means never"`

	HandOver        time.Duration `yaml:"hand_over" doc:"time from the release of a lock until the next contender has it"`
	TwoHoldersEvery int           `yaml:"two_holders_every" doc:"give a lock for which others wait to two at once, each n-th time; 0 means never"`
	OldFenceEvery   int           `yaml:"old_fence_every" doc:"give the fence before once more, each n-th time; 0 means never"`

	WatchDelay    time.Duration `yaml:"watch_delay" doc:"time from a write until watchers are told"`
	WatchLie      deliver.Lie   `yaml:"watch_lie" doc:"what is wrong with the news of some writes to watchers: lose, double or swap; empty means nothing"`
	WatchLieEvery int           `yaml:"watch_lie_every" doc:"the lie is told about every n-th of them"`
}

// watchLaw returns the rules of the notifications of watchers.
func (o *Options) watchLaw() deliver.Law {
	return deliver.Law{Delay: o.WatchDelay, Lie: o.WatchLie, Every: o.WatchLieEvery}
}

// New returns options that hold every default: no delay and no faults.
func New() *Options { return &Options{Expiry: expiry.Exact} }

var (
	_ database.Driver    = (*Options)(nil)
	_ database.Validator = (*Options)(nil)
	_ database.Embedded  = (*Options)(nil)
	_ database.Leader    = (*Options)(nil)
	_ database.Versioner = (*Options)(nil)
	_ database.Counter   = (*Options)(nil)
	_ database.KeyFinder = (*Options)(nil)
	_ database.Cleaner   = (*Options)(nil)
)

// Validate refuses negative settings.
func (o *Options) Validate(database.HostFacts) error {
	if !slices.Contains(append(Lies(), Honest), o.Lie) {
		return fmt.Errorf("lie must be one of %q, got %q", Lies(), o.Lie)
	}
	if err := o.Expiry.Valid(); err != nil {
		return err
	}
	if err := o.watchLaw().Valid(); err != nil {
		return err
	}
	if o.ExpireEarlyEvery < 0 {
		return fmt.Errorf("expire_early_every must be at least 0, got %d", o.ExpireEarlyEvery)
	}
	if o.HandOver < 0 || o.TwoHoldersEvery < 0 || o.OldFenceEvery < 0 {
		return fmt.Errorf("hand_over, two_holders_every and old_fence_every must be at least 0, got %v, %d and %d", o.HandOver, o.TwoHoldersEvery, o.OldFenceEvery)
	}
	if o.Delay < 0 || o.ReadyAfter < 0 || o.FailEvery < 0 || o.LoseEvery < 0 || o.LieEvery < 0 {
		return fmt.Errorf("delay, ready_after, fail_every, lose_every and lie_every must be at least 0, got %v, %v, %d, %d and %d", o.Delay, o.ReadyAfter, o.FailEvery, o.LoseEvery, o.LieEvery)
	}
	return nil
}

// Plan returns one command that runs this binary again.
func (o *Options) Plan(m database.Member) (database.Plan, error) {
	if m.Index < 0 || m.Index >= len(m.Hosts) {
		return database.Plan{}, fmt.Errorf("plan fake: the member must be from 0 to %d, got %d", len(m.Hosts)-1, m.Index)
	}
	if m.TLS != nil {
		return database.Plan{}, errors.New("plan fake: TLS is not supported")
	}
	args := []string{
		Name,
		"--listen=" + address(m.Self()),
		"--data=" + filepath.Join(m.Dir, "data", "writes"),
	}
	if m.Index > 0 {
		args = append(args, "--leader="+address(m.Hosts[0]))
	}
	if o.OneByOne {
		args = append(args, "--one-by-one")
	}
	if o.Lie != Honest {
		args = append(args, "--lie="+string(o.Lie), "--lie-every="+strconv.Itoa(o.LieEvery))
	}
	if o.Expiry != expiry.Exact || o.ExpireEarlyEvery > 0 {
		args = append(args, "--expiry="+string(o.Expiry), "--expire-early-every="+strconv.Itoa(o.ExpireEarlyEvery))
	}
	if o.turns() != (turns.Rules{}) {
		args = append(args, "--hand-over="+o.HandOver.String(), "--two-holders-every="+strconv.Itoa(o.TwoHoldersEvery), "--old-fence-every="+strconv.Itoa(o.OldFenceEvery))
	}
	if o.watchLaw() != (deliver.Law{}) {
		args = append(args, "--watch-delay="+o.WatchDelay.String(), "--watch-lie="+string(o.WatchLie), "--watch-lie-every="+strconv.Itoa(o.WatchLieEvery))
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
		LogRules: []declared.LogRule{{Event: "write refused", Pattern: `^refused write `, Help: "a member that does not lead was asked to write"}},
	}, nil
}

func address(h database.Host) string {
	return net.JoinHostPort(h.Addr, strconv.Itoa(h.Ports["client"]))
}

// Ready asks the member whether it is ready and reaches the leader.
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
	n, err := askNumber(ctx, t, opCount, nil, t.KeyPrefix())
	if err != nil {
		return 0, fmt.Errorf("count fake keys: %w", err)
	}
	return n, nil
}

// HighestKey asks the leader, through the first member that answers.
func (o *Options) HighestKey(ctx context.Context, t database.Target, keySize int) (int64, error) {
	n, err := askNumber(ctx, t, opHighest, strconv.AppendInt(nil, int64(keySize), 10), t.KeyPrefix())
	if err != nil {
		return 0, fmt.Errorf("find the highest fake key: %w", err)
	}
	return n, nil
}

// Clean removes keys below the prefix, at most cleanBatch per request.
func (o *Options) Clean(ctx context.Context, t database.Target, which database.Removable, removed func(int64)) error {
	if t.Prefix == "" {
		return errors.New("clean fake: there is no prefix")
	}
	asked, err := json.Marshal(which)
	if err != nil {
		return fmt.Errorf("clean fake: %w", err)
	}
	for sum := int64(0); ; removed(sum) {
		n, err := askNumber(ctx, t, opClean, asked, t.KeyPrefix())
		if err != nil {
			return fmt.Errorf("clean fake: %w", err)
		}
		if n == 0 {
			return nil
		}
		sum += n
	}
}

const cleanBatch = 100

// askNumber sends one request about the keys with a prefix to the members in turn until
// one answers with a number.
func askNumber(ctx context.Context, t database.Target, op opcode, key []byte, prefix string) (int64, error) {
	var errs []error
	for member := range t.Endpoints {
		number, err := askFor(ctx, t, member, op, key, []byte(prefix))
		if err == nil {
			return strconv.ParseInt(string(number), 10, 64)
		}
		errs = append(errs, err)
	}
	return 0, errors.Join(errs...)
}

// ask sends one request without key or value to one member.
func ask(ctx context.Context, t database.Target, member int, op opcode) ([]byte, error) {
	return askFor(ctx, t, member, op, nil, nil)
}

// askFor sends one request to one member.
func askFor(ctx context.Context, t database.Target, member int, op opcode, key, value []byte) ([]byte, error) {
	if member < 0 || member >= len(t.Endpoints) {
		return nil, fmt.Errorf("the fake member must be from 0 to %d, got %d", len(t.Endpoints)-1, member)
	}
	c := &client{endpoint: t.Endpoints[member]}
	answer, err := c.do(ctx, op, key, value)
	if err = errors.Join(err, c.Close()); err != nil {
		return nil, fmt.Errorf("ask fake member %d: %w", member, err)
	}
	return answer, nil
}
