package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// program is an executable with two modules, one in place of another.
func program() *debug.BuildInfo {
	return &debug.BuildInfo{
		GoVersion: "go1.26.8", Path: "example.org/tree/cmd/tool", Main: debug.Module{Path: "example.org/tree", Version: "(devel)"},
		Deps: []*debug.Module{
			{Path: "example.org/old", Version: "v1.0.0", Replace: &debug.Module{Path: "example.org/zebra", Version: "v2.0.0+incompatible", Sum: "h1:z="}},
			{Path: "example.org/Ant", Version: "v0.1.0", Sum: "h1:a="},
		},
		Settings: []debug.BuildSetting{{Key: "GOOS", Value: "linux"}},
	}
}

func TestBill(t *testing.T) {
	var text strings.Builder
	if err := writeBill(&text, program(), about{version: "v1.2.3", created: "2026-01-02T03:04:05Z", sha256: "00ff"}); err != nil {
		t.Fatal(err)
	}
	var b bill
	if err := json.Unmarshal([]byte(text.String()), &b); err != nil {
		t.Fatalf("the bill must be JSON: %v", err)
	}
	m := b.Metadata.Component
	if m.Name != "tool" || m.PURL != "pkg:golang/example.org/tree@v1.2.3" || m.Hashes[0].Content != "00ff" || m.Properties[0] != (property{"go:build:GOOS", "linux"}) {
		t.Errorf("the executable is %+v", m)
	}
	var refs []string
	for _, c := range b.Components {
		refs = append(refs, c.Ref)
	}
	want := []string{"pkg:golang/std@1.26.8", "pkg:golang/example.org/ant@v0.1.0", "pkg:golang/example.org/zebra@v2.0.0%2Bincompatible"}
	if !slices.Equal(refs, want) {
		t.Errorf("components %q, want %q", refs, want)
	}
	if c := b.Components[2]; c.Version != "v2.0.0+incompatible" || c.Properties[0].Value != "h1:z=" {
		t.Errorf("the module in place of another is %+v", c)
	}
}

// TestBillOfExecutable reads a real executable, this test: twice with equal bytes.
func TestBillOfExecutable(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var once, again strings.Builder
	for _, w := range []*strings.Builder{&once, &again} {
		if err := run([]string{"-version", "v1", self}, w); err != nil {
			t.Fatal(err)
		}
	}
	if once.String() != again.String() || !strings.Contains(once.String(), `"alg": "SHA-256"`) {
		t.Errorf("the bills are\n%s\nand\n%s", &once, &again)
	}
	if err := run([]string{filepath.Join(t.TempDir(), "absent")}, &once); err == nil {
		t.Error("the bill of no file must be an error")
	}
}

func TestNotices(t *testing.T) {
	modules, goroot := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	zebra := filepath.Join(modules, "example.org", "zebra@v2.0.0+incompatible")
	ant := filepath.Join(modules, "example.org", "!ant@v0.1.0")
	write(filepath.Join(goroot, "LICENSE"), "shared text\n")
	write(filepath.Join(zebra, "LICENSE.md"), "shared text\n")
	write(filepath.Join(zebra, "main.go"), "package main\n")
	write(filepath.Join(ant, "AUTHORS"), "the ants\n")
	write(filepath.Join(ant, "internal", "bee", "LICENSE"), "nested text\n") // for something else the module holds
	for _, path := range []string{"testdata/LICENSE", ".github/LICENSE", "copyright/copyright.go"} {
		write(filepath.Join(ant, path), "idle text\n")
	}
	write(filepath.Join(goroot, "src", "vendor", "wasp", "LICENSE"), "vendored text\n")
	write(filepath.Join(goroot, "src", "cmd", "vendor", "fly", "LICENSE"), "idle text\n")
	var text strings.Builder
	if err := writeNotices(&text, program(), modules, goroot); err == nil || !strings.Contains(err.Error(), "example.org/Ant v0.1.0") {
		t.Errorf("a module without a licence: error %v, want one that names it", err)
	}
	write(filepath.Join(ant, "licenses", "ftl.txt"), "free text\n")
	write(filepath.Join(ant, "licenses", "gpl.txt"), "other text\n")
	if err := writeNotices(&text, program(), modules, goroot); err != nil {
		t.Fatal(err)
	}
	got := text.String()
	for _, want := range []string{
		"Go 1.26.8: LICENSE\nexample.org/zebra v2.0.0+incompatible: LICENSE.md\n", "example.org/Ant v0.1.0: licenses/ftl.txt\n", "free text", "the ants",
		"Go 1.26.8: src/vendor/wasp/LICENSE\n", "vendored text", "example.org/Ant v0.1.0: internal/bee/LICENSE\n", "nested text",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.Count(got, "shared text") != 1 || strings.Contains(got, "other text") || strings.Contains(got, "idle text") || strings.Contains(got, "FreeType") {
		t.Errorf("a text is there twice, or one that must not be:\n%s", got)
	}
}
