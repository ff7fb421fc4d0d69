package issue

import (
	"context"
	"errors"
	"time"

	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/connect"
	"github.com/coreos/dbtester/pkg/load/issuer"
	"github.com/coreos/dbtester/pkg/results"
)

// local is this process, which issues the whole load.
type local struct {
	opts Local
	part *issuer.Issuer // nil before prepare
}

var _ partIssuer = (*local)(nil)

func (l *local) prepare(spec load.Spec) error {
	o := issuer.Options{Database: l.opts.Database, Driver: l.opts.Driver, Locks: l.opts.Locks, Spec: spec, Event: l.opts.Event, Gone: l.opts.Gone}
	if l.opts.Watch != nil {
		watch, err := l.opts.Watch(spec)
		if err != nil {
			return err
		}
		o.Watch = watch
	}
	l.part = issuer.New(o)
	return nil
}

func (l *local) preload(ctx context.Context, p Preload, progress func(load.Progress)) error {
	return l.opts.Dial(ctx, func(d *connect.Dialer) error { return l.part.Preload(ctx, d, p.Preload, progress) })
}

// connect opens connections to the members that Dial returns. It never refuses.
func (l *local) connect(ctx context.Context, step load.Step, keep bool, _ []int) (clients int, refused *refusal, err error) {
	err = l.opts.Dial(ctx, func(d *connect.Dialer) error { return l.part.Connect(ctx, d, step, keep) })
	return step.Clients, nil, err
}

// run runs a step. The end, not the error, reports that the step was stopped or that all members
// are lost.
func (l *local) run(_ context.Context, r running, out *intake) (*issuer.End, error) {
	if r.forget {
		l.part.Forget()
	}
	end, err := l.part.Run(r.until, time.Time{}, out)
	if !end.Result.Start.IsZero() {
		err = errors.Join(err, out.to.End(end.Result.Start, end.Result.End))
	}
	end.MembersGone = errors.Is(err, load.ErrMembersGone)
	err = load.Without(err, load.ErrMembersGone)
	if cause := context.Cause(r.until); cause != nil {
		end.Stopped = errors.Is(err, cause)
		err = load.Without(err, cause)
	}
	return &end, err
}

func (l *local) failBack(ctx context.Context) (load.FailedBack, error) { return l.part.FailBack(ctx) }

// close closes the connections that were kept open.
func (l *local) close(ctx context.Context) (*results.LoadSessions, error) {
	if l.part == nil {
		return nil, nil
	}
	err := l.part.Disconnect()
	return l.part.EndSessions(ctx), err
}
