package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

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
			return unknownCommand(cmd, args[0])
		default:
			return usageError{fmt.Errorf("wrong arguments; usage: %s", cmd.UseLine())}
		}
	}
}

// unknownCommand returns the error for a word that names no command below parent.
func unknownCommand(parent *cobra.Command, word string) error {
	return usageError{fmt.Errorf("unknown command %q%s (see %s --help)", word, didYouMean(parent, word), parent.CommandPath())}
}

// newHelp returns the command that explains other commands. Cobra's own version accepts any word.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) (words []string, _ cobra.ShellCompDirective) {
			if found, rest, err := cmd.Root().Find(args); err == nil && len(rest) == 0 {
				for _, c := range found.Commands() {
					if c.IsAvailableCommand() {
						words = append(words, c.Name()+"\t"+c.Short)
					}
				}
			}
			return beginning(words, typed), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			switch {
			case err != nil:
				return usageError{err}
			case len(rest) > 0:
				return unknownCommand(found, rest[0])
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}

// flagError turns a wrong flag into a usage error with the nearest flag. Behind an unknown command,
// the command is the mistake: the flag may belong to the command that was meant.
func flagError(cmd *cobra.Command, err error) error {
	if cmd.HasSubCommands() && cmd.Args != nil {
		if wrong := cmd.Args(cmd, cmd.Flags().Args()); wrong != nil {
			return wrong
		}
	}
	hint := ""
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		var flags []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, "--"+f.Name) })
		hint = nearest("--"+unknown.GetSpecifiedName(), flags)
	}
	return usageError{fmt.Errorf("%w%s (see %s --help)", err, hint, cmd.CommandPath())}
}

// didYouMean suggests the command below parent nearest to word, for the end of a message. It
// returns "" if no command is near.
func didYouMean(parent *cobra.Command, word string) string {
	var names []string
	for _, c := range parent.Commands() {
		if slices.Contains(c.SuggestFor, word) {
			return fmt.Sprintf(", did you mean %q?", c.Name())
		}
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

// beginning returns the words that begin with the typed text.
func beginning(words []string, typed string) (found []string) {
	for _, word := range words {
		if strings.HasPrefix(word, typed) {
			found = append(found, word)
		}
	}
	return found
}
