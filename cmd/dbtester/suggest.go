package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/coreos/dbtester/pkg/yamlfile"
)

// usageArgs turns wrong arguments into a usage error with the correct usage.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case check(cmd, args) == nil:
			return nil
		case cmd.HasSubCommands():
			return usageError{fmt.Errorf("unknown command %q%s (see %s --help)", args[0], didYouMean(cmd, args[0]), cmd.CommandPath())}
		default:
			return usageError{fmt.Errorf("wrong arguments; usage: %s", cmd.UseLine())}
		}
	}
}

// flagError turns a wrong flag into a usage error with the nearest flag.
func flagError(cmd *cobra.Command, err error) error {
	hint := ""
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		var flags []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, "--"+f.Name) })
		hint = nearest("--"+unknown.GetSpecifiedName(), flags)
	}
	return usageError{fmt.Errorf("%w%s (see %s --help)", err, hint, cmd.CommandPath())}
}

// didYouMean offers the command below parent that is nearest to a word, as the end
// of a message. It returns "" if none is near.
func didYouMean(parent *cobra.Command, word string) string {
	var names []string
	for _, c := range parent.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return nearest(word, names)
}

func nearest(word string, known []string) string {
	if near := yamlfile.Nearest(word, known); near != "" {
		return fmt.Sprintf(", did you mean %q?", near)
	}
	return ""
}
