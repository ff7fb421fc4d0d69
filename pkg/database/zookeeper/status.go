package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/exchange"
)

// status is what a member says of itself.
type status struct {
	version string // such as "3.9.5"
	mode    string // "leader", "follower" or "standalone"
}

// serves says whether the member is part of a quorum of a cluster of that size.
func (s status) serves(members int) bool {
	return s.mode == "leader" || s.mode == "follower" || s.leads(members)
}

// leads says whether the member leads a cluster of that size. One alone calls
// itself standalone.
func (s status) leads(members int) bool {
	return s.mode == "leader" || members == 1 && s.mode == "standalone"
}

// Version returns the version that a member says it runs, without its build.
func (o *Options) Version(ctx context.Context, t database.Target, member int) (string, error) {
	s, err := statusOf(ctx, t, member)
	return s.version, err
}

// Leader asks every endpoint at once and returns the one that leads.
func (o *Options) Leader(ctx context.Context, t database.Target) (int, error) {
	answers := make([]status, len(t.Endpoints))
	errs := make([]error, len(t.Endpoints))
	var wg sync.WaitGroup
	for i := range t.Endpoints {
		wg.Go(func() { answers[i], errs[i] = statusOf(ctx, t, i) })
	}
	wg.Wait()
	for i, s := range answers {
		if s.leads(len(t.Endpoints)) {
			return i, nil
		}
	}
	return 0, errors.Join(errors.New("no zookeeper member leads"), errors.Join(errs...))
}

// statusOf asks one member with the command "srvr", which every version answers.
func statusOf(ctx context.Context, t database.Target, member int) (status, error) {
	if member < 0 || member >= len(t.Endpoints) {
		return status{}, fmt.Errorf("zookeeper member %d of %d", member, len(t.Endpoints))
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

// parseStatus reads an answer to "srvr".
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
		return status{}, fmt.Errorf("it does not serve: %q", first)
	}
	return s, nil
}

// maxStatus bounds an answer to a command, in bytes.
const maxStatus = 64 << 10

// ask sends a member one of ZooKeeper's four-letter commands and returns the
// answer. Commands want no credentials.
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
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return "", err
	}
	if _, err := io.WriteString(conn, command); err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(conn, maxStatus))
	if err == nil && len(text) == 0 {
		err = errSilent
	}
	return string(text), err
}
