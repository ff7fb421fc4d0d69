package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/coreos/dbtester/control/fleet"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/connect"
	"github.com/coreos/dbtester/pkg/results"
)

// dialer opens connections to the members of a run.
type dialer struct {
	run   *run
	fleet *fleet.Fleet
}

// dial opens n connections, in turn to the members that the load targets and that
// are not lost, and returns who opens more of them. A member that takes no connection is
// lost, and the connections go to the others: a load survives a member that dies between
// two steps, as it survives one that dies during a step. Every other error ends the
// load.
func (d *dialer) dial(ctx context.Context, n int) (conns []database.Client, to *connect.Dialer, err error) {
	for {
		if to, err = d.living(); err != nil {
			return nil, nil, err
		}
		conns, err = to.Open(ctx, n)
		var refused *connect.RefusedError
		if err == nil || ctx.Err() != nil || !errors.As(err, &refused) || !d.gone(ctx, to, refused) || len(to.Members) == 1 {
			return conns, to, err
		}
	}
}

// living returns who opens connections to the members that the load targets and that are
// not lost.
func (d *dialer) living() (*connect.Dialer, error) {
	members, err := d.targets()
	if err != nil {
		return nil, err
	}
	return &connect.Dialer{Driver: d.run.driver, Target: d.run.target, Members: members, Failover: d.run.db.Load.Failover}, nil
}

// gone reports whether a member that refused a connection is lost, and notes it.
func (d *dialer) gone(ctx context.Context, to *connect.Dialer, refused *connect.RefusedError) bool {
	if !to.Gone(ctx, refused.Member) {
		return false
	}
	// Its agent may know how it ended before the next heartbeat is due.
	d.fleet.Beat(ctx, refused.Member)
	d.run.losses.Add(refused.Member, fmt.Sprintf("it accepts no connections: %v", refused))
	return true
}

// reconnect returns how a step's connections are replaced. The first
// loss and the first replacement of a step are events; the step counts all of them.
func (d *dialer) reconnect(to *connect.Dialer) *load.Reconnect {
	var lost, opened sync.Once
	return &load.Reconnect{
		Members: to.Members,
		Dial:    to.Member,
		Lost: func(member int, err error) {
			lost.Do(func() { d.run.journal.event(results.EventConnectionLost, member, err.Error()) })
		},
		Opened: func(member int) {
			opened.Do(func() { d.run.journal.event(results.EventReconnected, member, "") })
		},
		Gone: func() bool {
			return !slices.ContainsFunc(to.Members, func(i int) bool { return !d.run.losses.Has(i) })
		},
	}
}

// targets returns the indexes of the members that connections go to.
func (d *dialer) targets() ([]int, error) {
	var living []int
	members := targeted(d.run.record, d.run.db.Load.Target)
	for _, i := range members {
		if !d.run.losses.Has(i) {
			living = append(living, i)
		}
	}
	switch {
	case len(members) == 0:
		return nil, fmt.Errorf("no member is %q (leader known: %v)", d.run.db.Load.Target, d.run.record.Leader >= 0)
	case len(living) == 0:
		return nil, fmt.Errorf("open connections: every target member of the load (%q) is lost", d.run.db.Load.Target)
	}
	return living, nil
}

// targeted returns the members of a run that a load targets, lost or not.
func targeted(run *results.DatabaseRun, target string) []int {
	var members []int
	for i, m := range run.Members {
		switch target {
		case "all", "":
			members = append(members, i)
		case "leader":
			if i == run.Leader {
				members = append(members, i)
			}
		case "follower":
			if run.Leader >= 0 && i != run.Leader {
				members = append(members, i)
			}
		case m.Addr, m.Endpoint:
			members = append(members, i)
		}
	}
	return members
}
