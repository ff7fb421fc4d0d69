package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/coreos/dbtester/pkg/database/all"
)

// helpOf is the help for every command that is shown.
func helpOf(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, c := range withChildren(newRoot(&app{registry: all.Registry()})) {
		if !c.IsAvailableCommand() && c.HasParent() || c.Name() == "completion" || c.HasParent() && c.Parent().Name() == "completion" {
			continue // from cobra
		}
		var b bytes.Buffer
		c.SetOut(&b)
		c.InitDefaultHelpFlag()
		if err := c.Help(); err != nil {
			t.Fatalf("%s --help: %v", c.CommandPath(), err)
		}
		texts[c.CommandPath()] = b.String()
	}
	return texts
}

// Help fits a terminal, and shows no meaningless flag value.
func TestHelpWidth(t *testing.T) {
	texts := helpOf(t)
	if len(texts) < 20 {
		t.Fatalf("help of %d commands: the test looks in the wrong place", len(texts))
	}
	for name, text := range texts {
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > helpWidth {
				t.Errorf("%s --help has a line of %d characters: %s", name, n, line)
			}
		}
		if strings.Contains(text, "[= ]") {
			t.Errorf("%s --help shows a space as the value of a flag", name)
		}
	}
}

// Every command has an example; commands with others below them have the first example from each.
// TestHelpExamples parses them.
func TestEveryCommandHasExample(t *testing.T) {
	for _, c := range withChildren(newRoot(&app{registry: all.Registry()})) {
		if c.Hidden || c.Name() == "completion" {
			continue
		}
		if c.Example == "" {
			t.Errorf("%s has no Example: show what people type first", c.CommandPath())
		}
	}
}

// The help begins with the commands for beginners, and each name in a group is a command.
func TestHelpGroups(t *testing.T) {
	root := newRoot(&app{registry: all.Registry()})
	text := helpOf(t)[root.Name()]
	first, rest := strings.Index(text, "\nStart here:\n  quickstart "), strings.Index(text, "\nRun experiments:\n")
	if first < 0 || rest < first {
		t.Errorf("the help does not begin with what to start with:\n%s", text)
	}
	for _, g := range commandGroups() {
		for _, name := range g.names {
			if c, _, err := root.Find([]string{name}); err != nil || c.Name() != name {
				t.Errorf("%s lists %q, which is no command", g.title, name)
			}
		}
	}
	flags := map[string]bool{}
	for _, c := range withChildren(root) {
		for _, g := range flagGroups() {
			for _, name := range g.names {
				flags[name] = flags[name] || c.Flags().Lookup(name) != nil
			}
		}
	}
	for name, known := range flags {
		if !known {
			t.Errorf("a group lists --%s, which no command has", name)
		}
	}
}

// A shell is offered values: format words, metrics after others, databases, releases.
func TestCompletion(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"analyze", "--format", "j"}, "json\n"},
		{[]string{"compare", "--metric", "p50,through"}, "p50,throughput\n"},
		{[]string{"install", "zookee"}, "zookeeper@\n"},
		{[]string{"load", "con"}, "consul\n"},
		{[]string{"agent", "--allow-faults", "kill,pau"}, "kill,pause\n"},
	} {
		var out, errw bytes.Buffer
		if code := run(append([]string{"__complete"}, tt.args...), strings.NewReader(""), &out, &errw); code != exitDone {
			t.Errorf("%q: exit code %d, %s", tt.args, code, errw.String())
		}
		if !strings.HasPrefix(out.String(), tt.want) {
			t.Errorf("%q offers %q, want %q", tt.args, out.String(), tt.want)
		}
	}
}

// A shell completes every value, or the value is listed here as a file, a folder, an address, a
// number or free text.
func TestValuesAreCompleted(t *testing.T) {
	own := map[string]bool{}
	for _, name := range strings.Fields(`a a-source agent-flag agent-log agent-port allow-targets b b-source cache
		certs client-num-path clients config connections control-cpus control-memory cpuprofile cpus dir disk disk-device duration endpoints errors from
		hide hold host hosts image json key-file key-size keys latency live live-certs margin memory metrics metrics-certs
		mix namespace need network-interface out output password-env password-file peers porcupine-memory prefix project rate renew results
		results-size secrets-dir secrets-env settle share storage-class title tls-ca tls-cert tls-key to token tolerance upload user value-size
		warm-up warm_up window windows work-dir`) {
		own[name] = true
	}
	number := map[string]bool{"int": true, "int64": true, "duration": true, "float64": true, "uint": true, "bool": true, "count": true}
	for _, c := range withChildren(newRoot(&app{registry: all.Registry()})) {
		if c.Hidden || c.Name() == "completion" || c.HasParent() && c.Parent().Name() == "completion" {
			continue
		}
		if strings.Contains(c.Use, "RUN") && c.ValidArgsFunction == nil && !strings.Contains(c.Use, "--collect RUN") {
			t.Errorf("%s completes no runs", c.CommandPath())
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if number[f.Value.Type()] || own[f.Name] || strings.HasSuffix(f.Name, "-exec") {
				return
			}
			if _, completed := c.GetFlagCompletionFunc(f.Name); !completed {
				t.Errorf("%s --%s (%s) completes nothing", c.CommandPath(), f.Name, f.Value.Type())
			}
		})
	}
}
