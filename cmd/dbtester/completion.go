package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/install"
)

// complete offers words for a flag's value to a shell. The function gets the typed text.
func complete(cmd *cobra.Command, flag string, words func(typed string) []string) {
	// An error would mean that the flag is not declared.
	_ = cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return beginning(words(typed), typed), cobra.ShellCompDirectiveNoFileComp
	})
}

// completeReleases offers NAME@ and the versions in the cache to a shell.
func (a *app) completeReleases(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	var words []string
	for _, d := range a.registry.All() {
		if len(d.Info.Tools) > 0 {
			words = append(words, d.Name+"@")
		}
	}
	named, err := cmd.Flags().GetString("cache")
	if err == nil && strings.Contains(typed, "@") {
		for _, release := range cachedReleases(named) {
			words = append(words, release[0]+"@"+release[1])
		}
	}
	return beginning(words, typed), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

// cachedReleases returns the names and versions in a cache, without unreadable ones.
func cachedReleases(named string) (found [][2]string) {
	dir, err := cacheDir(named)
	if err != nil {
		return nil
	}
	releases, _ := (&install.Installer{Cache: dir}).List()
	for _, r := range releases {
		found = append(found, [2]string{r.Name, r.Version})
	}
	return found
}

// completeUse offers NAME=VERSION of the releases in the cache to a shell.
func completeUse(cmd *cobra.Command) {
	complete(cmd, "use-version", func(string) (words []string) {
		for _, release := range cachedReleases("") {
			words = append(words, release[0]+"="+release[1])
		}
		return words
	})
}

// completeIDs offers the databases of the file that --config names to a shell.
func (a *app) completeIDs(cmd *cobra.Command, path *string) {
	complete(cmd, "database-id", func(string) (words []string) {
		if *path == "" || *path == stdinWord {
			return nil
		}
		e, _, err := config.Read(*path, a.registry.All())
		if err != nil {
			return nil
		}
		for _, d := range e.Databases {
			words = append(words, d.ID)
		}
		return words
	})
}

// completeList offers words for a flag with several values, separated by commas.
func completeList(cmd *cobra.Command, flag string, words []string) {
	complete(cmd, flag, func(typed string) (found []string) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		for _, word := range words {
			found = append(found, before+word)
		}
		return found
	})
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
