package mark

import "strings"

// Marks about changing levels and searched rates.
const (
	Unsteady = "not steady"
	Capacity = "capacity"
	Drift    = "drift"
)

func levelMarks() []Kind {
	return []Kind{unsteadyMark(), capacityMark(), {
		Code: Drift, Weight: Weakens,
		Sentences: []Sentence{{Text: "at {rate_per_second} requests/s {first_percent} of the requests missed the limit at the beginning of the search, and {last_percent} at its end", Worst: "last_percent", Effect: unknown(Throughput)}},
		Help:      "the cluster changed during the search for its capacity",
		Remedy:    "warm up the cluster, run nothing else on its machines, or use a longer `window`",
	}}
}

func unsteadyMark() Kind {
	const (
		throughput = "[{stage}: ]the throughput "
		latency    = "[{stage}: ]the mean response time "
		test       = " (Pettitt's test, p < {p}); "
		steady     = test + "steady from second {from} to {to} with "
		unsteady   = test + "no quarter of the window is steady"
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
		Help:   "the level of the throughput or of the response time changed within the measured window: caches filled, compactions began, or a disk was throttled",
		Remedy: "use a `warm_up`, a longer load, or more data before the load",
	}
}

// noCapacity begins the sentences about searches that found no capacity. The reason follows.
const noCapacity = "no capacity was found: "

// NoCapacity returns why a search found no capacity, from the values and words in its mark; "" for
// any other mark.
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
			{Text: "after {windows|window} the capacity's interval is still wider than {tolerance_percent}[: {least_per_second} to {most_per_second} requests/s]", Worst: "interval_percent", Effect: upTo(Throughput, "interval_percent")},
			search(noCapacity + "too many of {windows|window} failed at every rate, {stalled} of them because the servers paused"),
			search(noCapacity + "too many of {windows|window} failed at every rate, none of them because the servers paused"),
			search(noCapacity + "it lies below {below_per_second} requests/s"),
			search(noCapacity + "it lies above {above_per_second} requests/s"),
			search(held + at),
			search("none of {holds|rate} tried at or below the capacity was held for {hold_seconds}"),
			search(noCapacity + at),
			search(noCapacity + "the search did not finish"),
		},
		Help:   "a search found no capacity, only a wide interval for it, or a rate that was not held",
		Remedy: "see [Capacity](capacity.md): allow more windows, another range of rates, or give the client a machine of its own",
	}
}
