package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// usageArgs turns wrong arguments into a usage error that says what is wanted.
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
		// cobra knows distances between commands only.
		words := &cobra.Command{}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			words.AddCommand(&cobra.Command{Use: "--" + f.Name, Run: func(*cobra.Command, []string) {}})
		})
		hint = didYouMean(words, "--"+unknown.GetSpecifiedName())
	}
	return usageError{fmt.Errorf("%w%s (see %s --help)", err, hint, cmd.CommandPath())}
}

// didYouMean is the command below parent that is nearest to a word, as the end of
// a message; "" if none is near.
func didYouMean(parent *cobra.Command, word string) string {
	parent.SuggestionsMinimumDistance = 2
	if near := parent.SuggestionsFor(word); len(near) > 0 {
		return fmt.Sprintf(", did you mean %q?", near[0])
	}
	return ""
}
