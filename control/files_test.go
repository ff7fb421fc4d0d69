package control

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/databasetest/matrix"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// fewFiles is fewer files than a load with many clients needs.
const fewFiles = 64

// TestFewFiles: control, agents and generators that may open few files work with a small load. With
// a large load the run ends and names the reason, and leaves nothing. The next one works where more
// files are allowed.
func TestFewFiles(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	table := matrix.New(t, "files", fmt.Sprintf("%d file descriptors", fewFiles))
	for _, clients := range []int{4, 200} {
		for _, who := range []string{"control", "agent", "generator"} {
			if !matrix.Whole() && (clients == 4 || who == "agent") {
				continue
			}
			t.Run(fmt.Sprintf("%s, %d clients", who, clients), func(t *testing.T) {
				t.Parallel()
				generators := 0
				if who == "generator" {
					generators = 2
				}
				load := fmt.Sprintf("load: {requests: 2000, clients: %d, key_size: 32, value_size: 64, timeout: 60s}\n", clients)
				s := newStage(t, 2, generators, load, "fake: {}")
				ended := s.withFewFiles(who)
				s.mustBeClean()
				s.clear()
				table.Add(t, matrix.Row{
					Step: "the whole run", Done: fmt.Sprintf("%s, %d clients", who, clients), Ended: ended, Next: s.mustRunNext("few files"),
				})
			})
		}
	}
}

// withFewFiles plays a run in which one process may open few files, and afterwards as many as the
// others. It returns how the run ended.
func (s *stage) withFewFiles(who string) string {
	s.t.Helper()
	few := []string{fmt.Sprintf("%s=%d", filesEnv, fewFiles)}
	again := func() {
		switch who {
		case "agent":
			s.agents[1].kill()
			s.serve(1)
		case "generator":
			s.issuers[1].kill()
			s.issue(1)
		}
	}
	s.env = few
	again()
	if who != "control" {
		s.env = nil
	}
	p := s.conduct("", usualLead)
	s.env = nil
	done := s.finish(p)
	again()
	said := strings.TrimSpace(p.erred.String())
	if !done && !strings.Contains(said, "open files") {
		s.t.Errorf("the run fails and does not say that too few files may be open:\n%s", said)
	}
	if f := s.last(); f != nil {
		m, err := f.Manifest()
		if err != nil {
			s.t.Fatalf("read the manifest: %v", err)
		}
		return s.ending(m)
	}
	return "refused: " + said[strings.LastIndex(said, "\n")+1:]
}
