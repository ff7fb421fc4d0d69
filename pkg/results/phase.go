package results

// Phase is the part of a step in which a request was due; only requests in the phase measure
// enter the figures. The second in which a request ends does not matter.
type Phase string

// The phases.
const (
	PhaseWarmUp   Phase = "warm-up"
	PhaseMeasure  Phase = "measure"
	PhaseCoolDown Phase = "cool-down"
)
