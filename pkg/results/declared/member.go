package declared

import "fmt"

// CheckMember returns an error if a record names a member that its run does not have. index
// counts from first, and the run has that many members.
func CheckMember(index, first, members int) error {
	if index >= first && index < first+members {
		return nil
	}
	return fmt.Errorf("member %d does not exist: the run has %d, counted from %d here", index, members, first)
}
