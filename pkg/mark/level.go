package mark

import "strings"

// The marks of levels that change and of rates that are searched for.
const (
	Unsteady = "not steady"
	Capacity = "capacity"
	Drift    = "drift"
)

func levelMarks() []Kind {
	return []Kind{unsteadyMark(), capacityMark(), {
		Code: Drift, Weight: Weakens,
		Sentences: []Sentence{{Text: "at {rate_per_second} requests/s {first_percent} of the requests missed the limit at the beginning of the search and {last_percent} at its end", Worst: "last_percent", Effect: unknown(Throughput)}},
		Help:      "the cluster changed while its capacity was searched for",
		Remedy:    "a warm cluster, nothing else on its machines; a longer `window`",
	}}
}

func unsteadyMark() Kind {
	const (
		throughput = "[{stage}: ]the throughput "
		latency    = "[{stage}: ]the mean response time "
		test       = " (Pettitt's test, p < {p}); "
		steady     = test + "steady from second {from} to {to} with "
		unsteady   = test + "no quarter of it is steady"
	)
	changes := func(n Number, texts ...string) (list []Sentence) {
		for _, text := range texts {
			list = append(list, Sentence{Text: text, Worst: "change_percent", Effect: upTo(n, "change_percent")})
		}
		return list
	}
	steps, drifts := "stepped from {before_per_second}/s to {after_per_second}/s at second {second}", "drifted from {before_per_second}/s to {after_per_second}/s"
	slower, slows := "stepped from {before_seconds} to {after_seconds} at second {second}", "drifted from {before_seconds} to {after_seconds}"
	return Kind{
		Code: Unsteady, Weight: Weakens,
		Sentences: append(
			changes(Throughput, throughput+steps+steady+"{median_per_second}/s", throughput+drifts+steady+"{median_per_second}/s",
				throughput+steps+unsteady, throughput+drifts+unsteady),
			changes(Latency, latency+slower+steady+"{median_seconds}", latency+slows+steady+"{median_seconds}",
				latency+slower+unsteady, latency+slows+unsteady)...),
		Help:   "the throughput or the response time changed its level inside the measured window: caches fill, compactions begin, a disk is throttled",
		Remedy: "`warm_up`, more time, more data before the load",
	}
}

// noCapacity begins the sentences of searches that found no capacity. The reason follows.
const noCapacity = "a capacity was not found: "

// NoCapacity returns why a search found no capacity, by the values and words of its mark; ""
// for a mark that says something else.
func NoCapacity(v Values, w Words) string {
	s, _ := capacityMark().sentence(v, w)
	why, is := strings.CutPrefix(s.Text, noCapacity)
	if !is {
		return ""
	}
	return Sentence{Text: why}.fill(v, w)
}

func capacityMark() Kind {
	const (
		held = "the capacity was not held for {hold_seconds}, because "
		at   = "at {ended_per_second} requests/s {limit}"
	)
	search := func(text string) Sentence { return Sentence{Text: text, Effect: unknown(Throughput)} }
	return Kind{
		Code: Capacity, Weight: Weakens,
		Sentences: []Sentence{
			{Text: "after {windows|window} the interval of the capacity is wider than {tolerance_percent}[: {least_per_second} to {most_per_second} requests/s]", Worst: "interval_percent", Effect: upTo(Throughput, "interval_percent")},
			search(noCapacity + "too many of {windows|window} failed whatever the rate, {stalled} of them by pauses of the servers"),
			search(noCapacity + "too many of {windows|window} failed whatever the rate, none of them by a pause of the servers"),
			search(noCapacity + "it lies below {below_per_second} requests/s"),
			search(noCapacity + "it lies above {above_per_second} requests/s"),
			search(held + at),
			search("none of {holds|rate} from the capacity downwards was held for {hold_seconds}"),
			search(noCapacity + at),
			search(noCapacity + "the search did not end"),
		},
		Help:   "a search found no capacity, a wide interval, or a rate that was not held",
		Remedy: "[Capacity](capacity.md): more windows, another range of rates, a client machine of its own",
	}
}
