package declared

import "fmt"

// CheckMember returns an error if a record names a member missing from its run. index counts from
// first, and members is the number that the run has.
func CheckMember(index, first, members int) error {
	if index >= first && index < first+members {
		return nil
	}
	return fmt.Errorf("member %d does not exist: the run has %d, counted from %d here", index, members, first)
}
