package zookeeper

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/files/pattern"
	"github.com/coreos/dbtester/pkg/install/recipe"
)

// release holds the poms with which Maven copies the server jars, and the checksums of these jars
// for the tested versions.
//
//go:embed release
var release embed.FS

// The versions at which releases change.
const (
	oldestVersion  = 3_004_000 // the first server that speaks this driver's protocol
	archiveVersion = 3_005_005 // all jars in lib, in an archive with a SHA-512 sum
	moreJars       = 3_005_010 // the server pom omits jars it needs, or that write its log
	logbackVersion = 3_008_000 // Logback and SLF4J 2
	adminVersion   = 3_009_000 // the admin server takes snapshots
)

// Recipes returns the official archive and then the jars of Maven Central.
func (o *Options) Recipes(version string) ([]recipe.Recipe, error) {
	number, err := versionNumber(version)
	if err != nil {
		return nil, err
	}
	jars, err := mavenJars(strings.TrimPrefix(version, "v"), number)
	if err != nil {
		return nil, err
	}
	if number < archiveVersion {
		return []recipe.Recipe{jars}, nil
	}
	const folder = "apache-zookeeper-{version}-bin"
	const url = "https://archive.apache.org/dist/zookeeper/zookeeper-{version}/" + folder + ".tar.gz"
	return []recipe.Recipe{
		recipe.Archive{
			About: recipe.About{
				Source: "https://zookeeper.apache.org/releases.html", Needs: []string{toolJava}, NotTried: true,
			},
			URL: url, ChecksumURL: url + ".sha512", TopFolder: folder, Files: map[string]string{toolJars: "lib"},
		},
		jars,
	}, nil
}

// mavenJars returns the recipe for the jars in Maven Central.
func mavenJars(version string, number int) (recipe.Maven, error) {
	file := "release/pom.xml"
	if number < moreJars {
		file = "release/pom-3.5.xml"
	}
	pom, err := release.ReadFile(file)
	if err != nil {
		return recipe.Maven{}, fmt.Errorf("read the recipe: %w", err)
	}
	admin := []byte(nil)
	if number >= adminVersion {
		if admin, err = release.ReadFile("release/admin.xml"); err != nil {
			return recipe.Maven{}, fmt.Errorf("read the recipe: %w", err)
		}
	}
	logback := "1.2.13" // the last one that works with SLF4J 1.7
	if number >= logbackVersion {
		logback = "1.3.15"
	}
	m := recipe.Maven{
		About:    recipe.About{Source: "https://central.sonatype.com/artifact/org.apache.zookeeper/zookeeper", Needs: []string{toolJava}},
		POM:      strings.NewReplacer("{logback}", logback, "<!-- {admin} -->", strings.TrimSpace(string(admin))).Replace(string(pom)),
		Artifact: "org.apache.zookeeper:zookeeper",
		Tool:     toolJars,
	}
	sums, err := release.ReadFile("release/" + version + ".sha256sums.txt")
	if err == nil {
		m.Sums = string(sums)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return recipe.Maven{}, fmt.Errorf("read the recipe: %w", err)
	}
	return m, nil
}

var versionPattern = pattern.New(`^v?(\d{1,3})\.(\d{1,3})\.(\d{1,3})(-[0-9A-Za-z]+)?$`)

// versionNumber returns 3_009_005 for "3.9.5".
func versionNumber(version string) (int, error) {
	parts := versionPattern().FindStringSubmatch(version)
	if parts == nil {
		return 0, fmt.Errorf("version %q of zookeeper is not written like 3.9.5", version)
	}
	number := 0
	for _, part := range parts[1:4] {
		n, err := strconv.Atoi(part)
		if err != nil {
			return 0, fmt.Errorf("version %q of zookeeper: %w", version, err)
		}
		number = 1000*number + n
	}
	if number < oldestVersion {
		return 0, &database.TooOldError{Name: Name, Version: version, Oldest: "3.4.0"}
	}
	return number, nil
}
