package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coreos/dbtester/tools/experiment"
)

// store is a database, as experiments name it.
type store struct{ name, lines string }

var (
	etcd      = store{"etcd", "etcd: {}"}
	zookeeper = store{"zookeeper", "zookeeper: {" + experiment.ZooKeeper + ", options: {java_xms: 256M, java_xmx: 256M}}"}
	consul    = store{"consul", "consul: {" + experiment.Consul + "}"}
)

// plant is a cause, or several, that experiments plant.
type plant struct {
	// key is its word on the command line, and words describe it in the table.
	key, words string
	// names are the causes that reports must name: the only one, or at least one of several partly,
	// with the others listed with as large a share. If it is empty, reports must name no cause.
	names []string
	// unknown means that no rule knows the plant. Reports may then leave all the time unexplained.
	unknown bool
	stores  []store // which have it in turn
	clients int
	rate    int // requests per second; 0 for a closed loop
	value   int // bytes
	// lines returns the lines for a plant and a store in the experiment file.
	lines func(store) string
	// measured is the length of the measured part; 0 for the usual one. The mean also covers
	// requests just before the faults, which have more weight if fewer requests follow.
	measured time.Duration
	// faults means that the lines are faults, which end before the load: it lasts a little longer.
	faults bool
	// squeezed means that control has one processor, which another program uses during most of the
	// load.
	squeezed bool
}

// The measured part of each load. A fault lasts a little longer than the rest of the measured part,
// and the load until control has surely undone it.
const (
	warmUp   = 2 * time.Second
	measured = 10 * time.Second
	begins   = warmUp + time.Millisecond // the earliest that may be
	beyond   = 250 * time.Millisecond
	behind   = 1500 * time.Millisecond
)

// rate is for loads that must not saturate the processors. With data in memory, a closed loop would make
// the processors a cause, because requests spend their time on nothing else.
const rate = 200

// during returns the keys for a fault that lasts through the measured part.
func during(measured time.Duration, keys string) string {
	return fmt.Sprintf("- {%s, at: %v, for: %v}\n", keys, begins, measured+beyond)
}

// faults returns experiment lines with faults.
func faults(list ...string) string { return "probe: 0s\nfaults:\n" + strings.Join(list, "") }

// plants returns all plants.
func plants() []plant {
	all := []store{etcd, zookeeper, consul}
	reporting := []store{zookeeper, consul} // they report write times, without which nothing is known about the way
	same := func(lines string) func(store) string { return func(store) string { return lines } }
	return []plant{
		{key: "none", words: "nothing", stores: all, clients: 8, rate: rate, lines: same("")},
		{key: "quota", words: "0.25 processors for each member", names: []string{"quota"}, stores: all, clients: 8, lines: same("resources: {cpus: 0.25}\n")},
		{key: "fsync", words: "fsync 10 ms longer (ZooKeeper: 20 ms), of all members (Consul: of the leader, because its followers sync after it)", names: []string{"fsync"}, stores: all, clients: 1, faults: true,
			lines: func(s store) string { return faults(during(measured, slowSyncs(s, times(s, 10*time.Millisecond)))) }},
		{key: "peers", words: "packets of the leader from and to others 5 ms later (ZooKeeper: 10 ms)", names: []string{"peers"}, stores: all, clients: 1, measured: 2 * measured, faults: true,
			lines: func(s store) string {
				return faults(during(2*measured, fmt.Sprintf("kind: delay, member: leader, from: members, by: %v", times(s, 5*time.Millisecond))))
			}},
		{key: "link", words: "10 Mbit/s between the clients and the leader, and values of 40 KiB", names: []string{"outside"}, stores: reporting, clients: 1, value: 40 << 10, faults: true,
			lines: same(faults(during(measured, narrow)))},
		{key: "client", words: "one processor for the clients, which a program of real-time priority uses for 90 ms of each 100", names: []string{"processors"}, stores: all, clients: 8, lines: same(""), squeezed: true},
		{key: "two", words: "fsync 20 ms longer, as above, and packets of the leader from and to others 10 ms later", names: []string{"fsync", "peers"}, stores: all, clients: 1, measured: 3 * measured, faults: true,
			lines: func(s store) string {
				return faults(during(3*measured, slowSyncs(s, 20*time.Millisecond)+", overlap: true"), during(3*measured, "kind: delay, member: leader, from: members, by: 10ms, overlap: true"))
			}},
		{key: "unreported", words: "10 Mbit/s between the clients and etcd's leader, which reports no time of writes", unknown: true, stores: []store{etcd}, clients: 1, value: 40 << 10, faults: true,
			lines: same(faults(during(measured, narrow)))},
		{key: "proxy", words: "packets between the clients and etcd's leader 10 ms later, as by a proxy that sleeps", unknown: true, stores: []store{etcd}, clients: 8, faults: true,
			lines: same(faults(during(measured, "kind: delay, member: leader, from: clients, by: 10ms")))},
		{key: "stopped", words: "the leader stopped for half of the time, 0.4 s each", unknown: true, stores: all, clients: 1, faults: true, lines: same(stopped())},
		{key: "defrag", words: "etcd's members defragmented each second, with values of 32 KiB", unknown: true, stores: []store{etcd}, clients: 64, rate: rate, value: 32 << 10, lines: same("maintain: {defrag: 1s}\n")},
	}
}

// times returns the delay that plants add to requests to the store. ZooKeeper reports whole
// milliseconds, and on two processors its threads wait for a processor for a third of 10 ms, which
// no lower bound may count.
func times(s store, usual time.Duration) time.Duration {
	if s == zookeeper {
		return 2 * usual
	}
	return usual
}

// narrow are the keys for a fault: the way from clients to the leader and back.
const narrow = "kind: delay, member: leader, from: clients, rate: 10Mbit"

// slowSyncs returns the keys for a fault with slower syncs. In etcd and ZooKeeper members sync at
// the same time, so requests do not wait for a single slow disk. The Consul leader syncs before the
// others, so half the time on slow disks is spent on the others.
func slowSyncs(s store, by time.Duration) string {
	member := "all"
	if s == consul {
		member = "leader"
	}
	return fmt.Sprintf("kind: disk, member: %s, fsync: %v", member, by)
}

// stopped returns experiment lines that stop the leader periodically.
func stopped() string {
	const every, stop = 800 * time.Millisecond, 400 * time.Millisecond
	var list []string
	for at := begins; at+stop <= begins+measured+beyond; at += every {
		list = append(list, fmt.Sprintf("- {kind: pause, member: leader, at: %v, for: %v}\n", at, stop))
	}
	return faults(list...)
}

// experiment returns the text of an experiment. Clients connect to the leader, so members forward
// no requests.
func (p plant) experiment(s store) string {
	length, coolDown := warmUp+cmp.Or(p.measured, measured), time.Duration(0)
	if p.faults {
		length, coolDown = length+behind, behind
	}
	value := p.value
	if value == 0 {
		value = 256
	}
	due := ""
	if p.rate > 0 {
		due = fmt.Sprintf("rate: %d, ", p.rate)
	}
	return fmt.Sprintf(`title: causes
hosts: [%s]
load: {operation: write, %sduration: %v, warm_up: %v, cool_down: %v, clients: %d, key_size: 32, value_size: %d, target: leader, timeout: 5s}
%sdatabases:
  %s
`, strings.Join(hosts(), ", "), due, length, warmUp, coolDown, p.clients, value, p.lines(s), s.lines)
}

// hosts are the member addresses.
func hosts() []string { return []string{"127.0.4.1", "127.0.4.2", "127.0.4.3"} }

// chosen returns the plants with the given keys; all plants if there are no keys.
func chosen(keys []string) (list []plant, err error) {
	all := plants()
	var known []string
	for _, p := range all {
		known = append(known, p.key)
		if len(keys) == 0 || slices.Contains(keys, p.key) {
			list = append(list, p)
		}
	}
	for _, key := range keys {
		if !slices.Contains(known, key) {
			return nil, fmt.Errorf("causes must be of %s, got %q", strings.Join(known, ", "), key)
		}
	}
	return list, nil
}
