package control

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/coreos/dbtester/control/before/forecast"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/install"
	"github.com/coreos/dbtester/pkg/member/toolbox"
)

// release returns the version that agents are asked to run, "" for any.
//
// In a classic file the version belongs to the label of the author. Agents with a built-in server
// run that server or the executable they were started with, and the report shows the version that
// ran next to the label. Agents without a built-in server must have the release in the label.
func release(e *config.Experiment, entry database.Database, db *config.Database) string {
	if db.UseVersion != "" {
		return db.UseVersion
	}
	if e.Classic && entry.Info.Embedded != "" {
		return ""
	}
	return db.Version
}

// installs reports whether a run has its agents install the release.
func installs(db *config.Database) bool {
	return db.Install && db.Steps.Start && len(db.Endpoints) == 0
}

// errNoVersion refuses to install without a version.
var errNoVersion = errors.New("install: true needs a version to install")

// Releases returns why releases cannot run, and where another server runs instead of the release in
// the file. It calls no agent: it considers the cache and the executables on agents as far as they
// are known.
func Releases(e *config.Experiment, registry *database.Registry, known Agents) []forecast.Finding {
	var list []forecast.Finding
	for i := range e.Databases {
		db := &e.Databases[i]
		entry, err := registry.Get(db.Name)
		if err != nil || len(db.Endpoints) > 0 || !db.Steps.Start {
			continue
		}
		for _, one := range append([]forecast.Finding{releaseFinding(e, entry, db, known)}, upgradeFindings(entry, db, known)...) {
			if one.Text != "" && !slices.Contains(list, one) { // sweep points share a place
				list = append(list, one)
			}
		}
	}
	return list
}

// releaseFinding returns the finding for one database. Its text is empty if there is nothing to
// report.
func releaseFinding(e *config.Experiment, entry database.Database, db *config.Database, known Agents) forecast.Finding {
	stated := database.PlainVersion(stated(db))
	if stated == "" {
		if !installs(db) {
			return forecast.Finding{}
		}
		return forecast.Finding{Place: e.DatabasePlace(db, "install"), Text: errNoVersion.Error() + unversioned(entry, "install"), Refused: true}
	}
	want := toolbox.Want{Database: entry, Version: release(e, entry, db), Binary: db.Binary, Install: db.Install}
	if !onLoopback(db) {
		known.Release, known.Cached = nil, nil // other machines have their own caches
	}
	choice, err := toolbox.Choose(want, known.Tools, known.find)
	f := forecast.Finding{Place: e.DatabasePlace(db, "version")}
	key := "version: "
	if db.UseVersion != "" {
		f.Place, key = "--use-version", ""
	}
	text := ""
	switch {
	case err != nil:
		text = err.Error()
	case choice.Origin == toolbox.Given:
		text = givenText(entry, db, choice, stated)
	case choice.Origin == toolbox.Unversioned && !strings.HasPrefix(entry.Info.Embedded+".", stated+"."): // a label may be 3.7
		text = fmt.Sprintf("%s %s is only a label: the server built into dbtester (%s) runs instead%s; --use-version %[1]s=VERSION runs a release",
			entry.Name, stated, entry.Info.Embedded, orGiven(entry, known))
	case choice.Origin == toolbox.Absent:
		text, f.Refused = absentText(e, entry, db, known, stated)
	}
	if text != "" {
		f.Text = key + text
	}
	return f
}

// stated returns the version in the file or on the command line, or "".
func stated(db *config.Database) string {
	if db.UseVersion != "" {
		return db.UseVersion
	}
	return db.Version
}

// givenText describes the executable that runs instead of a release.
func givenText(entry database.Database, db *config.Database, choice toolbox.Choice, version string) string {
	tool := entry.Info.Tools[0]
	without := "--" + tool + "-exec"
	if db.Binary != "" {
		without = "binary"
	}
	text := fmt.Sprintf("the executable %s runs instead of %s %s, whatever its version", choice.Given[tool], entry.Name, version)
	if _, err := entry.Recipes(version); err == nil {
		text += fmt.Sprintf(" (without %s the release runs)", without)
	}
	return text
}

// absentText describes a release that must be installed first, and reports whether it certainly
// can't be; "" if there is nothing to report.
func absentText(e *config.Experiment, entry database.Database, db *config.Database, known Agents, version string) (text string, refused bool) {
	keys := "version"
	if db.Install {
		keys = "version and install"
	}
	_, err := entry.Recipes(version)
	_, builds := entry.New().(database.SourceBuilder)
	switch {
	case builds && install.IsCheckout(version) && !db.Install: // only a cache can contain it
	case err != nil && e.Classic:
		// Agents started with an executable ignore the label.
		text = fmt.Sprintf("%v (--use-version %s=VERSION runs another release%s)", err, entry.Name, orFlag(entry))
		return text, false
	case err != nil:
		// Agents on other machines may have been started with an executable for an old version.
		var old *database.TooOldError
		surely := onLoopback(db) || !errors.As(err, &old)
		return err.Error() + unversioned(entry, keys) + anyVersion(entry), surely
	}
	if db.Install || known.Release == nil {
		return "", false
	}
	text = uncachedText(entry, known, version)
	if !e.Classic {
		text += ", or install: true"
	}
	return text + unversioned(entry, keys), false
}

// uncachedText names a release missing in the cache of this machine, the releases in it, and the
// command to install it.
func uncachedText(entry database.Database, known Agents, version string) string {
	var have string
	if known.Cached != nil {
		if list := known.Cached(entry.Name); len(list) > 0 {
			have = ", which has " + strings.Join(list, ", ")
		}
	}
	return fmt.Sprintf("%s %s is not in the cache of this machine%s: dbtester install %[1]s@%[2]s", entry.Name, version, have)
}

// unversioned describes the built-in server that runs if the file omits keys; "" if nothing is
// built in.
func unversioned(entry database.Database, keys string) string {
	if entry.Info.Embedded == "" {
		return ""
	}
	return fmt.Sprintf("; without %s the server built into dbtester (%s) runs", keys, entry.Info.Embedded)
}

// anyVersion describes how an executable runs under any version.
func anyVersion(entry database.Database) string {
	if len(entry.Info.Tools) == 0 {
		return ""
	}
	return "; with binary: PATH, an executable runs whatever its version"
}

// orGiven describes the executable that may run instead of the built-in server, for unknown agents.
func orGiven(entry database.Database, known Agents) string {
	if known.Tools != nil || len(entry.Info.Tools) == 0 {
		return ""
	}
	return ", or what agents were given by --" + entry.Info.Tools[0] + "-exec"
}

// orFlag names the flag with which agents run an executable under any label.
func orFlag(entry database.Database) string {
	if len(entry.Info.Tools) == 0 {
		return ""
	}
	return ", agents with --" + entry.Info.Tools[0] + "-exec their executable"
}

// onLoopback reports whether all members of a database run on this machine.
func onLoopback(db *config.Database) bool {
	return !slices.ContainsFunc(db.Hosts, func(h config.Host) bool {
		ip, err := netip.ParseAddr(h.Addr)
		return err != nil || !ip.IsLoopback()
	})
}
