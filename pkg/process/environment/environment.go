// Package environment finds what a process runs in: its limit of open files, its JVM, and
// the compiler of its executable.
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

// Unlimited is the number of open files of a process without a limit.
const Unlimited = -1

// Facts are what one command runs in. Facts that are not known are "" or 0.
type Facts struct {
	// Command is its name in the plan of its member.
	Command string `json:"command"`
	// OpenFiles is the hard limit of open files, to which Go programs and JVMs raise
	// their own when they start; [Unlimited] for none.
	OpenFiles int64 `json:"open_files,omitempty"`
	// JVM is the version of the Java runtime and its maker; "" for other programs.
	JVM string `json:"jvm,omitempty"`
	// Compiler is what built the executable, such as "go1.26.7", as the executable has it;
	// "" for programs that are not written in Go.
	Compiler string `json:"compiler,omitempty"`
}

// Of returns the facts of a process, which must be running. The facts are good even if
// others cannot be read, which is the error.
func Of(command string, pid int) (Facts, error) {
	return of(filepath.Join("/proc", strconv.Itoa(pid)), command)
}

// of reads the folder of a process in /proc.
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
		if info, err := buildinfo.ReadFile(exe); err == nil { // other languages have none
			f.Compiler = info.GoVersion
		}
	}
	if err := errors.Join(limit, program); err != nil {
		return f, fmt.Errorf("find the environment of %s: %w", command, err)
	}
	return f, nil
}

// parseLimits returns the hard limit of open files in /proc/PID/limits.
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

// jvm describes the Java runtime that an executable belongs to, by the file "release" of
// the runtime's folder. Java 8 may have it one folder further up.
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

// parseRelease returns the version and the maker in a runtime's file "release".
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

// String is the known facts in one line.
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
