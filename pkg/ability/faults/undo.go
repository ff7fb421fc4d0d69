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

// FileUndo, in a tag folder, holds the commands that undo those of a run.
const FileUndo = "undo.jsonl"

// maxUndo bounds the file, in bytes.
const maxUndo = 16 << 20

// Undo is a line in [FileUndo], which is on disk before the command runs. Another line with its ID
// shows that the command was undone.
type Undo struct {
	ID string `json:"id"`
	// Number counts the faults in the experiment file from 0.
	Number int       `json:"number"`
	Time   time.Time `json:"time"`
	// Run is the command. Argv undoes it.
	Run  []string `json:"run"`
	Argv []string `json:"undo"`
	// Done is the result of the undo, "" before it ran.
	Done string `json:"done,omitempty"`
}

// ErrInUse reports that another process holds the undo file.
var ErrInUse = errors.New("another dbtester has the commands of this run: is it still in progress?")

// UndoFile is the undo file of a run, and a lock on it. One goroutine at a time calls its methods.
type UndoFile struct{ file *os.File }

// OpenUndo opens or creates an undo file. The error is [ErrInUse] while another process holds it.
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

// Note writes a line to disk.
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

// Pending returns the undos that were not done, the last first. An incomplete line belongs to a
// command that never ran.
func (f *UndoFile) Pending() ([]Undo, error) {
	if _, err := f.file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read the undos: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(f.file, maxUndo+1))
	if err != nil {
		return nil, fmt.Errorf("read the undos: %w", err)
	}
	if len(data) > maxUndo {
		return nil, fmt.Errorf("read the undos: the file has more than %d bytes", maxUndo)
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

// Close releases the file.
func (f *UndoFile) Close() error { return f.file.Close() }
