package install

import (
	"archive/tar"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever an archive contains, unpacking it writes only inside its directory, and no link in an
// accepted archive leads out.
func TestExtractionStaysInside(t *testing.T) {
	part := rapid.SampledFrom([]string{"a", "a", "b", "..", ".", ""})
	name := rapid.Custom(func(t *rapid.T) string {
		return strings.TrimRight(strings.Join(rapid.SliceOfN(part, 1, 4).Draw(t, "parts"), "/"), "/")
	})
	kind := rapid.SampledFrom([]byte{tar.TypeReg, tar.TypeReg, tar.TypeDir, tar.TypeSymlink, tar.TypeLink})
	rapid.Check(t, func(rt *rapid.T) {
		var items []item
		for range rapid.IntRange(1, 6).Draw(rt, "entries") {
			i := item{name: name.Draw(rt, "name"), kind: kind.Draw(rt, "kind"), mode: 0o644}
			switch i.kind {
			case tar.TypeReg:
				i.content = "x"
			case tar.TypeSymlink, tar.TypeLink:
				i.link = name.Draw(rt, "target")
			}
			items = append(items, i)
		}
		outer := t.TempDir()
		file, dir := filepath.Join(outer, "x.tar.gz"), filepath.Join(outer, "release")
		if err := os.WriteFile(file, tarGz(t, items...), 0o644); err != nil {
			rt.Fatal(err)
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			rt.Fatal(err)
		}
		x := extraction{keep: []string{"a"}, limit: 1 << 20}
		refused := x.run(t.Context(), file, dir) != nil // as are most of these archives
		entries, err := os.ReadDir(outer)
		if err != nil || len(entries) != 2 {
			rt.Fatalf("%v stand outside the release, %v", entries, err)
		}
		err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if err != nil || refused || d.Type()&fs.ModeSymlink == 0 {
				return err
			}
			to, err := filepath.EvalSymlinks(p)
			if err != nil || to != dir && !strings.HasPrefix(to, dir+"/") {
				rt.Fatalf("%s leads to %q, %v", p, to, err)
			}
			return nil
		})
		if err != nil {
			rt.Fatal(err)
		}
	})
}
