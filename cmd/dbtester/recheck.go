package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	humanize "github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/ability/consistency"
	judge "github.com/coreos/dbtester/pkg/consistency"
	"github.com/coreos/dbtester/pkg/consistency/recheck"
	"github.com/coreos/dbtester/pkg/files/plaintext"
	"github.com/coreos/dbtester/pkg/process"
	"github.com/coreos/dbtester/pkg/results"
)

// recheckFlags select whether Porcupine checks recorded requests, and its limits for each key.
type recheckFlags struct {
	on     bool
	within time.Duration
	memory string
}

func (f *recheckFlags) register(flags *pflag.FlagSet) {
	flags.BoolVar(&f.on, "porcupine", false, "check the recorded requests of consistency_sample with Porcupine too")
	flags.DurationVar(&f.within, "porcupine-time", 10*time.Second, "most time for each key")
	flags.StringVar(&f.memory, "porcupine-memory", "1GiB", "most memory for each key")
}

// limits bound one check.
type limits struct {
	within time.Duration
	memory uint64 // bytes
}

// leastMemory is the least memory for a check, including the program itself.
const leastMemory = 64 << 20

func (f *recheckFlags) limits() (limits, error) {
	memory, err := humanize.ParseBytes(f.memory)
	switch {
	case err != nil || memory < leastMemory || memory > math.MaxInt64/4:
		return limits{}, usageError{fmt.Errorf("--porcupine-memory must be a number of bytes, at least 64MiB, got %q", f.memory)}
	case f.within <= 0:
		return limits{}, usageError{fmt.Errorf("--porcupine-time must be positive, got %v", f.within)}
	}
	return limits{f.within, memory}, nil
}

// rechecked is the verdict on a key, as the child prints it.
type rechecked struct {
	Verdict recheck.Verdict `json:"verdict"`
	// Why is the reason why the verdict is unknown.
	Why string `json:"why,omitempty"`
}

// differenceError reports keys on which two judges differ.
type differenceError struct{ keys []string }

func (e *differenceError) Error() string {
	return "the judge of the run and Porcupine differ, so one of them is wrong:\n  " + strings.Join(e.keys, "\n  ")
}

// recheck checks the recorded requests of d, and prints the verdicts. It returns where they differ
// from the verdict of the run.
func (a *app) recheck(ctx context.Context, dir string, d *results.DatabaseRun, l limits) (differing []string, err error) {
	path, say := filepath.Join(dir, consistency.FileHistory), sayer(a.out)
	counts, requests, keys := map[recheck.Verdict]int{}, int64(0), 0
	var unknown []string
	for h, err := range consistency.Histories(path) {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			say("  PORCUPINE: no requests are recorded: consistency_sample says of how many keys they are")
			return nil, nil
		case err != nil:
			return differing, err
		case keys >= consistency.MostSampled:
			return differing, fmt.Errorf("%s must have at most %d keys, got more", path, consistency.MostSampled)
		}
		r, err := recheckKey(ctx, a.self[0], path, h.Key, l)
		if err != nil {
			return differing, err
		}
		keys++
		counts[r.Verdict]++
		requests += int64(len(h.Ops))
		if r.Verdict == recheck.Unknown {
			unknown = append(unknown, fmt.Sprintf("key %d with %s requests: unknown: %s", h.Key, humanize.Comma(int64(len(h.Ops))), r.Why))
		}
		if text := difference(h, r.Verdict); text != "" {
			differing = append(differing, d.Tag+": "+text)
		}
	}
	say("  PORCUPINE: of %s with %s recorded requests, %d ok, %d with a violation, %d unknown", english.Plural(keys, "key", ""), humanize.Comma(requests),
		counts[recheck.OK], counts[recheck.Violation], counts[recheck.Unknown])
	for _, text := range unknown {
		say("    %s", text)
	}
	for _, text := range differing {
		say("    DIFFERENCE: %s", text)
	}
	return differing, nil
}

// difference describes how the verdict of the run on a key differs from v, or returns "".
// Violations that the run found after the recorded part of the requests are no difference.
func difference(h *judge.History, v recheck.Verdict) string {
	switch {
	case v == recheck.Violation && h.Violations == 0:
		return fmt.Sprintf("key %d: Porcupine finds no order of its %d requests, and the run found no violation", h.Key, len(h.Ops))
	case v == recheck.OK && h.Violations > 0 && h.Until == judge.Whole:
		return fmt.Sprintf("key %d: the run found %d violations, and Porcupine an order of all its %d requests", h.Key, h.Violations, len(h.Ops))
	}
	return ""
}

// grace is how much longer than its limit a child may run, to start and to read the requests.
const grace = 30 * time.Second

// recheckKey checks one key in a process that ends when it reaches a limit, and with this process:
// Linux kills it, and its standard input ends.
func recheckKey(ctx context.Context, self, path string, key int64, l limits) (r rechecked, err error) {
	limited, cancel := context.WithTimeout(ctx, l.within+grace)
	defer cancel()
	cmd := exec.CommandContext(limited, self, "recheck-key", path, strconv.FormatInt(key, 10), l.within.String(), strconv.FormatUint(l.memory, 10))
	var out, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = &out, &failed, process.WithStarter()
	if _, err := cmd.StdinPipe(); err != nil { // Wait, or the end of this process, closes it
		return r, fmt.Errorf("check key %d with Porcupine: %w", key, err)
	}
	runtime.LockOSThread() // the child ends with its thread
	defer runtime.UnlockOSThread()
	ended := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return r, context.Cause(ctx)
	case limited.Err() != nil:
		return rechecked{recheck.Unknown, fmt.Sprintf("it did not end within %v", l.within+grace)}, nil
	case strings.Contains(failed.String(), "out of memory"): // the runtime's words when the system gives it no more
		return rechecked{recheck.Unknown, fmt.Sprintf("more than %s of memory", humanize.IBytes(l.memory))}, nil
	case ended != nil:
		return r, fmt.Errorf("check key %d with Porcupine: %w: %s", key, ended, plaintext.Joined(strings.TrimSpace(failed.String())))
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return r, fmt.Errorf("check key %d with Porcupine: read the verdict: %w", key, err)
	}
	return r, nil
}

// newRecheckKey returns the hidden command for the child process: FILE KEY TIME BYTES. It runs at
// most until its standard input ends.
func newRecheckKey(a *app) *cobra.Command {
	return hidden("recheck-key", "Check the recorded requests of a key with Porcupine", func(ctx context.Context, args []string) error {
		if len(args) != 4 {
			return usageError{fmt.Errorf("recheck-key needs a file, a key, a time and a number of bytes, got %q", args)}
		}
		key, wrongKey := strconv.ParseInt(args[1], 10, 64)
		within, wrongTime := time.ParseDuration(args[2])
		memory, wrongMemory := strconv.ParseUint(args[3], 10, 62)
		if err := errors.Join(wrongKey, wrongTime, wrongMemory); err != nil {
			return usageError{err}
		}
		return a.recheckWithin(ctx, args[0], key, limits{within, memory})
	})
}

// errOrphan is why a child ends without a verdict.
var errOrphan = errors.New("the standard input ended, so the process that waits for the verdict did")

// recheckWithin checks a key and prints the verdict. When it reaches a limit, or its standard input
// ends, the check still runs: the process has to end.
func (a *app) recheckWithin(ctx context.Context, path string, key int64, l limits) error {
	if err := confine(l.memory); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, l.within, fmt.Errorf("more than %v", l.within))
	defer cancel()
	ctx, exceed := context.WithCancelCause(ctx)
	defer exceed(nil)
	go watchMemory(ctx, l.memory, func() { exceed(fmt.Errorf("more than %s of memory", humanize.IBytes(l.memory))) })
	type answer struct {
		rechecked
		err error
	}
	orphaned := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, a.in) // an error ends it too
		close(orphaned)
	}()
	answered := make(chan answer, 1)
	go func() {
		r, err := checkRecorded(path, key)
		answered <- answer{r, err}
	}()
	var r rechecked
	select {
	case is := <-answered:
		if is.err != nil {
			return is.err
		}
		r = is.rechecked
	case <-orphaned:
		return errOrphan
	case <-ctx.Done():
		r = rechecked{recheck.Unknown, context.Cause(ctx).Error()}
	}
	return json.NewEncoder(a.out).Encode(r)
}

// checkRecorded checks the recorded requests for key without limits.
func checkRecorded(path string, key int64) (rechecked, error) {
	for h, err := range consistency.Histories(path) {
		if err != nil {
			return rechecked{}, err
		}
		if h.Key != key {
			continue
		}
		v, err := recheck.Check(h, 0)
		if err != nil {
			return rechecked{recheck.Unknown, err.Error()}, nil
		}
		return rechecked{Verdict: v}, nil
	}
	return rechecked{}, fmt.Errorf("%s has no key %d", path, key)
}

// confine bounds this process's memory: the garbage collector runs more often near the bound, and
// the kernel gives the process no more than twice as much.
func confine(memory uint64) error {
	debug.SetMemoryLimit(int64(memory))
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_DATA, &now); err != nil {
		return fmt.Errorf("read the limit of memory: %w", err)
	}
	now.Cur = min(now.Max, 2*memory+1<<30)
	if err := unix.Setrlimit(unix.RLIMIT_DATA, &now); err != nil {
		return fmt.Errorf("limit the memory: %w", err)
	}
	return nil
}

// watchMemory calls passed once if the memory of this process passes most bytes before ctx ends.
func watchMemory(ctx context.Context, most uint64, passed func()) {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if metrics.Read(samples); samples[0].Value.Uint64()-samples[1].Value.Uint64() > most {
			passed()
			return
		}
	}
}

// sayer returns a function that prints lines in which foreign text is safe to show.
func sayer(w io.Writer) func(format string, args ...any) {
	return func(format string, args ...any) {
		fmt.Fprintln(w, plaintext.Line(fmt.Sprintf(format, args...)))
	}
}
