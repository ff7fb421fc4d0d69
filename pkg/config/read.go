package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"go.yaml.in/yaml/v4"
)

// maxFile is the largest file that is taken for an experiment file.
const maxFile = 4 << 20

// Read reads an experiment file, compact or classic, against the databases of
// the catalog. It returns the experiment with every default filled in and the
// warnings about it. The error is a [*Problems] naming everything wrong with the
// file at once, or says why the file cannot be read.
func Read(path string, catalog Catalog) (*Experiment, []Problem, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read experiment file: %w", err)
	}
	e, warnings, err := Parse(path, data, catalog)
	if err != nil {
		return nil, warnings, err
	}
	e.Path = path
	return e, warnings, nil
}

// Parse is [Read] from memory; name stands for the file in problems.
func Parse(name string, data []byte, catalog Catalog) (*Experiment, []Problem, error) {
	r := &reader{file: name, catalog: catalog}
	var e *Experiment
	if root := r.document(data); root != nil {
		e = r.experiment(root)
	}
	warnings := inFileOrder(r.warnings)
	if len(r.problems) > 0 {
		problems := Problems(inFileOrder(r.problems))
		return nil, warnings, &problems
	}
	return e, warnings, nil
}

// document parses the one YAML document of a file; nil if there is none.
func (r *reader) document(data []byte) *yaml.Node {
	start := &yaml.Node{Line: 1, Column: 1}
	if len(data) > maxFile {
		r.errorf(start, "the file is larger than %d MiB", maxFile>>20)
		return nil
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		r.errorf(start, "%v", err)
		return nil
	}
	var first, second yaml.Node
	if err := loader.Load(&first); err != nil {
		r.syntax(err, data)
		return nil
	}
	if len(first.Content) == 0 || isNull(first.Content[0]) {
		r.errorf(start, "the file is empty")
		return nil
	}
	switch err := loader.Load(&second); {
	case err == nil:
		r.errorf(&second, "a second document begins here; an experiment file has one")
	case !errors.Is(err, io.EOF):
		r.syntax(err, data)
	}
	return first.Content[0]
}

// syntax reports what the YAML parser stopped at.
func (r *reader) syntax(err error, data []byte) {
	at := &yaml.Node{Line: 1, Column: 1}
	var bad *yaml.LoadError
	switch {
	case errors.Is(err, io.EOF):
		r.errorf(at, "the file is empty")
		return
	case !errors.As(err, &bad):
		r.errorf(at, "%v", err)
		return
	}
	if bad.Mark.Line > 0 {
		at.Line, at.Column = bad.Mark.Line, max(bad.Mark.Column, 1)
	}
	text := bad.Message
	if tabbed(data, at.Line) && (strings.Contains(text, "tab") || strings.Contains(text, "cannot start any token")) {
		text = "a tab indents this line; YAML wants spaces"
	}
	r.errorf(at, "not YAML: %s", text)
}

// tabbed reports whether a tab is in what indents a line, counted from 1.
func tabbed(data []byte, line int) bool {
	for range line - 1 {
		_, rest, _ := bytes.Cut(data, []byte("\n"))
		data = rest
	}
	text, _, _ := bytes.Cut(data, []byte("\n"))
	indent := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]
	return bytes.Contains(indent, []byte("\t"))
}
