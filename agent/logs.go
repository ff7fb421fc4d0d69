package agent

import (
	"context"
	"os"
	"sync"

	"github.com/coreos/dbtester/pkg/process/logfile"
	"github.com/coreos/dbtester/pkg/results"
)

// logTo writes what this process logs to the session in dir, until the session is released. It
// appends to the log of an earlier agent. A log that cannot be written is a problem for the run to
// record, and does not end it.
func (s *session) logTo(dir string) {
	f, err := s.agent.root.OpenFile(dir+"/"+results.FileAgentLog, os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		var w *logfile.Writer
		if w, err = logfile.NewWriter(f, s.agent.opts.LogBound); err == nil {
			s.agent.runs.To(w)
			return
		}
		f.Close()
	}
	s.problem("the agent's log is not recorded", err)
}

// boundLogs keeps the logs of the member commands within the agent bound, until the returned
// function is called. That function cuts them for the last time.
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
