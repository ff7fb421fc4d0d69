package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// nobody is a user id that owns nothing here.
const nobody = 65534

// intruder calls every verb of the agent at an address in plaintext and prints each result. The
// second argument is the id of a run served by the agent.
func intruder() {
	conn, err := grpc.NewClient("passthrough:///"+os.Args[1], grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	agent, run := pb.NewAgentClient(conn), os.Args[2]
	verbs := map[string]func() error{
		"Status":    func() error { _, err := agent.Status(ctx, &pb.StatusRequest{}); return err },
		"Open":      func() error { _, err := agent.Open(ctx, &pb.OpenRequest{RunId: "other", Owner: "thief"}); return err },
		"Start":     func() error { _, err := agent.Start(ctx, &pb.StartRequest{RunId: run, Database: "etcd"}); return err },
		"Heartbeat": func() error { _, err := agent.Heartbeat(ctx, &pb.HeartbeatRequest{RunId: run}); return err },
		"Stop":      func() error { _, err := agent.Stop(ctx, &pb.StopRequest{RunId: run}); return err },
		"Close":     func() error { _, err := agent.Close(ctx, &pb.CloseRequest{RunId: run}); return err },
		"Prepare": func() error {
			_, err := pb.NewGeneratorClient(conn).Prepare(ctx, &pb.PrepareRequest{RunId: "other", Owner: "thief"})
			return err
		},
		"Collect": func() error {
			stream, err := agent.Collect(ctx, &pb.CollectRequest{RunId: run})
			if err == nil {
				_, err = stream.Recv()
			}
			return err
		},
		"Install": func() error {
			stream, err := agent.Install(ctx, &pb.InstallRequest{RunId: run, Database: "etcd", Version: "3.6.16"})
			if err == nil {
				_, err = stream.Recv()
			}
			return err
		},
	}
	for name, verb := range verbs {
		err := verb()
		// On a busy machine the connection may be gone before the caller reads why.
		for tries := 1; tries < 20 && status.Code(err) == codes.Unavailable; tries++ {
			err = verb()
		}
		if s := status.Convert(err); err == nil || s.Code() != codes.Unauthenticated && s.Code() != codes.Unavailable {
			fmt.Printf("%s was let in: %v\n", name, err)
			os.Exit(1)
		}
		fmt.Printf("%s: %v\n", name, err)
	}
}

// asNobody runs a program as another user and returns its output.
func asNobody(t *testing.T, home, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + home, "GORACE=" + os.Getenv("GORACE")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// openHouse is a folder for another user, with the program in it under two names.
func openHouse(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "dbtester-nobody-")
	if err != nil {
		t.Fatalf("make a folder: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	self, err := os.Executable()
	if err != nil {
		t.Fatalf("find this program: %v", err)
	}
	if err := errors.Join(os.Chmod(dir, 0o755), copyFile(self, filepath.Join(dir, "dbtester")),
		os.Link(filepath.Join(dir, "dbtester"), filepath.Join(dir, "intruder"))); err != nil {
		t.Fatalf("furnish the folder: %v", err)
	}
	if out, err := asNobody(t, dir, filepath.Join(dir, "dbtester"), "version"); err != nil {
		t.Skipf("needs a machine on which another user can run a program of %s: %v\n%s", os.TempDir(), err, out)
	}
	return dir
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close(), os.Chmod(to, 0o755))
}

// Another user on the machine, with full knowledge except the token, can do nothing to a run on
// loopback addresses.
func TestSecondUser(t *testing.T) {
	slowtest.Skip(t)
	if os.Getuid() != 0 {
		t.Skip("needs root, to run a program as another user")
	}
	t.Parallel()
	house := openHouse(t)
	if err := os.Chown(house, nobody, nobody); err != nil {
		t.Fatalf("give the folder away: %v", err)
	}
	p, hosts := newPlace(t), freeHosts(t)
	p.startAgents(hosts)
	c := p.start("control", "--config", p.experiment("mine", hosts, "{rate: 50, duration: 30m, clients: 2}"))
	c.loading()
	id := manifest(t, p.runs()[0]).RunID
	addr := net.JoinHostPort(hosts[0], "3500")
	if out, err := asNobody(t, house, filepath.Join(house, "intruder"), addr, id); err != nil {
		t.Errorf("the intruder: %v\n%s", err, out)
	} else {
		wantText(t, "the intruder's output", out, `Status: .*this agent demands a proof of its user's token`, `Stop: .*(Unauthenticated|Unavailable)`)
	}
	file := filepath.Join(house, "theirs.yaml")
	text := fmt.Sprintf("title: theirs\nresults: %s\nhosts: [%s]\nload: {requests: 10, clients: 1}\ndatabases: {etcd: }\n", filepath.Join(house, "results"), strings.Join(hosts, ", "))
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatalf("write a file for the test: %v", err)
	}
	for what, flags := range map[string][]string{
		"without a token":   {},
		"with --insecure":   {"--insecure"},
		"with my token":     {"--token", p.path(".config", "dbtester", "token")},
		"with its own":      {"--token", filepath.Join(house, "token")},
		"with its own open": {"--token", filepath.Join(house, "token"), "--insecure"},
	} {
		if strings.HasPrefix(what, "with its own") {
			other := append([]string{"agent", "--agent-port", addr, "--work-dir", filepath.Join(house, "work")}, flags[:2]...)
			if out, err := asNobody(t, house, filepath.Join(house, "dbtester"), other...); err == nil || !strings.Contains(out, "address already in use") {
				t.Errorf("an agent of another user at the same address: %v\n%s", err, out)
			}
			token := []byte(strings.Repeat("0123456789abcdef", 4) + "\n")
			if err := errors.Join(os.WriteFile(flags[1], token, 0o600), os.Chown(flags[1], nobody, nobody)); err != nil {
				t.Fatalf("write a token: %v", err)
			}
		}
		out, err := asNobody(t, house, filepath.Join(house, "dbtester"), append([]string{"control", "--config", file}, flags...)...)
		if err == nil || !strings.Contains(out, "agent "+addr+" cannot be reached: ") {
			t.Errorf("control of another user %s: %v\n%s", what, err, out)
		}
	}
	if got := len(p.members()); got != 3 {
		t.Errorf("%d of 3 members run after the intrusion", got)
	}
	c.signal(syscall.SIGINT)
	c.exits(exitInterrupted, patience)
}

// With certificates the same commands work, and nothing else does.
func TestCertificates(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	p, hosts := newPlace(t), freeHosts(t)
	p.start("certs", "init", "--hosts", strings.Join(hosts, ",")).exits(exitDone, patience)
	agents := make([]*command, len(hosts))
	for i, host := range hosts {
		agents[i] = p.start("agent", "--agent-port", net.JoinHostPort(host, "3500"), "--work-dir", p.path("agent-"+host), "--certs", p.path("certs", "agent-"+host))
	}
	for _, a := range agents {
		a.says("agent listens.*TLS as ")
	}
	file := p.experiment("guarded", hosts, "{requests: 200, clients: 4}")
	for _, refused := range []struct {
		why   string
		flags []string
		code  int
	}{
		{"agent " + hosts[0] + `:3500 cannot be reached: it demands TLS \(control --certs\)`, nil, exitFailed},
		{"agent " + hosts[0] + `:3500 cannot be reached: it demands TLS`, []string{"--insecure"}, exitFailed},
		{"cert.pem is for an agent, not for control", []string{"--certs", "certs/agent-" + hosts[0]}, exitUsage},
		{"--insecure does not use certificates", []string{"--insecure", "--certs", "certs/control"}, exitUsage},
		{"the key file is missing", []string{"--tls-ca", "certs/ca.pem", "--tls-cert", "certs/control/cert.pem"}, exitUsage},
	} {
		c := p.start(append([]string{"control", "--config", file}, refused.flags...)...)
		c.exits(refused.code, patience)
		wantText(t, "control", c.err.String(), refused.why)
	}
	c := p.start("control", "--config", file, "--certs", "certs/control")
	c.exits(exitDone, patience)
	db := manifest(t, p.runs()[0]).Databases[0]
	if db.State != results.StateComplete || db.Totals.OK != 200 {
		t.Errorf("the run: %s, %+v", db.State, db.Totals)
	}

	// A new CA only on this side, then on both, while the agents run.
	p.start("certs", "init", "--hosts", strings.Join(hosts, ","), "--dir", "new").exits(exitDone, patience)
	c = p.start("control", "--config", file, "--certs", "new/control")
	c.exits(exitFailed, patience)
	wantText(t, "control", c.err.String(), "agent "+hosts[2]+`:3500 cannot be reached: its certificate is not signed by dbtester CA [a-z0-9]+ of new/control/ca.pem`)
	for _, host := range hosts {
		for _, name := range []string{"ca.pem", "cert.pem", "key.pem"} {
			if err := os.Rename(p.path("new", "agent-"+host, name), p.path("certs", "agent-"+host, name)); err != nil {
				t.Fatalf("replace a file: %v", err)
			}
		}
	}
	p.start("control", "--config", file, "--certs", "new/control").exits(exitDone, patience)
	agents[0].says("certificates were read again")
	c = p.start("control", "--config", file, "--tls-ca", "new/ca.pem", "--tls-cert", "certs/control/cert.pem", "--tls-key", "certs/control/key.pem")
	c.exits(exitUsage, patience)
	for _, a := range agents {
		if text := a.err.String() + a.out.String(); strings.Contains(text, "PRIVATE KEY") {
			t.Errorf("an agent's log holds a key:\n%s", text)
		}
	}
}

// --insecure admits anyone, and the agent, the manifest and the report state that.
func TestInsecure(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	p, hosts := newPlace(t), freeHosts(t)
	for _, a := range p.startAgents(hosts, "--insecure") {
		wantText(t, "the agent", a.err.String(), `warning: --insecure: anyone who reaches 127\.`)
	}
	file := p.experiment("open", hosts, "{requests: 200, clients: 4}")
	c := p.start("control", "--config", file)
	c.exits(exitFailed, patience)
	wantText(t, "control", c.err.String(), "agent "+hosts[0]+`:3500 cannot be reached: it was started with --insecure and lets in anyone; pass --insecure`)
	c = p.start("control", "--config", file, "--insecure")
	c.exits(exitDone, patience)
	wantText(t, "control", c.err.String(), `warning: --insecure: agents without TLS or token are called too`)
	run := p.runs()[0]
	var marks []string
	for _, m := range manifest(t, run).Validity {
		marks = append(marks, m.Code+": "+m.Text)
	}
	mark := `insecure: control called agents without TLS or token \(--insecure\): ` + strings.Join([]string{hosts[0] + ":3500", hosts[1] + ":3500", hosts[2] + ":3500"}, ", ")
	wantText(t, "the manifest's marks", strings.Join(marks, "\n"), mark)
	c = p.start("analyze", "--all", "--config", file, run.Dir())
	c.exits(exitDone, patience)
	wantText(t, "the report", c.out.String(), `(?m)^insecure: control called agents without TLS or token`)
}
