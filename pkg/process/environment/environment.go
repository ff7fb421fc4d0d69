// Package environment finds facts that affect the speed of a process: its open file limit, its JVM,
// and the compiler that built its executable.
package environment

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
)

// Unlimited is the number of open files for a process without a limit.
const Unlimited = -1

// Facts describe one command's environment. Unknown facts are "" or 0.
type Facts struct {
	// Command is its name in its member's plan.
	Command string `json:"command"`
	// OpenFiles is the hard limit on open files, to which Go programs and JVMs raise their own
	// limit when they start; [Unlimited] if there is no limit.
	OpenFiles int64 `json:"open_files,omitempty"`
	// JVM is the Java runtime's version and vendor; "" for other programs.
	JVM string `json:"jvm,omitempty"`
	// Compiler is the compiler recorded in the executable, such as "go1.26.7"; "" for programs not
	// written in Go.
	Compiler string `json:"compiler,omitempty"`
}

// Of returns the facts about a running process. If some cannot be read, the others are valid and
// the error names the problem.
func Of(command string, pid int) (Facts, error) {
	return of(filepath.Join("/proc", strconv.Itoa(pid)), command)
}

// of reads the folder of the process in /proc.
func of(proc, command string) (Facts, error) {
	f := Facts{Command: command}
	data, limit := os.ReadFile(filepath.Join(proc, "limits"))
	if limit == nil {
		f.OpenFiles, limit = parseLimits(data)
	}
	exe := filepath.Join(proc, "exe")
	path, program := os.Readlink(exe)
	switch {
	case program != nil:
	case filepath.Base(path) == "java":
		f.JVM, program = jvm(path)
	default:
		if info, err := buildinfo.ReadFile(exe); err == nil { // executables in other languages lack it
			f.Compiler = info.GoVersion
		}
	}
	if err := errors.Join(limit, program); err != nil {
		return f, fmt.Errorf("find the environment of %s: %w", command, err)
	}
	return f, nil
}

// parseLimits returns the hard limit on open files from /proc/PID/limits.
func parseLimits(data []byte) (int64, error) {
	for line := range bytes.Lines(data) {
		rest, ok := strings.CutPrefix(string(line), "Max open files")
		if !ok {
			continue
		}
		fields := strings.Fields(rest)
		if len(fields) < 2 {
			return 0, fmt.Errorf("limits must have a soft and a hard number of open files, got %q", line)
		}
		if fields[1] == "unlimited" {
			return Unlimited, nil
		}
		n, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("limit of open files: %w", err)
		}
		return n, nil
	}
	return 0, errors.New("no open files in limits")
}

// jvm describes the Java runtime an executable belongs to, using the file "release" in the runtime
// folder. In Java 8 the file may be one folder further up.
func jvm(executable string) (string, error) {
	home := filepath.Dir(filepath.Dir(executable))
	data, err := os.ReadFile(filepath.Join(home, "release"))
	if err != nil {
		var above error
		if data, above = os.ReadFile(filepath.Join(filepath.Dir(home), "release")); above != nil {
			return "", err
		}
	}
	return parseRelease(data)
}

// parseRelease returns the version and the vendor from the file "release" of the runtime.
func parseRelease(data []byte) (string, error) {
	values := map[string]string{}
	for line := range bytes.Lines(data) {
		if name, value, ok := strings.Cut(strings.TrimSpace(string(line)), "="); ok {
			values[name] = strings.Trim(value, `"`)
		}
	}
	version := values["JAVA_RUNTIME_VERSION"]
	if version == "" {
		version = values["JAVA_VERSION"]
	}
	if version == "" {
		return "", errors.New("no JAVA_VERSION in the file \"release\" of the Java runtime")
	}
	if maker := values["IMPLEMENTOR"]; maker != "" {
		version += " (" + maker + ")"
	}
	return version, nil
}

// String formats the known facts as one line.
func (f Facts) String() string {
	var parts []string
	if f.JVM != "" {
		parts = append(parts, "JVM "+f.JVM)
	}
	if f.Compiler != "" {
		parts = append(parts, "compiled by "+f.Compiler)
	}
	switch {
	case f.OpenFiles == Unlimited:
		parts = append(parts, "open files unlimited")
	case f.OpenFiles > 0:
		parts = append(parts, "at most "+humanize.Comma(f.OpenFiles)+" open files")
	}
	if len(parts) == 0 {
		return f.Command + ": not known"
	}
	return f.Command + ": " + strings.Join(parts, ", ")
}
