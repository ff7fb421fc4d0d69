package config

import (
	"fmt"
	"slices"

	"github.com/coreos/dbtester/pkg/config/classic"
	"github.com/coreos/dbtester/pkg/files/regularfile"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// Read reads an experiment file, compact or classic, against the databases in the catalog. It
// returns the experiment with every default filled in and the warnings about the file. The error is
// a [*yamlfile.Problems] with every problem in the file, or says why the file cannot be opened.
func Read(path string, catalog Catalog) (*Experiment, []yamlfile.Problem, error) {
	return Variant{}.Read(path, catalog)
}

// Read is [Read] for a file changed to the variant.
func (v Variant) Read(path string, catalog Catalog) (*Experiment, []yamlfile.Problem, error) {
	data, err := regularfile.Read(path, yamlfile.MaxSize)
	if err != nil {
		return nil, nil, fmt.Errorf("read experiment file: %w", err)
	}
	e, warnings, err := v.Parse(path, data, catalog)
	if err != nil {
		return nil, warnings, err
	}
	e.Path = path
	return e, warnings, nil
}

// Parse is [Read] from memory. Problems name the file by name.
func Parse(name string, data []byte, catalog Catalog) (*Experiment, []yamlfile.Problem, error) {
	return Variant{}.Parse(name, data, catalog)
}

// Parse is [Variant.Read] from memory.
func (v Variant) Parse(name string, data []byte, catalog Catalog) (*Experiment, []yamlfile.Problem, error) {
	r := &reader{Reader: yamlfile.New(name), catalog: catalog, variant: v}
	var e *Experiment
	if root := r.Document(data); root != nil {
		e = r.experiment(name, root)
	}
	if err := r.Err(); err != nil {
		return nil, r.Warnings(), err
	}
	return e, r.Warnings(), nil
}

// experiment reads a document by the schema that has its keys.
func (r *reader) experiment(name string, root *yamlfile.Node) *Experiment {
	s := fileSection(r.catalog)
	inCompact, inClassic := firstKey(root, s.Names()), firstKey(root, classic.Keys())
	switch {
	case inCompact != nil && inClassic != nil:
		r.mixed(inCompact, inClassic)
		return nil
	case inClassic != nil, inCompact == nil && looksLike(root, classic.Keys()):
		f := r.classic(root)
		r.overFlags(&f.Is)
		return r.resolve(name, true, f)
	default:
		root = r.expand(root)
		f := s.Read(r.Reader, "", "the file", root)
		f.Is.root, f.Is.uploadKey = root, "upload.url"
		r.overFlags(&f.Is)
		return r.resolve(name, false, f)
	}
}

// mixed reports a file that has keys from both schemas, at the later key.
func (r *reader) mixed(compact, classic *yamlfile.Node) {
	later, is, earlier, was := compact, "compact", classic, "classic"
	if compact.Line < classic.Line {
		later, is, earlier, was = classic, "classic", compact, "compact"
	}
	r.Errorf(later, "%q belongs to the %s schema, but %q (line %d) to the %s schema; a file must use one of them",
		later.Value, is, earlier.Value, earlier.Line, was)
}

// firstKey returns the first known key in a document.
func firstKey(root *yamlfile.Node, known []string) *yamlfile.Node {
	for _, key := range yamlfile.TopKeys(root) {
		if slices.Contains(known, key.Value) {
			return key
		}
	}
	return nil
}

// looksLike reports whether a document has a key similar to a known one.
func looksLike(root *yamlfile.Node, known []string) bool {
	return slices.ContainsFunc(yamlfile.TopKeys(root), func(key *yamlfile.Node) bool {
		return yamlfile.Nearest(key.Value, known) != ""
	})
}
