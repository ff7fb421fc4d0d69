package cause

import (
	"fmt"

	"github.com/coreos/dbtester/analyze/run"
)

// sharedProcessors is the name for every cause on processors that clients and members share: the
// records cannot separate them.
const sharedProcessors = "processors, shared with the clients"

// clientRule names the clients.
func clientRule() Rule {
	return Rule{
		Name: "client", Words: "delays in the clients themselves", Shared: sharedProcessors, Lines: []string{nameClient}, Over: over, Partly: partly,
		Numbers: func(f *Facts) string { return fmt.Sprintf("%s of a request", millis(f.Client)) },
	}
}

func clientDelay(f *Facts, _ above) run.Measure { return f.Client }

func freeClient(f *Facts, _ above) run.Measure {
	if !f.Service.Known() {
		return f.Service
	}
	wait := f.Response.Value - f.Service.Value
	if f.Client.Known() {
		wait -= f.Client.Value
	}
	return run.Measured(max(wait, 0), f.Service.N)
}
