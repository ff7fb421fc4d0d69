package issuer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/connect"
	"github.com/coreos/dbtester/pkg/load/pool"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// leased holds the sessions of this part that operations take, with the way to reach the members
// that grant and end them.
type leased struct {
	pool        *pool.Pool
	dialer      *connect.Dialer // nil before the first connection
	connections int
	took        time.Duration // until the sessions before the load were granted
}

// over notes the number of connections that grant or end sessions: as many as the load has.
func (l *leased) over(d *connect.Dialer, connections int) { l.dialer, l.connections = d, connections }

// fill grants this part's sessions before the load.
func (l *leased) fill(ctx context.Context, spec *load.Spec) error {
	n := spec.Part.Count(spec.Sessions)
	if n == 0 {
		return nil
	}
	conns, err := l.dialer.Open(ctx, l.connections)
	if err != nil {
		return err
	}
	start := time.Now()
	on, err := leasers(conns)
	if err == nil {
		err = l.pool.Fill(ctx, n, on, spec.Timeout)
	}
	l.took = time.Since(start)
	return errors.Join(err, database.CloseAll(conns))
}

// leasers returns connections as [database.Leaser]s.
func leasers(conns []database.Client) (list []database.Leaser, err error) {
	for _, c := range conns {
		on, ok := c.(database.Leaser)
		if !ok {
			return nil, fmt.Errorf("clients of sessions must be able to grant, got %T", c)
		}
		list = append(list, on)
	}
	return list, nil
}

// EndTimeout bounds ending all sessions. The remaining sessions end after their TTL.
const EndTimeout = 2 * time.Minute

// EndSessions ends the sessions of this part left over from the load, also after ctx is over. It
// returns counts for sessions and for the locks that requests acquired, nil for a load without such
// operations. It is called after [Issuer.Disconnect].
func (i *Issuer) EndSessions(ctx context.Context) *results.LoadSessions {
	spec, locks := &i.opts.Spec, i.locks()
	switch {
	case spec.Any(workload.Op.OfSessions) && i.leased.dialer != nil:
		s := i.endSessions(ctx)
		s.Locks = locks
		return s
	case locks != nil:
		return &results.LoadSessions{Locks: locks}
	}
	return nil
}

func (i *Issuer) endSessions(ctx context.Context) *results.LoadSessions {
	spec := &i.opts.Spec
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), EndTimeout, fmt.Errorf("not all were ended within %v", EndTimeout))
	defer cancel()
	l := &i.leased
	var conns []database.Client
	var refused error
	if l.pool.Waiting() > 0 {
		conns, refused = l.reach(ctx)
	}
	on, err := leasers(conns)
	c, err2 := l.pool.End(ctx, on, spec.Timeout)
	if c.Left == 0 {
		refused = nil // other members have ended the sessions
	}
	err = errors.Join(refused, err, err2, database.CloseAll(conns))
	s := &results.LoadSessions{
		TTL: spec.SessionTTL, Took: l.took, Granted: c.Before, Begun: c.Begun, Doubtful: c.Doubtful,
		Revoked: c.Revoked, Ended: c.Ended, Expired: c.Expired, Left: c.Left,
	}
	if err != nil {
		s.Why = err.Error()
	}
	return s
}

// reach opens connections to the members that accept them. The error comes from the last refusing
// member.
func (l *leased) reach(ctx context.Context) (conns []database.Client, refused error) {
	lost := map[int]bool{}
	for n := range l.connections {
		member := l.dialer.Members[n%len(l.dialer.Members)]
		if lost[member] {
			continue
		}
		c, err := l.dialer.Member(ctx, member)
		if err != nil {
			lost[member], refused = true, err
			continue
		}
		conns = append(conns, c)
	}
	return conns, refused
}
