package member_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/member"
	"github.com/coreos/dbtester/pkg/process"
)

// serverEnv makes the test binary a server that listens on its first argument until it is
// interrupted, and then adds to the file order.
const serverEnv = "MEMBER_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(serverEnv) != "" {
		os.Exit(serve(os.Args[len(os.Args)-2], os.Args[len(os.Args)-1]))
	}
	goleak.VerifyTestMain(m)
}

func serve(name, addr string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	note("start " + name)
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer listener.Close()
	<-ctx.Done()
	note("stop " + name)
	return 0
}

// note appends a line to the file order in the working directory.
func note(line string) {
	f, err := os.OpenFile("order", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(f, line)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	f.Close()
}

func options(t *testing.T, plan database.Plan) member.Options {
	t.Helper()
	dir := t.TempDir()
	return member.Options{
		Plan: plan, Dir: filepath.Join(dir, "member"), LogDir: filepath.Join(dir, "logs"),
		Self: []string{self(t), "-test.run=^$"},
	}
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatalf("find the test binary: %v", err)
	}
	return path
}

// server returns a command that listens.
func server(name, addr string) database.Command {
	return database.Command{
		Name: name, Self: true, Args: []string{name, addr},
		Env: []string{serverEnv + "=1"}, WaitListen: []string{addr},
	}
}

// freeAddr returns an address without a listener, on a separate loopback address.
func freeAddr(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.9:0")
	if err != nil {
		t.Fatalf("listen on the address: %v", err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func start(t *testing.T, o member.Options) *member.Member {
	t.Helper()
	m, err := member.Start(t.Context(), o)
	if err != nil {
		t.Fatalf("start the member: %v", err)
	}
	t.Cleanup(func() {
		if err := m.Stop(context.Background(), process.DefaultDeadlines()); err != nil {
			t.Errorf("stop the member: %v", err)
		}
	})
	return m
}

func read(t *testing.T, elem ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatalf("read the file: %v", err)
	}
	return string(data)
}

func mustFail(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error lacks %q: %v", part, err)
		}
	}
}

func TestStartsInOrderAndStopsInReverse(t *testing.T) {
	first, second := freeAddr(t), freeAddr(t)
	o := options(t, database.Plan{
		Commands: []database.Command{server("first", first), server("second", second)},
		Listen:   []string{first, second},
	})
	m := start(t, o)
	children := m.Children()
	if len(children) != 2 || len(m.Pids()) != 2 {
		t.Fatalf("children %+v, pids %v", children, m.Pids())
	}
	for i, name := range []string{"first", "second"} {
		c := children[i]
		wantArgv := []string{self(t), "-test.run=^$", name, []string{first, second}[i]}
		if diff := cmp.Diff(wantArgv, c.Argv); diff != "" {
			t.Errorf("argv (-want +got):\n%s", diff)
		}
		if c.Name != name || !c.Running || c.Pid != m.Pids()[i] || !process.Alive(c.Pid, c.StartTicks) {
			t.Errorf("child %+v", c)
		}
		if c.Log != filepath.Join(o.LogDir, name+".log") {
			t.Errorf("log %s", c.Log)
		}
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := m.Stop(t.Context(), process.DefaultDeadlines()); err != nil {
				t.Errorf("stop the member: %v", err)
			}
		})
	}
	wg.Wait()
	if got, want := read(t, o.Dir, "order"), "start first\nstart second\nstop second\nstop first\n"; got != want {
		t.Errorf("order:\n%swant:\n%s", got, want)
	}
	for _, c := range m.Children() {
		if c.Running || c.Exit.String() != "exit 0 after interrupt" {
			t.Errorf("%s: running %v, %s", c.Name, c.Running, c.Exit)
		}
	}
	if len(m.Pids()) != 0 {
		t.Errorf("pids after stop: %v", m.Pids())
	}
}

func TestPreparesFilesAndDataDirs(t *testing.T) {
	o := options(t, database.Plan{
		Commands: []database.Command{{Name: "idle", Path: "sleep", Args: []string{"600"}}},
		Files: []database.File{
			{Path: "conf/zoo.cfg", Content: "tickTime=1\n"},
			{Path: "data/myid", Content: "1\n"},
			{Path: "key.pem", Content: "secret\n", Secret: true},
		},
		DataDirs: []string{"data/log", "data"},
	})
	outside := filepath.Join(filepath.Dir(o.Dir), "outside")
	for path, content := range map[string]string{
		filepath.Join(o.Dir, "data", "old"):         "old",
		filepath.Join(o.Dir, "data", "log", "old"):  "old",
		filepath.Join(o.Dir, "kept"):                "kept",
		filepath.Join(o.Dir, "key.pem"):             "world-readable",
		filepath.Join(filepath.Dir(o.Dir), "other"): "other",
		filepath.Join(outside, "precious"):          "precious",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatalf("make the folders: %v", err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatalf("write a file for the test: %v", err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(o.Dir, "data", "link")); err != nil {
		t.Fatalf("make a symbolic link: %v", err)
	}
	m := start(t, o)
	var files []string
	_ = filepath.WalkDir(o.Dir, func(path string, d os.DirEntry, err error) error {
		rel, _ := filepath.Rel(o.Dir, path)
		if d.IsDir() {
			rel += "/"
		}
		files = append(files, rel)
		return err
	})
	want := []string{"./", "conf/", "conf/zoo.cfg", "data/", "data/log/", "data/myid", "kept", "key.pem"}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if read(t, outside, "precious") != "precious" {
		t.Error("a link out of the data directory was followed")
	}
	if info, err := os.Stat(filepath.Join(o.Dir, "key.pem")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of a secret: %v, %v", info.Mode(), err)
	}
	sizes, err := m.Measure()
	if err != nil || sizes.Apparent != int64(len("1\n")) || sizes.Files != 1 {
		t.Errorf("data directories measure %+v, %v", sizes, err)
	}
}

func TestRefusesPathsOutside(t *testing.T) {
	idle := database.Command{Name: "idle", Path: "sleep", Args: []string{"600"}}
	for name, plan := range map[string]database.Plan{
		"file above":       {Commands: []database.Command{idle}, Files: []database.File{{Path: "../x"}}},
		"absolute file":    {Commands: []database.Command{idle}, Files: []database.File{{Path: "/tmp/x"}}},
		"data dir above":   {Commands: []database.Command{idle}, DataDirs: []string{"data/../../x"}},
		"absolute dir":     {Commands: []database.Command{idle}, DataDirs: []string{"/tmp"}},
		"whole directory":  {Commands: []database.Command{idle}, DataDirs: []string{"data/.."}},
		"no directory":     {Commands: []database.Command{idle}, DataDirs: []string{""}},
		"log outside":      {Commands: []database.Command{{Name: "../x", Path: "sleep"}}},
		"same name twice":  {Commands: []database.Command{idle, idle}},
		"nothing to start": {},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, plan)
			if _, err := member.Start(t.Context(), o); err == nil {
				t.Error("Start succeeded, want a refusal")
			}
			if _, err := os.Stat(o.Dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a refused start touched the directory: %v", err)
			}
		})
	}
}

// A link an earlier run left must not lead a file or a data directory out.
func TestRefusesLinksOutside(t *testing.T) {
	o := options(t, database.Plan{
		Commands: []database.Command{{Name: "idle", Path: "sleep", Args: []string{"600"}}},
		DataDirs: []string{"link/data"},
	})
	outside := t.TempDir()
	precious := filepath.Join(outside, "data", "precious")
	for _, dir := range []string{filepath.Dir(precious), o.Dir} {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			t.Fatalf("make the folders: %v", err)
		}
	}
	if err := os.WriteFile(precious, nil, 0o600); err != nil {
		t.Fatalf("write a file for the test: %v", err)
	}
	if err := os.Symlink(outside, filepath.Join(o.Dir, "link")); err != nil {
		t.Fatalf("make a symbolic link: %v", err)
	}
	if _, err := member.Start(t.Context(), o); err == nil {
		t.Error("a data directory behind a link was accepted")
	}
	o.Plan.DataDirs, o.Plan.Files = nil, []database.File{{Path: "link/data/precious", Content: "overwritten"}}
	if _, err := member.Start(t.Context(), o); err == nil {
		t.Error("a file behind a link was accepted")
	}
	if got := read(t, precious); got != "" {
		t.Errorf("written outside: %q", got)
	}
}

func TestCheckNamesEveryProblem(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.9:0")
	if err != nil {
		t.Fatalf("listen on the address: %v", err)
	}
	defer taken.Close()
	everywhere, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatalf("listen on the address: %v", err)
	}
	defer everywhere.Close()
	_, port, err := net.SplitHostPort(everywhere.Addr().String())
	if err != nil {
		t.Fatalf("split the address: %v", err)
	}
	free := freeAddr(t)
	o := options(t, database.Plan{
		Commands: []database.Command{
			{Name: "a", Path: "/nowhere/etcd"},
			{Name: "b", Path: "no-such-program-anywhere"},
			{Name: "c", Path: "sleep"},
		},
		Listen: []string{taken.Addr().String(), "127.0.0.9:" + port, free, "192.0.2.1:2379"},
	})
	err = member.Check(t.Context(), o)
	holder := fmt.Sprintf("(pid %d)", os.Getpid())
	mustFail(t, err,
		`command "a": there is no /nowhere/etcd`,
		`command "b": no-such-program-anywhere`,
		"address "+taken.Addr().String()+" is taken by ",
		"address 127.0.0.9:"+port+" is taken by ",
		holder,
		"address 192.0.2.1:2379 does not belong to this machine",
	)
	if strings.Contains(err.Error(), free) || strings.Contains(err.Error(), `"c"`) {
		t.Errorf("the error names something that is not wrong: %v", err)
	}
	if n := strings.Count(err.Error(), holder); n != 2 {
		t.Errorf("the holder is named %d times, want 2: %v", n, err)
	}
}

// A UDP address is different from the same TCP address, and two commands cannot share one.
func TestCheckDatagramsAndTwins(t *testing.T) {
	taken, err := net.ListenPacket("udp", "127.0.0.9:0")
	if err != nil {
		t.Fatalf("listen on the address: %v", err)
	}
	defer taken.Close()
	everywhere, err := net.ListenPacket("udp", ":0")
	if err != nil {
		t.Fatalf("listen on the address: %v", err)
	}
	defer everywhere.Close()
	_, port, err := net.SplitHostPort(everywhere.LocalAddr().String())
	if err != nil {
		t.Fatalf("split the address: %v", err)
	}
	addr, twin := taken.LocalAddr().String(), freeAddr(t)
	plan := database.Plan{Commands: []database.Command{{Name: "c", Path: "sleep"}}}

	plan.Listen = []string{addr + database.UDP, "127.0.0.9:" + port + database.UDP, twin, twin + database.UDP, twin}
	err = member.Check(t.Context(), options(t, plan))
	holder := fmt.Sprintf("(pid %d)", os.Getpid())
	mustFail(t, err,
		"address "+addr+"/udp is taken by ", "address 127.0.0.9:"+port+"/udp is taken by ", holder,
		"address "+twin+" is in the plan twice",
	)
	if n := strings.Count(err.Error(), holder); n != 2 {
		t.Errorf("the holder is named %d times, want 2: %v", n, err)
	}
	plan.Listen = []string{addr, twin, twin + database.UDP}
	for range 2 { // a check holds nothing when it is over
		if err := member.Check(t.Context(), options(t, plan)); err != nil {
			t.Errorf("check the plan: %v", err)
		}
	}
}

// An address that is taken by no process that can be found is waited for. A child that has not
// yet executed its program holds such an address.
func TestCheckWaitsForNobody(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.9:0")
	if err != nil {
		t.Fatalf("listen on the address: %v", err)
	}
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatalf("take the socket: %v", err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatalf("make a pair of sockets: %v", err)
	}
	// In flight between two sockets, the address is taken and no process has it.
	err = errors.Join(unix.Sendmsg(pair[0], []byte{0}, unix.UnixRights(int(file.Fd())), nil, 0), file.Close(), l.Close())
	if err != nil {
		t.Fatalf("send the socket: %v", err)
	}
	plan := database.Plan{Commands: []database.Command{{Name: "c", Path: "sleep"}}, Listen: []string{l.Addr().String()}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	mustFail(t, member.Check(ctx, options(t, plan)), "address "+l.Addr().String()+" is taken by a process that can't be identified")
	time.AfterFunc(20*time.Millisecond, func() { _ = errors.Join(unix.Close(pair[0]), unix.Close(pair[1])) })
	if err := member.Check(t.Context(), options(t, plan)); err != nil {
		t.Errorf("check the plan: %v", err)
	}
}

func TestCheckNamesAChildHoldingThePort(t *testing.T) {
	addr := freeAddr(t)
	plan := database.Plan{Commands: []database.Command{server("holder", addr)}, Listen: []string{addr}}
	m := start(t, options(t, plan))
	err := member.Check(t.Context(), options(t, plan))
	mustFail(t, err, addr, fmt.Sprintf("(pid %d)", m.Pids()[0]))
	if strings.Contains(err.Error(), fmt.Sprintf("(pid %d)", os.Getpid())) {
		t.Errorf("the holders of the address include this process: %v", err)
	}
}

// patience is how long anything may take on a busy machine: only a hang takes longer.
const patience = 2 * time.Minute

func TestDeathIsNoticed(t *testing.T) {
	m := start(t, options(t, database.Plan{Commands: []database.Command{
		{Name: "long", Path: "sleep", Args: []string{"600"}},
		{Name: "short", Path: "sh", Args: []string{"-c", "sleep 0.2; exit 4"}},
	}}))
	select {
	case <-m.Done():
	case <-time.After(patience):
		t.Fatalf("Done was not closed within %v after a child died", patience)
	}
	children := m.Children()
	if !children[0].Running || children[1].Running || children[1].Exit.Code != 4 || len(m.Pids()) != 1 {
		t.Errorf("children %+v", children)
	}
}

func TestDeathWhileWaitingStopsEverything(t *testing.T) {
	addr := freeAddr(t)
	o := options(t, database.Plan{Commands: []database.Command{
		{Name: "good", Path: "sleep", Args: []string{"600"}},
		{
			Name: "bad", Path: "sh", Args: []string{"-c", "echo first; echo cannot open the database; exit 2"},
			WaitListen: []string{addr},
		},
		{Name: "never", Path: "sleep", Args: []string{"600"}},
	}})
	var last []member.Child
	o.Spawned = func(c []member.Child) error { last = c; return nil }
	_, err := member.Start(t.Context(), o)
	mustFail(t, err, "wait for bad to listen on "+addr, "bad ended: exit 2", "first\ncannot open the database")
	if len(last) != 2 {
		t.Fatalf("spawned %+v", last)
	}
	if process.Alive(last[0].Pid, last[0].StartTicks) {
		t.Error("the first command still runs after the second failed")
	}
}

func TestCancelledWhileWaiting(t *testing.T) {
	o := options(t, database.Plan{Commands: []database.Command{
		{Name: "deaf", Path: "sleep", Args: []string{"600"}, WaitListen: []string{freeAddr(t)}},
	}})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := member.Start(ctx, o)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

func TestCallbacks(t *testing.T) {
	var calls []string
	o := options(t, database.Plan{
		Files: []database.File{{Path: "conf"}},
		Commands: []database.Command{
			{Name: "a", Path: "sleep", Args: []string{"600"}},
			{Name: "b", Path: "sleep", Args: []string{"600"}},
		},
	})
	o.Spawned = func(c []member.Child) error {
		if _, err := os.Stat(filepath.Join(o.Dir, "conf")); err != nil {
			return err // files come before commands
		}
		calls = append(calls, fmt.Sprint("spawned ", len(c), " ", c[len(c)-1].Name))
		return nil
	}
	start(t, o)
	if diff := cmp.Diff([]string{"spawned 1 a", "spawned 2 b"}, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}

	refused := errors.New("disk full")
	var spawned []member.Child
	o.Spawned = func(c []member.Child) error { spawned = c; return refused }
	if _, err := member.Start(t.Context(), o); !errors.Is(err, refused) {
		t.Errorf("error %v", err)
	}
	if len(spawned) != 1 || process.Alive(spawned[0].Pid, spawned[0].StartTicks) {
		t.Errorf("processes were left running: %+v", spawned)
	}
}

func TestStopOfTheStubborn(t *testing.T) {
	o := options(t, database.Plan{Commands: []database.Command{
		{Name: "stubborn", Path: "sh", Args: []string{"-c", `trap "" INT TERM; echo > ready; while :; do sleep 0.01; done`}},
	}})
	m := start(t, o)
	for {
		if _, err := os.Stat(filepath.Join(o.Dir, "ready")); err == nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.Stop(ctx, process.DefaultDeadlines()); err != nil {
		t.Errorf("stop the member: %v", err)
	}
	if got := m.Children()[0].Exit; got.Signal != "SIGKILL" || got.After != "kill" {
		t.Errorf("exit %s", got)
	}
	if err := syscall.Kill(m.Children()[0].Pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the process is still known: %v", err)
	}
}
