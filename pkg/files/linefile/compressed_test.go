package linefile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// numbers returns the table columns in these tests.
func numbers() []Column[int64] {
	return []Column[int64]{IntColumn("number", func(n *int64) *int64 { return n })}
}

func written(t *testing.T, path string, text []byte) string {
	t.Helper()
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatalf("write a file for the test: %v", err)
	}
	return path
}

// A compressed table is read under its old name, with every reader. A plain one is preferred.
func TestCompressedIsRead(t *testing.T) {
	path := written(t, filepath.Join(t.TempDir(), "numbers.csv"), []byte("number\n1\n2\n3\n"))
	size := func(path string, want int64) {
		t.Helper()
		if got, err := PlainSize(path); err != nil || got != want {
			t.Errorf("%s has %d bytes, %v; want %d", filepath.Base(path), got, err, want)
		}
	}
	size(path, 13)
	if done, err := Compress(path, 1000); done || err != nil {
		t.Fatalf("a short file is compressed: %v, %v", done, err)
	}
	if done, err := Compress(path, 1); !done || err != nil {
		t.Fatalf("a file of enough bytes is compressed: %v, %v; want true", done, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is there still: %v", err)
	}
	if got, err := ReadTable(path, numbers(), ZeroRows[int64]); err != nil || !slices.Equal(got, []int64{1, 2, 3}) {
		t.Errorf("read %v and %v, want 1 to 3", got, err)
	}
	sum := int64(0)
	if err := EachRow(path, numbers(), OneRow[int64], func(n *int64) { sum += *n }); err != nil || sum != 6 {
		t.Errorf("the rows sum to %d, %v; want 6", sum, err)
	}
	if data, err := ReadCompressed(path+Compressed, 13); err != nil || string(data) != "number\n1\n2\n3\n" {
		t.Errorf("the text is %q, %v", data, err)
	}
	if _, err := ReadCompressed(path+Compressed, 12); err == nil || !strings.Contains(err.Error(), "at most 12 bytes") {
		t.Errorf("a text that is too long is read: %v", err)
	}
	size(path+Compressed, 13)
	written(t, path, []byte("number\n7\n"))
	if got, err := ReadTable(path, numbers(), ZeroRows[int64]); err != nil || !slices.Equal(got, []int64{7}) {
		t.Errorf("read %v and %v, want the plain file's 7", got, err)
	}
}

// A missing file is still missing, under its own name.
func TestNeitherFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "numbers.csv")
	if _, err := ReadTable(path, numbers(), ZeroRows[int64]); !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), Compressed) {
		t.Errorf("got %v, want that %s is missing", err, path)
	}
	if _, err := Compress(path, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("compress a missing file: %v", err)
	}
}

// A file a killed process left is not compressed: its incomplete last line must show.
func TestIncompleteIsNotCompressed(t *testing.T) {
	path := written(t, filepath.Join(t.TempDir(), "numbers.csv"), []byte("number\n1\n2"))
	if done, err := Compress(path, 0); done || err != nil {
		t.Errorf("compressed %v, %v", done, err)
	}
	if got, err := ReadTable(path, numbers(), ZeroRows[int64]); !errors.Is(err, ErrTruncated) || !slices.Equal(got, []int64{1}) {
		t.Errorf("read %v and %v, want 1 and %v", got, err, ErrTruncated)
	}
}

// A file whose compressed form cannot be put in its place stays as it was, and nothing is left beside it.
func TestNotCompressed(t *testing.T) {
	const text = "number\n1\n2\n"
	path := written(t, filepath.Join(t.TempDir(), "numbers.csv"), []byte(text))
	written(t, filepath.Join(folder(t, path+Compressed), "in the way"), nil)
	if done, err := Compress(path, 0); done || err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("compressed %v, %v; want an error that names %s", done, err, path)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != text {
		t.Errorf("the file has %q, %v; want %q", data, err, text)
	}
	if list, err := os.ReadDir(filepath.Dir(path)); err != nil || len(list) != 2 {
		t.Errorf("there are %v, %v; want the file and the folder in the way", list, err)
	}
}

// folder makes a folder.
func folder(t *testing.T, path string) string {
	t.Helper()
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatalf("make a folder for the test: %v", err)
	}
	return path
}

// A compressed file that was cut or changed is an error, with the rows before it.
func TestDamagedCompressed(t *testing.T) {
	var whole bytes.Buffer
	packed := gzip.NewWriter(&whole)
	_, _ = packed.Write([]byte("number\n" + strings.Repeat("12\n345\n", 5000)))
	_ = packed.Close()
	path := filepath.Join(t.TempDir(), "numbers.csv")
	read := func(data []byte) ([]int64, error) {
		written(t, path+Compressed, data)
		return ReadTable(path, numbers(), ZeroRows[int64])
	}
	if got, err := read(whole.Bytes()); err != nil || len(got) != 10_000 {
		t.Fatalf("%d rows, %v", len(got), err)
	}
	for n := range whole.Len() {
		got, err := read(whole.Bytes()[:n])
		if !errors.Is(err, ErrTruncated) || len(got) > 10_000 || slices.ContainsFunc(got, func(n int64) bool { return n != 12 && n != 345 }) {
			t.Errorf("cut after %d bytes: %d rows, %v; want right ones, and %v", n, len(got), err, ErrTruncated)
		}
	}
	changed := slices.Clone(whole.Bytes())
	changed[len(changed)-6] ^= 1 // in the checksum
	if _, err := read(changed); !errors.Is(err, gzip.ErrChecksum) {
		t.Errorf("a wrong checksum: %v, want %v", err, gzip.ErrChecksum)
	}
	if _, err := read([]byte("number\n1\n2\n3\n4\n5\n")); !errors.Is(err, gzip.ErrHeader) {
		t.Errorf("a plain file under the other name: %v, want %v", err, gzip.ErrHeader)
	}
	incomplete := new(bytes.Buffer)
	packed = gzip.NewWriter(incomplete)
	_, _ = packed.Write([]byte("number\n12\n3"))
	_ = packed.Close()
	if got, err := read(incomplete.Bytes()); !errors.Is(err, ErrTruncated) || !slices.Equal(got, []int64{12}) {
		t.Errorf("an incomplete last line: %v, %v; want 12 and %v", got, err, ErrTruncated)
	}
}
