package control

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coreos/dbtester/control/fleet"
	"github.com/coreos/dbtester/control/fleet/salvage"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/databasetest/matrix"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// killEnv plays the kills on three etcd members: make kill.
const killEnv = "DBTESTER_KILL_ETCD"

// The loads: a short one, and one that lasts while a process is killed or stopped.
const (
	playedLoad  = "load: {requests: 100, clients: 4, key_size: 32, value_size: 64, timeout: 1s}\n"
	lastingLoad = "load: {rate: 100, duration: 3s, clients: 4, key_size: 32, value_size: 64, timeout: 1s}\n"
)

// deed is something done to a process at some point in a run.
type deed struct {
	who   string // control, or the second agent, member or generator
	stops bool   // SIGSTOP, and SIGCONT later; else SIGKILL
}

func (d deed) String() string {
	if d.stops {
		return "stop " + d.who
	}
	return "kill " + d.who
}

// TestKill kills control, an agent, a member and a generator at every step in a run, and at its
// last words, and stops them for a while: the record is readable, nothing remains, and the next run
// works. Without make matrix, stops and kills of a generator happen at one point each, with
// generators where they matter, and other kills at three: the first, the load and the last. make
// kill and make test-long do them at every step.
func TestKill(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	table := matrix.New(t, "kills", "Kills and stops")
	for _, who := range []string{"control", "agent", "member", "generator"} {
		for _, stops := range []bool{false, true} {
			d := deed{who, stops}
			t.Run(d.String(), func(t *testing.T) {
				t.Parallel()
				members, generators, load, database := 2, 0, playedLoad, "fake: {}"
				if os.Getenv(killEnv) != "" {
					members, database = 3, "etcd: {options: {log_level: error}}"
				}
				one := !matrix.Whole() && (stops || who == "generator")
				if one || matrix.Whole() {
					load = lastingLoad
				}
				if one && (who == "control" || who == "generator") || matrix.Whole() {
					generators = 2
				}
				s := newStage(t, members, generators, load, database)
				if one {
					s.do(table, d, 0, "loading")
					if d.stops {
						return // it ran the next run too
					}
					s.mustRunNext("loading")
					return
				}
				list := s.rehearse()
				every := matrix.Whole() || slowtest.Long() || os.Getenv(killEnv) != ""
				for i, point := range list {
					if point == "loading" || every || i == 0 || i == len(list)-1 {
						s.do(table, d, i, point)
					}
				}
				s.mustRunNext(list[len(list)-1])
			})
		}
	}
}

// do does d at one point in a run. The run ends, leaves nothing and names its errors, and the next
// one works.
func (s *stage) do(table *matrix.Table, d deed, i int, point string) {
	s.t.Helper()
	p := s.to(point)
	row := matrix.Row{Step: point, Done: d.String()}
	if d.who == "control" && !d.stops {
		p.kill()
		row.Ended = s.collected(i, point)
	} else {
		pids := s.pids(d.who, p)
		s.hit(d, p, pids)
		s.finish(p)
		m := s.mustBeReadable(point)
		if row.Ended = s.ending(m); m.State == results.StateRunning {
			s.t.Errorf("%s at %q: the run that ended is %s", d, point, m.State)
		}
		if !d.stops && d.who == "agent" {
			s.serve(1)
		}
		if !d.stops && d.who == "generator" {
			s.issue(1)
		}
		s.mustBeNamed(d, m, point)
		if d.who == "member" || d.who == "generator" {
			row.Left = strings.Join(s.left(), "; ")
			s.mustBeClean()
		}
		if len(pids) == 0 {
			return // no member ran yet, or any more
		}
	}
	if matrix.Whole() || d.who == "control" || d.stops {
		row.Next = s.mustRunNext(point)
	} else {
		row.Next = "the run of the next step"
	}
	table.Add(s.t, row)
}

// pids returns the processes to which a deed is done.
func (s *stage) pids(who string, control *player) (list []int) {
	s.t.Helper()
	switch who {
	case "control":
		return []int{control.cmd.Process.Pid}
	case "agent":
		return []int{s.agents[1].cmd.Process.Pid}
	case "generator":
		return []int{s.issuers[1].cmd.Process.Pid}
	}
	for _, pid := range s.members[1].servers(s.t) {
		n, err := strconv.Atoi(pid)
		if err != nil {
			s.t.Fatalf("parse the number: %v", err)
		}
		list = append(list, n)
	}
	return list
}

// hit kills or stops processes, and lets control continue from its point. Stopped processes
// continue after a while.
func (s *stage) hit(d deed, p *player, pids []int) {
	s.t.Helper()
	send := func(signal syscall.Signal) {
		for _, pid := range pids {
			_ = syscall.Kill(pid, signal) // it may have ended
		}
	}
	if !d.stops {
		switch send(syscall.SIGKILL); d.who {
		case "agent":
			s.agents[1].kill()
		case "generator":
			s.issuers[1].kill()
		}
		_, _ = p.in.WriteString("\n")
		return
	}
	send(syscall.SIGSTOP)
	_, _ = p.in.WriteString("\n")
	if d.who == "control" {
		s.mustGiveUp()
	} else {
		p.ends(stopFor())
	}
	send(syscall.SIGCONT)
}

// stopFor returns the time for which to stop processes that control does not wait for: longer than
// leases, and for the whole matrix long enough that three heartbeats fail.
func stopFor() time.Duration {
	if matrix.Whole() {
		return 20 * time.Second
	}
	return playedLease + 3*time.Second
}

// mustGiveUp waits until no agent has a session from a silent control.
func (s *stage) mustGiveUp() {
	s.t.Helper()
	for i := range s.members {
		for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
			now, err := s.status(i)
			if err == nil && (now.State == pb.State_STATE_IDLE || now.State == pb.State_STATE_STOPPED) {
				break
			}
			if time.Now().After(deadline) {
				s.t.Fatalf("agent %d is %v, %v, after control was silent for long", i+1, now.GetState(), err)
			}
		}
	}
}

// collected collects the records from a run whose control was killed, or leaves its sessions to
// their leases. It returns how the run ended.
func (s *stage) collected(i int, point string) string {
	s.t.Helper()
	if i%6 == 0 {
		return s.ending(s.mustBeReadable(point)) + ", and left to the leases"
	}
	var gone *fleet.GoneError
	err := salvage.Run(s.t.Context(), salvage.Options{Folder: s.last(), Connect: dialTCP, Report: func(text string) { s.t.Log(text) }})
	if err != nil && !errors.As(err, &gone) {
		s.t.Errorf("killed at %q: collect: %v", point, err)
	}
	m := s.mustBeReadable(point)
	if m.State != results.StateInterrupted {
		s.t.Errorf("killed at %q: the collected run is %s", point, m.State)
	}
	return s.ending(m) + ", by the collection"
}

// mustBeNamed fails the test if a run failed and does not name the culprit.
func (s *stage) mustBeNamed(d deed, m *results.Manifest, point string) {
	s.t.Helper()
	names := []string{"member 2", s.members[1].addr, "agent "}
	switch d.who {
	case "generator":
		names = []string{s.generators[1]}
	case "control":
		names = append(names, "member 1") // all have given it up
	}
	for _, db := range m.Databases {
		named := strings.Contains(db.Error, "it did not begin step") // a busy machine loses generators
		for _, name := range names {
			named = named || strings.Contains(db.Error, name)
		}
		if db.State == results.StateFailed && !named {
			s.t.Errorf("%s at %q: the error %q has none of the names %q", d, point, db.Error, names)
		}
	}
}
