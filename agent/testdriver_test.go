package agent_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/fake"
	"github.com/coreos/dbtester/pkg/wire/poller"
	"github.com/coreos/dbtester/pkg/workload"
)

// The test binary is the server of the test database when started as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "serve" {
		if err := serveMember(os.Args[2], os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// A server built for the race detector otherwise takes a second to exit.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	// Parallel tests mostly wait for leases.
	_ = flag.Set("test.parallel", "4") // -parallel on the command line is parsed later
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(poller.Forever))
}

// toy is a database that misbehaves on demand. Its server greets whoever dials
// it, and exits with code 3 when told to die.
type toy struct {
	// Mute servers never listen, so that a start waits for them.
	Mute bool `yaml:"mute"`
	// Stubborn servers ignore SIGINT and SIGTERM.
	Stubborn bool `yaml:"stubborn"`
	// Frail servers exit at once.
	Frail bool `yaml:"frail"`
	// Proxy adds a second command that starts once the server listens.
	Proxy bool `yaml:"proxy"`
	// Flood servers log 4 MiB once they listen.
	Flood bool `yaml:"flood"`
	// Panic makes Plan panic.
	Panic bool `yaml:"panic"`
	// Haunted makes Ready panic.
	Haunted bool `yaml:"haunted"`
	// Memory is refused above the machine memory.
	Memory int64 `yaml:"memory"`
	// Flags are extra flags.
	Flags []string `yaml:"flags"`
	// Exec is an executable that belongs to no tool.
	Exec string `yaml:"exec"`
}

func toyDatabase() database.Database {
	return database.Database{
		Name: "toy",
		Info: database.Info{
			Reads:      []workload.ReadMode{workload.ReadStale},
			Operations: []workload.Op{workload.OpWrite, workload.OpRead},
			Ports:      map[string]int{"client": 7379},
			Tools:      []string{"toyd"},
			MaxValue:   1 << 20,
		},
		New: func() database.Driver { return &toy{} },
	}
}

func (d *toy) ExtraFlags() []string { return d.Flags }

func (d *toy) Validate(h database.HostFacts) error {
	if d.Memory > h.MemoryBytes {
		return errors.Join(
			fmt.Errorf("memory %d is more than the machine has (%d)", d.Memory, h.MemoryBytes),
			errors.New("less would do"),
		)
	}
	return nil
}

func (d *toy) Plan(m database.Member) (database.Plan, error) {
	if d.Panic {
		panic("the toy broke")
	}
	addr := net.JoinHostPort(m.Self().Addr, strconv.Itoa(m.Self().Ports["client"]))
	server := database.Command{Name: "server", Self: true, Args: []string{"toy", addr}, WaitListen: []string{addr}}
	for flag, on := range map[string]bool{"mute": d.Mute, "stubborn": d.Stubborn, "frail": d.Frail, "flood": d.Flood} {
		if on {
			server.Args = append(server.Args, flag)
		}
	}
	if path := m.Tools["toyd"]; path != "" {
		server.Self, server.Path, server.Args = false, path, append([]string{"serve"}, server.Args...)
	}
	if d.Exec != "" {
		server.Self, server.Path = false, d.Exec
	}
	plan := database.Plan{
		Files: []database.File{
			{Path: "toy.conf", Content: "addr " + addr},
			{Path: "key.pem", Content: "hush", Secret: true},
		},
		Commands: []database.Command{server},
		DataDirs: []string{"data"},
		Listen:   []string{addr},
	}
	if d.Proxy {
		plan.Commands = append(plan.Commands, database.Command{Name: "proxy", Self: true, Args: []string{"toy", addr, "idle"}})
	}
	return plan, nil
}

func (d *toy) Ready(ctx context.Context, t database.Target, member int) error {
	if d.Haunted {
		panic("boo")
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", t.Endpoints[member])
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = bufio.NewReader(conn).ReadString('\n')
	return err
}

func (d *toy) Dial(context.Context, database.Target) (database.Client, error) {
	return nil, errors.New("a toy has no clients")
}

// killToy tells the server at addr to exit with code 3.
func killToy(t *testing.T, addr string) {
	t.Helper()
	tellToy(t, addr, "die")
}

// tellToy sends the server at addr a command: die, eat or spin.
func tellToy(t *testing.T, addr, command string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatalf("dial the server: %v", err)
	}
	defer conn.Close()
	if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil {
		t.Fatalf("read the server's reply: %v", err)
	}
	if _, err := fmt.Fprintln(conn, command); err != nil {
		t.Fatalf("write to the server: %v", err)
	}
}

// serveMember is the process of a member.
func serveMember(name string, args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if name == fake.Name {
		return fake.New().Serve(ctx, args)
	}
	return serveToy(ctx, args)
}

// serveToy is the toy's server: args are its address and its misbehaviour.
func serveToy(ctx context.Context, args []string) error {
	addr, has := args[0], map[string]bool{}
	for _, flag := range args[1:] {
		has[flag] = true
	}
	fmt.Println("toy starts", args)
	if has["frail"] {
		return errors.New("too frail to serve")
	}
	if err := os.WriteFile("data/rows", make([]byte, 12345), 0o600); err != nil {
		return err
	}
	if !has["mute"] && !has["idle"] {
		listener, err := net.Listen("tcp", addr)
		if err != nil {
			return err
		}
		go greet(listener)
		if has["flood"] {
			fmt.Print(strings.Repeat(strings.Repeat("blah ", 12)+"end\n", 1<<16))
		}
	}
	<-ctx.Done()
	if has["stubborn"] {
		select {}
	}
	fmt.Println("toy stops")
	return nil
}

func greet(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			fmt.Fprintln(conn, "hello")
			switch line, _ := bufio.NewReader(conn).ReadString('\n'); line {
			case "die\n":
				fmt.Println("disk on fire")
				os.Exit(3)
			case "eat\n":
				eat()
			case "spin\n":
				for ctx := context.Background(); ctx.Err() == nil; {
				}
			}
		}()
	}
}

// eat takes more and more memory.
func eat() {
	for {
		piece, err := syscall.Mmap(-1, 0, 1<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			panic(err)
		}
		for i := 0; i < len(piece); i += 4096 {
			piece[i] = 1
		}
	}
}

// registry has the databases that agents in tests can run.
func registry() *database.Registry { return database.NewRegistry(toyDatabase(), fake.Database()) }
