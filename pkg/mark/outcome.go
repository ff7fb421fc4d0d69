package mark

// Marks about the outcomes of requests.
const (
	Rate     = "rate not sustained"
	Queueing = "queueing"
	Failed   = "failed requests"
	Outcomes = "unknown outcomes"
	Unsent   = "unsent"
	Waiting  = "clients without a server"
	Nothing  = "nothing measured"
	Expected = "expected"
	Guard    = "guard"
)

const tooFast = "use a lower rate; [`dbtester capacity`](capacity.md) finds one"

func outcomeMarks() []Kind {
	return []Kind{
		{
			Code: Rate, Weight: Weakens,
			Sentences: []Sentence{{Text: of + "{share_percent} of the offered requests ended ok in the window: {ok} of {offered}[ (mark below {mark_percent})][ (invalid below {invalid_percent})][; {because}]", Worst: "share_percent", Least: true}},
			Help:      "the database answered fewer requests than were due, so latencies depend on the length of the load",
			Remedy:    tooFast,
		},
		{
			Code: Queueing, Weight: Weakens,
			Sentences: []Sentence{
				{Text: of + "{share_percent} of the requests found every client busy when they were due: {queued} of {due}, and {waits} waited when the window ended" + above, Worst: "share_percent", Effect: unknown(Latency)},
				{Text: of + "{share_percent} of the requests found their own client busy when they were due: {queued_own} of {due}, and {waits} waited when the window ended" + above, Worst: "share_percent", Effect: unknown(Latency)},
			},
			Help:   "requests waited for a free client, so their response times include waiting in the queue",
			Remedy: tooFast + "; or use more clients",
		},
		{
			Code: Failed, Weight: Weakens,
			Sentences: []Sentence{{Text: of + "{share_percent} of the requests failed: {failed} of {due}" + above, Worst: "share_percent"}},
			Help:      "failed requests have no response time: there were elections, a full store, or refusals",
			Remedy:    "see `errors.csv` and `events.jsonl`; use [`expect`](workloads.md#keys-of-expect) if failures are part of the test",
		},
		{
			Code: Outcomes, Weight: Weakens,
			Sentences: []Sentence{{Text: of + "{share_percent} of the requests have an unknown outcome: {unknown} of {due}" + above, Worst: "share_percent"}},
			Help:      "requests timed out or lost their connection, and may have been applied",
			Remedy:    "see `errors.csv` and `events.jsonl`; a longer `timeout` does not make a database faster",
		},
		{
			Code: Unsent, Weight: Weakens,
			Sentences: []Sentence{{Text: of + "{share_percent} of the requests were due but not sent: {unsent} of {due} within {drain_seconds} after the end" + above, Worst: "share_percent"}},
			Help:      "requests were never sent: no client was free before the `drain` ended",
			Remedy:    tooFast,
		},
		{
			Code: Waiting, Weight: Weakens,
			Sentences: []Sentence{{Text: of + "clients had no server for {share_percent} of their time: {waited_seconds} of {of_seconds}" + above, Worst: "share_percent", Effect: upTo(Both, "share_percent")}},
			Help:      "the load had fewer clients than the file specifies: their member was down, or refused them",
			Remedy:    "see `events.jsonl`; use `expect: {lost_servers: 1}` if the loss is part of the test",
		},
		{
			Code: Nothing, Weight: Weakens,
			Sentences: []Sentence{
				{Text: of + "none of {due|request} ended ok", Worst: "due"},
				{Text: "step {step}, {clients|client}: no request was due in the measured window"},
			},
			Help:   "no request of a step ended ok",
			Remedy: "see `errors.csv`; use a longer load or a shorter `warm_up`",
		},
		{
			Code: Expected, Weight: Harmless,
			Sentences: []Sentence{
				{Text: of + "{share_percent} of the requests failed: {failed} of {due}; the experiment expects up to {expected_percent}", Worst: "share_percent", Effect: nothing},
				{Text: of + "{share_percent} of the requests have an unknown outcome: {unknown} of {due}; the experiment expects up to {expected_percent}", Worst: "share_percent", Effect: nothing},
				{Text: "member {member} was lost: {why}; the experiment expects to lose {expected_servers}", Effect: nothing},
			},
			Help:   "the failures are within the limits that the file sets in [`expect`](workloads.md#keys-of-expect)",
			Remedy: "none needed",
		},
		{
			Code: Guard, Weight: Invalid,
			Sentences: []Sentence{{Text: "the load ended early: {reason}"}},
			Help:      "the load exceeded a bound of its [`guard`](shared.md#the-guard)",
			Remedy:    "use a lower rate, or another bound",
		},
	}
}
