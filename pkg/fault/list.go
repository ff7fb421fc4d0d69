package fault

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Kinds returns the fault kinds.
func Kinds() []Kind {
	return []Kind{kill(), restart(), pause(), disk(), power(), partition(), loss(), delay()}
}

// Names returns the names of the kinds.
func Names() (names []string) {
	for _, k := range Kinds() {
		names = append(names, k.Name)
	}
	return names
}

// Possible returns the names of the kinds this machine can have.
func Possible() (names []string) {
	for _, k := range Kinds() {
		if k.Possible() == nil {
			names = append(names, k.Name)
		}
	}
	return names
}

// Find returns the kind with this name.
func Find(name string) (Kind, error) {
	for _, k := range Kinds() {
		if k.Name == name {
			return k, nil
		}
	}
	return Kind{}, fmt.Errorf("no kind of fault has the name %q: want %s", name, strings.Join(Names(), ", "))
}

// Check returns the kind of r, or why the record is no valid request.
func Check(r Record) (Kind, error) {
	k, err := Find(r.Kind)
	if err != nil {
		return k, err
	}
	p, err := r.decoded()
	switch {
	case err != nil:
		return k, fmt.Errorf("%s: %w", k.Name, err)
	case r.For < 0:
		return k, fmt.Errorf("%s cannot last %v", k.Name, r.For)
	}
	for _, key := range p.given() {
		if !slices.Contains(k.keys, key) {
			return k, wrong(key, "%s has no %s", k.Name, key)
		}
	}
	if k.check == nil {
		return k, nil
	}
	return k, k.check(p)
}

// NeedsDisk reports whether a fault with these parameters needs the member's own disk.
func (k Kind) NeedsDisk(r Record) bool {
	p, err := r.decoded()
	return k.disk || err == nil && p.Full
}

// NeedsTap reports whether the fault that r describes needs the member's processes to be started
// under a tap.
func (k Kind) NeedsTap(r Record) bool {
	p, err := r.decoded()
	return err == nil && k.taps != nil && k.taps(p)
}

// MayEnd reports whether one of some faults may have made their member end itself.
func MayEnd(records []Record) bool {
	return slices.ContainsFunc(records, func(r Record) bool {
		k, err := Find(r.Kind)
		p, unread := r.decoded()
		return err == nil && unread == nil && k.mayEnd != nil && k.mayEnd(p)
	})
}

// Release undoes faults that would keep the processes of their member from ending as usual. It
// ignores faults that are over.
func Release(records []Record) error {
	var errs []error
	for _, r := range slices.Backward(records) {
		if k, err := Find(r.Kind); err != nil {
			errs = append(errs, err)
		} else if k.release != nil && r.Over.IsZero() {
			if err := k.release(r); err != nil {
				errs = append(errs, fmt.Errorf("undo %s: %w", k.Name, err))
			}
		}
	}
	return errors.Join(errs...)
}
