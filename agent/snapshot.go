package agent

import (
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/member"
	"github.com/coreos/dbtester/pkg/process"
)

// snapshot is the state of a session that verbs read, at one moment.
type snapshot struct {
	run     string
	state   pb.State
	owner   *pb.Owner
	planned *planned
	dir     string
	files   []string
	member  *member.Member
	spawned []member.Child
	tails   map[string]string
	exits   map[string]string
}

func (s *session) snapshot() snapshot {
	s.agent.mu.Lock()
	defer s.agent.mu.Unlock()
	now := s.now
	return snapshot{
		run: now.Run, state: now.state, owner: now.ownerMessage(), planned: now.planned, dir: now.dir, files: now.files,
		member: now.member, spawned: now.spawned, tails: now.tails, exits: now.exits,
	}
}

// children returns the commands that were spawned and whether they run.
func (n snapshot) children() []member.Child {
	if n.member != nil {
		return n.member.Children()
	}
	// Before the last child is spawned, after a failed start, and after a restart there are only
	// the recorded children.
	noted := make([]member.Child, len(n.spawned))
	for i, c := range n.spawned {
		noted[i] = c
		noted[i].Running = process.Alive(c.Pid, c.StartTicks)
	}
	return noted
}

// childMessages returns the children as messages.
func (n snapshot) childMessages() []*pb.Child { return n.messagesOf(n.children()) }

func (n snapshot) messagesOf(children []member.Child) []*pb.Child {
	messages := make([]*pb.Child, len(children))
	for i, c := range children {
		messages[i] = &pb.Child{Name: c.Name, Pid: int32(c.Pid), Argv: c.Argv, Running: c.Running, Tail: n.tails[c.Name]}
		switch {
		case c.Running:
		case n.member != nil:
			messages[i].Exit = c.Exit.String()
		case n.exits[c.Name] != "":
			messages[i].Exit = n.exits[c.Name]
		default:
			messages[i].Exit = "ended, its exit status was not seen"
		}
	}
	return messages
}

// stateWord returns the word for a state in errors and records.
func stateWord(state pb.State) string {
	switch state {
	case pb.State_STATE_IDLE:
		return "idle"
	case pb.State_STATE_OPEN:
		return "open"
	case pb.State_STATE_STARTING:
		return "starting"
	case pb.State_STATE_RUNNING:
		return "running"
	case pb.State_STATE_STOPPING:
		return "stopping"
	case pb.State_STATE_STOPPED:
		return "stopped"
	default:
		return "unspecified"
	}
}
