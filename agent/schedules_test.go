package agent_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coreos/dbtester/agent"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/databasetest/matrix"
	"github.com/coreos/dbtester/pkg/fault"
	"github.com/coreos/dbtester/pkg/fault/owndisk"
	"github.com/coreos/dbtester/pkg/process"
	"github.com/coreos/dbtester/pkg/process/namespacetest"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// schedulesEnv is the number of random schedules that are played. It is set by make faults.
const schedulesEnv = "DBTESTER_SCHEDULES"

// schedule is a session with random faults, which begin, overlap and end in random order.
type schedule struct {
	*harness
	rand  *rand.Rand
	kinds []*pb.FaultKind
	asked int // faults
	held  int // the number of them that took hold
	// pids are the observed processes, with their starts in ticks.
	pids map[int]uint64
}

// faultKinds returns each fault kind this machine supports, with or without the member's own disk.
func faultKinds(t *testing.T, disk bool) (kinds []*pb.FaultKind) {
	t.Helper()
	parameters := map[string][]fault.Parameters{
		"disk": {{Fsync: "stall"}, {Fsync: "1ms"}, {Full: true}}, "partition": {{From: "clients"}}, "loss": {{From: "clients", Loss: "50%"}},
		"delay": {{From: "clients", By: "20ms"}, {From: "clients", Rate: "1Mbit", Loss: "10%"}},
	}
	for _, k := range fault.Kinds() {
		if k.Possible() != nil {
			continue
		}
		list := parameters[k.Name]
		if list == nil {
			list = []fault.Parameters{{}}
		}
		for _, p := range list {
			if r := (fault.Record{Kind: k.Name, Parameters: p.Encoded()}); disk || !k.NeedsDisk(r) {
				kinds = append(kinds, &pb.FaultKind{Kind: k.Name, Parameters: r.Parameters})
			}
		}
	}
	return kinds
}

// Random faults on a member, which overlap, are undone by their timer, by control or when the
// session ends, in any order. They leave no process, table, queue, mount, loop device or file. make
// faults plays 200 of them.
func TestSchedules(t *testing.T) {
	slowtest.Skip(t)
	if !namespacetest.Rights(t, syscall.CLONE_NEWNET) {
		return
	}
	n := 8
	if asked, err := strconv.Atoi(os.Getenv(schedulesEnv)); err == nil {
		n = asked
	}
	disk := ""
	if owndisk.Check() == nil && !namespacetest.Inside() {
		disk = "loop:64MiB"
	}
	kinds := faultKinds(t, disk != "")
	table := matrix.New(t, "schedules", "Random schedules")
	ends := []string{"a stop", "a close without a stop", "the end of the agent", "an expired lease"}
	count := map[string][3]int{} // schedules, faults, faults that took hold
	for seed := range n {
		end := ends[seed%len(ends)]
		t.Run(fmt.Sprintf("%d ends by %s", seed, end), func(t *testing.T) {
			h := serve(t, func(o *agent.Options) {
				if allowed(o); end == "an expired lease" {
					o.Lease = time.Second
				}
				o.Disk = disk
			})
			s := &schedule{harness: h, rand: rand.New(rand.NewPCG(uint64(seed), 1)), kinds: kinds, pids: map[int]uint64{}}
			queues := queuesNow(t)
			s.play(end)
			left := s.left()
			for begin := time.Now(); len(left) > 0 && time.Since(begin) < patience; left = s.left() {
				time.Sleep(5 * time.Millisecond) // kernels detach devices a moment after the last who looks at them
			}
			for _, what := range left {
				t.Error(what)
			}
			if now := queuesNow(t); now != queues {
				t.Errorf("queues of packets before:\n%safter:\n%s", queues, now)
			}
			c := count[end]
			count[end] = [3]int{c[0] + 1, c[1] + s.asked, c[2] + s.held}
		})
	}
	for _, end := range ends {
		c := count[end]
		table.Add(t, matrix.Row{Step: fmt.Sprintf("%d schedules", c[0]), Done: fmt.Sprintf("%d faults, of which %d took hold", c[1], c[2]), Ended: "by " + end})
	}
}

// play starts the member, does random things to it, and ends the session.
func (s *schedule) play(end string) {
	t := s.t
	s.open("run1")
	req := request(t, "run1", "")
	req.Faults = s.kinds
	if _, err := s.Start(t.Context(), req); err != nil && end != "an expired lease" {
		t.Fatalf("start the member: %v", err)
	}
	// On a busy machine a lease may end before the member is ready.
	s.await("readiness", func(now *pb.StatusResponse) bool {
		got, err := s.Status(t.Context(), &pb.StatusRequest{Probe: true, RunId: "run1"})
		return err == nil && got.Ready || now.State == pb.State_STATE_STOPPED
	})
	lasts := []time.Duration{time.Millisecond, 50 * time.Millisecond, time.Hour}
	for range 3 + s.rand.IntN(6) {
		s.see()
		switch what := s.rand.IntN(10); {
		case what == 0:
			s.hit()
		case what < 4 && s.asked > 0:
			id := strconv.Itoa(1 + s.rand.IntN(s.asked))
			if got, err := s.Heal(t.Context(), &pb.HealRequest{RunId: "run1", Id: id}); err == nil && got.OverUnixNs < got.AppliedUnixNs {
				t.Errorf("fault %s was over before it was applied: %v", id, got)
			}
		default:
			s.asked++
			k := s.kinds[s.rand.IntN(len(s.kinds))]
			ask := &pb.FaultRequest{RunId: "run1", Id: strconv.Itoa(s.asked), Fault: k}
			if known, err := fault.Find(k.Kind); err == nil && !known.Immediate {
				ask.ForNs = int64(lasts[s.rand.IntN(len(lasts))])
			}
			got, err := s.Fault(t.Context(), ask)
			if t.Logf("fault %s of %s%s for %v: %v, %v", ask.Id, k.Kind, k.Parameters, time.Duration(ask.ForNs), got, err); err == nil && got.Failed == "" {
				s.held++
			}
		}
	}
	s.see()
	switch end {
	case "a stop":
		s.stopped("run1")
		fallthrough
	case "a close without a stop":
		if _, err := s.Close(t.Context(), &pb.CloseRequest{RunId: "run1"}); err != nil {
			t.Errorf("close the session: %v", err)
		}
	case "the end of the agent":
		s.close()
	default:
		s.awaitState(pb.State_STATE_STOPPED)
	}
}

// see records the member processes.
func (s *schedule) see() {
	for _, c := range s.status().Children {
		if is, err := process.StartTicks(int(c.Pid)); err == nil && c.Running {
			s.pids[int(c.Pid)] = is
		}
	}
}

// hit kills the member behind the agent's back.
func (s *schedule) hit() {
	for pid, is := range s.pids {
		if process.Alive(pid, is) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// left lists what remains of the faults.
func (s *schedule) left() (list []string) {
	t := s.t
	for pid, is := range s.pids {
		if process.Alive(pid, is) {
			list = append(list, fmt.Sprintf("process %d is left", pid))
		}
	}
	for _, name := range ownTables(t) {
		list = append(list, "the table "+name+" is left")
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(mounts), s.dir) {
		list = append(list, "a mount is left")
	}
	devices, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range devices {
		if image, err := os.ReadFile(d); err == nil && strings.HasPrefix(string(image), s.dir) {
			list = append(list, "the device "+d+" is left")
		}
	}
	return list
}

// queuesNow lists the packet queues of this process, as far as they may be read. Their numbers
// begin at its pid.
func queuesNow(t *testing.T) (list string) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/net/netfilter/nfnetlink_queue")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		number, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.Atoi(number); err == nil && uint16(n-os.Getpid()) < 2 {
			list += number + "\n"
		}
	}
	return list
}
