package ability

import "github.com/coreos/dbtester/pkg/observation"

// Observed declares the record for the values that abilities counted or timed during a load.
func Observed() Record[observation.Totals] { return Record[observation.Totals]{Key: "observed"} }
