// Package fake is a small key-value database built into the binary. Tests for everything that
// drives a database use it, and it is the shortest complete example of a driver. Tests can make it
// slow, refuse writes and lose answers.
//
// Member 0 leads: it keeps all keys in memory and appends every write to a file. The
// other members forward requests to it. A connection carries one request at a time, so
// every client needs its own.
package fake

import (
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

// Options set how slow the fake is and how often it fails. Counts are of writes that reach the
// leader.
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

// watchLaw returns the rules by which watchers are notified.
func (o *Options) watchLaw() deliver.Law {
	return deliver.Law{Delay: o.WatchDelay, Lie: o.WatchLie, Every: o.WatchLieEvery}
}

// New returns options with every default: no delay and no faults.
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

// Lie is a deliberate error of a leader. Tests use it to prove that such errors are found.
type Lie string

// The lies.
const (
	Honest Lie = ""
	// Drop acknowledges a put without applying it.
	Drop Lie = "drop"
	// Older returns the previous value, a step back for clients that read the last one already.
	// Stale does so for 5 ms after a write. Other returns the value of another key.
	Older Lie = "older"
	Stale Lie = "stale"
	Other Lie = "other"
	// Phantom applies a refused put.
	Phantom Lie = "phantom"
	// Undelete acknowledges a delete without applying it.
	Undelete Lie = "undelete"
	// Double applies a transaction although the key has another version than it names.
	Double Lie = "double"
	// Late applies a put some time after answering it with an unknown outcome, which is
	// legal.
	Late Lie = "late"
)

// Lies returns all lies.
func Lies() []Lie { return []Lie{Drop, Older, Stale, Other, Phantom, Undelete, Double, Late} }

// The recipes.
const (
	recipeQueue   = "queue"
	recipeLottery = "lottery"
)

// turns returns the rules in the options.
func (o *Options) turns() turns.Rules {
	return turns.Rules{HandOver: o.HandOver, TwoHolders: o.TwoHoldersEvery, OldFence: o.OldFenceEvery}
}
