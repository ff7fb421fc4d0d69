package submission

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/coreos/dbtester/pkg/ability/all"
	"github.com/coreos/dbtester/pkg/ability/capacity"
	"github.com/coreos/dbtester/pkg/ability/consistency"
	"github.com/coreos/dbtester/pkg/ability/locks"
	"github.com/coreos/dbtester/pkg/ability/profile"
	"github.com/coreos/dbtester/pkg/files/linefile"
	"github.com/coreos/dbtester/pkg/files/pattern"
	"github.com/coreos/dbtester/pkg/observation"
	"github.com/coreos/dbtester/pkg/results"
)

// form is the way in which a packed file is read.
type form string

// Forms in which files are packed. A file without a form is left out.
const (
	formTable      form = "table"
	formHistograms form = "histograms"
	formEvents     form = "events"
	// formLog is for member logs. A log that the manifest does not list may have a private name, so
	// it gets a new one.
	formLog form = "log"
)

// rule defines how to pack one file in a database folder. A file without a form is left out and why
// is the reason; without a reason, the file does not belong to a record.
type rule struct {
	form form
	why  string
}

// numbered matches member file names.
var numbered = pattern.New(`^\d+-(.+)$`)

// folders matches the subfolders in a database folder that hold records.
var folders = pattern.New(`^(?:\.|` + capacity.Dir + `(?:/hold-\d+)?|` + results.DirGenerators + `/\d+|` + results.DirLogs + `|` + profile.Dir + `)$`)

// ruleOf returns the rule for a file, by its path below the database folder. Unknown files are left
// out.
func ruleOf(file string) rule {
	dir, name := path.Dir(file), path.Base(file)
	member := ""
	if m := numbered().FindStringSubmatch(name); m != nil {
		member = m[1]
	}
	switch {
	case !folders().MatchString(dir):
		return rule{}
	case dir == results.DirLogs && member != "":
		return rule{form: formLog}
	case slices.Contains([]string{results.FileIntervals, results.FileProgress, results.FileMembers, results.FileErrors, results.FileProbes, results.FileFaults, results.FileClock,
		capacity.File, results.FileDisk, results.FileClient, locks.FileTurns}, name), member == results.FileServer, member == results.FileDatabase:
		return rule{form: formTable}
	case slices.Contains([]string{results.FileLatency, results.FileMinutes, results.FileTotal, results.FileMembersLatency}, name):
		return rule{form: formHistograms}
	case slices.ContainsFunc(observed(), func(g observation.Group) bool { return name == g.File() }):
		return rule{form: formTable}
	case slices.ContainsFunc(observed(), func(g observation.Group) bool { return name == g.Log() }):
		return rule{form: formHistograms}
	case name == results.FileEvents:
		return rule{form: formEvents}
	case name == consistency.FileWitness:
		return rule{why: "requests whose answers exclude each other, which the manifest counts"}
	case name == consistency.FileHistory:
		return rule{why: "each request on a few keys, which the manifest counts"}
	case member == results.FileAgentLog, name == results.FileAgentLog:
		return rule{why: "the log of an agent"}
	case name == results.FileControlLog:
		return rule{why: "the log of control"}
	case dir == profile.Dir && member == "cpu.pprof":
		return rule{why: "a profile, which has paths"}
	case slices.Contains([]string{results.FileClassicSummary, results.FileClassicPercentile, results.FileClassicAll, results.FileClassicTimeseries,
		results.FileClassicByKey, results.FileClientInterpolated}, name), member == results.FileServerInterpolated:
		return rule{why: "analyze makes it again"}
	}
	return rule{}
}

// observed returns the value groups that abilities observe.
func observed() (groups []observation.Group) {
	for _, a := range all.Abilities() {
		groups = append(groups, a.Observes...)
	}
	return groups
}

// listed reports whether a driver named the log: either the manifest lists it, or the manifest has
// lost the list for that member.
func listed(record *results.DatabaseRun, file string) bool {
	number, _, _ := strings.Cut(path.Base(file), "-")
	n, _ := strconv.Atoi(number)
	lost := n >= 1 && n <= len(record.Members) && len(record.Members[n-1].Files) == 0
	return lost || slices.ContainsFunc(record.Members, func(m results.Member) bool { return slices.Contains(m.Files, file) })
}

// unlistedName is the archive path for a member log that the manifest does not list; n counts such
// logs from 0.
func unlistedName(file string, n int) string {
	number, _, _ := strings.Cut(path.Base(file), "-")
	return fmt.Sprintf("%s/%s-unlisted-%d.log", results.DirLogs, number, n+1)
}

// plainName is the name of a record in the archive, where it is not compressed by itself.
func plainName(file string) string {
	if plain, compressed := strings.CutSuffix(file, linefile.Compressed); compressed && results.Compressible(plain) {
		return plain
	}
	return file
}
