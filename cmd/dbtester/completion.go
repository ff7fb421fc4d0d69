package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// complete offers words for a flag's value to a shell. The function gets what was typed.
func complete(cmd *cobra.Command, flag string, words func(typed string) []string) {
	// An error would mean that the flag is not declared.
	_ = cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return beginning(words(typed), typed), cobra.ShellCompDirectiveNoFileComp
	})
}

// beginning are the words that begin as typed.
func beginning(words []string, typed string) (found []string) {
	for _, word := range words {
		if strings.HasPrefix(word, typed) {
			found = append(found, word)
		}
	}
	return found
}
