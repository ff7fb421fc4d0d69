package mark

// Marks about the client.
const (
	Saturated = "client saturated"
	Late      = "client late"
	Stopped   = "client stopped"
	Library   = "client library"
	Unsampled = "client not measured"
	SelfCheck = "self-check"
)

const (
	// of begins a sentence about one step, or about the machine that issued a part of it.
	of = "[generator {generator}: ][step {step}, {clients|client}: ]"
	// above ends a sentence about a share that exceeds a bound.
	above = "[ (mark above {mark_percent})][ (invalid above {invalid_percent})]"
)

const smallClient = "use a larger client machine, fewer clients, or `transport: lean`; `dbtester control --selfcheck auto` measures the client"

func clientMarks() []Kind {
	return []Kind{
		{
			Code: Saturated, Weight: Weakens,
			Sentences: []Sentence{
				{Text: of + "{share_percent} of the response times is delay in the client itself: {own_seconds} of {of_seconds}" + above, Worst: "share_percent", Effect: upTo(Latency, "share_percent")},
				{Text: of + "this client used over {used_percent} of its {processors} processors in {busy} of {sampled|second}", Worst: "busy"},
			},
			Help:   "the client itself added to the response times: it sent late, was stopped or read answers late; or it used up its processors",
			Remedy: smallClient,
		},
		{
			Code: Late, Weight: Weakens,
			Sentences: []Sentence{{Text: of + "{share_percent} of the requests were sent over {late_seconds} late though a client was free: {late} of {due}" + above, Worst: "share_percent", Effect: upTo(Latency, "own_percent")}},
			Help:      "requests were sent later than they were due though a client was free",
			Remedy:    smallClient,
		},
		{
			Code: Stopped, Weight: Weakens,
			Sentences: []Sentence{{Text: of + "this client was stopped or starved {stops|time} for {stopped_seconds} of {load_seconds} in all, at most for {longest_seconds}[, from {from} on]",
				Worst: "longest_seconds", Effect: upTo(Both, "stopped_percent", "own_percent")}},
			Help:   "the client's process did not run for a part of the load: it was stopped, or it waited for a processor",
			Remedy: smallClient,
		},
		{
			Code: Library, Weight: Weakens,
			Sentences: []Sentence{
				{Text: inLibrary + ": in the self-check this client added {added_p50_seconds} at p50 and {added_p99_seconds} at p99[, while the mean response time in this load is {mean_seconds}]", Worst: "added_percent", Effect: upTo(Latency, "added_percent")},
				{Text: inLibrary + ": for how long is not known; control --selfcheck auto measures it", Effect: unknown(Latency)},
			},
			Help:   "the client is a library whose queues of requests and answers no timer covers",
			Remedy: "use `transport: lean`, or `dbtester control --selfcheck auto`, which measures the delay that the client adds",
		},
		{
			Code: Unsampled, Weight: Weakens,
			Sentences: []Sentence{{Text: of + "the client's machine has no /proc: whether it used up its processors is not known"}},
			Help:      "the client's machine does not report its processor use",
			Remedy:    "use a client machine with Linux",
		},
		{
			Code: SelfCheck, Weight: Weakens,
			Sentences: []Sentence{
				{Text: "the self-check is {elsewhere}, so it says nothing about this client", Effect: unknown(Latency)},
				{Text: "{due_per_second} requests/s were due, but in the self-check this client paced at most {most_per_second}/s accurately: see LATE and LATENESS", Worst: "due_per_second", Effect: unknown(Latency)},
				{Text: "{due_per_second} requests/s were due, but in the self-check this client paced no rate accurately: see LATE and LATENESS", Worst: "due_per_second", Effect: unknown(Latency)},
			},
			Help:   "the self-check was made on another machine, or found that the client cannot pace this rate",
			Remedy: "run `dbtester selfcheck` on the client machine; use a lower rate",
		},
	}
}

const inLibrary = "requests may wait in queues of the client's library ({library}), which no timer covers"
