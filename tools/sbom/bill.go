package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"runtime/debug"
	"slices"
	"strings"
)

// about holds facts about an executable that are not inside it.
type about struct{ version, created, sha256 string }

// bill has the CycloneDX 1.6 fields that are written.
type bill struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Timestamp string    `json:"timestamp,omitempty"`
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// writeBill writes the bill for an executable: the executable, the standard library and every
// module in it, ordered by path. The executable does not record dependencies between modules, so
// the bill does not have them.
func writeBill(w io.Writer, info *debug.BuildInfo, a about) error {
	main := component{
		Type: "application", Name: path.Base(info.Path), Version: a.version, PURL: purl(info.Main.Path, a.version),
		Hashes: []hash{{"SHA-256", a.sha256}},
	}
	main.Ref = main.PURL
	for _, s := range info.Settings {
		main.Properties = append(main.Properties, property{"go:build:" + s.Key, s.Value})
	}
	b := bill{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{a.created, main}}
	release := strings.TrimPrefix(info.GoVersion, "go")
	b.Components = append(b.Components, component{Type: "library", Ref: purl("std", release), Name: "std", Version: release, PURL: purl("std", release)})
	for _, m := range linked(info) {
		c := component{Type: "library", Ref: purl(m.Path, m.Version), Name: m.Path, Version: m.Version, PURL: purl(m.Path, m.Version)}
		if m.Sum != "" {
			c.Properties = []property{{"go:sum", m.Sum}}
		}
		b.Components = append(b.Components, c)
	}
	data, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the bill: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s\n", data)
	return err
}

// linked returns the modules in an executable, those that replace others in their place, ordered by
// path.
func linked(info *debug.BuildInfo) []*debug.Module {
	var list []*debug.Module
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		list = append(list, m)
	}
	slices.SortStableFunc(list, func(a, b *debug.Module) int { return cmp.Compare(a.Path, b.Path) })
	return list
}

// purl returns the package URL for a module. The type golang has paths in lower case.
func purl(module, version string) string {
	url := "pkg:golang/" + strings.ToLower(module)
	if version != "" {
		url += "@" + strings.ReplaceAll(version, "+", "%2B")
	}
	return url
}
