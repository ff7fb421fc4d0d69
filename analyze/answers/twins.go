package answers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/analyze/setting"
)

// fewTwins limits the columns that a sentence names; it counts the others.
const fewTwins = 3

// twin is a program that several columns in a set ran.
type twin struct {
	program string
	of      []string // columns
	first   *run.Run
}

// twins states which columns in a set ran the same program, whatever their labels.
func (s *screen) twins() string {
	list := s.shared()
	named := 0
	for _, t := range list {
		named += len(t.of)
	}
	if len(list) > 1 && named > fewTwins && s.oneProgramEach() {
		return "Each database ran one program in all of its columns."
	}
	var parts []string
	for _, t := range list {
		parts = append(parts, s.sayTwin(t))
	}
	return strings.Join(parts, " ")
}

// shared lists the programs that several columns in a set ran, in column order.
func (s *screen) shared() (list []twin) {
	for _, one := range s.sets {
		var found []twin
		for _, i := range one.columns {
			found = joined(found, twin{setting.Program(s.columns[i].Runs[0]), []string{s.columns[i].Name}, s.columns[i].Runs[0]})
		}
		for _, t := range found {
			if t.program != "" && len(t.of) > 1 {
				list = joined(list, t)
			}
		}
	}
	return list
}

// joined adds a program and its columns to a list.
func joined(list []twin, t twin) []twin {
	at := slices.IndexFunc(list, func(known twin) bool { return known.program == t.program })
	if at < 0 {
		return append(list, t)
	}
	list[at].of = run.Distinct(append(list[at].of, t.of...))
	return list
}

// oneProgramEach reports whether every database with several columns ran one program in all of them.
func (s *screen) oneProgramEach() bool {
	programs := map[string][]string{} // by database
	for _, c := range s.columns {
		database := c.Runs[0].Info.Record.Database
		programs[database] = append(programs[database], setting.Program(c.Runs[0]))
	}
	for _, of := range programs {
		if len(of) > 1 && (of[0] == "" || len(run.Distinct(of)) > 1) {
			return false
		}
	}
	return true
}

// sayTwin names the columns of a program, or counts them if they are many. The release is stated if
// all columns ran it.
func (s *screen) sayTwin(t twin) string {
	list, _ := s.namesAndRuns()
	all := len(t.of) == len(run.Distinct(list))
	who, of := names(t.of), ""
	if all {
		of = release(t.first)
	}
	switch {
	case len(t.of) > fewTwins && all:
		who = fmt.Sprintf("All %d", len(t.of))
	case len(t.of) > fewTwins:
		who = fmt.Sprintf("%d columns of %s", len(t.of), t.first.Info.Record.Database)
	}
	return who + " ran the same program" + of + "."
}

// release is ", etcd 3.7.3", or "" if the members did not report one version of their database.
func release(r *run.Run) string {
	versions := run.Distinct(r.Info.Versions())
	if len(versions) != 1 || strings.Contains(versions[0], " ") { // a server behind a proxy
		return ""
	}
	return fmt.Sprintf(", %s %s", r.Info.Record.Database, versions[0])
}
