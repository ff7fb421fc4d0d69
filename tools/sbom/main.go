// Command sbom lists the modules in a Go executable, from the notes by the linker in it: as a bill
// of materials in CycloneDX JSON, or with -notices by their licence texts. The same executable and
// flags give the same bytes. scripts/release.sh runs it.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("sbom", flag.ContinueOnError)
	version := flags.String("version", "", "version of the executable")
	created := flags.String("created", "", "time of the bill, as RFC 3339")
	notices := flags.Bool("notices", false, "write the licences instead")
	modules := flags.String("modules", "", "module cache that holds the licences (go env GOMODCACHE)")
	goroot := flags.String("goroot", "", "Go release that holds the standard library's licence (go env GOROOT)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("usage: sbom [flags] EXECUTABLE")
	}
	info, err := buildinfo.ReadFile(flags.Arg(0))
	if err != nil {
		return fmt.Errorf("read the linker's notes: %w", err)
	}
	if *notices {
		return writeNotices(out, info, *modules, *goroot)
	}
	sum, err := sumOf(flags.Arg(0))
	if err != nil {
		return err
	}
	return writeBill(out, info, about{version: *version, created: *created, sha256: sum})
}

// sumOf returns the SHA-256 of a file in hex.
func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("open the executable: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read the executable: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
