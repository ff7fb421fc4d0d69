// Package dbtester benchmarks distributed, consistent key-value stores. It is the
// library face of the dbtester command: read an experiment, run it with agents that
// listen at given addresses, analyze the result folders.
package dbtester

import (
	"context"
	"io"

	"google.golang.org/grpc"

	"github.com/coreos/dbtester/analyze"
	"github.com/coreos/dbtester/control"
	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/all"
)

// Config is an experiment, every default filled in. Change fields of Experiment
// before running it.
type Config struct {
	Experiment *config.Experiment
	// Warnings name doubtful values of the file, as file:line:col: text.
	Warnings []string
	// FullSpeed allows loads without a rate on clusters that others use.
	FullSpeed bool
	registry  *database.Registry
}

// ReadConfig reads an experiment file, compact or classic. Everything that is
// wrong with it is reported at once, as *yamlfile.Problems.
func ReadConfig(path string) (*Config, error) {
	registry := all.Registry()
	e, warnings, err := config.Read(path, control.Catalog(registry))
	if err != nil {
		return nil, err
	}
	c := &Config{Experiment: e, registry: registry}
	for _, w := range warnings {
		c.Warnings = append(c.Warnings, w.String())
	}
	return c, nil
}

// Run runs the experiment with the agents at the addresses it names, dialed with
// the given options, and returns the result folders. Folders are complete up to
// an error or the end of ctx. Report may be nil. Agents of the dbtester command let in
// callers with the credentials of an agentlink.Client: certificates, or the token of
// their user.
func (c *Config) Run(ctx context.Context, report func(control.Update), dial ...grpc.DialOption) (*control.Outcome, error) {
	return control.Run(ctx, control.Options{
		Experiment: c.Experiment, Registry: c.registry, Owner: "dbtester library", Report: report, FullSpeed: c.FullSpeed,
		Connect: func(_ context.Context, addr string) (dbtesterpb.AgentClient, io.Closer, error) {
			conn, err := grpc.NewClient("passthrough:///"+addr, dial...)
			if err != nil {
				return nil, nil, err
			}
			return dbtesterpb.NewAgentClient(conn), conn, nil
		},
	})
}

// Analyze turns result folders into a report beside the first.
func (c *Config) Analyze(ctx context.Context, folders ...string) (*analyze.Report, error) {
	return analyze.Run(ctx, analyze.Options{Folders: folders, Plots: plots(c.Experiment.Plots)})
}

func plots(list []config.Plot) (out []analyze.Plot) {
	for _, p := range list {
		out = append(out, analyze.Plot(p))
	}
	return out
}
