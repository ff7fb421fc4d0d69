package databasetest

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/process"
	"github.com/coreos/dbtester/pkg/wire/poller"
	"github.com/coreos/dbtester/pkg/workload"
)

// readyCase: every member is ready, and a target without a server is not.
func readyCase(t *testing.T, f *fixture) {
	for member := range f.members {
		f.part(t, fmt.Sprint(member), func(t *testing.T) {
			Until(t, readyWithin, 50*time.Millisecond, func() error {
				if err := f.ready(t.Context(), member); err != nil {
					return fmt.Errorf("member %d of a cluster that is ready: %w", member, err)
				}
				return nil
			})
		})
	}
	f.part(t, "nobody", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if err := f.driver.Ready(ctx, database.Target{Endpoints: []string{nobody(t, f)}}, 0); err == nil {
			t.Error("an address where no server listens is reported as ready")
		}
	})
}

// versionCase: all members report the same version.
func versionCase(t *testing.T, f *fixture) {
	versions := map[string]bool{}
	for member := range f.members {
		ctx, cancel := context.WithTimeout(t.Context(), opWithin)
		version, err := f.driver.(database.Versioner).Version(ctx, f.Target(), member)
		cancel()
		if err != nil || version == "" {
			t.Fatalf("version of member %d is %q: %v", member, version, err)
		}
		versions[version] = true
	}
	if want := f.suite.Version; len(versions) != 1 || (want != "" && !versions[want]) {
		t.Errorf("the members report the versions %v, want one: %s", versions, want)
	}
	t.Logf("version %v", versions)
}

// leaderCase: the leader is one of the members and does not change on its own.
func leaderCase(t *testing.T, f *fixture) {
	first, again := leader(t, f), leader(t, f)
	if first != again || first < 0 || first >= len(f.members) {
		t.Errorf("the leader is member %d, then member %d, of %d; want the same one twice", first, again, len(f.members))
	}
}

// preferCase: a client can be dialed to each member, and without a preference.
func preferCase(t *testing.T, f *fixture) {
	for prefer := -1; prefer < len(f.members); prefer++ {
		f.part(t, fmt.Sprint(prefer), func(t *testing.T) { serves(t, f, f.dial(t, f.To(prefer))) })
	}
}

// dialNobodyCase: dialing a dead endpoint fails by itself.
func dialNobodyCase(t *testing.T, f *fixture) {
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	target := f.To(0)
	target.Endpoints = []string{nobody(t, f)}
	client, err := f.driver.Dial(ctx, target)
	if err == nil {
		_ = client.Close()
		t.Fatal("a dial succeeds although no server listens")
	}
	if ctx.Err() != nil {
		t.Errorf("a dial without a server ended with its context, want before: %v", err)
	}
}

// nobody returns an address without a server.
func nobody(t *testing.T, f *fixture) string {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(f.hosts[0].Addr, "0"))
	if err != nil {
		t.Fatalf("listen on loopback: %v", err)
	}
	defer l.Close()
	return l.Addr().String()
}

// closeCase: a closed client leaves no goroutine, fails its operations and can be
// closed again.
func closeCase(t *testing.T, f *fixture) {
	before := goleak.IgnoreCurrent()
	for prefer := -1; prefer < len(f.members); prefer++ {
		f.part(t, fmt.Sprint(prefer), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), opWithin)
			defer cancel()
			client, err := f.driver.Dial(ctx, f.To(prefer))
			if err != nil {
				t.Fatalf("dial: %v", err)
			}
			serves(t, f, client)
			if err := client.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
			_ = client.Close() // must not panic
			if outcome, _ := database.Classify(client.Put(ctx, f.key(), nil)); outcome == workload.OK {
				t.Error("a write succeeds on a closed client")
			}
		})
	}
	f.part(t, "leaks", func(t *testing.T) { goleak.VerifyNone(t, before, goleak.IgnoreAnyFunction(poller.Forever)) })
}

// loseFollowerCase: the cluster accepts writes without one follower. After its restart,
// the client connected to it works again.
func loseFollowerCase(t *testing.T, f *fixture) {
	victim := follower(t, f)
	lose(t, f, victim, other(f, victim), func() { f.Kill(victim) })
}

// loseBelowCase: as loseFollowerCase, but only the server behind a member's proxy dies.
func loseBelowCase(t *testing.T, f *fixture) {
	victim := follower(t, f)
	lose(t, f, victim, other(f, victim), func() {
		for _, command := range below(f.Plan(victim)) {
			f.KillCommand(victim, command)
		}
	})
}

// loseLeaderCase: as loseFollowerCase, but with the leader, after an election.
func loseLeaderCase(t *testing.T, f *fixture) {
	leads := leader(t, f)
	lose(t, f, leads, other(f, leads), func() { f.Kill(leads) })
	if now := leader(t, f); now < 0 || now >= len(f.members) {
		t.Errorf("the leader is %d of %d members", now, len(f.members))
	}
}

// lose kills one member, writes through another, and restarts the first.
func lose(t *testing.T, f *fixture, victim, survivor int, kill func()) {
	onVictim, onSurvivor := f.dial(t, f.To(victim)), f.dial(t, f.To(survivor))
	key := f.key()
	put(t, onVictim, key, []byte("before"))
	serves(t, f, onSurvivor)
	kill()
	f.part(t, "the client of the dead member fails by kind", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		err := inTime(ctx, func(ctx context.Context) error { return onVictim.Put(ctx, f.key(), []byte("x")) })
		if outcome, class := database.Classify(err); outcome == workload.OK || class == database.ClassOther {
			t.Errorf("a write to a dead member has outcome %v and class %q, want a failure with a class of its own: %v", outcome, class, err)
		}
	})
	f.part(t, "the others take writes", func(t *testing.T) {
		recovers(t, f, onSurvivor)
		get(t, onSurvivor, key, f.info().Reads[0], []byte("before"))
	})
	if f.members[victim] != nil {
		f.Kill(victim) // its other commands
	}
	f.Restart(victim)
	f.WaitReady()
	f.part(t, "the client of the dead member is back", func(t *testing.T) {
		recovers(t, f, onVictim)
		get(t, onVictim, key, f.info().Reads[0], []byte("before"))
	})
}

// restartCase: members stop cleanly at the first signal, and keep their data over a restart in the
// same directories.
func restartCase(t *testing.T, f *fixture) {
	key := f.key()
	put(t, f.dial(t, f.Target()), key, bytesOf(2000))
	f.part(t, "clean stop", func(t *testing.T) { stopsCleanly(t, f) })
	f.part(t, "data on disk", func(t *testing.T) {
		if size := f.dataBytes(0); size < 2000 {
			t.Errorf("the data directories hold %d bytes, less than was written", size)
		}
	})
	for i := range f.members {
		f.Restart(i)
	}
	f.WaitReady()
	f.part(t, "data again", func(t *testing.T) {
		client := f.dial(t, f.Target())
		get(t, client, key, f.info().Reads[0], bytesOf(2000))
		serves(t, f, client)
	})
	f.part(t, "clean stop again", func(t *testing.T) { stopsCleanly(t, f) })
}

// stopAttempts is the number of times a cluster may be stopped until every member stops cleanly.
// Consul 1.16 can hang: the raft shutdown waits forever if the newly elected leader stops at the
// same moment. So members that are not built in have only stopSoon the first time: most have
// stopped by then, and the next attempts have the usual time.
const (
	stopAttempts = 4
	stopSoon     = 15 * time.Second
)

// stopsCleanly stops all members. It fails the test if a command needed more than the first
// signal in every attempt, or if a built-in server did so once or exited with an error.
func stopsCleanly(t *testing.T, f *fixture) {
	plans := make([]database.Plan, len(f.members))
	for i := range plans {
		plans[i] = f.Plan(i)
	}
	for attempt := 1; ; attempt++ {
		within := stopDeadlines()
		if attempt == 1 && !builtIn(plans) {
			within.Interrupt = stopSoon
		}
		unclean, ours := uncleanExits(plans, f.stop(within))
		if len(unclean) == 0 {
			return
		}
		text := strings.Join(unclean, "; ")
		if ours || attempt == stopAttempts {
			t.Fatalf("members must exit after the first signal, without an error: %s", text)
		}
		t.Logf("stop %d of %d: %s", attempt, stopAttempts, text)
		for i := range f.members {
			f.Restart(i)
		}
		f.WaitReady()
	}
}

// builtIn reports whether a command is built in.
func builtIn(plans []database.Plan) bool {
	return slices.ContainsFunc(plans, func(p database.Plan) bool {
		return slices.ContainsFunc(p.Commands, func(c database.Command) bool { return c.Self })
	})
}

// uncleanExits describes the commands that did not exit after the first signal or, if
// built in, exited with an error. It also reports whether one of them is built in.
func uncleanExits(plans []database.Plan, exits [][]process.Exit) (unclean []string, ours bool) {
	for i, commands := range exits {
		for n, exit := range commands {
			command := plans[i].Commands[n]
			if exit.After != "interrupt" || (command.Self && exit.Code != 0) {
				unclean = append(unclean, fmt.Sprintf("%s of member %d: %s", command.Name, i, exit))
				ours = ours || command.Self
			}
		}
	}
	return unclean, ours
}

// leaksCase: after everything is closed and stopped, no goroutine is left.
func leaksCase(t *testing.T, f *fixture) {
	goleak.VerifyNone(t, f.before, goleak.IgnoreAnyFunction(poller.Forever))
}
