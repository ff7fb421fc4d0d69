package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"unicode"
)

// notice is one text and every file that has it.
type notice struct {
	files []string // as MODULE VERSION: FILE
	text  string
}

var (
	// noticeFile is a file whose text goes with executables.
	noticeFile = regexp.MustCompile(`(?i)^(licen[sc]e|copying|copyright|notice|patents|authors)`)
	// declined is a licence a module offers as one of several alternatives.
	declined = regexp.MustCompile(`(?i)^gpl`)
	// notLinked are the folders in a Go release that have no part of the standard library.
	notLinked = []string{"api", "bin", "doc", "misc", "pkg", "src/cmd", "test"}
)

// freetype is a module whose licence asks for a sentence that acknowledges it.
const (
	freetype         = "github.com/golang/freetype"
	freetypeSentence = "Portions of this software are copyright (C) 2010 The FreeType Project (www.freetype.org). All rights reserved.\n\n"
)

// writeNotices writes the licences, notices, patents and authors for all modules in an executable
// and for the standard library, each text once. A module without any is an error.
func writeNotices(w io.Writer, info *debug.BuildInfo, modules, goroot string) error {
	head := "The texts below are those of the modules that this program contains; each is below the files that have it.\n\n"
	places := []place{{"Go " + strings.TrimPrefix(info.GoVersion, "go"), goroot, notLinked}}
	for _, m := range linked(info) {
		places = append(places, place{m.Path + " " + m.Version, filepath.Join(modules, escaped(m.Path)+"@"+escaped(m.Version)), nil})
		if m.Path == freetype {
			head += freetypeSentence
		}
	}
	var notices []*notice
	byText := map[string]*notice{}
	var errs []error
	for _, p := range places {
		files, err := p.texts()
		errs = append(errs, err)
		for _, f := range files {
			n := byText[f.text]
			if n == nil {
				n = &notice{text: f.text}
				byText[f.text] = n
				notices = append(notices, n)
			}
			n.files = append(n.files, p.name+": "+f.name)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if _, err := io.WriteString(w, head); err != nil {
		return err
	}
	for _, n := range notices {
		rule := strings.Repeat("=", 80)
		if _, err := fmt.Fprintf(w, "%s\n%s\n%s\n\n%s\n\n", rule, strings.Join(n.files, "\n"), rule, strings.TrimRight(n.text, "\n")); err != nil {
			return err
		}
	}
	return nil
}

// place is a module and its folder. The folders in skip have nothing that is linked. They are
// slash-separated and relative to dir.
type place struct {
	name, dir string
	skip      []string
}

type file struct{ name, text string }

// texts reads the notices for a module and for code by others in it, by their names: in any folder
// Go compiles, and in a folder licenses at the top. The module must have its own notice, at the top
// or in licenses.
func (p place) texts() ([]file, error) {
	var list []file
	own := false
	err := filepath.WalkDir(p.dir, func(full string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(p.dir, full)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		if d.IsDir() {
			if name != "." && (strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_") || d.Name() == "testdata" || slices.Contains(p.skip, name)) {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || !wanted(name) {
			return nil
		}
		text, err := os.ReadFile(full)
		list = append(list, file{name, string(text)})
		own = own || slices.Contains([]string{".", "licenses"}, path.Dir(name)) && !strings.HasPrefix(strings.ToLower(name), "authors")
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("licences of %s: %w", p.name, err)
	}
	if !own {
		return nil, fmt.Errorf("licences of %s: %s has none", p.name, p.dir)
	}
	return list, nil
}

// wanted reports whether the text in a file goes with executables, by its path in the module.
func wanted(name string) bool {
	dir, base := path.Split(name)
	switch {
	case dir == "licenses/":
		return !declined.MatchString(base)
	case path.Ext(base) == ".go":
		return false
	}
	return noticeFile.MatchString(base)
}

// escaped returns a path or version as folders in the module cache have it: an exclamation mark and
// the small letter in place of each capital.
func escaped(path string) string {
	var b strings.Builder
	for _, r := range path {
		if unicode.IsUpper(r) {
			b.WriteByte('!')
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}
