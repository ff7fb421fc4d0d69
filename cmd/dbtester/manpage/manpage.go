// Package manpage writes manual pages for a command tree.
package manpage

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Program holds the facts shared by all pages.
type Program struct {
	Version string
	// Date is the release date, as year-month-day; "" prints no date.
	Date string
	// Exits are the exit codes, in the order in which pages print them.
	Exits []Exit
}

// Exit is an exit code and its meaning.
type Exit struct {
	Code    int
	Meaning string
}

// Write writes a page in section 1 for root and each command below it that is not
// hidden, and returns the paths: dir/root.1, dir/root-command.1 and so on. It makes dir
// and overwrites pages. The same tree and program give the same bytes.
func Write(dir string, root *cobra.Command, p Program) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of manual pages: %w", err)
	}
	var written []string
	for _, c := range shown(root) {
		path := filepath.Join(dir, name(c)+".1")
		if err := os.WriteFile(path, page(c, p), 0o644); err != nil {
			return written, fmt.Errorf("write a manual page: %w", err)
		}
		written = append(written, path)
	}
	return written, nil
}

// shown returns c and the commands below it, without hidden ones.
func shown(c *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{c}
	for _, child := range c.Commands() {
		if child.IsAvailableCommand() {
			list = append(list, shown(child)...)
		}
	}
	return list
}

// name is the page name for c: its path.
func name(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// page renders the page for c in the man(7) language.
func page(c *cobra.Command, p Program) []byte {
	c.InitDefaultHelpFlag()
	c.InitDefaultVersionFlag()
	var b bytes.Buffer
	root := c.Root().Name()
	fmt.Fprintf(&b, ".TH %s 1 %s %s %s\n", quoted(strings.ToUpper(name(c))), quoted(p.Date), quoted(root+" "+p.Version), quoted(root+" manual"))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", line(name(c)), line(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", line(c.UseLine()))
	if c.Long != "" {
		b.WriteString(".SH DESCRIPTION\n")
		prose(&b, c.Long)
	}
	commands(&b, c)
	options(&b, "OPTIONS", c.NonInheritedFlags())
	options(&b, "OPTIONS OF ALL COMMANDS ABOVE", c.InheritedFlags())
	if c.Example != "" {
		b.WriteString(".SH EXAMPLES\n")
		prose(&b, c.Example)
	}
	if len(p.Exits) > 0 {
		b.WriteString(".SH EXIT STATUS\n")
		for _, e := range p.Exits {
			fmt.Fprintf(&b, ".TP\n%d\n%s\n", e.Code, line(e.Meaning))
		}
	}
	if c.HasParent() {
		fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (1)\n", line(name(c.Parent())))
	}
	return b.Bytes()
}

// commands lists the commands below one.
func commands(b *bytes.Buffer, c *cobra.Command) {
	head := ".SH COMMANDS\n"
	for _, child := range c.Commands() {
		if child.IsAvailableCommand() {
			fmt.Fprintf(b, "%s.TP\n.BR %s (1)\n%s\n", head, line(name(child)), line(child.Short))
			head = ""
		}
	}
}

// options lists flags with their words and defaults.
func options(b *bytes.Buffer, heading string, flags *pflag.FlagSet) {
	head := ".SH " + heading + "\n"
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		word, usage := pflag.UnquoteUsage(f)
		b.WriteString(head + ".TP\n")
		head = ""
		if f.Shorthand != "" {
			fmt.Fprintf(b, "\\fB%s\\fR, ", line("-"+f.Shorthand))
		}
		fmt.Fprintf(b, "\\fB%s\\fR", line("--"+f.Name))
		if word != "" {
			fmt.Fprintf(b, " \\fI%s\\fR", line(word))
		}
		fmt.Fprintf(b, "\n%s\n", line(usage+byDefault(f)))
	})
}

// byDefault is the default of f in words; "" for the empty value of its type.
func byDefault(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "false", "0", "0s", "[]", "<nil>":
		return ""
	}
	return " (default " + f.DefValue + ")"
}

// prose writes text: paragraphs are filled, and indented lines stay as they are.
func prose(b *bytes.Buffer, text string) {
	verbatim := false
	for l := range strings.Lines(strings.TrimRight(text, "\n")) {
		l = strings.TrimRight(l, "\n")
		indented := strings.TrimLeft(l, " \t") != l
		switch {
		case indented && !verbatim:
			b.WriteString(".PP\n.nf\n")
		case !indented && verbatim:
			b.WriteString(".fi\n")
		}
		verbatim = indented
		if l == "" {
			b.WriteString(".PP\n")
			continue
		}
		b.WriteString(line(l) + "\n")
	}
	if verbatim {
		b.WriteString(".fi\n")
	}
}

// line escapes text as one page line without requests.
func line(text string) string {
	text = strings.Join(strings.Split(text, "\n"), " ")
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}

// quoted is text as argument of a request.
func quoted(text string) string { return `"` + strings.ReplaceAll(line(text), `"`, `\(dq`) + `"` }
