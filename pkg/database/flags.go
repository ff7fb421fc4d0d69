package database

import (
	"fmt"
	"slices"
	"strings"
)

// ExtraFlags is a driver whose options may hold raw flags for the server. An
// agent refuses them from the wire unless it was started with --allow-flags.
type ExtraFlags interface {
	// ExtraFlags returns the raw flags in order, nil without any.
	ExtraFlags() []string
}

// ValidFlag refuses a raw flag that is not one argument beginning with dashes ("-" or
// "--"). It also refuses a flag a plan sets itself: the server would then use other values than the
// plan records.
func ValidFlag(flag, dashes string, planned []string) error {
	switch name := FlagName(flag); {
	case !strings.HasPrefix(flag, dashes) || name == "":
		return fmt.Errorf("flag %q is not written as %[2]sname or %[2]sname=value", flag, dashes)
	case slices.Contains(planned, name):
		return fmt.Errorf("flag %q is set by the plan or by an option of its own", flag)
	}
	return nil
}

// FlagName returns the name of a flag such as "--name=value".
func FlagName(flag string) string {
	name, _, _ := strings.Cut(strings.TrimLeft(flag, "-"), "=")
	return name
}
