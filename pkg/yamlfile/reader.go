package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/coreos/dbtester/pkg/files/plaintext"
)

// Stdin names a file that was read from standard input, in positions and in records.
const Stdin = "<stdin>"

// MaxSize is the maximum size of a file in bytes.
const MaxSize = 4 << 20

// Limits on the cost of reading one file, whatever it contains.
const (
	// maxProblems bounds the number of listed problems.
	maxProblems = 1000
	// maxValues bounds the number of keys and list items read. Those behind aliases and merge keys
	// count every time they are reached.
	maxValues = 1 << 20
)

// Node is a parsed value with its line and column.
type Node = yaml.Node

// Reader collects the problems in one file while its nodes are read. It is not safe for concurrent
// use.
type Reader struct {
	// OldBooleans also accepts the booleans of YAML 1.1: yes, no, on, off, y and n.
	OldBooleans bool

	file             string
	errors, warnings []Problem
	merges           int // merge keys followed so far
	values           int // keys and list items read so far
	places           map[string]string
	flags            map[*Node]bool
}

// New returns a reader whose problems name the given file.
func New(file string) *Reader { return &Reader{file: file} }

// Errorf reports an error at a node, which may be nil.
func (r *Reader) Errorf(at *Node, format string, args ...any) {
	switch {
	case len(r.errors) < maxProblems:
		r.errors = append(r.errors, r.problem(at, format, args...))
	case len(r.errors) == maxProblems:
		r.errors = append(r.errors, r.problem(nil, "more than %d problems; the others are not listed", maxProblems))
	}
}

// full reports whether further problems would no longer be listed.
func (r *Reader) full() bool { return len(r.errors) > maxProblems }

// afford counts n keys or items in a node, and reports the first node beyond the limit.
func (r *Reader) afford(node *Node, n int) bool {
	before := r.values
	r.values = min(before+n, maxValues+1)
	if r.values > maxValues && before <= maxValues {
		r.Errorf(node, "values must be at most %d in a file, those behind aliases counted each time", maxValues)
	}
	return r.values <= maxValues
}

// Warnf reports a warning at a node, which may be nil.
func (r *Reader) Warnf(at *Node, format string, args ...any) {
	if len(r.warnings) >= maxProblems {
		return
	}
	p := r.problem(at, format, args...)
	p.Warning = true
	r.warnings = append(r.warnings, p)
}

func (r *Reader) problem(at *Node, format string, args ...any) Problem {
	p := Problem{File: r.file, Text: fmt.Sprintf(format, args...)}
	if r.flags[at] {
		p.File, p.Text = "", "--"+p.Text
		return p
	}
	if at != nil {
		p.Line, p.Col = at.Line, at.Column
	}
	return p
}

// FromFlags marks a mapping and its values as given by command line flags that have the same names
// as its keys. Problems there name the flag instead of the file; their texts must begin with the
// key.
func (r *Reader) FromFlags(mapping *Node) {
	if r.flags == nil {
		r.flags = map[*Node]bool{}
	}
	r.flags[mapping] = true
	for _, node := range mapping.Content {
		r.flags[node] = true
	}
}

// Place returns the place of a node as file:line:col.
func (r *Reader) Place(at *Node) string {
	return fmt.Sprintf("%s:%d:%d", r.file, at.Line, at.Column)
}

// Record stores the place of a value under its path, such as load.rate.
func (r *Reader) Record(path string, node *Node) {
	if node == nil {
		return
	}
	if r.places == nil {
		r.places = map[string]string{}
	}
	r.places[path] = r.Place(node)
}

// Places returns the recorded places as file:line:col, by path.
func (r *Reader) Places() map[string]string { return r.places }

// Errors returns the number of errors reported so far, including repeated ones.
func (r *Reader) Errors() int { return len(r.errors) }

// Err returns the reported errors as [*Problems], or nil.
func (r *Reader) Err() error {
	if len(r.errors) == 0 {
		return nil
	}
	problems := Problems(inFileOrder(r.errors))
	return &problems
}

// Warnings returns the reported warnings in file order.
func (r *Reader) Warnings() []Problem { return inFileOrder(r.warnings) }

// Document parses a file of at most [MaxSize] bytes with a single YAML document. If it has no
// document or is not YAML, Document reports why and returns nil.
func (r *Reader) Document(data []byte) *Node {
	start := &Node{Line: 1, Column: 1}
	if len(data) > MaxSize {
		r.Errorf(start, "the file is larger than %d MiB", MaxSize>>20)
		return nil
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		r.Errorf(start, "%v", err)
		return nil
	}
	var first, second Node
	if err := loader.Load(&first); err != nil {
		r.syntax(err, data)
		return nil
	}
	if len(first.Content) == 0 || IsNull(first.Content[0]) {
		r.Errorf(start, "the file is empty")
		return nil
	}
	switch err := loader.Load(&second); {
	case err == nil:
		r.Errorf(&second, "a second document begins here; the file must have only one")
	case !errors.Is(err, io.EOF):
		r.syntax(err, data)
	}
	r.comments(string(data))
	return first.Content[0]
}

// comments reports control characters in comments: a file is shown and copied with them.
func (r *Reader) comments(text string) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		at := strings.Index(" "+line, " #")
		if at >= 0 && plaintext.Visible(line[at:]) != line[at:] {
			r.Errorf(&Node{Line: n, Column: at + 1}, "a comment must have no control characters: %s", plaintext.Visible(line[at:]))
		}
	}
}

// syntax reports where and why the YAML parser stopped.
func (r *Reader) syntax(err error, data []byte) {
	at := &Node{Line: 1, Column: 1}
	var bad *yaml.LoadError
	switch {
	case errors.Is(err, io.EOF):
		r.Errorf(at, "the file is empty")
		return
	case !errors.As(err, &bad):
		r.Errorf(at, "%v", err)
		return
	}
	if bad.Mark.Line > 0 {
		at.Line, at.Column = bad.Mark.Line, max(bad.Mark.Column, 1)
	}
	text := bad.Message
	if tabbed(data, at.Line) && (strings.Contains(text, "tab") || strings.Contains(text, "cannot start any token")) {
		text = "a tab indents this line; YAML wants spaces"
	}
	r.Errorf(at, "not YAML: %s", text)
}

// tabbed reports whether the indentation of the line contains a tab. Lines count from 1.
func tabbed(data []byte, line int) bool {
	for range line - 1 {
		_, rest, _ := bytes.Cut(data, []byte("\n"))
		data = rest
	}
	text, _, _ := bytes.Cut(data, []byte("\n"))
	indent := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]
	return bytes.Contains(indent, []byte("\t"))
}

// Joined returns the errors that were joined, in order.
func Joined(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
		return nil
	case !ok:
		return []error{err}
	}
	var list []error
	for _, one := range joined.Unwrap() {
		list = append(list, Joined(one)...)
	}
	return list
}
