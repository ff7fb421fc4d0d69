package mark

// The marks of the servers and of what reaches them.
const (
	Lost          = "server lost"
	GeneratorLost = "generator lost"
	MemoryLimit   = "memory limit"
	NotDurable    = "not durable"
	Unmeasured    = "servers not measured"
	Upkeep        = "upkeep failed"
	Secured       = "secured"
	Insecure      = "insecure"
	KeysLeft      = "keys left"
)

func serverMarks() []Kind {
	return []Kind{
		{
			Code: Lost, Weight: Invalid,
			Sentences: []Sentence{{Text: "member {member}: {why}"}},
			Help:      "a member ended, or its agent was not heard from any more",
			Remedy:    "its log; the kernel's log for a process that ran out of memory; `expect: {lost_servers: 1}` where the loss is part of the test",
		},
		{
			Code: GeneratorLost, Weight: Invalid,
			Sentences: []Sentence{{Text: "generator {generator}: {why}; its requests from then on are missing[, and the outcomes of {pending} before]"}},
			Help:      "an agent of `generators` ended or was not heard from, or was not ready when a step began",
			Remedy:    "its log; the run must be repeated. [Several client machines](scale.md)",
		},
		{
			Code: MemoryLimit, Weight: Invalid,
			Sentences: []Sentence{{Text: "member {member}: processes killed by the memory limit of {limit}: {killed}; the limit is the experiment's, and no fault of the database", Worst: "killed"}},
			Help:      "a member needed more than `resources.memory`",
			Remedy:    "more memory or less data",
		},
		{
			Code: NotDurable, Weight: Weakens,
			Sentences: []Sentence{
				{Text: "member {member} keeps its data on {filesystem}"},
				{Text: "member {member}: an fdatasync takes {fsync_seconds}, less than any disk needs", Worst: "fsync_seconds", Least: true},
			},
			Help:   "data on a memory file system, or on a disk that answers before it has written",
			Remedy: "another `--work-dir`",
		},
		{
			Code: Unmeasured, Weight: Weakens,
			Sentences: []Sentence{{Text: "the cluster ran already, without agents: processors, memory, disk and network of its members were not measured", Effect: nothing}},
			Help:      "the members have no agents, so what they use is not known",
			Remedy:    "an agent on each machine, where that is possible",
		},
		{
			Code: Upkeep, Weight: Weakens,
			Sentences: []Sentence{{Text: "[{when}: ]{why}"}},
			Help:      "a compaction, defragmentation or snapshot of `maintain` failed, so the load was another one",
			Remedy:    "the reason beside the mark",
		},
		{
			Code: Secured, Weight: Harmless,
			Sentences: []Sentence{{Text: "{how}", Effect: nothing}},
			Help:      "connections are encrypted or clients show credentials, which costs both sides",
			Remedy:    "compare with runs that do the same",
		},
		{
			Code: Insecure, Weight: Weakens,
			Sentences: []Sentence{{Text: "control called agents without TLS or token (--insecure): {agents}; anyone who reached them could read, stop or change this run"}},
			Help:      "the agents let in anyone",
			Remedy:    "[certificates](three-machines.md#2-certificates)",
		},
		{
			Code: KeysLeft, Weight: Weakens,
			Sentences: []Sentence{
				{Text: "the cluster still holds {keys|key} of this run below {prefix}/; dbtester cleanup RUN removes them[ (the cleanup failed: {why})]", Effect: nothing},
				{Text: "the cluster still holds an unknown number of keys of this run below {prefix}/; dbtester cleanup RUN removes them[ (the cleanup failed: {why})]", Effect: nothing},
			},
			Help:   "a load on `endpoints` without `cleanup: true`",
			Remedy: "`dbtester cleanup RUN`",
		},
	}
}
