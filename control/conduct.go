package control

import (
	"github.com/coreos/dbtester/control/abilities"
	"github.com/coreos/dbtester/control/abilities/all"
	"github.com/coreos/dbtester/control/fleet"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results"
)

// Facts left by steps, and the fields that hold them.
const (
	recordsOpen    fact = "the folder, and events in it"
	accessKnown    fact = "TLS and Auth of run.target"
	agentsReserved fact = "open sessions of the fleet, and the members' hosts"
	membersStarted fact = "the members' releases and disks, and run.mute"
	quorumReached  fact = "run.record.Ready"
	leaderKnown    fact = "run.record.Leader, and the members' versions"
)

// parts joins the components of a run, each with its steps.
type parts struct {
	run     *run
	shown   *abilities.Run // to abilities
	cluster *cluster
	probes  *probes
	clock   *clockFile
	leader  *leaderWatch
	sampler *clientSampler
	load    *loader
	check   *loadCheck
}

// newParts returns the parts of r before anything started. save writes the manifest.
func newParts(o Options, r *run, save func() error) *parts {
	f := fleetOf(o, r.db)
	clock := &clockFile{}
	f.Clock = clock.write
	f.Clients, f.Losses, f.Report = r.firstClients(), r.losses, func(text string) { r.journal.step("%s", text) }
	f.Sample = numbered("member", r.sampled(o))
	agents := fleet.New(f)
	dial := &dialer{run: r, fleet: agents}
	shown := &abilities.Run{
		Experiment: r.experiment, DB: r.db, Driver: r.driver, Info: r.entry.Info, Target: &r.target, Record: r.record, Dir: r.dir,
		Agents: agents, Leader: r.leaderNow, Dial: dial.dial, Event: r.journal.record, Step: r.journal.step, Say: r.journal.say, Mark: r.record.Mark,
		Reported: r.reported(o),
	}
	r.halves = all.Halves(shown)
	set := newIssue(o, r, agents, dial) // which asks the halves
	shown.Generators, shown.FailBack = set, set.FailBack
	leader := &leaderWatch{run: r}
	return &parts{
		run:     r,
		shown:   shown,
		cluster: &cluster{run: r, fleet: agents, disks: make([]results.Disk, len(r.record.Members))},
		probes:  &probes{run: r, fleet: agents, timeout: o.ReadyTimeout},
		clock:   clock,
		leader:  leader,
		sampler: &clientSampler{run: r, device: o.Device, network: o.Interface, clients: agents.Clients, period: o.Experiment.Sample, seen: r.sampled(o)},
		load:    &loader{run: r, fleet: agents, dialer: dial, leader: leader, save: save, issue: set, selfCheck: o.Mirror != nil, counted: r.counted(o)},
		check:   &loadCheck{run: r, server: o.Mirror, save: save},
	}
}

// forgetLoad releases the objects that issued the load, which are several megabytes: abilities
// keep theirs for as long as the run.
func (p *parts) forgetLoad() {
	if !p.load.issue.Remote() {
		p.shown.Generators, p.shown.FailBack = nil, nil
	}
}

// endings names the steps that stop or leave the members at the end.
func endings(db *config.Database) string {
	if !db.Steps.Stop {
		return "leave members running, collect measurements"
	}
	return "stop members, collect measurements"
}

// cleanupName names the step that removes or leaves keys on a shared cluster.
func cleanupName(db *config.Database) string {
	if db.Cleanup {
		return "remove the keys below the prefix"
	}
	return "leave the keys below the prefix"
}

// startName names the step after which members run.
func startName(db *config.Database) string {
	if !db.Steps.Start {
		return "take over members"
	}
	return "start members"
}

// steps lists all steps from top to bottom. The undos run from bottom to top.
func (p *parts) steps() []step {
	db, c := p.run.db, p.cluster
	agents := len(db.Endpoints) == 0
	_, asked, _ := p.run.asked()
	_, leads := asked.(database.Leader)
	needs := func(facts ...fact) []fact { return facts }
	gives := needs
	return []step{
		{name: "open records", gives: gives(recordsOpen), do: p.run.openRecords, undo: p.run.closeRecords},
		{name: "read credentials", gives: gives(accessKnown), do: p.run.readCredentials, skip: db.TLS == nil && db.Auth == nil},
		{name: "check this client", needs: needs(recordsOpen), do: p.check.do, skip: p.check.server == nil || !db.Steps.Load || p.load.issue.Remote()},
		{name: "open agents", needs: needs(recordsOpen), gives: gives(agentsReserved), do: c.open, undo: c.close, skip: !agents},
		beside(&heartbeats{run: p.run, fleet: c.fleet, clock: p.clock}, !agents, agentsReserved),
		{name: "install", needs: needs(agentsReserved), do: c.install, skip: !installs(db)},
		{name: startName(db), needs: needs(agentsReserved), gives: gives(membersStarted), do: c.start, undo: c.stop, ending: endings(db), skip: !agents},
		{name: "wait for a quorum", needs: needs(accessKnown, membersStarted), gives: gives(quorumReached), do: p.probes.waitReady},
		{name: "ask versions", needs: needs(membersStarted, quorumReached), gives: gives(leaderKnown), do: p.probes.askMembers},
		beside(p.leader, !db.Steps.Load || !leads, leaderKnown),
		beside(p.sampler, !db.Steps.Load, recordsOpen),
		{name: "keep below a prefix", needs: needs(recordsOpen, accessKnown, quorumReached), do: p.run.enterShared, undo: p.run.leaveShared, ending: cleanupName(db), skip: p.run.target.Prefix == "" || !db.Steps.Load},
		{name: "load", needs: needs(quorumReached, leaderKnown), do: p.load.do, skip: !db.Steps.Load},
	}
}
