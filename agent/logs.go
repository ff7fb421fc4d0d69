package agent

import (
	"context"
	"os"
	"sync"

	"github.com/coreos/dbtester/pkg/logfile"
)

// boundLogs keeps the logs of the member's commands within the agent's bound until the
// returned function is called, which cuts them for the last time.
func (l life) boundLogs() (stop func()) {
	s, p := l.s, l.p
	keeper := logfile.Keeper{
		Bound: s.agent.opts.LogBound,
		Open:  func(name string) (*os.File, error) { return s.agent.root.OpenFile(p.dir+"/"+name, os.O_RDWR, 0) },
		Report: func(name string, cut logfile.Cut, err error) {
			if err != nil {
				s.log.Warn("log is not bounded", "error", err)
				return
			}
			s.log.Warn("log has grown past its bound: its middle is cut", "log", name, "cut_bytes", cut.Bytes, "kept_bytes", s.agent.opts.LogBound.Most())
		},
	}
	for _, c := range p.plan.Commands {
		keeper.Names = append(keeper.Names, logFile(c.Name))
	}
	// Not s.ctx: a member that stops still writes.
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { keeper.Run(ctx) })
	return func() {
		cancel()
		wg.Wait()
	}
}
