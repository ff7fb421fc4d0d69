package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc"

	"github.com/coreos/dbtester/agent"
	"github.com/coreos/dbtester/agent/generator"
	"github.com/coreos/dbtester/agent/metrics"
	"github.com/coreos/dbtester/pkg/fault"
	"github.com/coreos/dbtester/pkg/files/runlog"
	"github.com/coreos/dbtester/pkg/process"
)

func newAgent(a *app) *cobra.Command {
	var f agentFlags
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Run on a database machine: start, watch and stop the database there",
		Long: `Run on a database machine: start, watch and stop the database there.

With certificates (--certs; see dbtester certs) an agent lets in only control with a
certificate of the same CA. Without, it listens on loopback addresses only and lets in
processes of its own user, which know the token. --insecure lets in anyone.`,
		Example: `  dbtester agent --agent-port 10.0.0.2:3500 --certs certs/10.0.0.2
  dbtester agent --check --work-dir /var/lib/dbtester --peers 10.0.0.3,10.0.0.4`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.dryCheck {
				return a.checkAgent(cmd.Context(), f)
			}
			return a.runAgent(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "agent-port", "127.0.0.1:"+agentPort, "address to listen on, as HOST:PORT")
	flags.StringVar(&f.workDir, "work-dir", "", "directory for databases' data, logs and measurements (default: dbtester-agent/ADDRESS in the user's cache directory)")
	flags.StringVar(&f.logPath, "agent-log", "", "file for the agent's own log, as JSON (default: standard error)")
	flags.StringVar(&f.disk, "disk", "", diskUsage)
	flags.StringVar(&f.device, "disk-device", "", "block device to sample (default: the one below --work-dir)")
	flags.StringVar(&f.iface, "network-interface", "", "network interface to sample (default: the one with the member's address)")
	flags.StringVar(&f.clientNum, "client-num-path", "", "file to keep the current number of clients in")
	flags.DurationVar(&f.lease, "lease", agent.DefaultLease, "stop a session that has received no heartbeat from its control for this long")
	f.link.register(flags, "this agent's certificate", "accept anyone who can reach the address, without TLS or token, also from other machines: they can run databases here")
	flags.BoolVar(&f.allowBinary, "allow-binary", false, "let control name the executable to run: this gives a shell to anyone who may call")
	flags.BoolVar(&f.allowFlags, "allow-flags", false, "let control give extra flags to databases: flags can run programs, so this gives a shell to anyone who may call")
	flags.BoolVar(&f.loads.allow, "allow-load", false, "issue parts of loads when control asks, to members that it reserves at their agents: anyone who may call can send requests from here")
	flags.StringSliceVar(&f.loads.targets, "allow-targets", []string{generator.Reserved}, "with --allow-load: connect to these only, whoever asks: ranges of addresses (10.0.0.0/24), addresses, host names, and `reserved`: the members that control says it has reserved at their agents")
	flags.StringSliceVar(&f.loads.secretDirs, "secrets-dir", nil, "with --allow-load: folders below which certificates, keys and password files for members may be read (default: none)")
	flags.StringSliceVar(&f.loads.secretEnv, "secrets-env", nil, "with --allow-load: environment variables that may be read as passwords for members (default: none)")
	flags.StringSliceVar(&f.allowFaults, "allow-faults", nil, "kinds of faults to apply to the database when control asks, of "+strings.Join(fault.Names(), ", ")+" (default: none)")
	flags.BoolVar(&f.dryCheck, "check", false, "print what the agent would use on this machine, measure its disk for "+checkDuration.String()+", and exit: exit code 0 if it can start")
	flags.StringSliceVar(&f.peers, "peers", nil, "with --check: machines to measure the round trip to, as HOST[:PORT],... (port: as in --agent-port)")
	f.metrics.flag = "metrics"
	flags.StringVar(&f.metrics.address, "metrics", "", "serve /metrics for Prometheus at an address such as 127.0.0.1:3600: samples, the session, faults, and the part of a load")
	flags.StringVar(&f.metrics.certs, "metrics-certs", "", "with --metrics: folder of this agent's certificate, as in --certs. Other machines may then look too, with a certificate as control has")
	completeList(cmd, "allow-faults", fault.Names())
	registerCache(flags, &f.cache, "directory of releases")
	f.tools.register(flags, a.registry)
	cmd.SetFlagErrorFunc(agentFlagError)
	return cmd
}

// agentFlagError names the replacement for flags that only the classic agent had.
func agentFlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return flagError(cmd, err)
	}
	switch unknown.GetSpecifiedName() {
	case "database-log", "system-metrics-csv", "system-metrics-csv-interpolated", "zookeeper-data-dir", "zookeeper-config",
		"etcd-data-dir", "consul-data-dir":
		return usageError{fmt.Errorf("%w: databases' data, logs and measurements are below --work-dir (see %s --help)", err, cmd.CommandPath())}
	case "zookeeper-work-dir":
		return usageError{fmt.Errorf("%w: members work below --work-dir, and --zookeeper-exec names a directory of jars (see %s --help)", err, cmd.CommandPath())}
	default:
		return flagError(cmd, err)
	}
}

// diskUsage describes --disk.
const diskUsage = "give each database a disk of its own: loop:SIZE, such as loop:2GiB, is ext4 in a file below --work-dir, which faults may fill or cut, and needs root; a directory is where an empty file system is mounted for it, which faults may fill"

// stopTimeout bounds an agent's shutdown: all its deadlines plus 10 s.
func stopTimeout() time.Duration {
	d := process.DefaultDeadlines()
	return d.Interrupt + d.Terminate + d.Kill + 10*time.Second
}

func (a *app) runAgent(ctx context.Context, f agentFlags) error {
	if err := f.check(); err != nil {
		return usageError{err}
	}
	tools, err := f.tools.paths()
	if err != nil {
		return err
	}
	log, closeLog, err := openLog(a, f.logPath)
	if err != nil {
		return err
	}
	defer closeLog()
	link, callers, err := f.link.server(a, f.listen, log)
	if err != nil {
		return err
	}
	workDir, err := f.workDirectory()
	if err != nil {
		return err
	}
	cache, err := cacheDir(f.cache)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", f.listen, err)
	}
	parts, err := a.startParts(ctx, f, agent.Options{
		Registry: a.registry, WorkDir: workDir, Cache: cache, Tools: tools, Self: a.self, Lease: f.lease,
		AllowBinary: f.allowBinary, AllowFlags: f.allowFlags, AllowFaults: f.allowFaults, Device: f.device, Interface: f.iface, Disk: f.disk,
		ClientNumPath: f.clientNum, Log: log, Version: tool().Version,
	})
	if err != nil {
		listener.Close()
		return err
	}
	server := grpc.NewServer(append(agent.ServerOptions(log), link.Options()...)...)
	parts.agent.Register(server)
	parts.loads.Register(server)
	fmt.Fprintf(a.out, "agent listens on %s, works in %s\nit lets in %s\n", listener.Addr(), workDir, callers)
	log.Info("agent listens", "address", listener.Addr().String(), "work_dir", workDir, "lets_in", callers)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err = <-served:
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout())
	defer cancel()
	closeErr := parts.close(closing)
	server.Stop()
	return cmp.Or(err, closeErr)
}

// agentParts serve agent calls and metrics.
type agentParts struct {
	agent   *agent.Agent
	loads   *generator.Server
	metrics *metricsServer
}

// startParts starts all parts of the agent. If one fails to start, the others are closed.
func (a *app) startParts(ctx context.Context, f agentFlags, o agent.Options) (p agentParts, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close(context.WithoutCancel(ctx)))
		}
	}()
	if p.agent, err = agent.New(o); err != nil {
		return p, err
	}
	if p.loads, err = newGenerator(a, p.agent, f, o.Log); err != nil {
		return p, err
	}
	exposed := metrics.Options{Agent: p.agent, Faults: f.allowFaults, Version: o.Version}
	if f.loads.allow {
		exposed.Generator = p.loads
	}
	p.metrics, err = a.serveMetrics(ctx, f.metrics, exposed, o.Log)
	return p, err
}

// close closes all started parts. The agent's error comes before others.
func (p agentParts) close(ctx context.Context) error {
	var agentErr, loadErr error
	var closed sync.WaitGroup // in parallel: neither uses up the other's time
	if p.loads != nil {
		closed.Go(func() { loadErr = p.loads.Close(ctx) })
	}
	if p.agent != nil {
		agentErr = p.agent.Close(ctx)
	}
	closed.Wait()
	return cmp.Or(agentErr, loadErr, p.metrics.close())
}

// newGenerator returns the server that issues loads next to ag. Without the flag it refuses all
// loads.
func newGenerator(a *app, ag *agent.Agent, f agentFlags, log *slog.Logger) (*generator.Server, error) {
	targets, err := generator.ParseTargets(f.loads.targets)
	if err != nil {
		return nil, err
	}
	secrets := generator.Secrets{Variables: f.loads.secretEnv}
	for _, dir := range f.loads.secretDirs {
		plain, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		secrets.Dirs = append(secrets.Dirs, plain)
	}
	return generator.New(generator.Options{
		Registry: a.registry, Allowed: f.loads.allow, Targets: targets, Secrets: secrets, Lease: f.lease, Version: tool().Version, Mirror: mirrorOf(a.self[0], selfcheckAuto),
		Device: f.device, Interface: f.iface, Machine: ag.Machine, Shown: f.metrics.address != "", Log: log,
	})
}

// openLog returns a logger to a file as JSON, or to standard error as text; see [logHandler]. Both
// also go to the records of each run in which the agent takes part.
func openLog(a *app, path string) (*slog.Logger, func(), error) {
	if path == "" {
		return slog.New(runlog.New(logHandler(a.err, os.Getenv("JOURNAL_STREAM")))), func() {}, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, nil, fmt.Errorf("open agent log: %w", err)
	}
	return slog.New(runlog.New(slog.NewJSONHandler(f, nil))), func() { f.Close() }, nil
}
