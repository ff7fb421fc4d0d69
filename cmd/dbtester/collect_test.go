package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// mustBeCollected checks the records from a run whose control was killed in the load.
func (p place) mustBeCollected(file string) {
	p.t.Helper()
	run := p.runs()[0]
	m := manifest(p.t, run)
	if m.State != results.StateInterrupted || m.Ended.IsZero() || len(m.Databases) != 1 || m.Databases[0].State != results.StateInterrupted {
		p.t.Fatalf("manifest: %+v", m)
	}
	for _, member := range m.Databases[0].Members {
		if len(member.Files) < 2 || len(member.Exit) != 1 || member.Error == "" {
			p.t.Errorf("member %d: files %q, exit %q, error %q", member.Index+1, member.Files, member.Exit, member.Error)
		}
		name := fmt.Sprintf("%d-%s", member.Index+1, results.FileAgentLog)
		log, err := os.ReadFile(run.Path(m.Databases[0].Tag, name))
		if err != nil || !slices.Contains(member.Files, name) {
			p.t.Errorf("the log of member %d's agent: %v, want it among the files %q", member.Index+1, err, member.Files)
		}
		wantText(p.t, "the agent's log", string(log), `msg="session opened".*\n(?s:.*)msg="member runs"`)
	}
	if notes, err := filepath.Glob(run.Path("*", ".*")); err != nil || len(notes) > 0 {
		p.t.Errorf("the folder still has %q, %v", notes, err)
	}
	d := m.Databases[0].Digests
	if damaged := d.Check(run.Path(m.Databases[0].Tag)); len(d.ByFile) < 8 || len(damaged) > 0 || len(d.Changes) == 0 || d.Changes[0].By != "control --collect" {
		p.t.Errorf("digests of %d files, changes %+v, not as recorded: %+v", len(d.ByFile), d.Changes, damaged)
	}
	c := p.start("analyze", "--all", "--config", file, run.Dir())
	c.exits(exitInvalid, patience)
	wantText(p.t, "table", c.out.String(), `INVALID incomplete: the run was interrupted`, `SERVER-MAX-CPU-USAGE \| +[0-9]`)
	c = p.start("control", "--collect", run.Dir())
	c.exits(exitDone, patience)
	wantText(p.t, "a second collection", c.err.String(), `nothing of the run is to be fetched: it is interrupted`)
}

// TestCollect kills control in a load and fetches the records from the agents.
func TestCollect(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	p, hosts := newPlace(t), freeHosts(t)
	agents := p.startAgents(hosts, "--lease", "15s")
	file := p.experiment("killed", hosts, "{rate: 100, duration: 1m, clients: 4}")
	run := p.start("control", "--config", file)
	run.sampled()
	folder := p.runs()[0].Dir()
	c := p.start("control", "--collect", folder)
	c.exits(exitFailed, patience)
	wantText(t, "while the run goes on", c.err.String(), `is the run still in progress\?`)
	run.signal(syscall.SIGKILL)
	<-run.ended
	agents[0].says(`session stopped.*lease expired`)

	// A missing agent can be asked later.
	agents[2].signal(syscall.SIGTERM)
	agents[2].exits(exitDone, patience)
	c = p.start("control", "--collect", folder)
	c.exits(exitFailed, patience)
	wantText(t, "without an agent", c.err.String(), `member 3: agent `+hosts[2]+`:3500`)
	p.startAgents(hosts[2:], "--lease", "15s")
	c = p.start("control", "--collect", folder)
	c.exits(exitDone, patience)
	if strings.Contains(c.err.String(), "member 1") {
		t.Errorf("what was fetched is fetched again:\n%s", c.err)
	}
	p.mustBeCollected(file)
	c = p.start("control", "--config", p.experiment("next", hosts, "{requests: 20, clients: 2}"))
	c.exits(exitDone, patience)
}

// TestCollectLocal does the same for agents that died with control.
func TestCollectLocal(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	p, hosts := newPlace(t), freeHosts(t)
	file := p.experiment("killed", hosts, "{rate: 100, duration: 1m, clients: 4}")
	run := p.start("control", "--local", "--config", file)
	run.sampled()
	run.signal(syscall.SIGKILL)
	<-run.ended
	eventually(t, "no member runs", func() bool { return len(p.members()) == 0 })
	c := p.start("analyze", "--all", "--config", file, p.runs()[0].Dir())
	c.exits(exitInvalid, patience)
	wantText(t, "table", c.out.String(), `no digests: the run did not end with sizes and hashes of its records`)
	c = p.start("control", "--collect", p.runs()[0].Dir())
	c.exits(exitDone, patience)
	wantText(t, "progress", c.err.String(), `digests of [0-9]+ files were made now: what was lost before does not show`)
	p.tidy()
	p.mustBeCollected(file)
}

// TestCollectUnwritten fetches records that could not be written when the run ended.
func TestCollectUnwritten(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	p, hosts := newPlace(t), freeHosts(t)
	run := p.start("control", "--local", "--config", p.experiment("unwritten", hosts, "{duration: 1m, clients: 4}"))
	run.loading()
	folder := p.runs()[0]
	name := fmt.Sprintf("1-%s", results.FileAgentLog)
	inTheWay := folder.Path(manifest(t, folder).Databases[0].Tag, name)
	if err := os.MkdirAll(filepath.Join(inTheWay, "below"), 0o755); err != nil {
		t.Fatalf("make a folder: %v", err)
	}
	run.signal(syscall.SIGINT)
	run.exits(exitInterrupted, patience)
	wantText(t, "the end", run.err.String(), `keeps the records of member 1, which could not be written here, .*\n.*control --collect .*\n(?s:.*)below .*: --collect takes it as --work-dir`)
	if members := manifest(t, folder).Databases[0].Members; len(members[0].Files) > 0 || len(members[1].Files) < 2 {
		t.Errorf("files %q and %q, want those of member 2", members[0].Files, members[1].Files)
	}
	if err := os.RemoveAll(inTheWay); err != nil {
		t.Fatalf("remove a folder: %v", err)
	}
	c := p.start("control", "--collect", folder.Dir(), "--work-dir", t.TempDir())
	c.exits(exitFailed, patience)
	wantText(t, "in another work directory", c.err.String(), `member 1: .*no work directory has records of this run`)
	c = p.start("control", "--collect", folder.Dir())
	c.exits(exitDone, patience)
	if strings.Contains(c.err.String(), "member 2") {
		t.Errorf("what was fetched is fetched again:\n%s", c.err)
	}
	p.tidy()
	m := manifest(t, folder)
	if files := m.Databases[0].Members[0].Files; !slices.Contains(files, name) {
		t.Errorf("the files %q of member 1 lack %s", files, name)
	}
	if damaged := m.Databases[0].Digests.Check(filepath.Dir(inTheWay)); len(damaged) > 0 {
		t.Errorf("not as recorded: %+v", damaged)
	}
}
