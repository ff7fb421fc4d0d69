package agent

import (
	"path/filepath"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/member"
	"github.com/coreos/dbtester/pkg/process"
	"github.com/coreos/dbtester/pkg/results"
)

// tailLines is the number of log lines quoted from a child that died by itself.
const tailLines = 20

// memberOptions returns how to execute the plan. The record is on disk before the first child,
// and holds each child as soon as it is spawned.
func (l life) memberOptions() member.Options {
	s, p := l.s, l.p
	o := member.Options{
		Plan:   p.plan,
		Dir:    p.member.Dir,
		LogDir: filepath.Join(s.agent.opts.WorkDir, p.dir, results.DirLogs),
		Self:   s.agent.opts.Self,
		Spawned: func(children []member.Child) error {
			s.agent.mu.Lock()
			s.now.spawned = children
			s.agent.mu.Unlock()
			return s.writeRecord()
		},
	}
	l.place(&o)
	return o
}

// running marks the member as running.
func (l life) running(m *member.Member) {
	s := l.s
	s.agent.mu.Lock()
	s.now.member = m
	s.now.state = pb.State_STATE_RUNNING
	tag := s.now.tag
	s.agent.mu.Unlock()
	s.record()
	s.log.Info("member runs", "tag", tag, "pids", m.Pids())
}

// quoteDead keeps the last log lines from children that have ended, before others are stopped.
func (l life) quoteDead(m *member.Member) {
	s := l.s
	tails := map[string]string{}
	for _, c := range m.Children() {
		if c.Running {
			continue
		}
		tail, err := process.Tail(c.Log, tailLines)
		if err != nil {
			tail = err.Error()
		}
		tails[c.Name] = tail
		s.log.Warn("child died", "child", c.Name, "exit", c.Exit.String())
	}
	s.agent.mu.Lock()
	s.now.tails = tails
	s.agent.mu.Unlock()
}
