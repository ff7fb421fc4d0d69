package mark

// Marks about the servers and access to them.
const (
	Lost          = "server lost"
	GeneratorLost = "generator lost"
	MemoryLimit   = "memory limit"
	MemberShare   = "member share"
	NotDurable    = "not durable"
	Unmeasured    = "servers not measured"
	// MetricsRefused concerns a member that never gave its own metrics.
	MetricsRefused = "metrics not read"
	Upkeep         = "upkeep failed"
	Secured        = "secured"
	Insecure       = "insecure"
	KeysLeft       = "keys left"
)

func serverMarks() []Kind {
	return []Kind{
		{
			Code: Lost, Weight: Invalid,
			Sentences: []Sentence{{Text: "member {member}: {why}"}},
			Help:      "a member ended, or its agent stopped responding",
			Remedy:    "see its log, and the kernel's log for a process that ran out of memory; use `expect: {lost_servers: 1}` if the loss is part of the test",
		},
		{
			Code: GeneratorLost, Weight: Invalid,
			Sentences: []Sentence{{Text: "generator {generator}: {why}; its later requests are missing[, and so are the outcomes of {pending} earlier ones]"}},
			Help:      "an agent of `generators` ended, stopped responding, or was not ready when a step began",
			Remedy:    "see its log and repeat the run; [Several client machines](scale.md)",
		},
		{
			Code: MemoryLimit, Weight: Invalid,
			Sentences: []Sentence{{Text: "member {member}: processes killed by the memory limit of {limit}: {killed}; the experiment set the limit, so this is not a fault of the database", Worst: "killed"}},
			Help:      "a member needed more than `resources.memory`",
			Remedy:    "use more memory or less data",
		},
		{
			Code: MemberShare, Weight: Weakens,
			Sentences: []Sentence{{Text: of + "member {member} answered {share_percent} of its share of the requests (mark below {mark_percent}): {answered_percent} of all in place of {clients_percent}, {answered} of {answers}; clients of other members sent the rest",
				Worst: "share_percent", Least: true, Effect: unknown(Latency)}},
			Help:   "a member was slow or stopped, and free clients of other members sent what its clients could not: the response times have less of it than users would who stay with their member",
			Remedy: "[`bind: client`](workloads.md#users-who-stay-with-their-client); the log and the samples of that member",
		},
		{
			Code: NotDurable, Weight: Weakens,
			Sentences: []Sentence{
				{Text: "member {member} keeps its data on {filesystem}"},
				{Text: "member {member}: an fdatasync takes {fsync_seconds}, which is faster than any real disk", Worst: "fsync_seconds", Least: true},
			},
			Help:   "the data lies on a memory file system, or on a disk that acknowledges writes before they are done",
			Remedy: "use another `--work-dir`",
		},
		{
			Code: Unmeasured, Weight: Weakens,
			Sentences: []Sentence{{Text: "the cluster was already running, without agents: processors, memory, disk and network of its members were not measured", Effect: nothing}},
			Help:      "the members have no agents, so their resource use is not known",
			Remedy:    "run an agent on each machine, if possible",
		},
		{
			Code: MetricsRefused, Weight: Harmless,
			Sentences: []Sentence{{Text: "member {member} answered none of {asked|request} for its own metrics: {why}", Effect: nothing}},
			Help:      "a member of `endpoints` did not give its own metrics, so rows MEMBER-... lack it; the load is not affected",
			Remedy:    "[what each database needs](shared.md#metrics-of-the-members), `scrape: {url: ...}`, or `metrics: false`",
		},
		{
			Code: Upkeep, Weight: Weakens,
			Sentences: []Sentence{{Text: "[{when}: ]{why}[; {failed} of {operations|operation} failed]"}},
			Help:      "a compaction, defragmentation or snapshot of `maintain` failed, so the cluster did less upkeep than planned during the load",
			Remedy:    "see the reason next to the mark",
		},
	}
}

// accessMarks returns the marks about access to servers and agents, and about anything left there.
func accessMarks() []Kind {
	return []Kind{
		{
			Code: Secured, Weight: Harmless,
			Sentences: []Sentence{{Text: "{how}", Effect: nothing}},
			Help:      "connections are encrypted or clients authenticate, which costs processor time on both sides",
			Remedy:    "compare only with runs that do the same",
		},
		{
			Code: Insecure, Weight: Weakens,
			Sentences: []Sentence{{Text: "control called agents without TLS or token (--insecure): {agents}; anyone who could reach them could read, stop or change this run"}},
			Help:      "the agents accepted any caller",
			Remedy:    "[certificates](three-machines.md#2-certificates)",
		},
		{
			Code: KeysLeft, Weight: Weakens,
			Sentences: []Sentence{
				{Text: "the cluster still holds {keys|key} of this run below {prefix}/; dbtester cleanup RUN removes them[ (the cleanup failed: {why})]", Effect: nothing},
				{Text: "the cluster still holds an unknown number of keys of this run below {prefix}/; dbtester cleanup RUN removes them[ (the cleanup failed: {why})]", Effect: nothing},
			},
			Help:   "a load ran on `endpoints` without `cleanup: true`",
			Remedy: "run `dbtester cleanup RUN`",
		},
	}
}
