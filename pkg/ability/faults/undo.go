package faults

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// FileUndo is the file, in a tag's folder, of what undoes the commands of a run.
const FileUndo = "undo.jsonl"

// maxUndo bounds the file, in bytes.
const maxUndo = 16 << 20

// Undo is what undoes a command, which is on disk before the command runs: a line of [FileUndo].
// Another line with its ID says that it was done.
type Undo struct {
	ID string `json:"id"`
	// Number is that of the fault in the file, from 0.
	Number int       `json:"number"`
	Time   time.Time `json:"time"`
	// Run is the command, and Argv undoes it.
	Run  []string `json:"run"`
	Argv []string `json:"undo"`
	// Done is how the undo ended, "" before.
	Done string `json:"done,omitempty"`
}

// ErrInUse is that another process has the undos of a run.
var ErrInUse = errors.New("another dbtester has the commands of this run: is it still in progress?")

// UndoFile is the file of a run's undos, and a lock on it. Its methods are called by one
// goroutine at a time.
type UndoFile struct{ file *os.File }

// OpenUndo opens or creates a file of undos. The error is [ErrInUse] while another process has
// it.
func OpenUndo(path string, create bool) (*UndoFile, error) {
	flags := os.O_RDWR | os.O_APPEND
	if create {
		flags |= os.O_CREATE
	}
	f, err := os.OpenFile(path, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the undos: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = ErrInUse
		}
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return &UndoFile{f}, nil
}

// Note puts a line on disk.
func (f *UndoFile) Note(u Undo) error {
	data, err := json.Marshal(u)
	if err == nil {
		_, err = f.file.Write(append(data, '\n'))
	}
	if err == nil {
		err = f.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("record the undo: %w", err)
	}
	return nil
}

// Pending are the undos that were not done, the last first. A line that was not written whole
// is of a command that never ran.
func (f *UndoFile) Pending() ([]Undo, error) {
	if _, err := f.file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read the undos: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(f.file, maxUndo+1))
	if err != nil || len(data) > maxUndo {
		return nil, fmt.Errorf("read the undos: at most %d bytes, got %d: %w", maxUndo, len(data), err)
	}
	return pending(data)
}

func pending(data []byte) (list []Undo, err error) {
	whole := data[:bytes.LastIndexByte(data, '\n')+1]
	lines := bufio.NewScanner(bytes.NewReader(whole))
	lines.Buffer(nil, maxUndo+1)
	for lines.Scan() {
		var u Undo
		if err := json.Unmarshal(lines.Bytes(), &u); err != nil {
			return nil, fmt.Errorf("read the undos: %w", err)
		}
		list = slices.DeleteFunc(list, func(o Undo) bool { return o.ID == u.ID })
		if u.Done == "" && len(u.Argv) > 0 {
			list = append(list, u)
		}
	}
	slices.Reverse(list)
	return list, lines.Err()
}

// Close gives the file free.
func (f *UndoFile) Close() error { return f.file.Close() }
