package main

import (
	"fmt"

	"github.com/coreos/dbtester/tools/experiment"
)

// generators: two machines hold parts of the sessions, and contend for one lock.
func generators() experiment.Trial {
	const held, rate, length = 401, 50, 15
	return experiment.Trial{
		Name: "generators", Title: fmt.Sprintf("etcd, three members, two generators: %d leases of 4 s die at once, and %d requests for one lock", held, rate*length),
		Members: []string{"127.0.10.1", "127.0.10.2", "127.0.10.3"}, Generators: []string{"127.0.10.8", "127.0.10.9"},
		Text: three + "generators: [127.0.10.8, 127.0.10.9]\n" +
			fmt.Sprintf("load: {operation: update, keys: 1000, rate: %d, duration: %ds, clients: 4, connections: 4, key_size: 32, value_size: 64, timeout: 10s}\n", rate, length) +
			fmt.Sprintf("databases:\n  etcd__sessions: {tag: sessions, sessions: {held: %d, ttl: 4s, keep: 1s, after: 3s}}\n  etcd__lock: {tag: lock, load: {operation: lock, keys: 1, lock_recipe: direct, lock_hold: 3ms}}\n", held),
		Judge: judged(func(r *records) (list []experiment.Finding) {
			for _, d := range r.Databases {
				if d.Tag == "sessions" {
					list = append(list, append(ended(&d.Sessions, held),
						experiment.Exactly("sessions that two machines hold", d.Sessions.Granted, held), experiment.Exactly("machines", d.Sessions.Machines, 2),
						within("later than the TTL, each by its own machine's clock", d.Sessions.late(), 0, 0.5+float64(held)/950+0.1))...)
					continue
				}
				l := d.Load
				list = append(list,
					experiment.Exactly("locks acquired and released by two machines", min(l.Acquired, l.Released), rate*length),
					experiment.Found("of them compared beyond the clocks' error (doubtful; error)", fmt.Sprintf("%d (%d; %.3f ms)", l.Compared, l.Unsure, 1000*sec(l.ClockError)), fmt.Sprintf("%d, with an error", rate*length), l.Compared == rate*length && l.ClockError > 0 && l.Parts == 2),
					experiment.Exactly("held twice, or fences out of order", l.Overlaps+l.Disorder, 0))
			}
			return list
		}),
	}
}
