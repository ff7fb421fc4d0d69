package submission

import (
	"encoding"
	"encoding/json"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/ability/all"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// Hidden words are replaced inside other words too; a word that cannot be hidden is an error.
func TestHide(t *testing.T) {
	t.Parallel()
	n := newNames()
	if err := n.hide(" BlueBird"); err != nil {
		t.Fatal(err)
	}
	if got, want := n.text("bluebird_prod, myBLUEBIRDS of bluebird"), "word-1_prod, myword-1S of word-1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, word := range []string{"", "db", "4711", "10.5", "1e5", "42-17", "Update", "laten", "host-3", "etcd"} {
		if err := newNames().hide(word); !errors.Is(err, ErrHide) {
			t.Errorf("%q: got %v", word, err)
		}
	}
	if _, err := Pack(Options{Run: published(t, "quickstart"), To: filepath.Join(t.TempDir(), "a"), Hide: []string{"7"}}); !errors.Is(err, ErrHide) {
		t.Errorf("got %v", err)
	}
}

// Machines and users that are named like words in the records change no number, and a name that
// looks like a pseudonym is not confused with another.
func TestNamesThatAreWords(t *testing.T) {
	t.Parallel()
	f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
	f.M.Title, f.M.Description = "mix read:50 update:50 write:100", "As load@events, in /home/measure/latency: latency:2379, write:2379, total:80"
	f.M.Client.Name = "host-1"
	d := f.Database("etcd-v3.6", 2*time.Millisecond)
	for i, name := range []string{"events", "db-7"} {
		d.Members[i].Host = &results.Host{Name: name, CPUs: 4, BootID: "boot-of-" + name}
	}
	run := f.Write()
	_, again := pack(t, Options{Run: run, Hosts: []string{"intervals"}, Users: []string{"members"}})
	if diff := cmp.Diff(numbers(t, run), numbers(t, again)); diff != "" {
		t.Errorf("numbers (-of the run +of the archive):\n%s", diff)
	}
	var m results.Manifest
	if err := json.Unmarshal([]byte(read(t, filepath.Join(again, results.FileManifest))), &m); err != nil {
		t.Fatal(err)
	}
	got := []string{m.Title, m.Client.Name, m.Databases[0].Members[0].Host.Name, m.Databases[0].Members[1].Host.Name}
	if diff := cmp.Diff([]string{f.M.Title, "host-1", "host-2", "host-3"}, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	n := newNames()
	for _, text := range []string{string(results.PhaseWarmUp), string(results.PhaseMeasure), string(results.PhaseCoolDown), results.EventLeader, results.EventConnectionLost,
		results.EventReconnected, results.EventStopped, results.EventGeneratorLost, results.EventMemoryLimit, results.EventLogCut, results.ClassUnrecorded,
		string(results.StateComplete), string(results.StateInterrupted), mark.Saturated, mark.OtherLoad, mark.Unsteady, results.DirGenerators} {
		for _, word := range strings.Fields(text) {
			if !n.ordinary[word] {
				t.Errorf("%q of %q would be replaced if a machine had this name", word, text)
			}
		}
	}
}

// A record that lost a mark, or contradicts itself, must not be published.
func TestAgrees(t *testing.T) {
	t.Parallel()
	dir := published(t, "quickstart")
	p := &packer{checked: &checked{}}
	if err := p.agrees(dir); err != nil {
		t.Error(err)
	}
	p.invalid = []string{"INVALID server lost"}
	if err := p.agrees(dir); err == nil {
		t.Error("a lost mark is no error")
	}
	p.invalid = nil
	offerMore(t, dir)
	if err := p.agrees(dir); err == nil || !strings.Contains(err.Error(), "do not add up") {
		t.Errorf("other totals: got %v", err)
	}
	p.names = newNames()
	delete(p.names.ordinary, "write")
	p.names.host("write")
	if _, err := p.table([]byte("phase,operation,text\nmeasure,write,write\n")); err == nil || !strings.Contains(err.Error(), `the operation "write"`) {
		t.Errorf("an operation with another name: got %v", err)
	}
}

// All texts in manifests and events have a treatment: without one they are left out.
func TestAllTextsAreKnown(t *testing.T) {
	t.Parallel()
	texts := 0
	var walk func(in, name string, of reflect.Type)
	walk = func(in, name string, of reflect.Type) {
		switch name {
		case "config", "argv", "profiles", "options", "option_texts", "words", "files", "sha256":
			return
		}
		marshals := of.Implements(reflect.TypeFor[encoding.TextMarshaler]()) || reflect.PointerTo(of).Implements(reflect.TypeFor[encoding.TextMarshaler]())
		switch kind := of.Kind(); {
		case marshals || kind == reflect.String:
			texts++
			if treatments[in+"."+name] == nil && treatments[name] == nil {
				t.Errorf("%s.%s has no treatment", in, name)
			}
		case kind == reflect.Pointer || kind == reflect.Slice || kind == reflect.Array:
			walk(in, name, of.Elem())
		case kind == reflect.Map:
			walk(name, "*", of.Elem())
		case kind == reflect.Struct:
			for _, field := range reflect.VisibleFields(of) {
				if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag != "" && tag != "-" {
					walk(name, tag, field.Type)
				}
			}
		}
	}
	walk("", "", reflect.TypeFor[results.Manifest]())
	walk("", "", reflect.TypeFor[results.Event]())
	for _, a := range all.Abilities() {
		for _, r := range []ability.Recorded{a.Record, a.Member} {
			if r != nil {
				walk("", r.Name(), r.Type())
			}
		}
	}
	if texts < 60 {
		t.Errorf("only %d texts were found", texts)
	}
}

// Published manifests have no field that this version does not know, so no part of a record
// is left out.
func TestPublishedFieldsAreKnown(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	manifests, err := filepath.Glob(filepath.Join("..", "..", "..", "test-results", "*", "records", "*", results.FileManifest))
	if err != nil || len(manifests) < 10 {
		t.Fatalf("%d published manifests, %v", len(manifests), err)
	}
	for _, path := range manifests {
		var m results.Manifest
		data := []byte(read(t, path))
		if err := json.Unmarshal(data, &m); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		p := &packer{checked: &checked{manifest: &m}, names: newNames(), known: newVocabulary(), unknown: map[string]bool{}}
		p.learnHosts()
		if _, err := p.scrubJSON(data); err != nil || len(p.unknown) > 0 {
			t.Errorf("%s has the unknown fields %v, %v", path, p.unknown, err)
		}
	}
}
