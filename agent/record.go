package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	pb "github.com/coreos/dbtester/dbtesterpb"
)

// recordFormat rises when an older agent would misread a record.
const recordFormat = 1

// record is session.json: what an agent must know of a session after a restart.
type record struct {
	Format int       `json:"format"`
	RunID  string    `json:"run_id"`
	Owner  string    `json:"owner"`
	Opened time.Time `json:"opened"`
	Tag    string    `json:"tag"`
	// State is the word for the session's state, Reason why it ended.
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
	// BootID tells whether pids and start ticks still mean the same processes.
	BootID         string        `json:"boot_id"`
	Children       []childRecord `json:"children"`
	Files          []string      `json:"files"`
	ApparentBytes  int64         `json:"apparent_bytes"`
	AllocatedBytes int64         `json:"allocated_bytes"`
}

// childRecord is one process that was spawned.
type childRecord struct {
	Name       string   `json:"name"`
	Pid        int      `json:"pid"`
	StartTicks uint64   `json:"start_ticks"`
	Argv       []string `json:"argv"`
	// Exit is how it ended, "" while it runs.
	Exit string `json:"exit,omitempty"`
}

// record writes session.json, if the session has a directory, and logs a
// failure: it is for transitions that must go on anyway.
func (s *session) record() {
	if err := s.writeRecord(); err != nil {
		s.log.Warn("session was not recorded", "error", err)
	}
}

// writeRecord puts session.json on disk, whole.
func (s *session) writeRecord() error {
	s.recording.Lock()
	defer s.recording.Unlock()
	r, dir := s.currentRecord()
	if dir == "" {
		return nil
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", fileRecord, err)
	}
	if err := replaceFile(s.agent.root, dir+"/"+fileRecord, append(data, '\n')); err != nil {
		return fmt.Errorf("write %s: %w", fileRecord, err)
	}
	return nil
}

// currentRecord is the session as it stands, and its directory.
func (s *session) currentRecord() (record, string) {
	children := s.children()
	messages := s.messagesOf(children)
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	r := record{
		Format:         recordFormat,
		RunID:          s.run,
		Owner:          s.owner,
		Opened:         s.since.UTC(),
		Tag:            s.tag,
		State:          stateWord(s.state),
		BootID:         s.agent.host.BootID,
		Files:          s.files,
		ApparentBytes:  s.sizes.apparent,
		AllocatedBytes: s.sizes.allocated,
	}
	if s.state == pb.State_STATE_STOPPING || s.over() {
		r.Reason = s.reason()
	}
	for i, c := range children {
		r.Children = append(r.Children, childRecord{
			Name: c.Name, Pid: c.Pid, StartTicks: c.StartTicks, Argv: c.Argv, Exit: messages[i].GetExit(),
		})
	}
	return r, s.dir
}

// replaceFile writes a file so that whoever reads it, also after a crash, finds
// the old content or the new.
func replaceFile(root *os.Root, name string, data []byte) error {
	f, err := root.Create(name + ".part")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return root.Rename(name+".part", name)
}
