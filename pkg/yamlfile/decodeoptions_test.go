package yamlfile_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/yamlfile"
)

type limits struct {
	Depth int `yaml:"depth"`
}

type settings struct {
	Size    int            `yaml:"size"`
	Wait    time.Duration  `yaml:"wait"`
	Flags   []string       `yaml:"flags"`
	Limits  limits         `yaml:"limits"`
	Labels  map[string]any `yaml:"labels"`
	Ignored int            `yaml:"-"`
}

func TestDecodeOptions(t *testing.T) {
	s := settings{Size: 1, Wait: time.Second}
	if err := yamlfile.DecodeOptions([]byte("wait: 2s\nlimits: {depth: 3}\nflags: [--a]\n"), &s); err != nil {
		t.Fatalf("decode the options: %v", err)
	}
	if s.Size != 1 || s.Wait != 2*time.Second || s.Limits.Depth != 3 || len(s.Flags) != 1 {
		t.Errorf("decoded %+v, want the given values over the defaults", s)
	}
	for in, want := range map[string]string{
		"sise: 1":          `options:1:1: unknown key "sise" (did you mean "size"?)`,
		"size: 1\nsize: 2": `options:2:1: key "size" is given twice (first in line 1)`,
		"size: x":          `options:1:7: size: want a whole number, got "x"`,
		"- 1":              `options:1:1: options: want a mapping, got a list`,
		strings.Repeat("#", yamlfile.MaxOptions+1): "options must be at most 65536 bytes, got 65537",
	} {
		if err := yamlfile.DecodeOptions([]byte(in), &s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want an error with %q", in, err, want)
		}
	}
}

// bombs are options of the maximum size that cost decoders much more than their size.
func bombs() map[string][]byte {
	fill := func(unit string) []byte {
		return bytes.Repeat([]byte(unit), yamlfile.MaxOptions/len(unit))
	}
	var aliases bytes.Buffer
	aliases.WriteString("labels:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 30; i++ {
		fmt.Fprintf(&aliases, "  a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	var merges bytes.Buffer
	merges.WriteString("limits: &m0 {depth: 1}\n")
	for i := 1; i < 900; i++ {
		fmt.Fprintf(&merges, "m%d: &m%d {<<: [*m%d, *m%d], k%d: 1}\n", i, i, i-1, i-1, i)
	}
	return map[string][]byte{
		"one key repeated":       fill("size: 1\n"),
		"short key repeated":     fill("a: 1\n"),
		"aliases of aliases":     aliases.Bytes(),
		"merges of merges":       merges.Bytes(),
		"deep lists":             fill("["),
		"deep maps":              fill("{a: "),
		"many words":             append(append([]byte("flags: ["), fill("a,")[:60000]...), ']'),
		"many anchors":           fill("? &a\n"),
		"list of lists of lists": append([]byte("labels: {a: "), fill("- ")...),
	}
}

// Options come from whoever reaches the agent.
func TestDecodeOptionsBombs(t *testing.T) {
	for name, data := range bombs() {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		started := time.Now()
		err := yamlfile.DecodeOptions(data[:min(len(data), yamlfile.MaxOptions)], &settings{})
		runtime.ReadMemStats(&after)
		if took := time.Since(started); took > 2*time.Minute {
			t.Errorf("%s: %v for %d bytes, want below two minutes", name, took, len(data))
		}
		if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 64 {
			t.Errorf("%s: %d MiB allocated for %d bytes, want at most 64", name, mib, len(data))
		}
		if err != nil && len(err.Error()) > 256<<10 {
			t.Errorf("%s: an error of %d bytes, want a short one", name, len(err.Error()))
		}
	}
}

func FuzzDecodeOptions(f *testing.F) {
	for _, seed := range []string{"size: 1", "size: 1\nsize: 2", "wait: 2s\nflags: [a]", "a: &a {<<: *a}", "labels: {a: [*b]}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_ = yamlfile.DecodeOptions(data, &settings{}) // must end, without a panic
	})
}
