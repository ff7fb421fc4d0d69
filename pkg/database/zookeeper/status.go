package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/wire/exchange"
)

// status is a member's answer to "srvr".
type status struct {
	version string // such as "3.9.5"
	mode    string // "leader", "follower" or "standalone"
}

// serves reports whether the member is in the quorum of a cluster of that size.
func (s status) serves(members int) bool {
	return s.mode == "leader" || s.mode == "follower" || s.leads(members)
}

// leads reports whether the member leads a cluster of that size. A single member reports the mode
// standalone.
func (s status) leads(members int) bool {
	return s.mode == "leader" || members == 1 && s.mode == "standalone"
}

// Version returns the version a member reports, without its build.
func (o *Options) Version(ctx context.Context, t database.Target, member int) (string, error) {
	s, err := statusOf(ctx, t, member)
	return s.version, err
}

// Leader queries the endpoints in parallel, until a leader and a quorum have answered, and returns
// the leader index.
func (o *Options) Leader(ctx context.Context, t database.Target) (int, error) {
	answers, err := database.AskMembers(ctx, len(t.Endpoints), func(ctx context.Context, member int) (status, error) {
		return statusOf(ctx, t, member)
	}, quorumLed)
	for i, s := range answers {
		if s.leads(len(t.Endpoints)) {
			return i, nil
		}
	}
	return 0, errors.Join(errors.New("find the leader of zookeeper: no member reports that it leads"), err)
}

// quorumLed reports whether most members, including the leader, answered as part of a quorum.
func quorumLed(answers []status) bool {
	serving, led := 0, false
	for _, s := range answers {
		led = led || s.leads(len(answers))
		if s.serves(len(answers)) {
			serving++
		}
	}
	return led && 2*serving > len(answers)
}

// statusOf sends one member the command "srvr", which every version answers.
func statusOf(ctx context.Context, t database.Target, member int) (status, error) {
	if member < 0 || member >= len(t.Endpoints) {
		return status{}, fmt.Errorf("the zookeeper member must be from 0 to %d, got %d", len(t.Endpoints)-1, member)
	}
	text, err := ask(ctx, t, member, "srvr")
	if err != nil {
		return status{}, fmt.Errorf("ask zookeeper member %d: %w", member, err)
	}
	s, err := parseStatus(text)
	if err != nil {
		return status{}, fmt.Errorf("zookeeper member %d: %w", member, err)
	}
	return s, nil
}

// parseStatus parses an answer to "srvr".
func parseStatus(text string) (status, error) {
	var s status
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch name {
		case "Zookeeper version":
			// 3.9.5-6a8f..., built on 2026-01-02 12:00 UTC; some have two dashes.
			s.version, _, _ = strings.Cut(value, ",")
			if build := strings.LastIndexByte(s.version, '-'); build > 0 {
				s.version = strings.TrimRight(s.version[:build], "-")
			}
		case "Mode":
			s.mode = value
		}
	}
	if s.mode == "" || s.version == "" {
		first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		return status{}, fmt.Errorf("it is not serving requests: %q", first)
	}
	return s, nil
}

// maxStatus bounds an answer to a command, in bytes.
const maxStatus = 64 << 10

// ask sends a member one of the four-letter commands, which need no credentials, and returns the
// answer.
func ask(ctx context.Context, t database.Target, member int, command string) (answer string, err error) {
	config, err := t.TLS.Config()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := exchange.Dial(ctx, t.Endpoints[member], config)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	// When ctx ends, for any reason, the wait ends.
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := io.WriteString(conn, command); err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(conn, maxStatus))
	if err == nil && len(text) == 0 {
		err = errNoGreeting
	}
	return string(text), err
}
