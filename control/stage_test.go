package control

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	reading "github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/table"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/results"
)

// patience is the time that anything may take on a busy machine: only a hang takes longer.
const patience = 5 * time.Minute

// stage is where the kills are played: agents with members and with generators, in their own
// processes, and runs on them in others.
type stage struct {
	t       *testing.T
	dir     string
	file    string
	members []*rigAgent
	agents  []*player
	// generators are the addresses at which agents issue parts of the load, and issuers their
	// processes; empty if control issues it.
	generators []string
	issuers    []*player
	steps      []step
	env        []string // for players that start from now on, in addition to the usual one
}

// player is a process that runs the test binary.
type player struct {
	cmd   *exec.Cmd
	in    *os.File
	lines chan string // from standard output; closed at its end
	said  []string
	erred bytes.Buffer // standard error, once it has ended
}

// newStage returns a stage with members of a database, which is YAML, and generators. All players
// have the variables in env, in addition to the usual environment.
func newStage(t *testing.T, members, generators int, load, database string, env ...string) *stage {
	t.Helper()
	s := &stage{t: t, dir: t.TempDir(), env: env}
	var file strings.Builder
	fmt.Fprintf(&file, "title: killed\nresults: %s\nhosts:\n", s.path("results"))
	first := int(rigs.Add(1)%maxRigs)*rigSize + 1
	for i := range members {
		host := fmt.Sprintf("127.0.62.%d", first+i)
		ports := freePorts(t, host, 3)
		addr := net.JoinHostPort(host, strconv.Itoa(ports[0]))
		s.members = append(s.members, &rigAgent{host: host, addr: addr, port: ports[1], workDir: s.path("agent" + strconv.Itoa(i+1))})
		peer := ""
		if strings.HasPrefix(database, "etcd") {
			peer = fmt.Sprintf(", peer: %d", ports[2])
		}
		fmt.Fprintf(&file, "- {addr: %s, agent_port: %s, ports: {client: %d%s}}\n", host, addr[strings.LastIndex(addr, ":")+1:], s.members[i].port, peer)
	}
	for i := range generators {
		host := fmt.Sprintf("127.0.63.%d", first+i)
		s.generators = append(s.generators, net.JoinHostPort(host, strconv.Itoa(freePort(t, host))))
	}
	if generators > 0 {
		fmt.Fprintf(&file, "generators: ['%s']\n", strings.Join(s.generators, "', '"))
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
	s.agents, s.issuers = make([]*player, len(s.members)), make([]*player, len(s.generators))
	for i := range s.members {
		s.serve(i)
	}
	for i := range s.generators {
		s.issue(i)
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
	p.cmd.Dir, p.cmd.Stdin, p.cmd.Stderr = s.path("here"), in, io.MultiWriter(s.t.Output(), &p.erred)
	p.cmd.Env = append(os.Environ(), "TMPDIR="+s.path("tmp"), "HOME="+s.path("here"))
	p.cmd.Env = append(p.cmd.Env, s.env...)
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

// says waits for line, or with "" until the player ends. It returns false if the player ended
// first.
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
	s.agents[member] = s.listen(s.members[member].addr, s.members[member].workDir)
}

// giveDisks mounts a small file system for each member, and starts the agents with them.
func (s *stage) giveDisks() {
	s.t.Helper()
	for i, m := range s.members {
		s.agents[i].kill()
		dir := m.workDir + givenSuffix
		if err := os.Mkdir(dir, 0o755); err != nil {
			s.t.Fatal(err)
		}
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64m"); err != nil {
			s.t.Fatalf("mount %s: %v", dir, err)
		}
		s.t.Cleanup(func() {
			if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
				s.t.Errorf("unmount %s: %v", dir, err)
			}
		})
		s.serve(i)
	}
}

// issue starts the agent of generator n.
func (s *stage) issue(n int) {
	s.t.Helper()
	s.issuers[n] = s.listen(s.generators[n], s.path("generator"+strconv.Itoa(n+1)))
}

// listen starts an agent.
func (s *stage) listen(addr, workDir string) *player {
	s.t.Helper()
	p := s.play("agent", addr, workDir)
	if !s.says(p, "listens") {
		s.t.Fatalf("the agent at %s does not listen", addr)
	}
	return p
}

// ends waits until p ends, at most for the given time.
func (p *player) ends(within time.Duration) {
	late := time.After(within)
	for {
		select {
		case got, open := <-p.lines:
			if !open {
				return
			}
			p.said = append(p.said, got)
		case <-late:
			return
		}
	}
}

// kill kills a player and waits for its end.
func (p *player) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// finish waits until a control ends and returns whether it succeeded.
func (s *stage) finish(p *player) bool {
	s.t.Helper()
	s.says(p, "")
	return p.cmd.Wait() == nil
}

// last returns the newest result folder, or nil.
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

// clear removes the results, so that only those of the next run remain.
func (s *stage) clear() {
	s.t.Helper()
	if err := os.RemoveAll(s.path("results")); err != nil {
		s.t.Fatalf("remove the results: %v", err)
	}
}

// rehearse plays a whole run and returns its points. They include every step.
func (s *stage) rehearse() []string {
	s.t.Helper()
	p := s.mustPlay("before the rehearsal")
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

// conduct starts a control that waits at a point if it is not "", and announces steps to generators
// with a lead.
func (s *stage) conduct(point string, lead time.Duration) *player {
	s.t.Helper()
	return s.play("control", s.file, point, lead.String())
}

// to plays a run up to point.
func (s *stage) to(point string) *player {
	s.t.Helper()
	return s.until("at "+point, point)
}

// until plays a run, which waits at a point if it is not "", until it prints line. On a busy
// machine a run may end before that: then it is played again.
func (s *stage) until(line, point string) *player {
	s.t.Helper()
	p, ok := s.again(point, func(p *player) bool {
		if s.says(p, line) {
			return true
		}
		_ = p.cmd.Wait()
		return false
	})
	if !ok {
		s.t.Fatalf("runs end before %q: %q\n%s", line, p.said, p.erred.String())
	}
	return p
}

// again plays runs, which wait at a point if it is not "", until one is good. Steps of all but the
// first are announced to generators as on a busy machine. If no run is good within patience, it
// returns the last one and false.
func (s *stage) again(point string, good func(*player) bool) (*player, bool) {
	s.t.Helper()
	for deadline, lead := time.Now().Add(patience), shortLead; ; lead = usualLead {
		p := s.conduct(point, lead)
		if good(p) {
			return p, true
		}
		if time.Now().After(deadline) {
			return p, false
		}
		s.clear()
		time.Sleep(500 * time.Millisecond) // until the leases end
	}
}

// mustBeReadable reads the last run as analyze does, and returns its manifest.
func (s *stage) mustBeReadable(point string) *results.Manifest {
	s.t.Helper()
	f := s.last()
	if f == nil {
		s.t.Fatalf("at %q: there is no result folder", point)
	}
	m, err := f.Manifest()
	if err != nil {
		s.t.Fatalf("at %q: %v", point, err)
	}
	runs, err := reading.FromFolder(f.Dir())
	if err != nil {
		s.t.Errorf("at %q: analyze: %v", point, err)
	}
	if tab := table.New(runs); len(runs) > 0 && tab == nil {
		s.t.Errorf("at %q: analyze has no table", point)
	}
	s.clear()
	return m
}

// mustPlay plays a whole run once the agents are free and the machine is not too busy for
// generators.
func (s *stage) mustPlay(point string) *player {
	s.t.Helper()
	p, ok := s.again("", s.finish)
	if !ok {
		s.t.Fatalf("after %q: the next run fails after %q", point, p.said)
	}
	return p
}

// mustRunNext plays a whole run, which leaves nothing, and returns how it ended.
func (s *stage) mustRunNext(point string) string {
	s.t.Helper()
	s.mustPlay(point)
	s.mustBeClean()
	if s.t.Failed() {
		s.t.Fatalf("after what was done at %q", point)
	}
	return s.ending(s.mustBeReadable(point))
}

// ending describes how a run ended by its manifest: its state, the marks that make it not valid for
// other reasons than a busy machine, and its error. Folders and addresses have the names of their
// owners.
func (s *stage) ending(m *results.Manifest) string {
	text := string(m.State)
	for _, d := range m.Databases {
		for _, mark := range d.Validity {
			if mark.Invalid && !slices.Contains(ofMachine[:], mark.Code) {
				text += ", " + mark.Code
			}
		}
		if d.Error != "" {
			text += ": " + strings.ReplaceAll(d.Error, "\n", "; ")
		}
	}
	names := []string{s.dir, "DIR"}
	for i, m := range s.members {
		names = append(names, m.addr, fmt.Sprintf("ADDRESS %d", i+1), m.host, fmt.Sprintf("HOST %d", i+1))
	}
	for i, addr := range s.generators {
		names = append(names, addr, fmt.Sprintf("GENERATOR %d", i+1))
	}
	return strings.NewReplacer(names...).Replace(text)
}

// mustBeClean fails the test if a run left anything except its results.
func (s *stage) mustBeClean() {
	s.t.Helper()
	for _, what := range s.left() {
		s.t.Error(what)
	}
}

// left lists remains of a run apart from its results: a process, a session, a port, or a file
// elsewhere.
func (s *stage) left() (list []string) {
	s.t.Helper()
	note := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	lines := databasetest.CommandLines(s.t)
	for i, m := range s.members {
		if pids := m.serversAmong(lines); len(pids) > 0 {
			note("member %d still runs: pids %v", i+1, pids)
		}
		if now, err := s.status(i); err != nil || now.State != pb.State_STATE_IDLE {
			note("agent %d is %v, %v, want it idle", i+1, now.GetState(), err)
		}
		l, err := net.Listen("tcp", net.JoinHostPort(m.host, strconv.Itoa(m.port)))
		if err != nil {
			note("the port of member %d is not free: %v", i+1, err)
			continue
		}
		l.Close()
	}
	for i, addr := range s.generators {
		client, conn, err := dialGeneratorTCP(s.t.Context(), addr)
		if err != nil {
			s.t.Fatalf("dial generator %d: %v", i+1, err)
		}
		if _, err := client.GeneratorHeartbeat(s.t.Context(), &pb.GeneratorHeartbeatRequest{RunId: "another"}); status.Code(err) != codes.FailedPrecondition {
			note("generator %d is not free: %v", i+1, err)
		}
		conn.Close()
	}
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if path == s.path("results") {
			return filepath.SkipDir
		}
		if err == nil && !d.IsDir() && path != s.file && d.Name() != ".lock" {
			note("%s is left over", path)
		}
		return err
	})
	if err != nil {
		note("what is left cannot be listed: %v", err)
	}
	return list
}

// status requests the status of a member from its agent.
func (s *stage) status(member int) (*pb.StatusResponse, error) {
	s.t.Helper()
	client, conn, err := dialTCP(s.t.Context(), s.members[member].addr)
	if err != nil {
		s.t.Fatalf("dial agent %d: %v", member+1, err)
	}
	defer conn.Close()
	return client.Status(s.t.Context(), &pb.StatusRequest{})
}
