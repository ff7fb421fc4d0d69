// Package submission packs one recorded run into an archive that may be published: complete and
// with its marks, but without anything that identifies machines, users and networks or looks like a
// credential. Unknown files and text fields are left out.
//
// The same run and options give the same bytes. Host names, IP addresses and other names are
// replaced by pseudonyms, consistently, so that a report on the archive has the numbers of the run
// and still shows which members share a machine.
package submission

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/files/linefile"
	"github.com/coreos/dbtester/pkg/files/regularfile"
	"github.com/coreos/dbtester/pkg/files/wholefile"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/digest"
)

// mostBytes limits the size of a record file. Each file is processed in memory.
const mostBytes = 1 << 30

// FileAccount is the list of scrubbed and omitted records in the archive.
const FileAccount = "SCRUBBED.txt"

type Options struct {
	// Run is the result folder. Pack does not modify it.
	Run string
	// To is the path for the new archive, a .tar.gz; Pack fails if it exists. If To is empty, the
	// archive is named after the run and written to the working directory.
	To string
	// Hosts and Users are further names that texts may contain, such as those on the packing
	// machine; names that do not occur have no effect. Hide are words to replace regardless of
	// case, even inside other words. Words shorter than three bytes, numbers and words that occur
	// in every record cause [ErrHide].
	Hosts, Users, Hide []string
}

// Packed describes a written archive.
type Packed struct {
	// File is the archive, and Folder the only folder in it.
	File, Folder string
	// Account lists the scrubbed and the omitted records, as in the archive. It contains no private
	// name.
	Account string
	// Pseudonyms and Unnamed are private to the person who packed. Unnamed has the file paths and
	// field names that Account counts without naming: they are not part of the record format, so
	// the names themselves may be private.
	Pseudonyms []Pseudonym
	Unnamed    []string
	// Invalid are the marks that make the run invalid; empty for a valid run.
	Invalid []string
}

// Pack checks a run and writes its archive. If the run is incomplete or contradicts itself, Pack
// writes nothing and returns an error with every reason. An invalid run is packed with its marks.
func Pack(o Options) (*Packed, error) {
	run, err := check(o.Run)
	if err != nil {
		return nil, err
	}
	p := &packer{checked: run, known: newVocabulary()}
	if err := p.find(o); err != nil {
		return nil, err
	}
	packed := &Packed{File: o.To, Folder: p.folderName(), Invalid: p.invalid}
	if packed.File == "" {
		packed.File = packed.Folder + ".tar.gz"
	}
	if _, err := os.Lstat(packed.File); err == nil {
		return nil, fmt.Errorf("write archive %s: %w: remove it, or name another file", packed.File, fs.ErrExist)
	}
	err = wholefile.Write(packed.File, func(w io.Writer) error {
		copies, err := os.MkdirTemp("", "dbtester-submit-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(copies)
		a := newArchive(w, packed.Folder, copies)
		if err := p.files(a); err != nil {
			return err
		}
		packed.Account = p.account()
		if err := errors.Join(a.add(FileAccount, []byte(packed.Account)), a.close()); err != nil {
			return err
		}
		return p.agrees(copies)
	})
	if err != nil {
		return nil, fmt.Errorf("write archive: %w", err)
	}
	packed.Pseudonyms = p.names.pseudonyms()
	for _, field := range slices.Sorted(maps.Keys(p.unknown)) {
		packed.Unnamed = append(packed.Unnamed, "field "+field)
	}
	for _, file := range slices.Concat(p.strays, p.unlisted) {
		packed.Unnamed = append(packed.Unnamed, "file "+file)
	}
	return packed, nil
}

// find finds all names. Names from the options are numbered after names from the records, so the
// packing machine does not affect the archive unless the records mention it.
func (p *packer) find(o Options) error {
	taken := map[string]bool{}
	for again := true; again; { // repeated if the records contain words that look like pseudonyms
		p.names = newNames()
		maps.Copy(p.names.taken, taken)
		for _, d := range p.manifest.Databases {
			p.ordinaryOf(d)
		}
		for _, word := range o.Hide {
			if err := p.names.hide(word); err != nil {
				return err
			}
		}
		if err := p.files(nil); err != nil {
			return err
		}
		p.account() // contains texts as well
		again = len(p.names.taken) > len(taken)
		taken = p.names.taken
	}
	for _, host := range o.Hosts {
		p.names.host(host)
	}
	for _, user := range o.Users {
		p.names.of(kindUser, user)
	}
	clear(p.names.written)
	return nil
}

// ordinaryOf makes a driver's own words ordinary: the events in its logs, and its setting names.
func (p *packer) ordinaryOf(d *results.DatabaseRun) {
	ordinary := func(words ...string) {
		for _, word := range words {
			p.names.ordinary[strings.ToLower(word)] = true
		}
	}
	for _, r := range d.LogRules {
		ordinary(strings.Fields(r.Event)...)
	}
	if d.Settings == nil {
		return
	}
	for _, s := range d.Settings.Changed {
		ordinary(s.Name)
	}
}

// agrees reads the packed files as a report does. It fails if they are no longer publishable or
// have lost a mark.
func (p *packer) agrees(dir string) error {
	again, err := check(dir)
	if err != nil {
		return fmt.Errorf("a name that was replaced is also a word of the record, which contradicts itself without it: %w", err)
	}
	if len(again.invalid) != len(p.invalid) {
		return fmt.Errorf("a name that was replaced is also a word of the record: of its %d marks that make it invalid it kept %d", len(p.invalid), len(again.invalid))
	}
	return nil
}

// folderName returns the name of the folder in the archive. The run id is random and identifies no
// person.
func (p *packer) folderName() string {
	id := p.manifest.RunID
	if !hexadecimal().MatchString(id) {
		return "run"
	}
	return "run-" + id[:min(len(id), 12)]
}

// files treats the manifest and the files about every database, and adds them to an archive, which
// may be nil.
func (p *packer) files(a *archive) error {
	p.unknown, p.lostLines, p.leftOut, p.strays, p.unlisted, p.reduced = map[string]bool{}, map[string]bool{}, map[string]string{}, nil, nil, nil
	p.digests = map[string]*digest.Set{}
	manifest, err := p.scrubManifest()
	if err != nil {
		return err
	}
	tags := map[string]*results.DatabaseRun{}
	for _, d := range p.manifest.Databases {
		if tags[p.names.word(d.Tag)] != nil {
			return fmt.Errorf("two databases would have the tag %q", p.names.word(d.Tag))
		}
		tags[p.names.word(d.Tag)] = d
	}
	for _, tag := range slices.Sorted(maps.Keys(tags)) {
		if err := p.database(a, tag, tags[tag]); err != nil {
			return err
		}
	}
	text, err := p.withDigests(manifest)
	if err != nil {
		return err
	}
	if err := p.add(a, results.FileManifest, text); err != nil {
		return err
	}
	return p.strangers()
}

// scrubManifest returns the packed manifest, without digests.
func (p *packer) scrubManifest() (map[string]any, error) {
	data, err := regularfile.Read(p.folder.Path(results.FileManifest), mostBytes)
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	p.learnHosts()
	object, err := p.scrubJSON(data)
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	return object, nil
}

// withDigests encodes a packed manifest with the digests of packed files.
func (p *packer) withDigests(manifest map[string]any) ([]byte, error) {
	databases, _ := manifest["databases"].([]any)
	for _, one := range databases {
		database, _ := one.(map[string]any)
		if tag, _ := database["tag"].(string); p.digests[tag] != nil {
			database["digests"] = p.digests[tag]
		}
	}
	text, err := json.MarshalIndent(manifest, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode manifest: %w", err)
	}
	return append(text, '\n'), nil
}

// learnHosts assigns pseudonyms to machines in manifest order, client first.
func (p *packer) learnHosts() {
	p.names.host(p.manifest.Client.Name)
	for _, d := range p.manifest.Databases {
		for _, m := range d.Members {
			if m.Host != nil {
				p.names.host(m.Host.Name)
			}
			p.names.address(m.Addr)
		}
		for _, g := range d.Generators {
			if g.Host != nil {
				p.names.host(g.Host.Name)
			}
			p.names.address(g.Addr)
		}
	}
}

// database treats the files about one database.
func (p *packer) database(a *archive, tag string, record *results.DatabaseRun) error {
	dir := p.folder.Path(record.Tag)
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		file, err := filepath.Rel(dir, path)
		if d.Type().IsRegular() {
			files = append(files, filepath.ToSlash(file))
		} else {
			p.strays = append(p.strays, record.Tag+"/"+filepath.ToSlash(file)+" (no regular file)")
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("list the records: %w", err)
	}
	slices.Sort(files)
	change := newRenewal()
	for _, file := range files {
		path := tag + "/" + p.packedName(plainName(file))
		r := ruleOf(plainName(file))
		if r.form == formLog && !listed(record, file) { // kept because reports count its events
			path = tag + "/" + unlistedName(file, len(p.unlisted))
			p.unlisted = append(p.unlisted, fmt.Sprintf("%s/%s, packed as %s", record.Tag, file, path))
		}
		if r.form == "" {
			if r.why != "" {
				p.leftOut[path] = r.why
				change.leaveOut(strings.TrimPrefix(path, tag+"/"), results.Recorded(file))
			} else {
				p.strays = append(p.strays, record.Tag+"/"+file)
			}
			p.learnLog(filepath.Join(dir, file))
			continue
		}
		data, err := readRecord(filepath.Join(dir, file))
		if err != nil {
			return fmt.Errorf("read a record: %w", linefile.Bare(err))
		}
		treated, err := p.treat(r.form, record, data)
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(dir, file), err)
		}
		if filepath.Ext(file) == ".log" {
			p.reduced = append(p.reduced, fmt.Sprintf("%s: %d of %d lines", path, strings.Count(string(treated), "\n"), strings.Count(string(data), "\n")))
		}
		change.pack(strings.TrimPrefix(path, tag+"/"), results.Recorded(file), data, treated)
		if err := p.add(a, path, treated); err != nil {
			return err
		}
	}
	p.digests[tag] = change.set(p, record.Digests)
	return nil
}

// readRecord reads a record, compressed or not.
func readRecord(path string) ([]byte, error) {
	if plainName(filepath.ToSlash(path)) != filepath.ToSlash(path) {
		return linefile.ReadCompressed(path, mostBytes)
	}
	return regularfile.Read(path, mostBytes)
}

// add adds a file to an archive, which may be nil.
func (p *packer) add(a *archive, path string, data []byte) error {
	if a == nil {
		return nil
	}
	p.names.wrote(path)
	p.names.wrote(string(data))
	return a.add(path, data)
}

// learnLog collects names from a log by dbtester that is left out: it contains control's user and
// machine.
func (p *packer) learnLog(path string) {
	const mostLog = 16 << 20
	if filepath.Ext(path) != ".log" {
		return
	}
	data, err := regularfile.Read(path, mostLog)
	if err != nil {
		return // nothing from it is packed
	}
	for _, m := range owner().FindAllStringSubmatch(string(data), -1) {
		p.names.of(kindUser, m[1])
		p.names.host(m[2])
	}
	p.names.text(string(data))
}

// strangers lists files outside the database folders.
func (p *packer) strangers() error {
	entries, err := os.ReadDir(p.folder.Dir())
	if err != nil {
		return fmt.Errorf("list the records: %w", err)
	}
	for _, e := range entries {
		tag := func(d *results.DatabaseRun) bool { return d.Tag == e.Name() }
		if e.Name() == results.FileManifest || slices.ContainsFunc(p.manifest.Databases, tag) {
			continue
		}
		if e.Name() == results.DirReport {
			p.leftOut[e.Name()] = "analyze makes it again"
		} else {
			p.strays = append(p.strays, e.Name())
		}
	}
	return nil
}
