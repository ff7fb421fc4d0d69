package control

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	healing "github.com/coreos/dbtester/control/abilities/faults"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/ability/faults"
	"github.com/coreos/dbtester/pkg/databasetest/matrix"
	"github.com/coreos/dbtester/pkg/fault"
	"github.com/coreos/dbtester/pkg/fault/nft"
	"github.com/coreos/dbtester/pkg/fault/owndisk"
	"github.com/coreos/dbtester/pkg/process/cgroup"
	"github.com/coreos/dbtester/pkg/process/namespacetest"
	"github.com/coreos/dbtester/pkg/process/resources"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

const (
	// faultPoints is the number of moments in a fault at which a process is killed in the whole
	// matrix: from its request, over its second, until as long after it.
	faultPoints = 20
	faultLasts  = time.Second
	// heals is the time after the lease within which everything must be undone.
	heals = 5 * time.Second
)

// pointsEnv is the number of moments in a fault that the whole matrix has, instead of
// [faultPoints]. scripts/faults.sh sets it.
const pointsEnv = "DBTESTER_FAULT_POINTS"

// faultKeys are one fault of each kind, on a fake member that shares its address with no other.
// full stands for a full disk, given for one that the user has mounted, and MARK for a file that a
// command makes and its undo removes.
var faultKeys = map[string]string{
	"kill": "for: 1s", "restart": "", "pause": "for: 1s", "disk": "for: 1s, fsync: stall", "full": "for: 1s, full: true", givenDisk: "for: 1s, full: true", "power": "for: 1s",
	"partition": "for: 1s, from: clients", "partition in": "for: 1s, from: clients, direction: in", "partition out": "for: 1s, from: clients, direction: out",
	faults.Command: "for: 1s, run: [touch, MARK], undo: [rm, -f, MARK]", "loss": "for: 1s, from: clients, loss: 50%", "delay": "for: 1s, from: clients, by: 20ms, rate: 10Mbit",
}

// givenDisk is a full disk that the user has mounted for the member.
const givenDisk = "full given"

// onDisks are the kinds that members with their own disks have without make faults: those that need
// one, and one more, so that control, an agent and a member are each killed beside disks.
var onDisks = []string{"full", "pause", "power"}

// TestFaultKill kills control, an agent and a member while a fault lasts, for each kind: nothing
// remains of it, and the next run works. A killed agent is restarted at once. Without make faults,
// each kind has one victim at one moment.
func TestFaultKill(t *testing.T) {
	slowtest.Skip(t)
	if !namespacetest.Rights(t, syscall.CLONE_NEWNET) {
		return
	}
	t.Parallel()
	table := matrix.New(t, "faults", "Kills during faults")
	disk := owndisk.Check() == nil && !namespacetest.Inside()
	limits := resources.Limits{MemoryBytes: 512 << 20}
	limited := ""
	if p, err := cgroup.Find(limits); err == nil && p.Check("check", "faults", limits) == nil && !namespacetest.Inside() {
		limited = "resources: {memory: 512MiB}\n" // so that each member has a control group
	}
	all := []string{"control", "agent", "member"}
	for n, kind := range slices.Sorted(maps.Keys(faultKeys)) {
		t.Run(kind, func(t *testing.T) {
			named, _, _ := strings.Cut(strings.Replace(kind, "full", "disk", 1), " ")
			full := strings.HasPrefix(kind, "full")
			mark := ""
			if named == faults.Command {
				mark = filepath.Join(t.TempDir(), "mark")
			} else {
				mustHave(t, named, full, disk)
			}
			t.Parallel()
			keys := "member: 2, " + faultKeys[kind]
			if mark != "" {
				keys = strings.ReplaceAll(faultKeys[kind], "MARK", mark)
			}
			var env []string
			if disk && (matrix.Whole() || slices.Contains(onDisks, kind)) {
				env = append(env, diskEnv+"=loop:64MiB")
			}
			length := 3 * time.Second
			if matrix.Whole() { // which kills until long after the fault
				length += faultLasts
			}
			load := fmt.Sprintf("load: {rate: 100, duration: %v, clients: 4, key_size: 32, value_size: 64, timeout: 1s}\nfaults: [{kind: %s, at: 500ms, %s}]\n%s", length, named, keys, limited)
			s := newStage(t, 2, 0, load, "fake: {}", env...)
			if kind == givenDisk {
				s.giveDisks()
			}
			whos, points := all[n%3:][:1], 1
			if matrix.Whole() {
				whos, points = all, faultPoints
				if asked, err := strconv.Atoi(os.Getenv(pointsEnv)); err == nil {
					points = asked
				}
			}
			for _, who := range whos {
				c := counts{}
				for point := range points {
					at := faultLasts / 2
					if points > 1 {
						at = time.Duration(point) * 2 * faultLasts / time.Duration(points)
					}
					c.add(s.killAt(who, named, mark, at))
				}
				row := matrix.Row{Step: fmt.Sprintf("%s, %d moments", kind, points), Done: "kill " + who, Ended: c.String(), Next: s.mustRunNext(kind)}
				if who == "agent" {
					row.Done += ", and start it again"
				}
				table.Add(t, row)
			}
		})
	}
}

// mustHave skips the test where this machine cannot have a fault kind.
func mustHave(t *testing.T, named string, full, disk bool) {
	t.Helper()
	k, err := fault.Find(named)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Possible(); err != nil {
		t.Skipf("needs the fault %s: %v", named, err)
	} else if k.NeedsDisk(fault.Record{Kind: named, Parameters: fault.Parameters{Full: full}.Encoded()}) && !disk {
		t.Skip("needs a disk of the member's own, as root can have it")
	}
}

// counts counts how runs ended.
type counts map[string]int

func (c counts) add(ended string) { c[ended]++ }

// String is each ending with its number, the most frequent first.
func (c counts) String() string {
	list := slices.SortedFunc(maps.Keys(c), func(a, b string) int { return 2*(c[b]-c[a]) + strings.Compare(a, b) })
	for i, ended := range list {
		list[i] = fmt.Sprintf("%d %s", c[ended], ended)
	}
	return strings.Join(list, "; ")
}

// killAt kills a process some time after a fault was requested, fails the test if anything remains
// of the fault, and returns how the run ended. mark is the file made by the command.
func (s *stage) killAt(who, kind, mark string, after time.Duration) string {
	s.t.Helper()
	begins := "fault: " + kind + " of member 2"
	switch kind {
	case "restart":
	case faults.Command:
		begins = "fault: touch " + mark
	default:
		begins += fmt.Sprintf(" for %v", faultLasts)
	}
	p := s.until(begins, "")
	m, err := s.last().Manifest()
	if err != nil {
		s.t.Fatal(err)
	}
	f := faulted{stage: s, run: pb.RunHash(m.RunID)[:16], agents: []int{s.agents[0].cmd.Process.Pid, s.agents[1].cmd.Process.Pid}}
	time.Sleep(after) // the test is about this moment
	for _, pid := range s.pids(who, p) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	killed := time.Now()
	switch who {
	case "agent":
		s.agents[1].kill()
		s.serve(1)
		s.finish(p)
	case "member":
		s.finish(p)
	default:
		p.kill()
		s.mustGiveUp()
		if mark != "" {
			s.heal(mark)
		}
	}
	if _, err := os.Stat(mark); mark != "" && !errors.Is(err, fs.ErrNotExist) {
		s.t.Errorf("%s during %s: the command is not undone, %v", who, kind, err)
	}
	left := f.left()
	for len(left) > 0 && time.Since(killed) < patience { // a busy machine may need longer
		time.Sleep(100 * time.Millisecond)
		left = f.left()
	}
	for _, what := range left {
		s.t.Errorf("%s during %s: %s", who, kind, what)
	}
	state, _, _ := strings.Cut(s.ending(s.mustBeReadable(kind)), ":")
	if took := time.Since(killed); who == "control" && took > playedLease+heals {
		return state + fmt.Sprintf(" and undone later than %v", playedLease+heals)
	}
	return state
}

// heal runs the undo of the command after control was killed. Commands that had an effect are on
// record.
func (s *stage) heal(mark string) {
	s.t.Helper()
	m, err := s.last().Manifest()
	if err != nil {
		s.t.Fatal(err)
	}
	dir := s.last().Path(m.Databases[0].Tag)
	file, err := faults.OpenUndo(filepath.Join(dir, faults.FileUndo), true)
	if err != nil {
		s.t.Fatal(err)
	}
	defer file.Close()
	list, err := file.Pending()
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := os.Stat(mark); err == nil && len(list) != 1 {
		s.t.Errorf("a command has done something, and %v would undo it", list)
	}
	for _, u := range list {
		if u.Done, err = healing.RunCommand(s.t.Context(), u.Argv, dir); err == nil {
			err = file.Note(u)
		}
		if err != nil {
			s.t.Errorf("undo a command: %v", err)
		}
	}
}

// faulted is a run with a fault.
type faulted struct {
	*stage
	run    string // as in the names of the objects that faults add
	agents []int  // their pids during the fault
}

// left lists remains of the fault and the members: processes, which may be stopped, tables, queues,
// mounts, loop devices and control groups.
func (f faulted) left() (list []string) {
	f.t.Helper()
	note := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	for i, m := range f.members {
		if pids := m.servers(f.t); len(pids) > 0 {
			note("member %d still runs: pids %v", i+1, pids)
		}
	}
	if names, err := nft.Names(); err == nil { // else this machine has no nftables
		for _, name := range names {
			if strings.Contains(name, f.run) {
				note("the table %s is left", name)
			}
		}
	}
	if text, err := os.ReadFile("/proc/self/net/netfilter/nfnetlink_queue"); err == nil {
		for line := range strings.Lines(string(text)) {
			number, err := strconv.Atoi(strings.Fields(line)[0])
			if err == nil && slices.ContainsFunc(f.agents, func(pid int) bool { return number == pid&0xffff }) {
				note("queue %d is left", number)
			}
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		f.t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, f.dir+"/") && !strings.Contains(line, givenSuffix+" ") {
			note("a mount is left: %s", line)
		}
	}
	for _, m := range f.members {
		if entries, err := os.ReadDir(m.workDir + givenSuffix); err == nil && len(entries) > 0 {
			note("%v is left on the disk that was given", entries)
		}
	}
	devices, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		f.t.Fatal(err)
	}
	for _, d := range devices {
		if image, err := os.ReadFile(d); err == nil && strings.HasPrefix(string(image), f.dir+"/") {
			note("the device %s is left", d)
		}
	}
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == f.run {
			note("the control group %s is left", path)
		}
		return nil // foreign groups come and go
	})
	return list
}
