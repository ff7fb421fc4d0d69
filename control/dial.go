package control

import (
	"context"
	"errors"
	"fmt"

	"github.com/coreos/dbtester/control/fleet"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/connect"
	"github.com/coreos/dbtester/pkg/results"
)

// dialer opens connections to members.
type dialer struct {
	run   *run
	fleet *fleet.Fleet
}

// dial opens n connections, in turn to the members that the load targets, except lost ones.
func (d *dialer) dial(ctx context.Context, n int) (conns []database.Client, err error) {
	err = d.each(ctx, func(to *connect.Dialer) (err error) {
		conns, err = to.Open(ctx, n)
		return err
	})
	return conns, err
}

// each calls open with a dialer for the targeted members, except lost ones. A member that refuses a
// connection is lost, and its connections go to the others: a load survives a member that dies
// between two steps, as it survives one that dies during a step. Every other error ends the load.
func (d *dialer) each(ctx context.Context, open func(*connect.Dialer) error) error {
	for {
		members, err := d.targets()
		if err != nil {
			return err
		}
		to := &connect.Dialer{Driver: d.run.driver, Target: d.run.target, Members: members, Failover: d.run.db.Load.Failover}
		err = open(to)
		var refused *connect.RefusedError
		if err == nil || ctx.Err() != nil || !errors.As(err, &refused) || !d.gone(ctx, to, refused) || len(to.Members) == 1 {
			return err
		}
	}
}

// gone reports whether a member that refused a connection is lost, and records the loss.
func (d *dialer) gone(ctx context.Context, to *connect.Dialer, refused *connect.RefusedError) bool {
	if !to.Gone(ctx, refused.Member) {
		return false
	}
	// Its agent may know how it ended before the next heartbeat is due.
	d.fleet.Beat(ctx, refused.Member)
	d.run.losses.Suspect(refused.Member, fmt.Sprintf("it accepts no connections: %v", refused))
	return true
}

// targets returns the indexes of the members to which connections go.
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

// targeted returns the members that a load targets, lost or not.
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
