package sysmetrics

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		file, text string
		want       int64
		wrong      bool
	}{
		{"memory.max", "max\n", 0, false},
		{"memory.max", "1073741824\n", 1 << 30, false},
		{"memory.limit_in_bytes", "9223372036854771712\n", 0, false},
		{"memory.limit_in_bytes", "4096\n", 4096, false},
		{"memory.max", "much\n", 0, true},
		{"cpu.max", "1", 0, false},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, tc.file), []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := memoryLimitOf(dir); got != tc.want || (err != nil) != tc.wrong {
			t.Errorf("%s of %q gives %d (%v), want %d", tc.file, tc.text, got, err, tc.want)
		}
	}
	if _, err := MemoryLimit(); err != nil {
		t.Errorf("the limit of this process: %v", err)
	}
}

func TestFsyncTimes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	times, err := fsyncTimes(t.Context(), dir, 7, time.Hour)
	if err != nil || len(times) != 7 || !slices.IsSorted(times) {
		t.Errorf("times %v (%v), want 7, the shortest first", times, err)
	}
	if times, err = fsyncTimes(t.Context(), dir, 7, 0); err != nil || len(times) != 1 {
		t.Errorf("times %v (%v) without time for them, want 1", times, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = fsyncTimes(ctx, dir, 7, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%d files are left", len(left))
	}
}
