package main

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/install"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// complete offers flag values to a shell. The function gets the arguments and the typed text.
func complete(cmd *cobra.Command, flag string, words func(args []string, typed string) []string) {
	// An error would mean that the flag is not declared.
	_ = cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		return beginning(words(args, typed), typed), cobra.ShellCompDirectiveNoFileComp
	})
}

// completeOrFile offers word as flag value to a shell, and files once something else is typed.
func completeOrFile(cmd *cobra.Command, flag, word string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return beginning([]string{word}, typed), cobra.ShellCompDirectiveDefault
	})
}

// completeRun offers runs as flag values to a shell.
func completeRun(cmd *cobra.Command, flag string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, completeRuns)
}

// mostRuns bounds how many runs a shell is offered.
const mostRuns = 20

// completeRuns offers runs to a shell: LAST and the earlier ones once the L is typed, and run
// folders below --results whose path begins with the typed text. Otherwise the shell offers files.
func completeRuns(cmd *cobra.Command, _ []string, typed string) (words []string, _ cobra.ShellCompDirective) {
	if typed == "" {
		return nil, cobra.ShellCompDirectiveDefault
	}
	for n, run := range newestRuns(resultsOf(cmd)) {
		word := newestWord
		if n > 0 {
			word += "~" + strconv.Itoa(n)
		}
		switch {
		case strings.HasPrefix(run, typed):
			words = append(words, run)
		case strings.HasPrefix(word, typed) && n < mostNewest:
			words = append(words, word+"\t"+run)
		}
		if len(words) == mostRuns {
			break
		}
	}
	return words, cobra.ShellCompDirectiveDefault
}

// mostNewest bounds how many runs a shell is offered as LAST and LAST~N.
const mostNewest = 5

// resultsOf returns the folder in which a command finds LAST.
func resultsOf(cmd *cobra.Command) string {
	below, _ := cmd.Flags().GetString("results") // "" for a command without the flag
	return cmp.Or(below, defaultResults)
}

// tagsOf returns the tags of the databases in runs. It leaves out unreadable runs.
func tagsOf(cmd *cobra.Command, runs []string) (tags []string) {
	var folders []string
	for _, run := range runs {
		if folder, err := namedRun(run, resultsOf(cmd)); err == nil {
			folders = append(folders, folder)
		}
	}
	for _, m := range manifestsOf(folders) {
		for _, d := range m.Databases {
			if !slices.Contains(tags, d.Tag) {
				tags = append(tags, d.Tag)
			}
		}
	}
	return tags
}

// completeLabels offers the runs among the arguments for RUN=NAME to a shell.
func completeLabels(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("label", func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		var words []string
		for _, run := range args {
			words = append(words, run+"=")
		}
		return beginning(words, typed), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	})
}

// completeReleases offers NAME@ and the versions in the cache to a shell.
func (a *app) completeReleases(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	var words []string
	for _, d := range a.registry.All() {
		if len(d.Info.Tools) > 0 {
			word := d.Name + "@"
			if d.Info.About != "" {
				word += "\t" + d.Info.About
			}
			words = append(words, word)
		}
	}
	if _, version, given := strings.Cut(typed, "@"); given {
		at := "@"
		if strings.HasPrefix(version, "v") {
			at = "@v"
		}
		for _, release := range cachedReleases(cacheOf(cmd)) {
			words = append(words, release[0]+at+release[1])
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

// experimentOf reads the first readable file, or returns nil. It does not read standard input.
func (a *app) experimentOf(files ...string) *config.Experiment {
	for _, file := range files {
		if file == "" || file == stdinWord {
			continue
		}
		if e, _, err := config.Read(file, a.registry.All()); err == nil {
			return e
		}
	}
	return nil
}

// completeUse offers cached releases to a shell: all as NAME=VERSION, or as ID=VERSION and
// NAME=VERSION for the databases in a file, which --config or the first argument names.
func (a *app) completeUse(cmd *cobra.Command, path *string) {
	complete(cmd, "use-version", func(args []string, _ string) (words []string) {
		if path != nil {
			args = []string{*path}
		}
		e := a.experimentOf(args...)
		for _, release := range cachedReleases(cacheOf(cmd)) {
			if e == nil {
				words = append(words, release[0]+"="+release[1])
				continue
			}
			for _, d := range e.Databases {
				if d.Name == release[0] {
					words = append(words, d.ID+"="+release[1], d.Name+"="+release[1])
				}
			}
		}
		slices.Sort(words)
		return slices.Compact(words)
	})
}

// completeChosen offers choices from the --config file to a shell: its databases, their releases in
// the cache, and its trials.
func (a *app) completeChosen(cmd *cobra.Command, path *string) {
	a.completeUse(cmd, path)
	complete(cmd, "database-id", func([]string, string) (words []string) {
		if e := a.experimentOf(*path); e != nil {
			for _, d := range e.Databases {
				words = append(words, d.ID)
			}
		}
		return words
	})
	complete(cmd, "trial", func([]string, string) (words []string) {
		if e := a.experimentOf(*path); e != nil {
			for n := range max(e.Trials, 1) {
				words = append(words, strconv.Itoa(n+1))
			}
		}
		return words
	})
}

// completeVersions offers a shell the cached releases for a flag: those for the only database in
// the first readable file, or all.
func (a *app) completeVersions(cmd *cobra.Command, flag string, files ...*string) {
	complete(cmd, flag, func([]string, string) (words []string) {
		var names []string
		for _, file := range files {
			names = append(names, *file)
		}
		e := a.experimentOf(names...)
		for _, release := range cachedReleases(cacheOf(cmd)) {
			if e == nil || slices.ContainsFunc(e.Databases, func(d config.Database) bool { return d.Name == release[0] }) {
				words = append(words, release[1]+"\t"+release[0])
			}
		}
		return words
	})
}

// cacheOf returns the given release folder, or "" for the user's.
func cacheOf(cmd *cobra.Command) string {
	named, _ := cmd.Flags().GetString("cache") // "" for a command without the flag
	return named
}

// completeLoad offers load words to a shell, for the database named in the arguments.
func (a *app) completeLoad(cmd *cobra.Command) {
	info := func(args []string) database.Info {
		if len(args) > 0 {
			if d, err := a.registry.Get(args[0]); err == nil {
				return d.Info
			}
		}
		return database.Info{}
	}
	complete(cmd, "operation", func(args []string, _ string) []string { return yamlfile.Words(info(args).Operations) })
	complete(cmd, "read", func(args []string, _ string) []string { return yamlfile.Words(info(args).Reads) })
	complete(cmd, "workload", func([]string, string) (words []string) {
		for _, w := range workload.Workloads() {
			words = append(words, w.Name)
		}
		return words
	})
}

// completeList offers words for a flag with several values, separated by commas.
func completeList(cmd *cobra.Command, flag string, words []string) {
	complete(cmd, flag, func(_ []string, typed string) (found []string) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		for _, word := range words {
			found = append(found, before+word)
		}
		return found
	})
}
