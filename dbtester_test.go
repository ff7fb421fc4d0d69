package dbtester_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/coreos/dbtester"
	"github.com/coreos/dbtester/agent"
	"github.com/coreos/dbtester/control"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/all"
	"github.com/coreos/dbtester/pkg/database/fake"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/results"
)

// TestMain serves a built-in server when an agent starts this binary as a member.
func TestMain(m *testing.M) { databasetest.Main(m, registry()) }

// registry is the registry for agents in tests: all databases, and a quick one of our own.
func registry() *database.Registry {
	return database.NewRegistry(append(all.Registry().All(), fake.Database())...)
}

const host = "127.0.61.1"

// agentOn runs an agent until the test ends, and returns the option to dial it.
func agentOn(t *testing.T) grpc.DialOption {
	t.Helper()
	a, err := agent.New(agent.Options{
		Registry: registry(), WorkDir: t.TempDir(), Self: []string{os.Args[0], "serve"}, Interface: "lo", Version: "v0-test",
	})
	if err != nil {
		t.Fatalf("start the agent: %v", err)
	}
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer()
	a.Register(server)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := a.Close(ctx); err != nil {
			t.Errorf("close the agent: %v", err)
		}
		server.Stop()
		<-served
	})
	return grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
		if addr != host+":3500" {
			return nil, fmt.Errorf("dialed %s, the experiment names %s:3500", addr, host)
		}
		return listener.DialContext(ctx)
	})
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatalf("find a free port: %v", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// TestLibrary reads, runs and analyzes an experiment as programs that import this package do.
func TestLibrary(t *testing.T) {
	dir, bucket := t.TempDir(), t.TempDir()
	file := filepath.Join(dir, "experiment.yaml")
	text := fmt.Sprintf(`title: library
results: %s
hosts: [{addr: %s, agent_port: 3500, ports: {client: %d, peer: %d}}]
load: {operation: write, clients: 2, connections: 2, requests: 50, value_size: 16, read: linearizable}
databases: {etcd: {}}
steps: {upload: true}
upload: {url: 'file://%s'}
`, filepath.Join(dir, "results"), host, freePort(t), freePort(t), bucket)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatalf("write the experiment: %v", err)
	}
	c, err := dbtester.ReadConfig(file)
	if err != nil {
		t.Fatalf("read the experiment: %v", err)
	}
	if len(c.Warnings) != 1 || !strings.HasPrefix(c.Warnings[0], file+":4:") {
		t.Errorf("warnings %q, want one, that a load of writes has no use for a read mode, at line 4 of %s", c.Warnings, file)
	}
	updates := 0
	out, err := c.Run(t.Context(), func(control.Update) { updates++ }, agentOn(t), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatalf("run the experiment: %v", err)
	}
	if len(out.Folders) != 1 || updates == 0 {
		t.Fatalf("%d folders and %d updates, want one folder and some updates", len(out.Folders), updates)
	}
	if _, err := os.Stat(filepath.Join(out.Folders[0], results.FileManifest)); err != nil {
		t.Errorf("the result folder has no manifest: %v", err)
	}
	if _, err := os.Stat(filepath.Join(bucket, "library", filepath.Base(out.Folders[0]), results.FileManifest)); err != nil {
		t.Errorf("the run was not uploaded: %v", err)
	}
	report, err := c.Analyze(t.Context(), out.Folders...)
	if err != nil {
		t.Fatalf("analyze the run: %v", err)
	}
	if report.Title != "library" || len(report.Files) == 0 || !strings.Contains(report.Text(), "etcd") {
		t.Errorf("report %q of %d files, want the title library, files, and a column for etcd:\n%s", report.Title, len(report.Files), report.Text())
	}
}

// TestReadConfigProblems: all problems in a file are reported at once.
func TestReadConfigProblems(t *testing.T) {
	file := filepath.Join(t.TempDir(), "experiment.yaml")
	if err := os.WriteFile(file, []byte("titel: x\nhosts: [127.0.61.1]\nload: {clients: -1}\ndatabases: {etcd: {}}\n"), 0o600); err != nil {
		t.Fatalf("write the experiment: %v", err)
	}
	_, err := dbtester.ReadConfig(file)
	if err == nil {
		t.Fatal("ReadConfig returned no error for an unknown key and a negative count")
	}
	for _, want := range []string{":1:1: ", `"titel"`, ":3:"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
}
