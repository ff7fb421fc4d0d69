package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/coreos/dbtester/analyze/table"
)

// helpWidth is the largest help width in characters.
const helpWidth = 100

// group is a titled help section.
type group struct {
	title string
	names []string
}

// commandGroups returns the commands in help order. Commands in no group come last.
func commandGroups() []group {
	return []group{
		{"Start here", []string{"quickstart", "load", "doctor", "config"}},
		{"Run experiments", []string{"control", "capacity", "compare", "cleanup", "heal", "kube"}},
		{"Read results", []string{"analyze", "consistency", "index", "upload", "submit"}},
		{"Prepare machines", []string{"agent", "install", "certs", "check-disk", "selfcheck"}},
	}
}

// flagGroups returns flags by topic. Flags in no group come first.
func flagGroups() []group {
	return []group{
		{"Output", []string{"format", "quiet", "verbose", "open", "all", "summary", "out", "output", "title", "label", "dry-run", "print-file"}},
		{"Storage", []string{"upload", "no-upload", "key-file", "create-bucket", "project", "max-objects", "max-bytes"}},
		{"Agents and who may call them", []string{"certs", "tls-ca", "tls-cert", "tls-key", "token", "insecure", "local", "wait",
			"allow-binary", "allow-flags", "allow-load", "allow-targets", "secrets-dir", "secrets-env", "allow-faults", "allow-commands"}},
		{"This machine and its executables", []string{"work-dir", "disk", "disk-device", "network-interface", "cache", "cpuprofile", "selfcheck",
			"agent-log", "client-num-path"}},
	}
}

// has reports whether g contains flag. Executables have their own flags.
func (g group) has(flag string) bool {
	return slices.Contains(g.names, flag) || strings.HasSuffix(flag, "-exec") && slices.Contains(g.names, "cache")
}

// usage prints how a command is called, below its description.
func usage(c *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if c.Runnable() {
		for _, line := range useLines(c) {
			b.WriteString("  " + line + "\n")
		}
	}
	if c.HasAvailableSubCommands() {
		b.WriteString("  " + c.CommandPath() + " COMMAND\n")
	}
	if c.Example != "" {
		b.WriteString("\nExamples:\n" + strings.TrimRight(c.Example, "\n") + "\n")
	}
	commandHelp(&b, c)
	flagHelp(&b, c)
	if c.HasAvailableSubCommands() {
		b.WriteString("\n" + c.CommandPath() + " COMMAND --help explains a command.\n")
	}
	_, err := c.OutOrStderr().Write([]byte(b.String()))
	return err
}

// useLines returns the ways to call a command, each on its own line if one line would be too long.
func useLines(c *cobra.Command) []string {
	line := c.UseLine()
	if len(line)+2 <= helpWidth {
		return []string{line}
	}
	ways := strings.Split(line, " | ")
	for i := range ways[1:] {
		ways[i+1] = c.CommandPath() + " " + ways[i+1]
	}
	return ways
}

// commandHelp lists the subcommands of c by group. Only the root has several groups.
func commandHelp(b *strings.Builder, c *cobra.Command) {
	left := map[string]*cobra.Command{}
	width := 0
	for _, child := range c.Commands() {
		if child.IsAvailableCommand() || child.Name() == "help" {
			left[child.Name()] = child
			width = max(width, len(child.Name()))
		}
	}
	list := func(title string, names []string) {
		for _, name := range names {
			child := left[name]
			if child == nil {
				continue
			}
			if title != "" {
				b.WriteString("\n" + title + ":\n")
			}
			title = ""
			short := strings.ReplaceAll(table.Fold(child.Short, helpWidth-width-4, ""), "\n", "\n"+strings.Repeat(" ", width+4))
			fmt.Fprintf(b, "  %-*s  %s\n", width, name, short)
			delete(left, name)
		}
	}
	title := "Commands"
	if !c.HasParent() {
		for _, g := range commandGroups() {
			list(g.title, g.names)
		}
		title = "Other commands"
	}
	var rest []string
	for _, child := range c.Commands() {
		rest = append(rest, child.Name())
	}
	list(title, rest)
}

// flagHelp lists the flags of c by group.
func flagHelp(b *strings.Builder, c *cobra.Command) {
	flags := c.Flags()
	groups := append([]group{{title: "Flags"}}, flagGroups()...)
	sets := make([]*pflag.FlagSet, len(groups))
	for i := range sets {
		sets[i] = pflag.NewFlagSet("", pflag.ContinueOnError)
	}
	flags.VisitAll(func(f *pflag.Flag) {
		at := max(0, slices.IndexFunc(groups, func(g group) bool { return g.has(f.Name) }))
		shown := *f
		shown.NoOptDefVal = strings.TrimSpace(f.NoOptDefVal) // a space is not shown
		sets[at].AddFlag(&shown)
	})
	for i, set := range sets {
		if set.HasAvailableFlags() {
			b.WriteString("\n" + groups[i].title + ":\n" + strings.TrimRight(set.FlagUsagesWrapped(helpWidth), "\n") + "\n")
		}
	}
}
