package etcd

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"go.etcd.io/etcd/pkg/v3/flags"
	"go.etcd.io/etcd/server/v3/embed"
)

// Serve runs one member of the etcd in this binary, with the etcd flags, until ctx ends. It logs to
// standard error.
//
// Unlike in the upstream command, a leader does not transfer its leadership before it stops:
// members are stopped together, and a transfer to a stopping member waits for a timeout of 7 s.
func (s *Server) Serve(ctx context.Context, args []string) error {
	cfg, err := parse(args)
	if err != nil {
		return fmt.Errorf("read etcd flags: %w", err)
	}
	server, err := embed.StartEtcd(cfg)
	if err != nil {
		return fmt.Errorf("start etcd: %w", err)
	}
	defer server.Close()
	select {
	case <-ctx.Done():
		server.Server.HardStop()
		return nil
	case <-server.Server.StopNotify():
		return errors.New("serve etcd: the server stopped without a request to stop")
	case err := <-server.Err():
		return fmt.Errorf("serve etcd: %w", err)
	}
}

// parse returns the configuration for etcd flags. Unknown flags are errors. So are flags that the
// upstream command supports and embed ignores: the record would show a setting without effect.
func parse(args []string) (*embed.Config, error) {
	cfg := embed.NewConfig()
	fs := flag.NewFlagSet(Name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	cfg.AddFlags(fs)
	state := flags.NewSelectiveStringValue(embed.ClusterStateFlagNew, embed.ClusterStateFlagExisting)
	fs.Var(state, "initial-cluster-state", "")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("arguments must be flags, got %q", fs.Arg(0))
	}
	cfg.ClusterState = state.String()
	var unused []string
	fs.Visit(func(f *flag.Flag) {
		cfg.FlagsExplicitlySet[f.Name] = true
		if !transfer(cfg, fs, f) {
			unused = append(unused, "--"+f.Name)
		}
	})
	if len(unused) > 0 {
		return nil, fmt.Errorf("the built-in server does not support %s", strings.Join(unused, ", "))
	}
	return cfg, cfg.Validate()
}

// transfer copies a flag that embed declares but does not copy itself. It reports
// whether the flag has an effect.
func transfer(cfg *embed.Config, fs *flag.FlagSet, f *flag.Flag) bool {
	switch f.Name {
	case "listen-client-urls":
		cfg.ListenClientUrls = flags.UniqueURLsFromFlag(fs, f.Name)
	case "advertise-client-urls":
		cfg.AdvertiseClientUrls = flags.UniqueURLsFromFlag(fs, f.Name)
	case "listen-peer-urls":
		cfg.ListenPeerUrls = flags.UniqueURLsFromFlag(fs, f.Name)
	case "initial-advertise-peer-urls":
		cfg.AdvertisePeerUrls = flags.UniqueURLsFromFlag(fs, f.Name)
	case "listen-metrics-urls":
		cfg.ListenMetricsUrls = flags.UniqueURLsFromFlag(fs, f.Name)
	case "listen-client-http-urls":
		cfg.ListenClientHttpUrls = flags.UniqueURLsFromFlag(fs, f.Name)
	case "log-outputs":
		cfg.LogOutputs = flags.UniqueStringsFromFlag(fs, f.Name)
	case "cipher-suites":
		cfg.CipherSuites = flags.StringsFromFlag(fs, f.Name)
	case "max-concurrent-streams":
		cfg.MaxConcurrentStreams = flags.Uint32FromFlag(fs, f.Name)
	case "initial-cluster-state":
	default:
		switch f.Value.(type) {
		case *flags.UniqueURLs, *flags.UniqueStringsValue, *flags.StringsValue:
			return false
		}
	}
	return true
}
