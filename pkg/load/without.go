package load

import "errors"

// Without returns an error without its joined parts that are or wrap other. Callers may already
// know how a step ended, from the cause of its context or [ErrMembersGone].
func Without(err, other error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		if errors.Is(err, other) {
			return nil
		}
		return err
	}
	var rest []error
	for _, e := range joined.Unwrap() {
		rest = append(rest, Without(e, other))
	}
	return errors.Join(rest...)
}
