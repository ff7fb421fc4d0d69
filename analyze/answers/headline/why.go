package headline

import (
	"github.com/coreos/dbtester/analyze/abilities"
	"github.com/coreos/dbtester/analyze/abilities/all"
	"github.com/coreos/dbtester/analyze/answers"
	"github.com/coreos/dbtester/analyze/run"
)

// whyOf returns the causes behind the response times; nil if unknown.
func whyOf(columns []answers.Column) *abilities.Explanation {
	var names []string
	var runs [][]*run.Run
	for _, c := range columns {
		names, runs = append(names, c.Name), append(runs, c.Runs)
	}
	for _, half := range all.Halves() {
		if explainer, ok := half.(abilities.Explainer); ok {
			if why := explainer.Explain(names, runs); why != nil {
				return why
			}
		}
	}
	return nil
}

// WhyText returns the sentence about the causes behind response times; "" if no cause was found, or
// if a card replaces throughput and latency, whose means are then of little use.
func (h *Headline) WhyText() string {
	if h.Why == nil || h.Card != nil {
		return ""
	}
	return h.Why.Sentence
}
