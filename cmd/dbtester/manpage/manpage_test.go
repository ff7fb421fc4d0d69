package manpage

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// tree is a program with a command, one below it and a hidden one.
func tree() *cobra.Command {
	nothing := func(*cobra.Command, []string) {}
	root := &cobra.Command{Use: "tool", Short: "Work", CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true}}
	root.PersistentFlags().Bool("quiet", false, "print less")
	cut := &cobra.Command{
		Use: "cut FILE", Short: "Cut a file", Run: nothing,
		Long: "Cut a file.\n\n.hidden files too, with back\\slash.\n  tool cut a\n  tool cut b\nThe end.", Example: "  tool cut 'a b'",
	}
	cut.Flags().StringP("from", "f", "top", "cut from `PLACE`\non")
	cut.AddCommand(&cobra.Command{Use: "deep", Short: "Cut deeply", Run: nothing})
	root.AddCommand(cut, &cobra.Command{Use: "secret", Hidden: true, Run: nothing})
	return root
}

const cutPage = `.TH "TOOL\-CUT" 1 "2026\-01\-02" "tool v1" "tool manual"
.SH NAME
tool\-cut \- Cut a file
.SH SYNOPSIS
.B tool cut FILE [flags]
.SH DESCRIPTION
Cut a file.
.PP
\&.hidden files too, with back\eslash.
.PP
.nf
  tool cut a
  tool cut b
.fi
The end.
.SH COMMANDS
.TP
.BR tool\-cut\-deep (1)
Cut deeply
.SH OPTIONS
.TP
\fB\-f\fR, \fB\-\-from\fR \fIPLACE\fR
cut from PLACE on (default top)
.TP
\fB\-h\fR, \fB\-\-help\fR
help for cut
.SH OPTIONS OF ALL COMMANDS ABOVE
.TP
\fB\-\-quiet\fR
print less
.SH EXAMPLES
.PP
.nf
  tool cut 'a b'
.fi
.SH EXIT STATUS
.TP
0
done
.TP
2
wrong usage
.SH SEE ALSO
.BR tool (1)
`

func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	p := Program{Version: "v1", Date: "2026-01-02", Exits: []Exit{{0, "done"}, {2, "wrong usage"}}}
	paths, err := Write(dir, tree(), p)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, path := range paths {
		names = append(names, filepath.Base(path))
	}
	if want := []string{"tool.1", "tool-cut.1", "tool-cut-deep.1"}; !slices.Equal(names, want) {
		t.Errorf("pages %q, want %q: one for each command that is not hidden", names, want)
	}
	got, err := os.ReadFile(filepath.Join(dir, "tool-cut.1"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(cutPage, string(got)); diff != "" {
		t.Errorf("the page differs (-want +got):\n%s", diff)
	}
}

// If a folder can't be made, the error names it.
func TestWriteNowhere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(file, tree(), Program{}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("error %v, want one with %s", err, file)
	}
}
