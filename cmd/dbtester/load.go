package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/files/plaintext"
)

// loadName is the file name, in positions, for the load flags.
const loadName = "<load>"

// loadFlags define loads without a file.
type loadFlags struct {
	control   controlFlags
	endpoints []string
	prefix    string
	printFile bool
	keys      []loadKey
}

// loadKey is a load key set by flag.
type loadKey struct {
	name string
	text *string
}

// shortLoadKeys returns the load keys with flags; others need a file.
func shortLoadKeys() []string {
	return []string{"operation", "mix", "workload", "read", "keys", "duration", "warm_up", "rate", "clients", "connections", "key_size", "value_size"}
}

func newLoad(a *app) *cobra.Command {
	var f loadFlags
	cmd := &cobra.Command{
		Use:   "load DATABASE --endpoints HOST:PORT,...",
		Short: "Apply a load to a cluster that is running, without an experiment file",
		Long: `Apply a load to a cluster that is running, without an experiment file.

The flags stand for an experiment file, which is printed to standard error first: save
it for a load with more keys, and run it with dbtester control. All keys lie below a prefix
of the run's own; dbtester cleanup LAST removes them. Without --rate, --full-speed is needed:
others may use the cluster.`,
		Example: `  dbtester load etcd --endpoints 10.0.0.2:2379 --rate 500 --duration 30s
  dbtester load consul --endpoints 10.0.0.2:8500 --operation read --keys 10000 --rate 2000
  dbtester load etcd --endpoints 10.0.0.2:2379 --rate 500 --duration 30s --print-file >load.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.runLoad(cmd.Context(), f, args[0]) },

		ValidArgs:  a.registry.Names(),
		SuggestFor: []string{"bench", "run", "stress", "benchmark"},
	}
	f.control.register(cmd, a)
	flags := cmd.Flags()
	for _, name := range []string{"config", "database-id", "local", "use-version"} { // they concern a file
		flags.Lookup(name).Hidden = true
	}
	flags.StringSliceVar(&f.endpoints, "endpoints", nil, "addresses of the cluster's members")
	flags.StringVar(&f.prefix, "prefix", "", "prefix of all keys (default: one of the run's own)")
	flags.BoolVar(&f.printFile, "print-file", false, "print the file on standard output, and do nothing else")
	rows := config.LoadKeys(a.registry.All())
	for _, name := range shortLoadKeys() {
		row := rows[name]
		usage := row.Meaning
		if row.Preset != "" {
			usage += " (default: " + row.Preset + ")"
		}
		f.keys = append(f.keys, loadKey{name, flags.String(strings.ReplaceAll(name, "_", "-"), "", usage)})
	}
	a.completeLoad(cmd)
	return cmd
}

// file returns the experiment file that the flags represent. Wrong values are found when the file
// is read.
func (f loadFlags) file(database string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "title: load of %s\n", database)
	heading := "load:\n"
	for _, key := range f.keys {
		if *key.text == "" {
			continue
		}
		if plaintext.Line(*key.text) != *key.text {
			return "", usageError{fmt.Errorf("--%s must be visible characters, got %q", strings.ReplaceAll(key.name, "_", "-"), *key.text)}
		}
		fmt.Fprintf(&b, "%s  %s: %s\n", heading, key.name, *key.text)
		heading = ""
	}
	fmt.Fprintf(&b, "databases:\n  %s:\n    endpoints:\n", database)
	for _, e := range f.endpoints {
		fmt.Fprintf(&b, "      - %q\n", e)
	}
	if f.prefix != "" {
		fmt.Fprintf(&b, "    prefix: %q\n", f.prefix)
	}
	return b.String(), nil
}

// runLoad runs control on the file that the flags represent.
func (a *app) runLoad(ctx context.Context, f loadFlags, database string) error {
	if !slices.Contains(a.registry.Names(), database) {
		return usageError{fmt.Errorf("unknown database %q%s: want one of %s", database, nearest(database, a.registry.Names()), strings.Join(a.registry.Names(), ", "))}
	}
	if len(f.endpoints) == 0 {
		return usageError{errors.New("--endpoints HOST:PORT,... is required: the members of the cluster")}
	}
	if f.control.config != "" || f.control.collect != "" {
		return usageError{errors.New("load takes no --config: dbtester control runs files")}
	}
	text, err := f.file(database)
	if err != nil {
		return err
	}
	a.typed = typed{read: true, name: loadName, data: []byte(text)}
	f.control.config = stdinWord
	if f.printFile {
		if _, err := a.readExperiment(stdinWord); err != nil {
			return err
		}
		_, err := fmt.Fprint(a.out, text)
		return err
	}
	fmt.Fprintf(a.err, "# dbtester control --config FILE, with this FILE:\n%s", text)
	return a.runControl(ctx, f.control)
}
