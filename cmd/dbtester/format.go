package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/coreos/dbtester/pkg/files/plaintext"
)

// The words that --format accepts in most commands.
const (
	formatText     = "text"
	formatJSON     = "json"
	formatCSV      = "csv"
	formatMarkdown = "markdown"
)

// usualFormats returns these words in help order.
func usualFormats() []string { return []string{formatText, formatJSON, formatCSV, formatMarkdown} }

// reportFormats returns the formats for reports on runs.
func reportFormats() []string { return append(usualFormats(), formatJUnit, formatPerfdash) }

// format is --format: how a command prints its result on standard output. With every word but
// text, standard output has only the result, and everything else goes to standard error. register
// sets it.
type format struct{ word, words string }

var _ pflag.Value = (*format)(nil)

func (f *format) String() string { return f.word }
func (f *format) Type() string   { return "FORMAT" }

// Set accepts any word in f.words.
func (f *format) Set(word string) error {
	known := strings.Split(f.words, " ")
	if !slices.Contains(known, word) {
		return fmt.Errorf("must be %s, got %q%s", english.WordSeries(known, "or"), word, nearest(word, known))
	}
	f.word = word
	return nil
}

// machine reports whether standard output is for a program or document.
func (f *format) machine() bool { return f.word != "" && f.word != formatText }

// register adds the flag to a command, with text as the default.
func (f *format) register(cmd *cobra.Command, words ...string) {
	f.word, f.words = formatText, strings.Join(words, " ")
	cmd.Flags().Var(f, "format", "how the result is printed: "+english.WordSeries(words, "or")+"; with all but text, standard output holds the result alone")
	complete(cmd, "format", func([]string, string) []string { return words })
}

// notes returns the streams for output besides the result.
func (s streams) notes(f format) streams {
	if f.machine() {
		s.out = s.err
	}
	return s
}

// listing is a result made up of rows: the same rows as text, CSV and Markdown, and as JSON a value
// whose fields are described in docs/pipes.md.
type listing struct {
	header []string
	rows   [][]string
	value  any
}

// print prints the list.
func (l listing) print(out io.Writer, f format) (err error) {
	var b bytes.Buffer
	switch f.word {
	case formatJSON:
		var data []byte
		if data, err = json.MarshalIndent(l.value, "", "  "); err == nil {
			b.WriteString(plaintext.JSON(string(data)) + "\n")
		}
	case formatCSV:
		w := csv.NewWriter(&b)
		err = w.WriteAll(each(slices.Insert(slices.Clone(l.rows), 0, l.header), plaintext.Field))
	case formatMarkdown:
		b.WriteString(plaintext.Table(l.header, l.rows, len(l.header)))
	default:
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, strings.ToUpper(strings.Join(l.header, "\t")))
		for _, row := range each(l.rows, plaintext.Line) {
			fmt.Fprintln(w, strings.Join(row, "\t"))
		}
		err = w.Flush()
	}
	if err != nil {
		return fmt.Errorf("print as %s: %w", f.word, err)
	}
	_, err = out.Write(b.Bytes())
	return err
}

// each returns rows with a function applied to every cell.
func each(rows [][]string, of func(string) string) (made [][]string) {
	for _, row := range rows {
		var cells []string
		for _, cell := range row {
			cells = append(cells, of(cell))
		}
		made = append(made, cells)
	}
	return made
}
