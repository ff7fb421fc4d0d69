package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/coreos/dbtester/agent"
	"github.com/coreos/dbtester/agent/generator"
	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/fault"
	"github.com/coreos/dbtester/pkg/fault/owndisk"
	"github.com/coreos/dbtester/pkg/files/runlog"
)

// localAgents are agents inside this process, one for each address that control
// requests. They are for loopback hosts only.
type localAgents struct {
	app     *app
	options agent.Options // WorkDir is set per agent
	below   string        // parent of the work directory

	mu      sync.Mutex
	workDir string    // "" before the first agent
	hold    io.Closer // lock on workDir
	agents  map[string]*localAgent
}

type localAgent struct {
	agent    *agent.Agent
	loads    *generator.Server
	server   *grpc.Server
	listener *bufconn.Listener
	served   chan struct{}
}

func newLocalAgents(a *app, below string, tools map[string]string) *localAgents {
	return &localAgents{
		app: a, below: below, agents: map[string]*localAgent{},
		options: agent.Options{
			Registry: a.registry, Tools: tools, Self: a.self, AllowBinary: true, AllowFlags: true, AllowFaults: fault.Possible(),
			Version: tool().Version, Log: slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: slog.LevelError})),
		},
	}
}

// connect returns a client for the agent at addr. The first call for each address creates the
// agent.
func (l *localAgents) connect(_ context.Context, addr string) (dbtesterpb.AgentClient, io.Closer, error) {
	if err := refuseLocal(addr); err != nil {
		return nil, nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	local := l.agents[addr]
	if local == nil {
		var err error
		if local, err = l.start(addr); err != nil {
			return nil, nil, err
		}
		l.agents[addr] = local
	}
	conn, err := grpc.NewClient("passthrough:///"+addr,
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return local.listener.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, nil, err
	}
	return dbtesterpb.NewAgentClient(conn), conn, nil
}

// refuseLocal returns an error unless addr is a loopback address.
func refuseLocal(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	if ip, err := netip.ParseAddr(host); err != nil || !ip.IsLoopback() {
		return usageError{fmt.Errorf("--local needs loopback addresses, got %s", host)}
	}
	return nil
}

// start creates the agent for an address. The caller holds mu.
func (l *localAgents) start(addr string) (*localAgent, error) {
	if l.workDir == "" {
		dir, err := localWorkDir(l.below)
		if err != nil {
			return nil, err
		}
		if l.hold, err = holdDir(dir); err != nil {
			return nil, errors.Join(fmt.Errorf("hold work directory: %w", err), os.Remove(dir))
		}
		l.workDir = dir
		l.app.last.works(dir)
	}
	o := l.options
	o.Log = slog.New(runlog.New(o.Log.Handler())) // each agent has its own log in its records
	o.WorkDir = filepath.Join(l.workDir, "agent-"+addr)
	var err error
	if o.Disk, err = diskOf(o.Disk, addr, o.WorkDir); err != nil {
		return nil, err
	}
	ag, err := agent.New(o)
	if err != nil {
		return nil, err
	}
	loads, err := newGenerator(l.app, ag, agentFlags{loads: issueFlags{allow: true}}, o.Log)
	if err != nil {
		return nil, errors.Join(err, ag.Close(context.Background()))
	}
	local := &localAgent{
		agent: ag, loads: loads, server: grpc.NewServer(agent.ServerOptions(o.Log)...), listener: bufconn.Listen(1 << 20), served: make(chan struct{}),
	}
	ag.Register(local.server)
	loads.Register(local.server)
	go func() {
		defer close(local.served)
		_ = local.server.Serve(local.listener) // ends with Stop
	}()
	return local, nil
}

// diskOf returns the disk for the member whose agent has this address and work directory: the file
// system mounted for its host below a directory, or the same for all members.
func diskOf(disk, addr, workDir string) (string, error) {
	own, err := owndisk.Asked(disk)
	if err != nil {
		return "", usageError{fmt.Errorf("--disk: %w", err)}
	}
	if own.Dir == "" {
		return disk, nil
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return "", err
	}
	disk = filepath.Join(own.Dir, host)
	if err := checkOwnDisk(disk, workDir); err != nil {
		return "", usageError{err}
	}
	return disk, nil
}

// close stops all agents with their members and removes the work directory.
func (l *localAgents) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout())
	defer cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for _, local := range l.agents {
		errs = append(errs, local.loads.Close(ctx), local.agent.Close(ctx))
		local.server.Stop()
		<-local.served
	}
	if l.workDir == "" {
		return errors.Join(errs...)
	}
	defer l.hold.Close()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	l.app.last.works("")
	return os.RemoveAll(l.workDir)
}

// localWorkDir makes a new directory below dir. The whole directory is removed at the end,
// so it must contain nothing else.
func localWorkDir(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make work directory: %w", err)
	}
	path, err := os.MkdirTemp(dir, strings.Replace(workDirs, "*", time.Now().UTC().Format("20060102T150405Z")+"-*", 1))
	if err != nil {
		return "", fmt.Errorf("make work directory: %w", err)
	}
	return filepath.Abs(path)
}
