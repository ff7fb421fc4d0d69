package main

import (
	"errors"
	"fmt"
	"io"
	"os"
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
	// declined is a licence that a module offers beside others, of which one is enough.
	declined = regexp.MustCompile(`(?i)^gpl`)
)

// freetype is a module whose licence asks for a sentence of acknowledgement.
const (
	freetype         = "github.com/golang/freetype"
	freetypeSentence = "Portions of this software are copyright (C) 2010 The FreeType Project (www.freetype.org). All rights reserved.\n\n"
)

// writeNotices writes the licences, notices, patents and authors of all modules in an
// executable and of the standard library, each text once. A module without any is an
// error.
func writeNotices(w io.Writer, info *debug.BuildInfo, modules, goroot string) error {
	head := "The texts below are those of the modules that this program contains; each is below the files that have it.\n\n"
	places := []place{{"Go " + strings.TrimPrefix(info.GoVersion, "go"), goroot}}
	for _, m := range linked(info) {
		places = append(places, place{m.Path + " " + m.Version, filepath.Join(modules, escaped(m.Path)+"@"+escaped(m.Version))})
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

// place is a module and its folder.
type place struct{ name, dir string }

type file struct{ name, text string }

// texts reads the notices of a module, by their names: those at its top, and those of
// a folder licenses.
func (p place) texts() ([]file, error) {
	var list []file
	for _, sub := range []string{"", "licenses"} {
		entries, err := os.ReadDir(filepath.Join(p.dir, sub))
		if err != nil && (sub == "" || !errors.Is(err, os.ErrNotExist)) {
			return nil, fmt.Errorf("licences of %s: %w", p.name, err)
		}
		for _, e := range entries {
			wanted := noticeFile.MatchString(e.Name())
			if sub != "" {
				wanted = !declined.MatchString(e.Name())
			}
			if !wanted || !e.Type().IsRegular() {
				continue
			}
			text, err := os.ReadFile(filepath.Join(p.dir, sub, e.Name()))
			if err != nil {
				return nil, fmt.Errorf("licences of %s: %w", p.name, err)
			}
			list = append(list, file{filepath.ToSlash(filepath.Join(sub, e.Name())), string(text)})
		}
	}
	if !slices.ContainsFunc(list, func(f file) bool { return !strings.HasPrefix(strings.ToLower(f.name), "authors") }) {
		return nil, fmt.Errorf("licences of %s: %s has none", p.name, p.dir)
	}
	return list, nil
}

// escaped is a path or version as folders of the module cache have it: an exclamation
// mark and the small letter in place of each capital.
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
