package main

// questionLines are the lines in getting-started.md and the how-to pages: short loads on loopback
// addresses, with the built-in etcd.
func questionLines() map[string]tested {
	const three, others = "10.0.0.2, 10.0.0.3, 10.0.0.4", "  zookeeper: {version: 3.9.5, install: true}\n  consul: {version: 1.21.0, install: true}\n"
	undecided := []int{exitInvalid, exitWorse, exitInconclusive} // a busy machine keeps no rate
	compared := func(begins string) shown {
		return shown{begins: begins, codes: []int{exitInterrupted}, until: "pair 1, side", change: []string{"3.6.16", "3.7.3", "--budget 30m", "--pairs 8"}}
	}
	return map[string]tested{
		"getting-started.md": {
			written("members.yaml", nil, "127.0.0.1, 127.0.0.2, 127.0.0.3", "HOST1, HOST2, HOST3", "trials: 2", "trials: 1\nplots: [AVG-THROUGHPUT]",
				"duration: 10s, warm_up: 2s, clients: 50", "requests: 100, clients: 2, judge: {client_delay: {invalid: 100%}}", "etcd:", "etcd: {options: {"+steady+"}}"),
			[]shown{
				{begins: "dbtester quickstart", by: "TestQuickstart"},
				{begins: "dbtester config check", want: "members.yaml: ok"},
				{begins: "dbtester control --local --dry-run", want: "etcd-members-3"},
				{begins: "dbtester control --local --config", want: `3 members`},
			},
		},
		"how-to/choose-a-store.md": {
			written("choose.yaml", agents, three, "HOST1", "trials: 3", "trials: 1\nplots: [AVG-THROUGHPUT]", "2000/s", "100/s", "1000, 2000, 4000", "50, 100, 200",
				"keys: 10000", "keys: 100", "duration: 30s, warm_up: 5s, clients: 200", "duration: 1s, clients: 4", others, ""),
			[]shown{
				{begins: "dbtester config check", want: "choose.yaml: ok"},
				{begins: "dbtester control --config choose.yaml --dry-run", want: "by agent 127"},
				{begins: "dbtester control --config choose.yaml", codes: undecided, want: "meets|not known|does not"},
				{begins: "dbtester analyze --need", codes: undecided, want: "meets|not known|does not"},
			},
		},
		"how-to/compare-two-versions.md": {
			func(p *page) {
				written("compare.yaml", nil, "127.0.0.1, 127.0.0.2, 127.0.0.3", "HOST1")(p)
				compareLines().prepare(p)
			},
			[]shown{
				compared("dbtester compare --local"),
				{begins: "dbtester compare runs/", codes: []int{exitWorse, exitInconclusive}, want: "p99"},
			},
		},
		"how-to/fit-for-a-rate.md": {
			written("fit.yaml", (*page).runningMember, "10.0.0.2:2379, 10.0.0.3:2379, 10.0.0.4:2379", "HOST1:2379", "keys: 5000", "keys: 100",
				"rate: 500, duration: 120s, clients: 100", "rate: 100, duration: 1s, clients: 4", "500/s", "100/s", "    guard: {p99: 100ms, errors: 1%, db_size: 80%}\n", "", "cleanup: true", "cleanup: false"),
			[]shown{
				{begins: "dbtester control --config fit.yaml --dry-run", want: "bench/fit"},
				{begins: "dbtester control --config fit.yaml", codes: undecided, want: "meets|not known|does not"},
				{begins: "dbtester cleanup", change: []string{"LAST", "LAST --yes"}, want: "removed [1-9]"},
			},
		},
		"how-to/survive-a-leaders-death.md": {
			written("leader.yaml", nil, "127.0.0.1, 127.0.0.2, 127.0.0.3", "HOST1, HOST2, HOST3", "  zookeeper: {version: 3.9.5, install: true, options: {java_xms: 512M, java_xmx: 512M}}\n", ""),
			[]shown{
				{begins: "dbtester quickstart --faults", by: "TestFaultsAsNobody"},
				{begins: "dbtester control --local --dry-run", want: "kill"},
				{begins: "dbtester control --local --config", by: "TestFaultsAsNobody"},
			},
		},
		"how-to/test-a-disk.md": {
			func(p *page) { p.mkdir("disk"); p.startAgents(p.hosts[:2]) },
			[]shown{{
				begins: "dbtester check-disk /var/lib/etcd", codes: []int{exitFailed, exitWorse}, want: "verdict",
				change: []string{" --duration 10m", "", "/var/lib/etcd", "disk --duration 1s", "10.0.0.3,10.0.0.4", "HOST1,HOST2"},
			}},
		},
		"how-to/gate-a-pull-request.md": {(*page).repositories, []shown{{begins: "git -C etcd worktree add"}, compared("dbtester compare --local")}},
		"how-to/size-etcd-for-kubernetes.md": {
			written("api.yaml", agents, three, "HOST1", "trials: 3", "trials: 1\nplots: [AVG-THROUGHPUT]", "400/s", "100/s", "200, 400, 800, 1600", "50, 100, 200",
				"keys: 20000", "keys: 200", "duration: 60s, warm_up: 10s, clients: 100", "duration: 1s, clients: 4"),
			[]shown{
				{begins: "dbtester control --config api.yaml --dry-run", want: "by agent 127"},
				{begins: "dbtester control --config api.yaml", codes: undecided, want: "meets|not known|does not"},
			},
		},
	}
}

// written writes the experiment from a page, changed, and prepares everything else needed by its
// lines.
func written(name string, besides func(*page), change ...string) func(*page) {
	return func(p *page) {
		p.write(name, p.yaml("title:", change...))
		if besides != nil {
			besides(p)
		}
	}
}

// agents starts an agent on the first host.
func agents(p *page) { p.startAgents(p.hosts[:1]) }
