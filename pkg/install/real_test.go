package install

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestReal obtains one true release of each kind that package registries can
// give. It needs the network and minutes of CPU, so it is asked for:
// DBTESTER_INSTALL_REAL=1.
func TestReal(t *testing.T) {
	if os.Getenv("DBTESTER_INSTALL_REAL") == "" {
		t.Skip("set DBTESTER_INSTALL_REAL=1 to build and download releases")
	}
	text := func(elem ...string) string {
		return read(t, filepath.Join(append([]string{"testdata", "real"}, elem...)...))
	}
	built := func(name, module, pkg string) Recipe {
		return GoBuild{
			GoMod: text(name, "go.mod.txt"), GoSum: text(name, "go.sum.txt"),
			Packages: map[string]string{name: pkg}, Module: module,
		}
	}
	in := testInstaller(t)
	for _, tt := range []struct {
		name, version string
		recipe        Recipe
		say           func(r Release) []string // a command
		want          string                   // in what it says
	}{
		{
			"zookeeper", "3.9.5", Maven{
				About: About{Needs: []string{"java"}}, POM: text("zookeeper", "pom.xml"),
				Sums: text("zookeeper", "lib.sha256sums.txt"), Artifact: "org.apache.zookeeper:zookeeper", Tool: "zookeeper",
			},
			func(r Release) []string {
				return []string{r.Files["java"], "-cp", r.Files["zookeeper"] + "/*", "org.apache.zookeeper.Version", "--full"}
			},
			"3.9.5-",
		},
		{
			"zetcd", "v0.0.5", built("zetcd", "github.com/coreos/zetcd", "github.com/coreos/zetcd/cmd/zetcd"),
			func(r Release) []string { return []string{r.Files["zetcd"], "-h"} },
			"-zkaddr",
		},
		{
			"etcd", "v3.6.16", built("etcd", "go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/server/v3"),
			func(r Release) []string { return []string{r.Files["etcd"], "--version"} },
			"etcd Version: 3.6.16",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			begin := time.Now()
			r, err := in.Get(t.Context(), tt.name, tt.version, []Recipe{tt.recipe})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s %s: %.1f s, %.1f MB", r.Name, r.Version, time.Since(begin).Seconds(), float64(r.Bytes)/1e6)
			argv := tt.say(r)
			out, _ := exec.Command(argv[0], argv[1:]...).CombinedOutput() // zetcd -h exits 2
			if !strings.Contains(string(out), tt.want) {
				t.Errorf("%q says %q, which lacks %q", argv, out, tt.want)
			}
		})
	}
}
