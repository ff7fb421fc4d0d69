package results

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Large tables for machines are compressed, those for generators too. All else stays as it is, also
// interpolated ones, which are large only if other programs read them.
func TestCompress(t *testing.T) {
	dir := t.TempDir()
	large, small := make([]byte, 1000), []byte("A\n1\n")
	for i := range large {
		large[i] = "ab\n"[i%3]
	}
	large[len(large)-1] = '\n'
	for file, data := range map[string][]byte{
		ServerFile(1): large, ServerFile(2): small, DatabaseFile(1): large, FileClient: large, FileClientInterpolated: large,
		"1-" + FileServerInterpolated: large, "2-" + FileServerInterpolated: small, FileMembers: large, FileClock: large, DirGenerators + "/2/" + FileClient: large,
		FileIntervals: large, FileProgress: large, FileLatency: large, FileEvents: large, DirLogs + "/1-etcd.log": large,
	} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatalf("make a folder: %v", err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatalf("write a file: %v", err)
		}
	}
	want := []string{
		"1-database-metrics.csv", "1-server-system-metrics.csv", "client-system-metrics.csv", "clock.csv", "generators/2/client-system-metrics.csv", "members.csv",
	}
	files, err := Compress(dir, 1000)
	if err != nil || !slices.Equal(files, want) {
		t.Errorf("compressed %q, %v; want %q", files, err, want)
	}
	if again, err := Compress(dir, 1000); err != nil || len(again) > 0 {
		t.Errorf("compressed again: %q, %v", again, err)
	}
	digests, err := Digest(dir)
	if err != nil {
		t.Fatalf("make digests: %v", err)
	}
	for _, file := range want {
		if digests[file+".gz"].SHA256 == "" {
			t.Errorf("%s.gz has no digest", file)
		}
	}
	for file, left := range map[string]bool{FileClientInterpolated: true, "1-" + FileServerInterpolated: true, "2-" + FileServerInterpolated: true, ServerFile(2): true, FileIntervals: true} {
		if _, err := os.Stat(filepath.Join(dir, file)); (err == nil) != left {
			t.Errorf("%s is there: %v, want %v", file, err == nil, left)
		}
	}
	if !OfRequests(FileMembers+".gz") || OfRequests(ServerFile(1)+".gz") {
		t.Error("the numbers of requests come from members.csv.gz, and not from samples")
	}
}
