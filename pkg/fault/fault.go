// Package fault declares the faults that can be applied to a cluster member, and how each is
// undone. Each fault kind is a file: its requirements on the machine, its effect, and its undo. A
// fault is data: its [Record] is on disk before the fault is applied, so that a later process can
// undo the faults from an earlier process.
package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/fault/owndisk"
	"github.com/coreos/dbtester/pkg/process/tap"
)

// Kind declares the functions of a fault kind. One goroutine at a time calls them.
type Kind struct {
	Name string
	// Meaning describes the kind in the documentation.
	Meaning string
	// Immediate faults have no length: they last as long as they take.
	Immediate bool
	// taps reports whether the member's processes must be started under a tap. Nil reports false.
	taps func(Parameters) bool
	// groups reports whether control groups must distinguish members on one machine.
	groups bool
	// disk reports whether the member needs its own disk, which the fault cuts.
	disk bool
	// keys are the parameters of the fault, by their names in JSON and in files.
	keys []string
	// possible returns why this machine cannot have the fault, and check why the parameters are
	// not valid for it. Nil functions refuse nothing.
	possible func() error
	check    func(Parameters) error
	// apply applies the fault, and undo undoes it while the member's session lasts, also after an
	// apply that failed at any point. Both return the state the machine then shows, and an error if
	// that is not the requested state.
	apply, undo func(context.Context, Victim, Record) (saw string, err error)
	// mayEnd reports whether the member may end itself because of the fault. Nil reports false.
	mayEnd func(Parameters) bool
	// release undoes effects that would outlive the member's processes or keep them from ending.
	// It uses only the record, and may be called again. It may be nil.
	release func(Record) error
}

// Parameters describe a fault apart from its length. Each kind has its own.
type Parameters struct {
	// Fsync is the effect on calls that put writes on disk: a time by which each takes longer,
	// "stall", "EIO" or "ENOSPC".
	Fsync string `json:"fsync,omitempty"`
	// Full reports whether the member's own disk has no space left.
	Full bool `json:"full,omitempty"`
	// From selects packets by their origin, Direction selects incoming packets, outgoing packets,
	// or both, and Loss is the share that is dropped, such as 5%.
	From      string `json:"from,omitempty"`
	Direction string `json:"direction,omitempty"`
	Loss      string `json:"loss,omitempty"`
	// By is how much each packet is delayed, and Rate the bandwidth for all together, such as
	// 10Mbit.
	By   string `json:"by,omitempty"`
	Rate string `json:"rate,omitempty"`
	// Beside are the members on the victim's side of a partition, from which it is not cut off:
	// numbers from 1 separated by commas.
	Beside string `json:"beside,omitempty"`
	// Version is the release a member runs after a restart; "" for the previous one.
	Version string `json:"version,omitempty"`
}

// ParameterError reports a wrong fault parameter. Key is its name in JSON and in files.
type ParameterError struct{ Key, Text string }

// Error returns the text, which names the parameter.
func (e *ParameterError) Error() string { return e.Text }

// wrong returns a [*ParameterError].
func wrong(key, format string, args ...any) error {
	return &ParameterError{Key: key, Text: fmt.Sprintf(format, args...)}
}

// Encoded returns the parameters as in a [Record], or nil.
func (p Parameters) Encoded() json.RawMessage {
	if p == (Parameters{}) {
		return nil
	}
	data, err := json.Marshal(p)
	if err != nil {
		panic(err) // texts can always be encoded
	}
	return data
}

// given returns the names of the parameters that are not zero, in alphabetical order.
func (p Parameters) given() []string {
	var all map[string]json.RawMessage
	if data := p.Encoded(); data != nil {
		if err := json.Unmarshal(data, &all); err != nil {
			panic(err) // it was encoded just now
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// Victim is the member to which a fault is applied.
type Victim interface {
	// Processes returns the running commands, and Lasting the faults that are not over.
	Processes() []Process
	Lasting() []Record
	// End ends the commands for the fault with an id: at once, or as the agent ends the commands
	// when a session ends. Ended reports whether that fault has begun to end them and not started
	// them again. When the fault ends, Start starts them again on the data they left. It does
	// nothing if they run, or if another fault ended them.
	End(ctx context.Context, id string, graceful bool) error
	Ended(id string) bool
	Start(ctx context.Context, id string) error
	// Upgrade has the next and later starts run the commands from another release, which the start
	// of the member has announced.
	Upgrade(version string) error
	// Tap intercepts the calls by which the processes put writes on disk; nil if they were
	// started without one.
	Tap() *tap.Tap
	// Disk returns the member's own disk, if it has one.
	Disk() (owndisk.Disk, bool)
	// Network returns where the members listen.
	Network() (Network, error)
	// Hold keeps the resources of a fault until it is over, by its id. LetGo closes them, and the
	// session closes them when it ends. Held returns them, or nil.
	Hold(id string, held io.Closer)
	Held(id string) io.Closer
	LetGo(id string) error
}

// Process identifies the leader of a process group by its pid and its start in clock ticks since
// boot.
type Process struct {
	Pid        int    `json:"pid"`
	StartTicks uint64 `json:"start_ticks"`
}

// Record is one fault on a member: its request and its outcome.
type Record struct {
	// ID is its name among the faults of a session.
	ID         string          `json:"id"`
	Kind       string          `json:"kind"`
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// For is the length of the fault.
	For time.Duration `json:"for_ns"`
	// Processes are the processes to which it was applied.
	Processes []Process `json:"processes"`
	// Applied and Over are zero until then.
	Applied time.Time `json:"applied,omitzero"`
	Over    time.Time `json:"over,omitzero"`
	// Saw is the state the machine showed after the fault was applied, SawOver the state after it
	// was undone. Failed is why the fault did not take effect or could not be undone.
	Saw     string `json:"saw,omitempty"`
	SawOver string `json:"saw_over,omitempty"`
	Failed  string `json:"failed,omitempty"`
}

// Same reports whether two records belong to the same request.
func (r Record) Same(o Record) bool {
	return r.ID == o.ID && r.Kind == o.Kind && bytes.Equal(r.Parameters, o.Parameters) && r.For == o.For
}

// Cuts reports whether the fault cuts the member's own disk.
func (k Kind) Cuts() bool { return k.disk }

// Possible returns why this machine cannot have the fault.
func (k Kind) Possible() error {
	if k.possible == nil {
		return nil
	}
	return k.possible()
}

// Apply applies a fault to a member, and returns the state the machine shows. If the error is not
// nil, the fault did not take effect but must still be undone: it may have begun to.
func (k Kind) Apply(ctx context.Context, v Victim, r Record) (saw string, err error) {
	return k.apply(ctx, v, r)
}

// Undo undoes a fault, and returns the state the machine shows. Faults may be undone in any order.
// It does nothing, and returns no state, if the fault never began to take effect.
func (k Kind) Undo(ctx context.Context, v Victim, r Record) (saw string, err error) {
	return k.undo(ctx, v, r)
}

// decoded returns the parameters of r.
func (r Record) decoded() (p Parameters, err error) {
	if len(r.Parameters) == 0 {
		return p, nil
	}
	d := json.NewDecoder(bytes.NewReader(r.Parameters))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return p, fmt.Errorf("decode parameters: %w", err)
	}
	return p, nil
}

// Network is where the members of a cluster listen.
type Network struct {
	// Name is the prefix of the names that faults give this member's tables.
	Name string
	// Member is the victim among Hosts.
	Member int
	Hosts  []Host
	// Shared reports whether other members have addresses on this machine. Then the sockets of the
	// victim are recognized by its version 2 control group, whose directory is Group, and those of
	// the other members by Groups.
	Shared bool
	Group  string
	Groups []string
}

// Host is where a member listens: for clients on one port, for other members on the rest.
type Host struct {
	Addrs   []netip.Addr
	Client  uint16
	Members []uint16
}
