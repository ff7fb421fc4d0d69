package control

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	reading "github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
	"github.com/coreos/dbtester/control/fleet"
	"github.com/coreos/dbtester/control/fleet/salvage"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/results"
)

// patience is how long anything may take on a busy machine.
const patience = 2 * time.Minute

// stage is where the matrix of kills is played: two agents in processes of their own, and
// runs on them in others.
type stage struct {
	t       *testing.T
	dir     string
	file    string
	members []*rigAgent
	agents  []*player
	steps   []step
}

// player is a process of the test binary.
type player struct {
	cmd   *exec.Cmd
	in    *os.File
	lines chan string // of standard output; closed at its end
	said  []string
}

// newStage returns a stage of so many members of a database, which is YAML.
func newStage(t *testing.T, members int, load, database string) *stage {
	t.Helper()
	s := &stage{t: t, dir: t.TempDir()}
	var file strings.Builder
	fmt.Fprintf(&file, "title: killed\nresults: %s\nhosts:\n", s.path("results"))
	first := int(rigs.Add(1)%maxRigs)*rigSize + 1
	for i := range members {
		host := fmt.Sprintf("127.0.62.%d", first+i)
		addr := net.JoinHostPort(host, strconv.Itoa(freePort(t, host)))
		s.members = append(s.members, &rigAgent{host: host, addr: addr, port: freePort(t, host), workDir: s.path("agent" + strconv.Itoa(i+1))})
		peer := ""
		if strings.HasPrefix(database, "etcd") {
			peer = fmt.Sprintf(", peer: %d", freePort(t, host))
		}
		fmt.Fprintf(&file, "- {addr: %s, agent_port: %s, ports: {client: %d%s}}\n", host, addr[strings.LastIndex(addr, ":")+1:], s.members[i].port, peer)
	}
	file.WriteString(load + "databases: {" + database + "}\n")
	s.file = s.path("experiment.yaml")
	if err := os.WriteFile(s.file, []byte(file.String()), 0o600); err != nil {
		t.Fatalf("write the experiment: %v", err)
	}
	for _, dir := range []string{"tmp", "here"} {
		if err := os.Mkdir(s.path(dir), 0o755); err != nil {
			t.Fatalf("make a folder: %v", err)
		}
	}
	e, _, err := config.Parse(s.file, []byte(file.String()), played().All())
	if err != nil {
		t.Fatalf("read the experiment: %v", err)
	}
	r, err := newRun(e, played(), &e.Databases[0], &journal{})
	if err != nil {
		t.Fatalf("make a run: %v", err)
	}
	for _, step := range newParts(Options{Experiment: e, Registry: played()}, r, nil).steps() {
		if !step.skip {
			s.steps = append(s.steps, step)
		}
	}
	s.agents = make([]*player, len(s.members))
	for i := range s.members {
		s.serve(i)
	}
	return s
}

func (s *stage) path(elem ...string) string {
	return filepath.Join(append([]string{s.dir}, elem...)...)
}

// play starts a player. It is killed when the test ends.
func (s *stage) play(args ...string) *player {
	s.t.Helper()
	in, hold, err := os.Pipe()
	if err != nil {
		s.t.Fatalf("make a pipe: %v", err)
	}
	defer in.Close()
	p := &player{cmd: exec.Command(os.Args[0], append([]string{"play"}, args...)...), in: hold, lines: make(chan string, 1000)}
	p.cmd.Dir, p.cmd.Stdin, p.cmd.Stderr = s.path("here"), in, s.t.Output()
	p.cmd.Env = append(os.Environ(), "TMPDIR="+s.path("tmp"), "HOME="+s.path("here"))
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		s.t.Fatalf("start a player: %v", err)
	}
	go func() {
		defer close(p.lines)
		for text := bufio.NewScanner(out); text.Scan(); {
			p.lines <- text.Text()
		}
	}()
	s.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		_ = p.in.Close()
	})
	return p
}

// says waits for a line, or with "" for the end of the player. It returns false if the
// player ended before.
func (s *stage) says(p *player, line string) bool {
	s.t.Helper()
	late := time.After(patience)
	for {
		select {
		case got, open := <-p.lines:
			if !open {
				return line == ""
			}
			p.said = append(p.said, got)
			if got == line && line != "" {
				return true
			}
		case <-late:
			s.t.Fatalf("a player does not come to %q after %q", line, p.said)
		}
	}
}

// serve starts the agent of a member.
func (s *stage) serve(member int) {
	s.t.Helper()
	s.agents[member] = s.play("agent", s.members[member].addr, s.members[member].workDir)
	if !s.says(s.agents[member], "listens") {
		s.t.Fatalf("agent %d does not listen", member+1)
	}
}

// kill kills a player and waits for its end.
func (p *player) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// finish waits for the end of a control and returns whether it succeeded.
func (s *stage) finish(p *player) bool {
	s.t.Helper()
	s.says(p, "")
	return p.cmd.Wait() == nil
}

// last returns the newest result folder, nil if there is none.
func (s *stage) last() *results.Folder {
	s.t.Helper()
	paths, err := filepath.Glob(s.path("results", "*", "*", results.FileManifest))
	if err != nil {
		s.t.Fatalf("list the results: %v", err)
	}
	slices.SortFunc(paths, func(a, b string) int {
		x, _ := os.Stat(filepath.Dir(a))
		y, _ := os.Stat(filepath.Dir(b))
		return x.ModTime().Compare(y.ModTime())
	})
	if len(paths) == 0 {
		return nil
	}
	f, err := results.Open(filepath.Dir(paths[len(paths)-1]))
	if err != nil {
		s.t.Fatalf("open the result folder: %v", err)
	}
	return f
}

// clear removes the results, so that the next run's are the only ones.
func (s *stage) clear() {
	s.t.Helper()
	if err := os.RemoveAll(s.path("results")); err != nil {
		s.t.Fatalf("remove the results: %v", err)
	}
}

// rehearse plays a whole run and returns its points. Every step is among them.
func (s *stage) rehearse() []string {
	s.t.Helper()
	p := s.play("control", s.file, "")
	if !s.finish(p) {
		s.t.Fatalf("the run fails after %q", p.said)
	}
	list := points(p.said, s.steps)
	for _, step := range s.steps {
		if !slices.Contains(list, step.name) {
			s.t.Errorf("step %q is not among the points %q", step.name, list)
		}
	}
	s.mustBeClean()
	s.clear()
	return list
}

// killEnv plays the kills on three members of etcd: make kill.
const killEnv = "DBTESTER_KILL_ETCD"

// TestKill kills control, an agent and a member at every step of a run, and at its last
// words: the record is readable, nothing is left, and the next run works.
func TestKill(t *testing.T) {
	t.Parallel()
	for who, kill := range map[string]func(*stage, int, string){
		"control": (*stage).killControl, "agent": (*stage).killAgent, "member": (*stage).killMember,
	} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			members, database := 2, "fake: {}"
			if os.Getenv(killEnv) != "" {
				members, database = 3, "etcd: {options: {log_level: error}}"
			}
			s := newStage(t, members, "load: {requests: 100, clients: 4, key_size: 32, value_size: 64, timeout: 1s}\n", database)
			list := s.rehearse()
			for i, point := range list {
				kill(s, i, point)
			}
			s.mustRunNext(list[len(list)-1])
		})
	}
}

// to plays a run up to a point.
func (s *stage) to(point string) *player {
	s.t.Helper()
	p := s.play("control", s.file, point)
	if !s.says(p, "at "+point) {
		s.t.Fatalf("a run ends before %q: %q", point, p.said)
	}
	return p
}

// killControl kills control at a point. Its sessions are ended by the collection of their
// records, or by their leases.
func (s *stage) killControl(i int, point string) {
	s.t.Helper()
	s.to(point).kill()
	if i%6 != 0 {
		var gone *fleet.GoneError
		err := salvage.Run(s.t.Context(), salvage.Options{Folder: s.last(), Connect: dialTCP, Report: func(text string) { s.t.Log(text) }})
		if err != nil && !errors.As(err, &gone) {
			s.t.Errorf("killed at %q: collect: %v", point, err)
		}
		if m := s.mustBeReadable(point); m.State != results.StateInterrupted {
			s.t.Errorf("killed at %q: the collected run is %s", point, m.State)
		}
	} else {
		s.mustBeReadable(point)
	}
	s.mustRunNext(point)
}

// killAgent kills the agent of the second member at a point. The next point's run is the
// one that must work after it.
func (s *stage) killAgent(_ int, point string) {
	s.t.Helper()
	p := s.to(point)
	s.agents[1].kill()
	_, _ = p.in.WriteString("\n")
	s.finish(p)
	if m := s.mustBeReadable(point); m.State == results.StateRunning {
		s.t.Errorf("killed at %q: the run that ended is %s", point, m.State)
	}
	s.serve(1)
}

// killMember kills the second member at a point, if it runs. The run leaves nothing, and
// the next point's works.
func (s *stage) killMember(_ int, point string) {
	s.t.Helper()
	p := s.to(point)
	for _, pid := range s.members[1].servers(s.t) {
		n, err := strconv.Atoi(pid)
		if err != nil {
			s.t.Fatalf("parse the number: %v", err)
		}
		_ = syscall.Kill(n, syscall.SIGKILL)
	}
	_, _ = p.in.WriteString("\n")
	s.finish(p)
	if m := s.mustBeReadable(point); m.State == results.StateRunning {
		s.t.Errorf("killed at %q: the run that ended is %s", point, m.State)
	}
	s.mustBeClean()
}

// mustBeReadable reads the last run as analyze does, and returns its manifest.
func (s *stage) mustBeReadable(point string) *results.Manifest {
	s.t.Helper()
	f := s.last()
	if f == nil {
		s.t.Fatalf("killed at %q: there is no result folder", point)
	}
	m, err := f.Manifest()
	if err != nil {
		s.t.Fatalf("killed at %q: %v", point, err)
	}
	runs, err := reading.FromFolder(f.Dir())
	if err != nil {
		s.t.Errorf("killed at %q: analyze: %v", point, err)
	}
	if tab := table.New(runs); len(runs) > 0 && tab == nil {
		s.t.Errorf("killed at %q: analyze has no table", point)
	}
	s.clear()
	return m
}

// mustRunNext plays a whole run as soon as the agents are free, which leaves nothing.
func (s *stage) mustRunNext(point string) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		p := s.play("control", s.file, "")
		if s.finish(p) {
			break
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("killed at %q: the next run fails after %q", point, p.said)
		}
		s.clear()
		time.Sleep(100 * time.Millisecond) // until the leases end
	}
	s.mustBeClean()
	if s.t.Failed() {
		s.t.Fatalf("after a kill at %q", point)
	}
	s.clear()
}

// mustBeClean fails the test if a run left anything but its results: a process, a
// session, or a file elsewhere.
func (s *stage) mustBeClean() {
	s.t.Helper()
	for i, m := range s.members {
		if pids := m.servers(s.t); len(pids) > 0 {
			s.t.Errorf("member %d still runs: pids %v", i+1, pids)
		}
		client, conn, err := dialTCP(s.t.Context(), m.addr)
		if err != nil {
			s.t.Fatalf("dial agent %d: %v", i+1, err)
		}
		status, err := client.Status(s.t.Context(), &pb.StatusRequest{})
		if err != nil || status.State != pb.State_STATE_IDLE {
			s.t.Errorf("agent %d is %v, %v, want it idle", i+1, status.GetState(), err)
		}
		conn.Close()
		l, err := net.Listen("tcp", net.JoinHostPort(m.host, strconv.Itoa(m.port)))
		if err != nil {
			s.t.Errorf("the port of member %d is not free: %v", i+1, err)
			continue
		}
		l.Close()
	}
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if path == s.path("results") {
			return filepath.SkipDir
		}
		if err == nil && !d.IsDir() && path != s.file && d.Name() != ".lock" {
			s.t.Errorf("%s is left over", path)
		}
		return err
	})
	if err != nil {
		s.t.Errorf("list what is left: %v", err)
	}
}
