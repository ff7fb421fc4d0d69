package control

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/control/abilities/profile"
	declared "github.com/coreos/dbtester/pkg/ability/profile"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/fake"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// profiled is a fake whose first member profiles itself, whose second refuses to, and whose third
// never finishes.
type profiled struct {
	*fake.Options `yaml:",inline"`
}

func (d *profiled) CPUProfile(ctx context.Context, _ database.Target, member int, length time.Duration, w io.Writer) error {
	switch member {
	case 0:
		_, err := io.WriteString(w, "a profile of "+length.String())
		return err
	case 1:
		_, err := io.WriteString(w, "half of a pro")
		return errors.Join(err, errors.New("no such page (the option pprof is off)"))
	}
	<-ctx.Done()
	return errors.New("read: connection reset")
}

// newProfiledRig adds a database "profiled" to the others.
func newProfiledRig(t *testing.T) *rig {
	able := fake.Database()
	able.Name = "profiled"
	able.New = func() database.Driver { return &profiled{fake.New()} }
	return newRigOf(t, database.NewRegistry(fake.Database(), able))
}

// texts returns the texts of the marks with a code.
func (r record) texts(code string) (texts []string) {
	for _, m := range r.run.Validity {
		if m.Code == code {
			texts = append(texts, m.Text)
		}
	}
	return texts
}

// profilesOf returns the recorded profiles of m.
func profilesOf(t *testing.T, m results.Member) []declared.Profile {
	t.Helper()
	profiles, err := declared.Record().Of(m.Records)
	if err != nil {
		t.Fatal(err)
	}
	return profiles
}

// TestProfile: profiles that arrived are in the folder and the manifest, missing ones are a mark,
// and nothing fails. No incomplete file remains.
func TestProfile(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newProfiledRig(t)
	// Five seconds of load: the profiles of two members end before it does, although a busy disk
	// delays their files.
	out := r.mustRun(r.experiment("profile: {cpu: 1m}\n"+small+"databases: {profiled: {options: {delay: 100ms}}, fake: }\n"), nil)
	rec := r.read(out.Folders[0], 0)
	want := []string{
		"member 2: no such page (the option pprof is off)",
		"member 3: the load ended before its profile of 1 min",
	}
	if diff := cmp.Diff(want, rec.texts(mark.NotProfiled)); diff != "" {
		t.Errorf("what is not profiled (-want +got):\n%s", diff)
	}
	if got := rec.texts(mark.Profiled); len(got) != 1 || !strings.HasPrefix(got[0], "1 of 3 members profiled their processor time for 1 min") {
		t.Errorf("profiled: %q", got)
	}
	files, err := os.ReadDir(filepath.Join(rec.dir, "profiles"))
	if err != nil || len(files) != 1 {
		t.Errorf("files %v, %v", files, err)
	}
	for i, m := range rec.run.Members {
		if i > 0 && len(profilesOf(t, m)) > 0 {
			t.Errorf("member %d has %v", i+1, m.Records)
		}
	}
	if got := profilesOf(t, rec.run.Members[0]); len(got) != 1 || got[0].Kind != "cpu" || got[0].File != "profiles/1-cpu.pprof" || got[0].Length != time.Minute ||
		got[0].Start.Before(rec.run.Ready) || got[0].Start.After(rec.run.LoadEnd) {
		t.Errorf("profiles of member 1: %+v", got)
	} else if text, err := os.ReadFile(filepath.Join(rec.dir, got[0].File)); err != nil || string(text) != "a profile of 1m0s" {
		t.Errorf("%q, %v", text, err)
	}
	if got := r.read(out.Folders[0], 1).texts(mark.NotProfiled); !cmp.Equal(got, []string{"members of fake cannot profile themselves"}) {
		t.Errorf("fake: %q", got)
	}
}

// TestProfileFits: a profile does not outlast a load whose length is known.
func TestProfileFits(t *testing.T) {
	t.Parallel()
	r := newProfiledRig(t)
	for _, tt := range []struct {
		load string
		want time.Duration
	}{
		{"requests: 10", 30 * time.Second},
		{"duration: 1m", 30 * time.Second},
		{"duration: 20s", 20 * time.Second},
		{"duration: 20500ms, warm_up: 5s", 15 * time.Second},
		{"steps: [{clients: 1, duration: 7s}, {clients: 2, duration: 8s}]", 15 * time.Second},
		{"duration: 900ms", 0},
	} {
		e := r.experiment("load: {" + tt.load + "}\ndatabases: {profiled: }\n")
		if got := profile.Length(e.Databases[0].Load, 30*time.Second); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.load, got, tt.want)
		}
	}
}
