package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A log for the journal has priorities in place of times and levels; any other log has times and
// levels. The variable alone proves nothing: output may have been redirected.
func TestJournal(t *testing.T) {
	t.Parallel()
	out, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	var stat unix.Stat_t
	if err := unix.Fstat(int(out.Fd()), &stat); err != nil {
		t.Fatal(err)
	}
	write := func(stream string) string {
		t.Helper()
		if err := out.Truncate(0); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Seek(0, 0); err != nil {
			t.Fatal(err)
		}
		log := slog.New(logHandler(out, stream))
		log.Debug("not this")
		log.Info("one", "time", "mine")
		log.With("run", "r").WithGroup("g").Warn("two\nlines", "level", 7)
		log.Error("three")
		data, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	want := "<6>msg=one\n<4>msg=\"two\\nlines\" run=r g.level=7\n<3>msg=three\n"
	if got := write(fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)); got != want {
		t.Errorf("to the journal:\n%swant:\n%s", got, want)
	}
	for _, stream := range []string{"", fmt.Sprintf("%d:%d", stat.Dev, stat.Ino+1), "nonsense"} {
		if got := write(stream); !strings.HasPrefix(got, "time=") || strings.Contains(got, "<6>") {
			t.Errorf("stream %q: %s, want times and no priorities", stream, got)
		}
	}
	var buf bytes.Buffer
	slog.New(logHandler(&buf, "1:1")).Info("one")
	if !strings.HasPrefix(buf.String(), "time=") {
		t.Errorf("to no file: %s, want a time", &buf)
	}
}
