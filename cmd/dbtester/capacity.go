package main

import (
	"github.com/spf13/cobra"

	"github.com/coreos/dbtester/pkg/ability/capacity"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// newCapacity returns control for files whose capacity search is partly on the command line.
func newCapacity(a *app) *cobra.Command {
	var f controlFlags
	cmd := &cobra.Command{
		Use:   "capacity --config FILE",
		Short: "Search for the rate that each database sustains under a limit on latency",
		Long: `Search for the rate that each database of an experiment file sustains under a limit
on latency: control with a block such as capacity: {latency: 20ms}. Flags precede the
file's values; a file without the block has the defaults.`,
		Example: "  dbtester capacity --local --config FILE --latency 20ms --at p99",
		Args:    cobra.NoArgs,
	}
	flags := cmd.Flags()
	f.register(cmd, a)
	texts := map[string]*string{}
	for _, k := range capacity.Keys().Flags() {
		texts[k.Name] = flags.String(k.Name, "", k.Meaning+" (default: the file's, or "+k.Preset+")")
	}
	complete(cmd, "at", func([]string, string) []string { return yamlfile.Words(workload.Percentiles()) })
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		own := map[string]string{}
		for name, text := range texts {
			if flags.Changed(name) {
				own[name] = *text
			}
		}
		f.over = map[string]map[string]string{capacity.Keys().Key: own}
		return a.runControl(cmd.Context(), f)
	}
	return cmd
}
