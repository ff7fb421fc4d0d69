package analyze

import (
	"os"
	"path/filepath"
	"testing"
)

func TestZZView(t *testing.T) {
	out := os.Getenv("VIEW")
	if out == "" {
		t.Skip()
	}
	os.RemoveAll(out)
	d := classicDirectory(t)
	e := classicExperiment(d, out+"/c")
	if _, err := Run(t.Context(), Options{Classic: e}); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), Options{Folders: []string{twoDatabases(t)}, Out: filepath.Join(out, "two")}); err != nil {
		t.Fatal(err)
	}
}
