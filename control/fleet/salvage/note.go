// Package salvage fetches records from a run whose control ended without a word: it was killed, or
// its machine was. It also fetches records that control could not write. Agents keep them until
// another run wants the agent.
package salvage

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/files/regularfile"
	"github.com/coreos/dbtester/pkg/files/wholefile"
)

// fileNote is the name of the note in a tag folder. Only its owner can read it, and uploads omit
// it: while the sessions last, its run id opens them.
const fileNote = ".sessions.json"

const (
	noteFormat = 1
	maxNote    = 1 << 20 // bytes
)

// Note names the sessions on the agents.
type Note struct {
	Format int    `json:"format"`
	RunID  string `json:"run_id"`
	// Agents are the addresses of the agents, by member.
	Agents []string `json:"agents"`
}

// Mark is a note in a tag folder, and a lock on the folder.
type Mark struct {
	dir  string
	lock *os.File
}

// Write leaves a note in the tag folder dir, before the first session is opened. The caller must
// close the mark. [Run] refuses the folder as long as this process holds it.
func Write(dir, runID string, agents []string) (*Mark, error) {
	lock, err := hold(dir)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(Note{Format: noteFormat, RunID: runID, Agents: agents})
	if err == nil {
		err = wholefile.WritePrivate(filepath.Join(dir, fileNote), wholefile.Bytes(append(data, '\n')))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("note the sessions: %w", err), lock.Close())
	}
	return &Mark{dir: dir, lock: lock}, nil
}

// Close releases the folder. With done it also removes the note: nothing is left to fetch.
func (m *Mark) Close(done bool) error {
	var err error
	if done {
		err = os.Remove(filepath.Join(m.dir, fileNote))
	}
	return errors.Join(err, m.lock.Close())
}

// Read returns the note in the tag folder dir. The error wraps fs.ErrNotExist if there is no note.
func Read(dir string) (Note, error) {
	data, err := regularfile.Read(filepath.Join(dir, fileNote), maxNote)
	if err != nil {
		return Note{}, fmt.Errorf("read the note of the sessions: %w", err)
	}
	var n Note
	if err := json.Unmarshal(data, &n); err != nil {
		return Note{}, fmt.Errorf("read the note of the sessions: %w", err)
	}
	if n.Format != noteFormat || n.RunID == "" {
		return Note{}, fmt.Errorf("read the note of the sessions: format must be %d with a run id, got %d", noteFormat, n.Format)
	}
	return n, nil
}

// errHeld reports that another process holds the folder.
var errHeld = errors.New("another dbtester is using this folder: is the run still in progress?")

// hold reserves a folder for this process until the file is closed or the process ends.
func hold(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("open tag folder: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = errHeld
		}
		return nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), f.Close())
	}
	return f, nil
}
