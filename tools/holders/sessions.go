package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/coreos/dbtester/pkg/sleep"
	"github.com/coreos/dbtester/tools/experiment"
)

// one and three are the hosts in experiments: a cluster with one member needs no agreement, so that
// its rule alone decides.
const (
	one   = "hosts: [127.0.10.1]\n"
	three = "hosts: [127.0.10.1, 127.0.10.2, 127.0.10.3]\n"
)

// load returns the key in the experiment file for updates at a rate beside the holders.
func load(length time.Duration, rate int) string {
	return fmt.Sprintf("load: {operation: update, keys: 1000, rate: %d, duration: %v, clients: 20, key_size: 32, value_size: 64, timeout: 5s}\n", rate, length)
}

// ended returns the bars for sessions that all end by a rule.
func ended(s *sessions, held int64) []experiment.Finding {
	return []experiment.Finding{
		experiment.Exactly("sessions that died", s.Abandoned, held), experiment.Exactly("of them gone by the end of the load", s.Expired, held),
		experiment.Exactly("ended before the rule allows", s.Early, 0), experiment.Exactly("ended while they were held", s.Unrenewed+s.Missed, 0),
	}
}

// byRule judges sessions that all end by a rule, from least to most seconds later than their TTL.
func byRule(held int64, least, most float64) func(string) ([]experiment.Finding, error) {
	return judged(func(r *records) []experiment.Finding {
		s := &r.Databases[0].Sessions
		return append(ended(s, held), within("later than the TTL", s.late(), least, most))
	})
}

// manyLeases: etcd ends 1,000 leases a second, and counts each.
func manyLeases() experiment.Trial {
	const held = 20_000
	counted := &experiment.Counter{Series: "etcd_debugging_server_lease_expired_total"}
	return experiment.Trial{
		Name: "etcd-20000", Title: "etcd, one member: 20,000 leases of 8 s die at once",
		Text:   one + load(45*time.Second, 200) + fmt.Sprintf("sessions: {held: %d, ttl: 8s, keep: 5s, after: 5s}\ndatabases: {etcd: {}}\n", held),
		Beside: func(ctx context.Context, _ *os.Process, _ string) { counted.Poll(ctx, "127.0.10.1") },
		Judge: judged(func(r *records) []experiment.Finding {
			s := &r.Databases[0].Sessions
			n := s.Expired + s.Early + s.Unrenewed + s.Missed
			return append(ended(s, held),
				experiment.Found("ends a second, without the first and last twentieth", fmt.Sprintf("%.0f", s.PerSecond), "950 to 1,050", s.PerSecond >= 950 && s.PerSecond <= 1050),
				within("later than the TTL", s.late(), 0, 0.5+float64(held)/950),
				experiment.Found("ends seen by the client, and leases that etcd counts as expired", fmt.Sprintf("%d, %d", n, counted.N), "equal", n == counted.N),
			)
		}),
	}
}

// steadyLeases: if fewer than 1,000 a second end, they wait at most for a tick, half a second.
func steadyLeases() experiment.Trial {
	const held = 2000
	return experiment.Trial{
		Name: "etcd-rate", Title: "etcd, one member: 2,000 leases of 4 s die, 500 a second",
		Text:  one + load(15*time.Second, 200) + fmt.Sprintf("sessions: {held: %d, ttl: 4s, keep: 1s, after: 3s, release: 500/s}\ndatabases: {etcd: {}}\n", held),
		Judge: byRule(held, 0, 0.7),
	}
}

// ticks: ZooKeeper ends sessions at its next tick.
func ticks(ms int) experiment.Trial {
	const held = 100
	return experiment.Trial{
		Name: fmt.Sprintf("zookeeper-%d", ms), Title: fmt.Sprintf("ZooKeeper, one member, ticks of %d ms: 100 sessions of 4 s die, 25 a second", ms),
		Text:  one + load(18*time.Second, 50) + fmt.Sprintf("sessions: {held: %d, ttl: 4s, after: 5s, release: 25/s}\ndatabases: {zookeeper: {%s, options: {tick_time: %d, java_xms: 512M, java_xmx: 512M}}}\n", held, experiment.ZooKeeper, ms),
		Judge: byRule(held, 0, float64(ms)/1000+0.05),
	}
}

// twice: Consul ends sessions after twice their TTL.
func twice() experiment.Trial {
	const held = 50
	return experiment.Trial{
		Name: "consul", Title: "Consul, one member: 50 sessions of 10 s die at once",
		Text:  one + load(30*time.Second, 20) + fmt.Sprintf("sessions: {held: %d, ttl: 10s, after: 6s}\ndatabases: {consul: {%s}}\n", held, experiment.Consul),
		Judge: byRule(held, 9.95, 10.05),
	}
}

// How leases end after the leader is killed: the new leader begins each TTL again, and adds an
// election timeout. The last renewals are as old as they can be, and an end waits for a tick.
const (
	renewedEach = time.Second
	extension   = 1.0 // s
	tick        = 0.6 // s, with the writes that end the leases
)

// leaderKilled: leases outlive a leader by as much of their TTL as had passed.
func leaderKilled() experiment.Trial {
	const held = 100
	return experiment.Trial{
		Name: "leader-killed", Title: "etcd, three members: 100 leases of 6 s die, and 4 s later the leader is killed",
		Text: three + fmt.Sprintf("load: {operation: update, keys: 1000, rate: 200, duration: 30s, clients: 50, key_size: 32, value_size: 64, timeout: 1s, failover: next}\nsessions: {held: %d, ttl: 6s, keep: %v, after: 4s}\nfaults: [{kind: kill, member: leader, at: 8s, for: 3s}]\ndatabases: {etcd: {}}\n", held, renewedEach),
		Judge: judged(func(r *records) []experiment.Finding {
			s := &r.Databases[0].Sessions
			killed, err := r.when("fault")
			blackout, err2 := r.blackout()
			if err != nil || err2 != nil {
				return []experiment.Finding{experiment.Found("when the leader was killed", fmt.Sprint(err, err2), "known", false)}
			}
			passed := killed.Sub(s.Death).Seconds()
			return append(ended(s, held),
				experiment.Found("the leader was killed after the deaths", fmt.Sprintf("%.3f s", passed), "between", passed > 1 && passed < 6),
				experiment.Found("longest time without an answer to the load", fmt.Sprintf("%.3f s", blackout), "some", blackout > 0),
				within("later than the TTL; at least the time that had passed, at most that of the oldest renewal, the time without an answer, the new leader's election time-out and a tick more",
					s.late(), passed-0.02, passed+renewedEach.Seconds()+blackout+extension+tick))
		}),
	}
}

// blackout is the longest time without an answer around the fault, in seconds.
func (r *records) blackout() (float64, error) {
	found, err := filepath.Glob(filepath.Join(r.dir, "*", "faults.csv"))
	if err != nil || len(found) != 1 {
		return 0, fmt.Errorf("the run must have one table of faults, got %d: %w", len(found), err)
	}
	rows, err := experiment.Table(found[0])
	if err != nil || len(rows) != 1 {
		return 0, fmt.Errorf("the run must have one fault, got %d: %w", len(rows), err)
	}
	ns, err := strconv.ParseFloat(rows[0]["blackout_ns"], 64)
	return ns / 1e9, err
}

// stoppedClient: if a session ends while the client is stopped, the time is only known as an
// interval, and the client alone is to blame.
func stoppedClient() experiment.Trial {
	const held = 100
	return experiment.Trial{
		Name: "stopped-client", Title: "etcd, one member: 100 leases of 4 s end while the client is stopped for 2.2 s",
		Text: one + load(14*time.Second, 50) + fmt.Sprintf("sessions: {held: %d, ttl: 4s, keep: 1s, after: 3s}\ndatabases: {etcd: {}}\n", held),
		Beside: func(ctx context.Context, control *os.Process, dir string) {
			if experiment.Await(ctx, dir, "sessions abandoned") {
				sleep.For(ctx, 2700*time.Millisecond)
				stop(ctx, control, 2200*time.Millisecond)
			}
		},
		Judge: judged(func(r *records) []experiment.Finding {
			s := &r.Databases[0].Sessions
			return append(ended(s, held),
				experiment.Exactly("ends that are charged to the stop", s.Delayed, held),
				experiment.Found("later than the TTL at least, of all (longest at most: with the stop)", fmt.Sprintf("<= %.3f s (%.3f s)", sec(s.Least.Max), sec(s.Late.Max)), "<= 0.700 s", sec(s.Least.Max) <= 0.7),
			)
		}),
	}
}

// stop stops a process for a time.
func stop(ctx context.Context, p *os.Process, length time.Duration) {
	if p.Signal(syscall.SIGSTOP) == nil {
		sleep.For(ctx, length)
		_ = p.Signal(syscall.SIGCONT) // it cannot have ended
	}
}

// heldOn: leases that are renewed stay.
func heldOn(length time.Duration) experiment.Trial {
	const held = 10_000
	return experiment.Trial{
		Name: "held", Title: fmt.Sprintf("etcd, three members: 10,000 leases of 15 s are held for %v", length),
		Text: three + load(length, 100) + fmt.Sprintf("sessions: {held: %d, ttl: 15s, keep: 5s, release: never}\ndatabases: {etcd: {}}\n", held),
		Judge: judged(func(r *records) []experiment.Finding {
			s := &r.Databases[0].Sessions
			least := int64(float64(held) * length.Seconds() / 5 * 0.9)
			return []experiment.Finding{
				experiment.Exactly("sessions", s.Granted, held), experiment.Exactly("ended while they were held", s.Early+s.Unrenewed+s.Missed, 0),
				experiment.Exactly("renewals lost", s.KeepsLost, 0), experiment.Exactly("left at the end", s.Left, 0),
				experiment.Found("renewals answered (p50, p99, longest)", fmt.Sprintf("%d (%.2f, %.2f, %.0f ms)", s.Keeps.N, 1000*sec(s.Keeps.P50), 1000*sec(s.Keeps.P99), 1000*sec(s.Keeps.Max)), fmt.Sprintf("at least %d", least), s.Keeps.N >= least),
			}
		}),
	}
}
