package agent

import (
	"encoding/json"
	"fmt"
	"time"

	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/fault"
	"github.com/coreos/dbtester/pkg/fault/owndisk"
	"github.com/coreos/dbtester/pkg/files/wholefile"
)

// recordFormat increases when an older agent would misread a record.
const recordFormat = 1

// record is session.json: the facts about a session an agent needs after a restart.
type record struct {
	Format int       `json:"format"`
	RunID  string    `json:"run_id"`
	Owner  string    `json:"owner"`
	Opened time.Time `json:"opened"`
	Tag    string    `json:"tag"`
	// State is the word for the session state. Reason is why the session ended.
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
	// BootID is the boot in which pids and start ticks name these processes.
	BootID   string        `json:"boot_id"`
	Children []childRecord `json:"children"`
	Files    []string      `json:"files"`
	// Group holds the directories of the control group; empty without limits.
	Group []string `json:"group,omitempty"`
	// Disk is the member's own disk, if it has one.
	Disk *owndisk.Disk `json:"disk,omitempty"`
	// Faults are the faults the member had, each recorded before it was applied.
	Faults         []fault.Record `json:"faults,omitempty"`
	ApparentBytes  int64          `json:"apparent_bytes"`
	AllocatedBytes int64          `json:"allocated_bytes"`
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

// record writes session.json, if the session has a directory. If that fails, it records a problem
// and the transition goes on.
func (s *session) record() {
	if err := s.writeRecord(); err != nil {
		s.problem("the session was not recorded", err)
	}
}

// writeRecord writes session.json to disk as a whole.
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
	if err := wholefile.WriteIn(s.agent.root, dir+"/"+fileRecord, wholefile.Bytes(append(data, '\n'))); err != nil {
		return fmt.Errorf("write %s: %w", fileRecord, err)
	}
	return nil
}

// currentRecord returns the current record and directory of the session.
func (s *session) currentRecord() (record, string) {
	now := s.snapshot()
	children := now.children()
	messages := now.messagesOf(children)
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	r := record{
		Format:         recordFormat,
		RunID:          s.now.Run,
		Owner:          s.now.Owner,
		Opened:         s.now.Since.UTC(),
		Tag:            s.now.tag,
		State:          stateWord(s.now.state),
		BootID:         s.agent.bootID,
		Files:          s.now.files,
		Group:          s.now.group,
		Faults:         s.now.faults,
		Disk:           s.now.disk,
		ApparentBytes:  s.now.sizes.apparent,
		AllocatedBytes: s.now.sizes.allocated,
	}
	if s.now.state == pb.State_STATE_STOPPING || s.over() {
		r.Reason = s.reason()
	}
	for i, c := range children {
		r.Children = append(r.Children, childRecord{
			Name: c.Name, Pid: c.Pid, StartTicks: c.StartTicks, Argv: c.Argv, Exit: messages[i].GetExit(),
		})
	}
	if s.now.removing {
		return r, "" // Close removes the directory
	}
	return r, s.now.dir
}

// leftover is a session directory an earlier agent left.
type leftover struct {
	dir    string
	record record
}
