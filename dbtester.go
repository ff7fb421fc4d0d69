// Package dbtester benchmarks distributed, consistent key-value stores. It is the dbtester command
// as a library: read an experiment, run it with agents that listen at given addresses, analyze the
// result folders.
//
// [Config.Run] runs a whole experiment in one call and records it in one folder.
// [Config.BroadcastRequest] and [Config.Stress] run it part by part, for programs that do something
// in between. Programs that only need the load engine import pkg/load: see the example Engine.
//
// docs/library.md lists every name in the classic library with its replacement.
package dbtester

import (
	"context"
	"fmt"
	"io"
	"slices"

	"google.golang.org/grpc"

	"github.com/coreos/dbtester/analyze"
	"github.com/coreos/dbtester/control"
	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/config/classic"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/all"
)

// Config is an experiment with every default filled in. Change its fields before the first method
// call; several goroutines may call methods for different databases.
type Config struct {
	Experiment *config.Experiment
	// Warnings name doubtful values in the file, as file:line:col: text.
	Warnings []string
	// FullSpeed allows loads without a rate on clusters shared with others.
	FullSpeed bool
	// Dial holds options for connections to agents, before those given to [Config.Run].
	Dial []grpc.DialOption
	// Report receives the progress of [Config.BroadcastRequest] and [Config.Stress], one update at
	// a time in each call; nil discards it.
	Report   func(control.Update)
	registry *database.Registry
}

// ReadConfig reads an experiment file, compact or classic. It reports all problems in the file at
// once, as *yamlfile.Problems. In addition to the databases that dbtester knows, the file may name
// those in own; a name given twice panics.
func ReadConfig(path string, own ...database.Database) (*Config, error) {
	registry := database.NewRegistry(append(all.Registry().All(), own...)...)
	e, warnings, err := config.Read(path, registry.All())
	if err != nil {
		return nil, err
	}
	c := &Config{Experiment: e, registry: registry}
	for _, w := range warnings {
		c.Warnings = append(c.Warnings, w.String())
	}
	return c, nil
}

// MakeTag returns the tag for the database_description in a classic file: in lower case, "go 1.9"
// and "java 8" joined, without parentheses, spaces as hyphens.
func MakeTag(description string) string { return classic.Tag(description) }

// Run runs the experiment with the agents at the addresses that it names, dialed with the given
// options, and returns the result folders. Folders are complete until an error occurs or ctx ends.
// Report may be nil. Agents started by the dbtester command admit callers with the credentials in
// an agentlink.Client: certificates, or the token of their user. If the experiment requests an
// upload, each folder is copied; [Config.UploadToGoogle] makes copies under classic names.
func (c *Config) Run(ctx context.Context, report func(control.Update), dial ...grpc.DialOption) (*control.Outcome, error) {
	return c.conduct(ctx, c.Experiment, report, dial...)
}

// conduct makes control run e, which is the experiment or a part of it.
func (c *Config) conduct(ctx context.Context, e *config.Experiment, report func(control.Update), dial ...grpc.DialOption) (*control.Outcome, error) {
	return control.Run(ctx, control.Options{
		Experiment: e, Registry: c.registry, Owner: "dbtester library", Report: report, FullSpeed: c.FullSpeed, Upload: uploadRun,
		Connect: func(_ context.Context, addr string) (dbtesterpb.AgentClient, io.Closer, error) {
			conn, err := c.connect(addr, dial...)
			if err != nil {
				return nil, nil, err
			}
			return dbtesterpb.NewAgentClient(conn), conn, nil
		},
		ConnectGenerator: func(_ context.Context, addr string) (dbtesterpb.GeneratorClient, io.Closer, error) {
			conn, err := c.connect(addr, dial...)
			if err != nil {
				return nil, nil, err
			}
			return dbtesterpb.NewGeneratorClient(conn), conn, nil
		},
	})
}

// connect returns a connection to the agent at an address. The caller closes it.
func (c *Config) connect(addr string, dial ...grpc.DialOption) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+addr, slices.Concat(c.Dial, dial)...)
}

// one returns a copy of the experiment with one database and one trial, and that database, whose
// fields the caller may change.
func (c *Config) one(id string) (*config.Experiment, *config.Database, error) {
	e := *c.Experiment
	if err := e.Select(id); err != nil {
		return nil, nil, err
	}
	if len(e.Databases) > 1 {
		return nil, nil, fmt.Errorf("%q has %d points of a sweep: give the id of one, such as %q", id, len(e.Databases), e.Databases[0].ID)
	}
	e.Trials = 1
	return &e, &e.Databases[0], nil
}

// Analyze turns result folders into a report next to the first folder.
func (c *Config) Analyze(ctx context.Context, folders ...string) (*analyze.Report, error) {
	return analyze.Run(ctx, analyze.Options{Folders: folders, Plots: plots(c.Experiment.Plots)})
}

func plots(list []config.Plot) (out []analyze.Plot) {
	for _, p := range list {
		out = append(out, analyze.Plot(p))
	}
	return out
}
