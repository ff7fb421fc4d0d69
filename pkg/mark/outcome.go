package mark

// The marks of what became of the requests.
const (
	Rate        = "rate not sustained"
	Queueing    = "queueing"
	Failed      = "failed requests"
	Outcomes    = "unknown outcomes"
	Unsent      = "unsent"
	Waiting     = "clients without a server"
	MemberShare = "member share"
	Nothing     = "nothing measured"
	Expected    = "expected"
	Guard       = "guard"
)

const tooFast = "a lower rate; [`dbtester capacity`](capacity.md) finds one"

func outcomeMarks() []Kind {
	return []Kind{
		{
			Code: Rate, Weight: Weakens,
			Sentences: []Sentence{{Text: of + "{share_percent} of the offered requests ended ok in the window: {ok} of {offered}[ (mark below {mark_percent})][ (invalid below {invalid_percent})][; {because}]", Worst: "share_percent", Least: true}},
			Help:      "the database answered fewer requests than were due, so latencies depend on how long the load was",
			Remedy:    tooFast,
		},
		{
			Code: Queueing, Weight: Weakens,
			Sentences: []Sentence{
				{Text: of + "{share_percent} of the requests found every client busy when they were due: {queued} of {due}, and {waits} waited when the window ended" + above, Worst: "share_percent", Effect: unknown(Latency)},
				{Text: of + "{share_percent} of the requests found their own client busy when they were due: {queued_own} of {due}, and {waits} waited when the window ended" + above, Worst: "share_percent", Effect: unknown(Latency)},
			},
			Help:   "requests waited for a free client, so their response times are partly those of the queue",
			Remedy: tooFast + "; more clients",
		},
		{
			Code: Failed, Weight: Weakens,
			Sentences: []Sentence{{Text: of + "{share_percent} of the requests failed: {failed} of {due}" + above, Worst: "share_percent"}},
			Help:      "requests that failed have no response time: elections, a full store, refusals",
			Remedy:    "`errors.csv`, `events.jsonl`; [`expect`](workloads.md#keys-of-expect) where failures are part of the test",
		},
		{
			Code: Outcomes, Weight: Weakens,
			Sentences: []Sentence{{Text: of + "{share_percent} of the requests have an unknown outcome: {unknown} of {due}" + above, Worst: "share_percent"}},
			Help:      "requests timed out or lost their connection, and may have been applied",
			Remedy:    "`errors.csv`, `events.jsonl`; a longer `timeout` does not make a database faster",
		},
		{
			Code: Unsent, Weight: Weakens,
			Sentences: []Sentence{{Text: of + "{share_percent} of the requests were due and not sent: {unsent} of {due} within {drain_seconds} after the end" + above, Worst: "share_percent"}},
			Help:      "requests were given up: no client was free to send them before the `drain` ended",
			Remedy:    tooFast,
		},
		{
			Code: Waiting, Weight: Weakens,
			Sentences: []Sentence{{Text: of + "clients had no server for {share_percent} of their time: {waited_seconds} of {of_seconds}" + above, Worst: "share_percent", Effect: upTo(Both, "share_percent")}},
			Help:      "the load had fewer clients than the file gives: their member was down, or refused them",
			Remedy:    "`events.jsonl`; `expect: {lost_servers: 1}` where the loss is part of the test",
		},
		{
			Code: MemberShare, Weight: Weakens,
			Sentences: []Sentence{{Text: of + "member {member} answered {share_percent} of its share of the requests (mark below {mark_percent}): {answered_percent} of all in place of {clients_percent}, {answered} of {answers}; clients of other members sent the rest",
				Worst: "share_percent", Least: true, Effect: unknown(Latency)}},
			Help:   "a member was slow or stopped, and free clients of other members sent what its clients could not: the response times have less of it than users would who stay with their member",
			Remedy: "[`bind: client`](workloads.md#users-who-stay-with-their-client); the log and the samples of that member",
		},
		{
			Code: Nothing, Weight: Weakens,
			Sentences: []Sentence{
				{Text: of + "none of {due|request} ended ok", Worst: "due"},
				{Text: "step {step}, {clients|client}: no request was due in the measured window"},
			},
			Help:   "a step without a single request that ended ok",
			Remedy: "`errors.csv`; a longer load, a shorter `warm_up`",
		},
		{
			Code: Expected, Weight: Harmless,
			Sentences: []Sentence{
				{Text: of + "{share_percent} of the requests failed: {failed} of {due}; the load expects failed requests up to {expected_percent}", Worst: "share_percent", Effect: nothing},
				{Text: of + "{share_percent} of the requests have an unknown outcome: {unknown} of {due}; the load expects unknown outcomes up to {expected_percent}", Worst: "share_percent", Effect: nothing},
				{Text: "member {member} was lost: {why}; the load expects to lose {expected_servers}", Effect: nothing},
			},
			Help:   "what went wrong is what [`expect`](workloads.md#keys-of-expect) of the file announces",
			Remedy: "nothing to do",
		},
		{
			Code: Guard, Weight: Invalid,
			Sentences: []Sentence{{Text: "the load ended early: {reason}"}},
			Help:      "the load passed a bound of its [`guard`](shared.md#the-guard)",
			Remedy:    "a lower rate, or another bound",
		},
	}
}
