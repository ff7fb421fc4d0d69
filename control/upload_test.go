package control

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// uploading is an experiment with an upload.
const uploading = "upload: {url: 'file:///nowhere'}\nsteps: {upload: true}\n" + small + "databases: {fake: {}}"

// An upload is requested for the complete folders.
func TestUpload(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	o := r.options(r.experiment(uploading), nil)
	var uploaded []string
	o.Upload = func(_ context.Context, dir string, to config.Upload, _ func(string)) error {
		uploaded = append(uploaded, dir+" to "+to.URL)
		return nil
	}
	out, err := Run(t.Context(), o)
	if err != nil {
		t.Fatalf("run the experiment: %v", err)
	}
	if diff := cmp.Diff([]string{out.Folders[0] + " to file:///nowhere"}, uploaded); diff != "" {
		t.Error(diff)
	}
	r.mustBeIdle()
}

// An impossible upload is refused before anything starts, beside other errors.
func TestUploadRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	upload := func(context.Context, string, config.Upload, func(string)) error { return nil }
	key := filepath.Join(t.TempDir(), "key.json")
	for _, tt := range []struct {
		name, file string
		upload     func(context.Context, string, config.Upload, func(string)) error
		want       string // "" is no refusal
	}{
		{"no uploader", uploading, nil, "the experiment requests an upload to file:///nowhere, but this program cannot upload"},
		{
			"no key", strings.Replace(uploading, "{url:", "{key_file: "+key+", url:", 1), upload,
			"the experiment requests an upload to file:///nowhere, but its key file " + key + " does not exist",
		},
		{
			"neither", strings.Replace(uploading, "{url:", "{key_file: "+key+", url:", 1), nil,
			"the experiment requests an upload to file:///nowhere, but this program cannot upload and its key file " + key + " does not exist",
		},
		{"not by this database", strings.Replace(uploading, "fake: {}", "fake: {steps: {upload: false}}", 1), nil, ""},
		{"not at all", strings.Replace(uploading, "{upload: true}", "{upload: false}", 1), nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := r.options(r.experiment(tt.file), nil)
			o.Upload = tt.upload
			var text bytes.Buffer
			if err := DryRun(&text, o, Agents{}); err != nil || strings.Contains(text.String(), "\nupload to file:///nowhere\n") != (tt.want != "") {
				t.Errorf("dry run: %v\n%s", err, text.String())
			}
			if err := CheckUpload(o); tt.want == "" {
				if err != nil {
					t.Errorf("check the upload: %v", err)
				}
				return
			}
			out, err := Run(t.Context(), o)
			if err == nil || err.Error() != tt.want || len(out.Folders) > 0 {
				t.Errorf("%+v, %v, want %q", out, err, tt.want)
			}
		})
	}
}

// A run without the requested upload reports that at its start and in its records.
func TestNoUpload(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRig(t)
	var said []string
	o := r.options(r.experiment(uploading), func(u Update) { said = append(said, u.Text) })
	o.NoUpload = true
	out, err := Run(t.Context(), o)
	if err != nil || len(ofRun(out.Invalid)) > 0 {
		t.Fatalf("%+v, %v", out, err)
	}
	const want = "the upload to file:///nowhere that the experiment requests was skipped"
	if said[0] != want || slices.ContainsFunc(said, func(s string) bool { return strings.HasPrefix(s, "upload") }) {
		t.Errorf("unexpected texts %q", said)
	}
	marks := r.read(out.Folders[0], 0).manifest.Validity
	var text bytes.Buffer
	if err := DryRun(&text, o, Agents{}); err != nil || !strings.Contains(text.String(), "\n"+want+"\n") {
		t.Errorf("dry run: %v\n%s", err, text.String())
	}
	if diff := cmp.Diff([]results.Mark{{Code: "not uploaded", Text: want, Words: map[string]string{"url": "file:///nowhere"}}}, marks); diff != "" {
		t.Error(diff)
	}
}
